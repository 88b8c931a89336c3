//! `report DIR`: rebuilds a run's figures and pages from its record; what `run` ends with too.
//!
//! Everything here is computed from the record alone: the machine is not looked at.

use crate::args::{Global, ReportArgs};
use crate::{output, status, text_file};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_analyze::operations::beside::{Beside, BesideRow};
use syscost_analyze::sides::RunFigures;
use syscost_analyze::whole::Analysis;
use syscost_core::units::Unit;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, Run, State};
use syscost_report::terminal::{self, RunPlace};
use syscost_report::{Report, build, comparisons, csv, findings, html, side_page, svg};
use syscost_tables::{ReadingOptions, TableColumn};

const RESULTS: &str = "results.csv";
/// A table is a page of text.
const LARGEST_TABLE: u64 = 4 << 20;
const COMPARISONS: &str = "comparisons.csv";
const FINDINGS: &str = "findings.json";
const PAGE: &str = "report.html";
const KEPT: &str = "the report could not be written (--out DIR writes it elsewhere)";

pub fn run(args: &ReportArgs, global: &Global) -> Result<ExitCode> {
    let run = RunDir::load(&args.dir)?;
    let out = args.out.as_deref().unwrap_or(&args.dir);
    let place = OpenDirectory::make(out).context(KEPT)?;
    let beside = args.beside.iter().map(|path| figures(path)).collect::<Result<Vec<_>>>()?;
    let (beside, runs): (Vec<Beside>, Vec<Option<RunFigures>>) = beside.into_iter().unzip();
    let analysis = Analysis::of(&run);
    let mut report = build::report_beside(&run, &analysis, &beside);
    for (beside, theirs) in beside.iter().zip(&runs) {
        theirs.iter().for_each(|theirs| side_page::show_beside(&mut report, &run, &beside.name, theirs));
    }
    let files = write(&run, &analysis, &report, &place, args.svg)?;
    if global.json {
        let verdict: Vec<&str> = report.verdict.iter().map(|s| s.text.as_str()).collect();
        let state = run.record.state;
        output::print_json(&json!({ "dir": out, "state": state, "verdict": verdict, "files": files }))?;
    } else {
        show(&report, &args.dir, out, global)?;
    }
    // The recorded state says how measuring ended; the status of `report` says whether there are figures.
    let state = if run.has_measured() { State::Complete } else { State::NothingMeasured };
    let Record { plan, failures, .. } = &run.record;
    status::of(state, false, || status::nothing("measured", plan, &plan.skips, failures))
}

/// Figures from elsewhere: a run's directory, or a table. Of a run, all figures come too.
fn figures(path: &Path) -> Result<(Beside, Option<RunFigures>)> {
    let name = path.canonicalize().ok().and_then(|p| Some(p.file_name()?.to_string_lossy().into_owned()));
    let name = name.unwrap_or_else(|| path.display().to_string());
    if path.is_dir() {
        let run = RunDir::load(path)?;
        return Ok((Beside::run(&name, &run), Some(RunFigures::of(&run))));
    }
    let about = || format!("cannot show {} beside the run", path.display());
    let bytes = text_file::bytes(path, LARGEST_TABLE, "table of operations", "name the part to compare")
        .with_context(about)?;
    let text = syscost_tables::decode(&name, bytes).with_context(about)?;
    let rows = operations(&name, &text).with_context(about)?;
    Ok((Beside::table(name.trim_end_matches(".csv"), &text, rows), None))
}

/// The rows of a table of operations, as `analyse` reads it, in base units.
fn operations(name: &str, text: &str) -> Result<Vec<BesideRow>> {
    let mut rows = Vec::new();
    for table in syscost_tables::read(name, text, &ReadingOptions::default()) {
        for row in table?.rows {
            let Some(operation) = row.text(TableColumn::Operation) else {
                bail!(
                    "it is no table of operations: it needs the columns operation, variant, unit and measured"
                );
            };
            let (unit, factor) = match row.text(TableColumn::Unit).unwrap_or_default() {
                "ns" => (Unit::Nanoseconds, 1.0),
                "us/4KiB" => (Unit::Nanoseconds, 1e3),
                "bit/s" => (Unit::BitsPerSecond, 1.0),
                "B" => (Unit::Bytes, 1.0),
                unit => bail!(
                    "{name}:{}: {unit:?} is not a unit of such a table: write one of ns, us, ms, s, us/4KiB, B/s, MB/s, GB/s, \
                     Mb/s, Gb/s, B, MB, GB",
                    row.line
                ),
            };
            let variant = row.text(TableColumn::Variant).unwrap_or_default().to_string();
            let measured = row.value(TableColumn::Measured).map(|value| value * factor);
            rows.push(BesideRow { operation: operation.into(), variant, unit, measured });
        }
    }
    Ok(rows)
}

/// How a run ends: its report is written beside it, and shown to whoever is there. `more` is what a script is told
/// beside the files.
pub fn written(run: &Run, out: &Path, shown: Option<&Global>, mut more: serde_json::Value) -> Result<()> {
    let analysis = Analysis::of(run);
    let report = build::report(run, &analysis);
    let files = write(run, &analysis, &report, &OpenDirectory::make(out).context(KEPT)?, false)?;
    let Some(global) = shown else { return Ok(()) };
    if !global.json {
        return show(&report, out, out, global);
    }
    more["event"] = "written".into();
    more["dir"] = json!(out);
    more["files"] = json!(files);
    output::print_json_line(&more)
}

/// Writes the files of a report into a directory: which.
fn write(
    run: &Run,
    analysis: &Analysis,
    report: &Report,
    out: &OpenDirectory,
    plots: bool,
) -> Result<Vec<PathBuf>> {
    run.samples.intact()?;
    out.replace_with(RESULTS, |file| csv::write(run, &analysis.cells, file)).context(KEPT)?;
    out.replace_with(COMPARISONS, |file| comparisons::write(run, analysis, file)).context(KEPT)?;
    out.replace_with(FINDINGS, |file| findings::write(run, analysis, file)).context(KEPT)?;
    let mut contents = vec![(PAGE.to_string(), html::page(report))];
    if plots {
        contents.extend(svg::files(report));
    }
    for (name, content) in &contents {
        out.replace(name, content.as_bytes()).context(KEPT)?;
    }
    let tables = [RESULTS, COMPARISONS, FINDINGS];
    let names = tables.into_iter().chain(contents.iter().map(|(name, _)| name.as_str()));
    Ok(names.map(|name| out.path().join(name)).collect())
}

/// The report's end on the terminal.
fn show(report: &Report, run: &Path, out: &Path, global: &Global) -> Result<()> {
    let place = RunPlace { run, page: &out.join(PAGE) };
    output::print(&terminal::text(report, Some(place), output::look(global.color)))
}
