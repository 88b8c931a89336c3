//! How long messages took: quantiles of each case, and the rate that was reached.

use super::EndTable;
use super::cases::label;
use super::figure::{RivalStanding, digits, figure};
use crate::context::Layout;
use crate::material::Material;
use crate::text::latency::longest;
use crate::text::words::Words;
use syscost_analyze::latency::{ACHIEVED, RANKED, RateKept, StalledCase};
use syscost_core::units::significant;
use syscost_experiment::plan::Case;
use syscost_measure::probe::tcp_latency::axes::RATE;

const FIGURES: [(&str, &str); 5] = [
    ("latency_p50", "p50"),
    ("latency_p90", "p90"),
    ("latency_p99", "p99"),
    ("latency_p999", "p99.9"),
    ("latency_max", "max"),
];
/// Of these the interval is shown, where there is room; of the first in any case.
const WITH_INTERVAL: [&str; 2] = RANKED;
const MICROSECONDS: f64 = 1e3;

/// Round trips, then what came at a fixed rate.
pub fn tables(m: &Material) -> Vec<EndTable> {
    let words = Words::of(m.run);
    let timed = |case: &&&Case| m.analysis.latency.cases.contains_key(&case.index);
    let of = |layout: &Layout| {
        let cases = layout.cases.iter().filter(timed).copied();
        let (open, closed): (Vec<&Case>, Vec<&Case>) = cases.partition(|case| case.point.int(RATE).is_some());
        [table(m, layout, &words, &closed), table(m, layout, &words, &open)]
    };
    m.layouts.iter().flat_map(of).flatten().collect()
}

fn table(m: &Material, layout: &Layout, words: &Words, cases: &[&Case]) -> Option<EndTable> {
    let first = cases.first()?;
    let rated = first.point.int(RATE).is_some();
    let compared = cases.iter().any(|case| verdict(m, layout, case).is_some());
    // What of a wide table does not fit goes from its end.
    let achieved = cases.iter().any(|case| layout.estimate(case.index, ACHIEVED).is_some());
    let mut columns = vec!["us".to_string()];
    columns.extend(achieved.then(|| "rate, /s".to_string()));
    columns.extend(FIGURES.map(|(_, title)| title.to_string()));
    columns.extend(compared.then(|| "p99 vs best".to_string()));
    let row = |case: &&Case| {
        let mut row = vec![label(layout, words, case, cases)];
        row.extend(achieved.then(|| rate(m, layout, case)));
        row.extend(FIGURES.map(|(id, _)| shown(layout, case, id, rated)));
        row.extend(compared.then(|| verdict(m, layout, case).unwrap_or("-".into())));
        row
    };
    let some = |wanted: RateKept| cases.iter().any(|case| kept(m, case) == wanted);
    let slower = "slower than asked, so latency grows with the length of the run";
    let notes =
        [(RateKept::No, format!("!: {slower}")), (RateKept::Undecided, format!("?: perhaps {slower}"))];
    let mut notes: Vec<String> =
        notes.into_iter().filter(|(kept, _)| some(*kept)).map(|(_, note)| note).collect();
    let shown = |stall: &&StalledCase| cases.iter().any(|case| case.index == stall.case);
    let stalls: Vec<StalledCase> = m.analysis.latency.stalls.iter().filter(shown).copied().collect();
    let told = |worst: String| {
        format!("{} of {} rows: few rounds make the pooled p99; {worst}", stalls.len(), cases.len())
    };
    notes.extend(longest(&stalls).map(told));
    let place = words.place(&first.point, &layout.varying);
    let what = if rated { "From due to arrived" } else { "Round trip" };
    Some(EndTable {
        title: Some(format!("{what}, us, {place}")),
        columns,
        rows: cases.iter().map(row).collect(),
        note: (!notes.is_empty()).then(|| notes.join("\n")),
    })
}

fn shown(layout: &Layout, case: &Case, metric: &str, rated: bool) -> String {
    let Some((estimate, _)) = layout.estimate(case.index, metric) else { return "-".into() };
    let told = WITH_INTERVAL.iter().take(if rated { 1 } else { WITH_INTERVAL.len() });
    if told.into_iter().any(|told| *told == metric) {
        figure(&estimate, (MICROSECONDS, ""))
    } else {
        digits(&estimate, MICROSECONDS)
    }
}

/// What was achieved; marked where that is less than asked.
fn rate(m: &Material, layout: &Layout, case: &Case) -> String {
    let Some((achieved, _)) = layout.estimate(case.index, ACHIEVED) else { return "-".into() };
    let mark = match kept(m, case) {
        RateKept::Yes => "",
        RateKept::Undecided => "?",
        RateKept::No => "!",
    };
    format!("{}{mark}", significant(achieved.value))
}

fn kept(m: &Material, case: &Case) -> RateKept {
    m.analysis.latency.cases.get(&case.index).map_or(RateKept::Yes, |times| times.kept())
}

/// RivalStanding the rival with the lowest p99; `None`: it has no rival.
fn verdict(m: &Material, layout: &Layout, case: &Case) -> Option<String> {
    let study = m.analysis.latency.studies.iter().find(|study| study.comparisons.metric.id == RANKED[0])?;
    let winner = study.winners.iter().find(|winner| winner.candidates.contains(&case.index))?;
    let best = *winner.candidates.first().filter(|_| winner.candidates.len() > 1)?;
    if best == case.index {
        return Some("best".into());
    }
    layout.case(best)?;
    RivalStanding::of(study, case.index, best).map(|against| against.words())
}
