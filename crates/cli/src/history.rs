//! `history DIR..`: what one case cost over runs, and between which neighbours that changed.

use crate::args::Global;
use crate::compare::runs_at;
use crate::history_args::HistoryArgs;
use crate::output;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syscost_analyze::cells::Cells;
use syscost_analyze::sides::facts::refusal;
use syscost_analyze::sides::{RunFigures, SideComparison, compared_metric, coordinates, counts};
use syscost_core::stats::Estimate;
use syscost_core::units::{count, utc};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::{GroupSides, members};
use syscost_host::fingerprint::{BOOT, MACHINE};
use syscost_measure::probe::{self, cost};
use syscost_report::sides;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::text::ending::EndTable;

/// Cases that are named where a question has several.
const EXAMPLES: usize = 3;
/// Characters of a boot that tell it from others.
const SHORT: usize = 8;

/// What one run says of the case.
struct HistoryPoint {
    figures: RunFigures,
    /// Its index in the run's plan.
    case: usize,
    /// The probe and every coordinate.
    cell: String,
    metric: &'static str,
    cost: Estimate,
}

/// What changed between two neighbours.
struct HistoryChange {
    before: String,
    after: String,
    verdict: String,
    ratio: Option<String>,
}

pub fn run(args: &HistoryArgs, global: &Global) -> Result<()> {
    let mut points = Vec::new();
    for path in args.dirs.iter().map(|dir| all_at(dir)).collect::<Result<Vec<_>>>()?.concat() {
        let run = RunDir::load(&path)?;
        if run.record.fact(MACHINE).unwrap_or_default().starts_with(&args.machine) {
            points.extend(of_run(&run, args)?);
        }
    }
    let cells: BTreeSet<&str> = points.iter().map(|point| point.cell.as_str()).collect();
    if cells.len() > 1 {
        let some: Vec<String> = apart(&cells).take(EXAMPLES).collect();
        let cases = count(cells.len(), "case");
        bail!("these runs have {cases} of this: name one by --probe and --at: {}", some.join("; "));
    }
    let machines: BTreeSet<_> = points.iter().map(|point| point.figures.record.fact(MACHINE)).collect();
    if machines.len() > 1 {
        let some: Vec<&str> = machines.into_iter().map(|hash| hash.unwrap_or("unknown")).collect();
        bail!("machines are never pooled: name one by --machine: {}", some.join(", "));
    }
    let Some(cell) = cells.first() else { bail!("no run here has a figure of this case: syscost list") };
    let sides = sides(&points);
    let changes: Vec<HistoryChange> = sides.windows(2).map(|pair| change(&pair[0], &pair[1])).collect();
    if global.json {
        return output::print_json(&as_json(cell, &sides, &changes));
    }
    let look = TerminalLook { width: output::columns(), colour: output::Paint::stdout(global.color).on() };
    let mut text = output::entry("", 0, &format!("{} of {cell}", points[0].metric));
    text += &terminal::table(&table(&sides), look);
    for HistoryChange { before, after, verdict, ratio } in &changes {
        let told = [ratio.as_deref().unwrap_or_default(), verdict].join(" ");
        text += &output::entry("", 0, &format!("{after} beside {before}: {}", told.trim()));
    }
    output::print(&text)
}

/// A run, those of a group, or those of each variant of a group.
fn all_at(path: &Path) -> Result<Vec<PathBuf>> {
    let about = || format!("cannot read {}", path.display());
    let variants = GroupSides::load(path).with_context(about)?.map_or(vec![], |group| group.variants);
    if variants.is_empty() {
        return runs_at(path);
    }
    let sides = variants.iter().map(|variant| members(&path.join(&variant.label)));
    Ok(sides.collect::<std::io::Result<Vec<_>>>().with_context(about)?.concat())
}

/// The cases of a run that were asked for and have a figure.
fn of_run(run: &Run, args: &HistoryArgs) -> Result<Vec<HistoryPoint>> {
    let cells = Cells::of(run);
    let mut asked = Vec::new();
    for case in run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()) {
        if is_asked(case, args)? {
            asked.push(case);
        }
    }
    let point = |case: &&Case| {
        let probe = probe::find(&case.probe)?;
        let counted = counts(&run.record);
        let metric = if counted { cost::counted_metric(probe) } else { compared_metric(probe) }?;
        Some(HistoryPoint {
            figures: RunFigures::of(run),
            case: case.index,
            cell: format!("{} {}", case.probe, coordinates(&case.point)).trim_end().to_string(),
            metric: metric.title,
            cost: cells.estimate(case.index, metric.id)?,
        })
    };
    Ok(asked.iter().filter_map(point).collect())
}

/// `size=64K` means what it means as an option of `run`.
fn is_asked(case: &Case, args: &HistoryArgs) -> Result<bool> {
    let Some(probe) = probe::find(&case.probe) else { return Ok(false) };
    if args.probe.as_ref().is_some_and(|id| *id != *case.probe) {
        return Ok(false);
    }
    for text in &args.axes {
        let (name, value) =
            text.split_once('=').with_context(|| format!("write AXIS=VALUE, not {text:?}"))?;
        let axes = probe.axes();
        let Some(axis) = axes.iter().find(|axis| axis.flag == name || axis.id == name) else {
            return Ok(false);
        };
        let value = axis.parse(value).map_err(|error| anyhow::anyhow!("{name}: {error}"))?;
        if case.point.get(axis.id) != Some(&value) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Each case by what not all have.
fn apart<'a>(cells: &'a BTreeSet<&str>) -> impl Iterator<Item = String> + 'a {
    let of = |cell: &'a str| cell.split(' ').collect::<BTreeSet<&str>>();
    let shared = cells.iter().map(|cell| of(cell)).reduce(|a, b| &a & &b).unwrap_or_default();
    cells.iter().map(move |cell| (&of(cell) - &shared).into_iter().collect::<Vec<_>>().join(" "))
}

/// What a run is called; its boot where nobody called it anything.
fn name(point: &HistoryPoint) -> String {
    let names = &point.figures.record.names;
    let called: Vec<&str> =
        [&names.label, &names.revision, &names.group].into_iter().flatten().map(String::as_str).collect();
    match called.as_slice() {
        [] => format!("boot {}", short(point.figures.record.fact(BOOT))),
        called => called.join(" "),
    }
}

fn short(boot: Option<&str>) -> String {
    boot.unwrap_or("-").chars().take(SHORT).collect()
}

/// Runs of one name, in the order of their first ones: those that took turns are neighbours too.
fn sides(points: &[HistoryPoint]) -> Vec<Vec<&HistoryPoint>> {
    let mut points: Vec<&HistoryPoint> = points.iter().collect();
    points.sort_by_key(|point| point.figures.record.started_unix_ns);
    let mut sides: Vec<Vec<&HistoryPoint>> = Vec::new();
    for point in points {
        match sides.iter_mut().find(|side| name(side[0]) == name(point)) {
            Some(side) => side.push(point),
            None => sides.push(vec![point]),
        }
    }
    sides
}

/// By the inference of `compare`: the family is every case that the runs share.
fn change(before: &[&HistoryPoint], after: &[&HistoryPoint]) -> HistoryChange {
    let figures = |side: &[&HistoryPoint]| side.iter().map(|one| one.figures.clone()).collect::<Vec<_>>();
    let (base, candidate) = (figures(before), figures(after));
    let (before, after, case) = (name(before[0]), name(after[0]), before[0].case);
    if let Some(why) = refusal(&base, &candidate) {
        return HistoryChange { before, after, verdict: sides::refused(&why), ratio: None };
    }
    let compared = SideComparison::of(&base, &candidate);
    let change = compared.changes.iter().find(|change| change.case == case);
    let verdict = change.map_or("no figure of both".into(), |change| sides::verdict(change, &compared));
    HistoryChange { before, after, verdict, ratio: change.map(|change| sides::interval(&change.decision)) }
}

fn table(sides: &[Vec<&HistoryPoint>]) -> EndTable {
    let row = |point: &&HistoryPoint| {
        let text = utc(point.figures.record.started_unix_ns / 1_000_000_000);
        let (cost, unit) = (&point.cost, point.cost.unit);
        vec![
            format!("{} {}", &text[..10], &text[11..16]),
            unit.format(cost.value),
            format!("{} - {}", unit.format(cost.low), unit.format(cost.high)),
            name(point),
            short(point.figures.record.fact(BOOT)),
        ]
    };
    let columns = ["run", "value", "CI", "name", "boot"].map(String::from).to_vec();
    EndTable { title: None, columns, rows: sides.iter().flatten().map(row).collect(), note: None }
}

fn as_json(cell: &str, sides: &[Vec<&HistoryPoint>], changes: &[HistoryChange]) -> serde_json::Value {
    let run = |point: &&HistoryPoint| {
        let record = &point.figures.record;
        json!({
            "started_unix_ns": record.started_unix_ns, "machine": record.fact(MACHINE), "boot": record.fact(BOOT),
            "run": record.id, "name": name(point), "metric": point.metric, "unit": point.cost.unit,
            "value": point.cost.value, "ci_low": point.cost.low, "ci_high": point.cost.high,
        })
    };
    let change = |one: &HistoryChange| json!({ "before": one.before, "after": one.after, "ratio": one.ratio, "verdict": one.verdict });
    json!({
        "case": cell,
        "runs": sides.iter().flatten().map(run).collect::<Vec<_>>(),
        "changes": changes.iter().map(change).collect::<Vec<_>>(),
    })
}
