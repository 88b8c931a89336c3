//! `history DIR..`: what one case cost over runs, and between which neighbours that changed, as `compare` decides it.

use crate::args::Global;
use crate::baseline::runs_at;
use crate::history_args::HistoryArgs;
use crate::{axes, output};
use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syscost_analyze::cells::Cells;
use syscost_analyze::grouped::grouped;
use syscost_analyze::sides::facts::refusal;
use syscost_analyze::sides::{RunFigures, SideComparison, asked, coordinates};
use syscost_core::axis::{Axis, suggest};
use syscost_core::stats::Estimate;
use syscost_core::units::{count, utc};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::GroupSides;
use syscost_host::fingerprint::{BOOT, MACHINE};
use syscost_measure::probe;
use syscost_report::sides;
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
    /// What the run is called; its boot where nobody called it anything.
    name: String,
}

impl HistoryPoint {
    fn fact(&self, id: &str) -> &str {
        self.figures.record.fact(id).unwrap_or("unknown")
    }
}

pub fn run(args: &HistoryArgs, global: &Global) -> Result<()> {
    let mut points = Vec::new();
    for path in args.dirs.iter().map(|dir| all_at(dir)).collect::<Result<Vec<_>>>()?.concat() {
        let run = RunDir::load(&path)?;
        if run.record.fact(MACHINE).unwrap_or_default().starts_with(&args.machine) {
            points.extend(of_run(&run, args)?);
        }
    }
    points.sort_by_key(|point| point.figures.record.started_unix_ns);
    let cells: BTreeSet<&str> = points.iter().map(|point| point.cell.as_str()).collect();
    if cells.len() > 1 {
        let some = cells.iter().copied().take(EXAMPLES).collect::<Vec<_>>().join("; ");
        bail!("these runs have {} of this: name one by --probe and --at: {some}", count(cells.len(), "case"));
    }
    let machines: BTreeSet<&str> = points.iter().map(|point| point.fact(MACHINE)).collect();
    if machines.len() > 1 {
        let some = machines.into_iter().collect::<Vec<_>>().join(", ");
        bail!("machines are never pooled: name one by --machine: {some}");
    }
    let Some(cell) = cells.first() else { bail!("no run here has a figure of this case: syscost list") };
    // Runs of one name, in the order of their first ones: those that took turns are neighbours too.
    let sides = grouped(points.iter().map(|point| (&point.name, point)));
    let sides: Vec<Vec<&HistoryPoint>> = sides.into_iter().map(|(_, side)| side).collect();
    let changes: Vec<_> = sides.windows(2).map(|pair| (pair, change(&pair[0], &pair[1]))).collect();
    if global.json {
        let changes = changes.iter().map(|(pair, (ratio, verdict))| {
            json!({ "before": pair[0][0].name, "after": pair[1][0].name, "ratio": ratio, "verdict": verdict })
        });
        let runs = sides.iter().flatten().map(|point| as_json(point));
        return output::print_json(
            &json!({ "case": cell, "runs": runs.collect::<Vec<_>>(), "changes": changes.collect::<Vec<_>>() }),
        );
    }
    let columns = ["run", "value", "CI", "name", "boot"].map(String::from).to_vec();
    let rows = sides.iter().flatten().map(|point| row(point)).collect();
    let table = EndTable { title: None, columns, rows, note: None };
    let mut text = output::entry("", 0, &format!("{} of {cell}", points[0].metric));
    text += &output::table(&table, global.color);
    for (pair, (ratio, verdict)) in &changes {
        let told = [ratio.as_deref().unwrap_or_default(), verdict].join(" ");
        let (before, after) = (&pair[0][0].name, &pair[1][0].name);
        text += &output::entry("", 0, &format!("{after} beside {before}: {}", told.trim()));
    }
    output::print(&text)
}

/// A run, those of a group, or those of each variant of a group.
fn all_at(path: &Path) -> Result<Vec<PathBuf>> {
    let group = GroupSides::load(path).with_context(|| format!("cannot read {}", path.display()))?;
    match group.map_or(vec![], |group| group.variants).as_slice() {
        [] => runs_at(path),
        variants => {
            let sides = variants.iter().map(|variant| runs_at(&path.join(&variant.label)));
            Ok(sides.collect::<Result<Vec<_>>>()?.concat())
        }
    }
}

/// The cases of a run that were asked for and have a figure.
fn of_run(run: &Run, args: &HistoryArgs) -> Result<Vec<HistoryPoint>> {
    let cells = Cells::of(run);
    let names = &run.record.names;
    let called: Vec<&str> =
        [&names.label, &names.revision, &names.group].into_iter().flatten().map(String::as_str).collect();
    let name =
        if called.is_empty() { format!("boot {}", short(run.record.fact(BOOT))) } else { called.join(" ") };
    let mut points = Vec::new();
    for case in run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()) {
        if !is_asked(case, args)? {
            continue;
        }
        let Some(metric) = asked(case, &run.record) else { continue };
        points.extend(cells.estimate(case.index, metric.id).map(|cost| HistoryPoint {
            figures: RunFigures::of(run),
            case: case.index,
            cell: format!("{} {}", case.probe, coordinates(&case.point)).trim_end().to_string(),
            metric: metric.title,
            cost,
            name: name.clone(),
        }));
    }
    Ok(points)
}

/// `size=64K` means what it means as an option of `run`.
fn is_asked(case: &Case, args: &HistoryArgs) -> Result<bool> {
    let Some(probe) = probe::find(&case.probe) else { return Ok(false) };
    let mut asked = args.probe.as_ref().is_none_or(|id| *id == *case.probe);
    for text in &args.axes {
        let (name, value) =
            text.split_once('=').with_context(|| format!("write AXIS=VALUE, not {text:?}"))?;
        let of_name = |axis: &Axis| axis.flag == name || axis.id == name;
        let known = axes::flags();
        if !known.iter().any(|(_, axis)| of_name(axis)) {
            let flags: Vec<&str> = known.iter().map(|(_, axis)| axis.flag).collect();
            bail!("there is no axis {name:?}: {}", suggest(name, &flags, &[]));
        }
        let axis = probe.axes().into_iter().find(of_name);
        let value =
            axis.map(|axis| axis.parse(value)).transpose().map_err(|error| anyhow!("{name}: {error}"))?;
        asked &= axis.is_some_and(|axis| case.point.get(axis.id) == value.as_ref());
    }
    Ok(asked)
}

fn short(boot: Option<&str>) -> String {
    boot.unwrap_or("-").chars().take(SHORT).collect()
}

/// Ratio and verdict of a side beside the one before it: the family is every case that the runs share.
fn change(before: &[&HistoryPoint], after: &[&HistoryPoint]) -> (Option<String>, String) {
    let [base, candidate] =
        [before, after].map(|side| side.iter().map(|one| one.figures.clone()).collect::<Vec<_>>());
    if let Some(why) = refusal(&base, &candidate) {
        return (None, sides::refused(&why));
    }
    let compared = SideComparison::of(&base, &candidate);
    match compared.changes.iter().find(|change| change.case == before[0].case) {
        Some(change) => (Some(sides::interval(&change.decision)), sides::verdict(change, &compared)),
        None => (None, "no figure of both".into()),
    }
}

fn row(point: &HistoryPoint) -> Vec<String> {
    let text = utc(point.figures.record.started_unix_ns / 1_000_000_000);
    let (cost, unit) = (&point.cost, point.cost.unit);
    vec![
        format!("{} {}", &text[..10], &text[11..16]),
        unit.format(cost.value),
        format!("{} - {}", unit.format(cost.low), unit.format(cost.high)),
        point.name.clone(),
        short(point.figures.record.fact(BOOT)),
    ]
}

fn as_json(point: &HistoryPoint) -> serde_json::Value {
    let record = &point.figures.record;
    json!({
        "started_unix_ns": record.started_unix_ns, "machine": record.fact(MACHINE), "boot": record.fact(BOOT),
        "run": record.id, "name": point.name, "metric": point.metric, "unit": point.cost.unit,
        "value": point.cost.value, "ci_low": point.cost.low, "ci_high": point.cost.high,
    })
}
