//! `profile`: where the CPU time of cases goes inside the kernel, by sampling.

use crate::args::{Global, ProfileArgs};
use crate::baseline::RUNS;
use crate::label::Labels;
use crate::output::{self, Color, Paint, entry};
use crate::{one_pass, run as run_command, status};
use anyhow::{Result, bail};
use clap::ArgMatches;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::ExitCode;
use syscost_analyze::profile::functions::CodeClass;
use syscost_analyze::profile::{ClassTime, ProfileBreakdown};
use syscost_core::stats::Estimate;
use syscost_core::units::{confidence, count, percent};
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Profile;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::profile::{PROFILE, ProfileFile};
use syscost_harness::UnfinishedCases;
use syscost_harness::profile::{self as pass, Profiled, Profiler};
use syscost_host::sampling::{SOFTIRQ, SampledEvent, SampledScope, USER};
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH};
use syscost_report::profile_files;
use syscost_report::text::ending::EndTable;
use syscost_report::text::profile::title;

/// What is profiled where neither an experiment nor the axis is named.
const DEFAULTS: [(&str, &str); 3] = [("size", "64K"), ("threads", "1"), ("path", "loopback")];

pub fn run(args: &ProfileArgs, matches: &ArgMatches, global: &Global) -> Result<ExitCode> {
    let every = args.experiment.is_some();
    let plan = one_pass::plan(args.experiment.clone(), &DEFAULTS, every, matches)?;
    let place = args.out.as_deref().unwrap_or(Path::new(RUNS));
    let mut progress = one_pass::begin(&plan, Some(place), true, global)?;
    let profiler = match Profiler::attach() {
        Ok(profiler) => profiler,
        Err(why) => bail!("no profile can be made here: {}. To allow it: {}", why.reason, why.remedy),
    };
    let out = args.out.clone().map_or_else(|| run_command::default_dir("profile"), Ok)?;
    let mut found = pass::profile(&plan, &profiler, args.rounds, &mut |event| progress.show(event))?;
    found.unfinished.skips.splice(0..0, plan.skips.iter().cloned());
    let files = write(&plan, &found, &out)?;
    let UnfinishedCases { failures, skips, unreached, .. } = &found.unfinished;
    if global.json {
        let profiles: Vec<_> = found.profiles.iter().map(document).collect();
        let line = json!({ "event": "profiled", "dir": out, "files": files, "profiles": profiles,
            "failures": failures, "skips": skips, "unreached": unreached, "state": found.unfinished.state() });
        output::print_json_line(&line)?;
    } else {
        output::print(&text(&plan, &found, args.rounds, &out, global.color))?;
    }
    let missed = !failures.is_empty() || shortened(&found, args.rounds).is_some();
    let empty = found.profiles.iter().any(|profile| profile.samples() == 0);
    let skipped = args.strict && !skips.is_empty();
    let nothing = || status::nothing("profiled", &plan, &[], &[]);
    status::of(found.unfinished.state(), missed || empty || skipped, nothing)
}

fn write(plan: &Plan, found: &Profiled, out: &Path) -> Result<Vec<String>> {
    let place = OpenDirectory::make(out)?;
    let file = ProfileFile::of_this_kernel(env!("CARGO_PKG_VERSION"), found.profiles.clone());
    file.write(&place)?;
    let labels = labels(plan);
    let label = |profile: &Profile| name(&labels, plan, profile);
    let files = profile_files::files(&file.profiles, &label);
    for (name, content) in &files {
        place.replace(name, content.as_bytes())?;
    }
    let names = files.into_iter().map(|(name, _)| name);
    Ok(std::iter::once(PROFILE.to_string()).chain(names).collect())
}

/// Of a transfer what was moved, how and where is said, though nobody asked for another.
fn labels(plan: &Plan) -> Labels {
    Labels::with(plan, &[MECHANISM.id, MESSAGE_BYTES.id, PATH.id])
}

/// What tells a case from the others of its plan.
fn name(labels: &Labels, plan: &Plan, profile: &Profile) -> String {
    let same = |case: &&Case| case.probe == profile.probe && case.point == profile.point;
    plan.cases.iter().find(same).map_or(profile.probe.to_string(), |case| labels.case(case))
}

/// A profile without its stacks, which the files have.
fn document(profile: &Profile) -> serde_json::Value {
    let breakdown = ProfileBreakdown::of(profile);
    let classes = breakdown.iter().flat_map(|b| &b.classes).map(|class| {
        json!({ "class": class.class.id(), "share": class.share.share, "ci_low": class.share.low,
            "ci_high": class.share.high, "by": class.by_owner, "functions": class.top })
    });
    json!({ "probe": profile.probe, "point": profile.point, "event": profile.event, "period": profile.period,
        "scope": profile.scope, "samples": profile.samples(), "rounds": profile.rounds,
        "per_op": breakdown.as_ref().and_then(|b| b.per_op),
        "overhead": breakdown.as_ref().and_then(|b| b.overhead),
        "classes": classes.collect::<Vec<_>>() })
}

/// The case that was under way when somebody interrupted: its rounds, of so many.
fn shortened(found: &Profiled, rounds: u32) -> Option<usize> {
    found.profiles.last().map(|last| last.rounds.len()).filter(|made| *made < rounds as usize)
}

fn text(plan: &Plan, found: &Profiled, rounds: u32, out: &Path, color: Color) -> String {
    let paint = Paint::stdout(color);
    const INDENT: usize = 10;
    let labels = labels(plan);
    let mut text = String::new();
    for profile in &found.profiles {
        let name = name(&labels, plan, profile);
        match ProfileBreakdown::of(profile) {
            Some(breakdown) => text += &(table(&name, profile, &breakdown, color) + "\n"),
            None => {
                text += &entry(&paint.red("error"), INDENT, &format!("{name}: no sample of it was taken"))
            }
        }
    }
    text += &one_pass::left_over(plan, &found.unfinished, INDENT, paint);
    if let Some(made) = shortened(found, rounds) {
        let what = format!(
            "the last case has {made} of {rounds} rounds: the command was interrupted -> run it again"
        );
        text += &entry(&paint.yellow("stopped"), INDENT, &what);
    }
    text + &entry("files", INDENT, &format!("flame graphs and stacks are in {}", out.display()))
}

/// One case: a line a class of work.
fn table(name: &str, profile: &Profile, breakdown: &ProfileBreakdown, color: Color) -> String {
    let owners = owners(breakdown);
    let own = owners.iter().map(|owner| if *owner == SOFTIRQ { "softirq" } else { owner });
    let columns = ["class", "share", "95 % CI", "per op"].into_iter().chain(own).map(String::from).collect();
    let row = |class: &ClassTime| {
        let share = class.share;
        let per_op = breakdown.per_op.map_or("?".into(), |whole| amount(profile.event, share.share * whole));
        let interval = format!("{:.1}-{:.1}", share.low * 100.0, share.high * 100.0);
        let own = owners.iter().map(|owner| part(class.by_owner.get(*owner)));
        let begin = [title(class.class).to_string(), part(Some(&share.share)), interval, per_op];
        begin.into_iter().chain(own).collect()
    };
    let rows = breakdown.classes.iter().filter(|class| class.share.share > 0.0).map(row).collect();
    let table = EndTable { title: None, columns, rows, note: None };
    let head = format!(
        "{}\n{}",
        Paint::stdout(color).bold(name),
        entry("", 0, &about(profile, breakdown)).trim_start()
    );
    head + output::table(&table, color).trim_start() + &user_functions(breakdown)
}

/// The functions outside the kernel that had most of the time, where they have names.
fn user_functions(breakdown: &ProfileBreakdown) -> String {
    let of_user = breakdown.classes.iter().filter(|class| class.class == CodeClass::User);
    let named = of_user.flat_map(|class| &class.top).filter(|(name, _)| name != USER);
    let told: Vec<String> = named.map(|(name, share)| format!("{name} {}", part(Some(share)))).collect();
    if told.is_empty() { String::new() } else { entry("", 0, &format!("User mode: {}", told.join(", "))) }
}

/// How it was sampled, and what that cost.
fn about(profile: &Profile, breakdown: &ProfileBreakdown) -> String {
    let mut text = format!(
        "{} of {} in {}",
        count(breakdown.samples as usize, "sample"),
        profile.event.name(),
        count(profile.rounds.len(), "round"),
    );
    if let Some(per_op) = breakdown.per_op {
        text += &format!("; {} of CPU an operation", amount(profile.event, per_op));
    }
    let lost: u64 = profile.rounds.iter().map(|round| round.lost).sum();
    if lost > 0 {
        text += &format!("; {} found no room, so times are unknown", count(lost as usize, "sample"));
    }
    text += &match breakdown.overhead {
        Some(of) => format!(". Sampling made an operation take {}", longer(&of.estimate)),
        None => ". What sampling costs is unknown: every pair of rounds was disturbed".into(),
    };
    if profile.probe != Transfer.about().id {
        text += ". What the probe prepares and checks between operations is in it";
    }
    if profile.scope == SampledScope::Threads {
        text += ". Only the workers' own threads were sampled: softirqs elsewhere are missing";
    }
    let busy = 0.05;
    if breakdown.others > busy {
        text += &format!(". Note: other processes had {} as many samples", percent(breakdown.others));
    }
    let other = breakdown.share(CodeClass::Other).share;
    text + &format!(". Not classified: {}.", percent(other))
}

/// A few rounds have no interval at 95 %: the level is the one that they reach.
fn longer(ratio: &Estimate) -> String {
    let times = format!("{:.2}x as long", ratio.value);
    if ratio.level == 0.0 {
        return format!("{times} (too few pairs of rounds for an interval)");
    }
    format!("{times} ({} CI {:.2}-{:.2})", confidence(ratio.level), ratio.low, ratio.high)
}

/// Roles before softirqs that ran elsewhere.
fn owners(breakdown: &ProfileBreakdown) -> Vec<&str> {
    let all: BTreeSet<&str> =
        breakdown.classes.iter().flat_map(|c| c.by_owner.keys()).map(String::as_str).collect();
    let (elsewhere, roles): (Vec<&str>, Vec<&str>) = all.into_iter().partition(|owner| *owner == SOFTIRQ);
    [roles, elsewhere].concat()
}

fn part(share: Option<&f64>) -> String {
    share.map_or("-".into(), |share| format!("{:.1} %", share * 100.0))
}

/// Time, or cycles.
fn amount(event: SampledEvent, value: f64) -> String {
    let figure = event.unit().format(value);
    if event == SampledEvent::Cycles { figure + " cy" } else { figure }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::paired_ratio;

    /// Three rounds were said to have 95 %, then 75 %.
    #[test]
    fn what_sampling_costs_has_the_level_that_its_rounds_reach() {
        let told = |rounds: u32| {
            let by_round =
                |ns: f64| (0..rounds).map(|round| (round, ns + f64::from(round))).collect::<Vec<_>>();
            longer(&paired_ratio(&by_round(120.0), &by_round(100.0), 0.95).expect("pairs of rounds").estimate)
        };
        assert_eq!(told(1), "1.20x as long (too few pairs of rounds for an interval)");
        assert!(told(3).contains("(95 % CI "), "{}", told(3));
        assert!(told(6).contains("(96.8 % CI "), "{}", told(6));
    }
}
