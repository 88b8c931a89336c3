//! Where CPU time goes inside the kernel, by sampling: shares by class of work, and flame graphs folded away.

use super::unless_empty;
use crate::flame::NARROWEST_ON_PAGE;
use crate::material::Material;
use crate::profile_files::graphs;
use crate::text::profile::title;
use crate::text::words::{Words, percent};
use crate::{Block, Entry, Section, Table};
use syscost_analyze::profile::ProfileBreakdown;
use syscost_analyze::profile::functions::CodeClass;
use syscost_core::units::{count, significant};
use syscost_experiment::run::Profile;
use syscost_host::sampling::SampledScope;
use syscost_measure::probe::transfer::axes::MECHANISM;

/// Flame graphs of the page; all of them are files beside `profile.json`.
const GRAPHS: usize = 12;

pub fn section(m: &Material) -> Option<Section> {
    let made: Vec<(&Profile, ProfileBreakdown)> =
        m.run.profiles.iter().filter_map(|profile| Some((profile, ProfileBreakdown::of(profile)?))).collect();
    let (first, _) = made.first()?;
    let mut blocks = vec![Block::Text(method(first, &made)), Block::Table(table(m, &made))];
    let graphs = graphs(&m.run.profiles, &|profile| name(m, profile), NARROWEST_ON_PAGE);
    blocks.extend(graphs.into_iter().take(GRAPHS).map(|graph| Block::Folded {
        title: format!("Flame graph: {}", graph.title),
        blocks: vec![Block::Flame(graph)],
    }));
    unless_empty("profile", "Where CPU time goes inside the kernel", blocks)
}

fn method(first: &Profile, made: &[(&Profile, ProfileBreakdown)]) -> String {
    let rounds = made.iter().map(|(profile, _)| profile.rounds.len()).min().unwrap_or(0);
    let samples: u64 = made.iter().map(|(_, breakdown)| breakdown.samples).sum();
    let others = made.iter().map(|(_, breakdown)| breakdown.others).fold(0.0, f64::max);
    let unknown = made.iter().map(|(_, b)| b.share(CodeClass::Other).share).fold(0.0, f64::max);
    let ratios = made.iter().filter_map(|(_, breakdown)| breakdown.overhead).map(|of| of.estimate.value);
    let (low, high) = ratios.fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(x), high.max(x)));
    let mut text = format!(
        "{} of {}, in rounds of their own ({} or more a case). A share\'s interval is over rounds, because samples of one round \
         are correlated. A function counts for its class of work; one that syscost does not know counts for its caller. At most \
         {} is not classified.",
        count(samples as usize, "sample"),
        first.event.name(),
        rounds,
        percent(unknown),
    );
    if high > 0.0 {
        text += &format!(
            " An operation took {}x to {}x as long in sampled rounds as in those beside them.",
            significant(low),
            significant(high)
        );
    }
    if first.scope == SampledScope::Threads {
        text += " Only the workers\' own threads could be sampled: softirqs elsewhere are missing.";
    }
    if others > 0.05 {
        text += &format!(" Other processes had up to {} as many samples as a case.", percent(others));
    }
    text
}

/// A row a case, a column a class that any case has.
fn table(m: &Material, made: &[(&Profile, ProfileBreakdown)]) -> Table {
    let classes: Vec<CodeClass> = CodeClass::all()
        .filter(|class| made.iter().any(|(_, breakdown)| breakdown.share(*class).share > 0.0))
        .collect();
    let titles: Vec<&str> = ["case", "CPU time an operation while sampled"]
        .into_iter()
        .chain(classes.iter().map(|c| title(*c)))
        .collect();
    let row = |(profile, breakdown): &(&Profile, ProfileBreakdown)| {
        let per_op =
            breakdown.per_op.map_or(Entry::Missing, |spent| Entry::Number(spent, profile.event.unit()));
        let shares = classes.iter().map(|class| {
            let share = breakdown.share(*class);
            Entry::Text(format!(
                "{:.1} % ({:.1}-{:.1})",
                share.share * 100.0,
                share.low * 100.0,
                share.high * 100.0
            ))
        });
        [Entry::Text(name(m, profile)), per_op].into_iter().chain(shares).collect()
    };
    Table::new("profile", &titles, made.iter().map(row).collect())
        .titled("Shares of CPU time, with 95 % confidence intervals")
}

/// `msg_zerocopy, 64 KiB and 1 thread over veth`
fn name(m: &Material, profile: &Profile) -> String {
    let layout = m.layouts.iter().find(|layout| layout.probe.about().id == profile.probe.as_str());
    let place = Words::of(m.run).place(&profile.point, &[MECHANISM.id]);
    let who = profile
        .point
        .text(MECHANISM)
        .or(layout.map(|l| l.probe.about().title))
        .unwrap_or(profile.probe.as_str());
    if place.is_empty() { who.to_string() } else { format!("{who}, {place}") }
}
