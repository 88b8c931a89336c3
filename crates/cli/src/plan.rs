//! `plan`: what a run would do, what it would skip and why, and how long it would take.

use crate::args::{Global, PlanArgs};
use crate::output::{self, Paint, entry};
use crate::{asked, axes};
use anyhow::Result;
use clap::ArgMatches;
use serde::Serialize;
use std::collections::{HashMap, HashSet};
use syscost_analyze::grouped::grouped;
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::units::{Unit, count, format_duration};
use syscost_experiment::plan::{BlockVisit, Case, Plan, Skip, Substitution, TimeEstimate};
use syscost_experiment::spec::Spec;
use syscost_host::Unavailable;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::MECHANISM;

const INDENT: usize = 14;

/// What `--json` prints: by reference, since a tree of values of a large plan takes ten times its memory.
#[derive(Serialize)]
struct PlanDocument<'a> {
    spec: &'a Spec,
    plan: &'a Plan,
    estimate: EstimateDocument,
}

#[derive(Serialize)]
struct EstimateDocument {
    round_ns: u64,
    least_ns: u64,
    most_ns: u64,
    rounds_in_limit: u64,
}

pub fn run(args: &PlanArgs, matches: &ArgMatches, global: &Global) -> Result<()> {
    let spec = asked::spec(&args.asked, matches)?;
    if args.toml {
        output::print(&spec.to_toml())?;
        return Ok(());
    }
    let plan = Plan::make(&spec)?;
    let estimate = plan.estimate(&spec);
    if global.json {
        let estimate = EstimateDocument {
            round_ns: estimate.round.as_nanos() as u64,
            least_ns: estimate.least.as_nanos() as u64,
            most_ns: estimate.most.as_nanos() as u64,
            rounds_in_limit: estimate.rounds_in_limit,
        };
        output::print_json(&PlanDocument { spec: &spec, plan: &plan, estimate })?;
    } else {
        let mut text = summary(&spec, &plan, &estimate, Paint::stdout(global.color));
        if args.cases {
            text += &every_case(&plan);
        }
        output::print(&text)?;
    }
    Ok(())
}

fn summary(spec: &Spec, plan: &Plan, estimate: &TimeEstimate, paint: Paint) -> String {
    let twins = plan.cases.iter().filter(|c| c.twin_of.is_some()).count();
    let cases = plan.cases.len() - twins;
    let mut text = entry("Experiment", INDENT, &format!("{}: {}", spec.name, spec.title));
    let twice =
        if twins > 0 { format!(", {twins} of them twice to measure noise (A/A)") } else { String::new() };
    text += &entry("Cases", INDENT, &format!("{cases}{twice}"));
    for probe in &spec.probes {
        for line in grid(&probe.probe, plan) {
            text += &line;
        }
    }
    for Substitution { axis, wanted, used, why, .. } in &plan.substitutions {
        let what = format!("{axis} {used} instead of {wanted}: {} -> {}", why.reason, why.remedy);
        text += &entry(&paint.yellow("Replaced"), INDENT, &what);
    }
    for thinned in &plan.thinned {
        let what = format!("{}: too many cases for a quick run -> {}", thinned.what(), thinned.remedy());
        text += &entry(&paint.yellow("Left out"), INDENT, &what);
    }
    for what in skipped(&plan.skips) {
        text += &entry(&paint.yellow("Skipped"), INDENT, &what);
    }
    let blocks = plan.blocks();
    if let Some(control) = blocks.iter().find(|block| block.visit == BlockVisit::AlongThreads) {
        let point = &plan.cases[control.cases[0]].point;
        let who = point.text(MECHANISM).unwrap_or("the control");
        let what = format!("thread counts of {who} take turns and are compared; those of the others are not");
        text += &entry("Threads", INDENT, &what);
    }
    // See `RoundSchedule::wants_windows`.
    let in_turns = blocks.iter().any(|block| block.in_turns());
    let windows = if in_turns { "; every second round has steady windows" } else { "" };
    text += &entry(
        "Rounds",
        INDENT,
        &format!(
            "{} of each case, until comparisons are settled and the {} % interval of its median is within {} %; a \
             round of all cases takes about {}{windows}",
            spec.rounds_text(),
            syscost_core::units::significant(spec.confidence * 100.0),
            syscost_core::units::significant(spec.precision * 100.0),
            format_duration(estimate.round),
        ),
    );
    text += &entry("Time", INDENT, &time(spec, plan, estimate, paint));
    text + &entry("Seed", INDENT, &spec.seed.to_string())
}

fn time(spec: &Spec, plan: &Plan, estimate: &TimeEstimate, paint: Paint) -> String {
    if plan.cases.is_empty() {
        return "nothing to measure".into();
    }
    let limit = format_duration(spec.time_limit());
    let mut text = if estimate.least == estimate.most {
        format!("about {}", format_duration(estimate.most))
    } else {
        format!("{} to {}", format_duration(estimate.least), format_duration(estimate.most))
    };
    text += &format!(" (limit {limit})");
    if estimate.rounds_in_limit < u64::from(spec.min_rounds) {
        let warning = format!(
            "the limit allows about {} of {}: intervals will be wide. Name fewer values or raise --time-limit",
            estimate.rounds_in_limit,
            count(spec.min_rounds as usize, "round")
        );
        text += &format!("; {}", paint.yellow(&warning));
    }
    text
}

/// The axes of a probe's planned and skipped points: those that vary one a line, the fixed ones
/// together.
fn grid(probe: &str, plan: &Plan) -> Vec<String> {
    let Some(found) = probe::find(probe) else { return Vec::new() };
    let cases = plan.cases.iter().filter(|c| c.probe == probe).map(|c| &c.point);
    let mut given = values(cases.chain(plan.skips.iter().filter(|s| s.probe == probe).map(|s| &s.point)));
    // One that a quick run leaves out whole.
    if given.is_empty() && !plan.cases.iter().any(|case| case.probe == probe) {
        return Vec::new();
    }
    let mut lines = vec![entry("Probe", INDENT, &format!("{probe}: {}", found.about().title))];
    let mut fixed = Vec::new();
    for axis in found.axes() {
        let values = given.remove(axis.id).unwrap_or_default();
        match values.len() {
            0 => {}
            1 => fixed.push(format!("{} {}", axis.flag, axes::typed(&axis, &values))),
            _ => lines.push(entry(&format!("  {}", axis.flag), INDENT, &shown(&axis, &values))),
        }
    }
    if !fixed.is_empty() {
        lines.push(entry("  fixed", INDENT, &fixed.join(", ")));
    }
    lines
}

/// The values on each axis, each once, in order of first appearance.
fn values<'p>(points: impl Iterator<Item = &'p Point>) -> HashMap<&'p str, Vec<Value>> {
    let mut known: HashMap<&str, (HashSet<&Value>, Vec<Value>)> = HashMap::new();
    for (axis, value) in points.flat_map(Point::iter) {
        let (seen, values) = known.entry(axis.as_str()).or_default();
        // Neighbours mostly have the same.
        if values.last() != Some(value) && seen.insert(value) {
            values.push(value.clone());
        }
    }
    known.into_iter().map(|(axis, (_, values))| (axis, values)).collect()
}

fn shown(axis: &Axis, values: &[Value]) -> String {
    let shown: Vec<String> = values.iter().map(|v| axis.show(v)).collect();
    shown.join(if axis.unit == Unit::Name { " " } else { ", " })
}

/// `2 cases: no such thing -> get one`, for each reason once, in the order of first appearance.
pub fn skipped(skips: &[Skip]) -> impl Iterator<Item = String> {
    let told = |(why, skips): (&Unavailable, Vec<&Skip>)| {
        format!("{}: {} -> {}", count(skips.len(), "case"), why.reason, why.remedy)
    };
    grouped(skips.iter().map(|skip| (&skip.why, skip))).into_iter().map(told)
}

/// `21 of 376 cases: the command was interrupted before them -> run it again`
pub fn unreached(plan: &Plan, unreached: usize) -> Option<String> {
    let all = count(plan.cases.iter().filter(|case| case.twin_of.is_none()).count(), "case");
    let what = format!("{unreached} of {all}: the command was interrupted before them -> run it again");
    (unreached > 0).then_some(what)
}

fn every_case(plan: &Plan) -> String {
    let mut text = "\n".to_string();
    for Case { index, probe, point, twin_of } in &plan.cases {
        let twin = twin_of.map(|of| format!(" (again: {of})")).unwrap_or_default();
        text += &entry(&format!("{index}"), 7, &format!("{probe} {point}{twin}"));
    }
    for Skip { probe, point, why } in &plan.skips {
        text += &entry("skip", 7, &format!("{probe} {point}: {why}"));
    }
    text
}
