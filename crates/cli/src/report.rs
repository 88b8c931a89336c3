//! `report DIR`: rebuilds a run's figures and pages from its record; what `run` ends with too.
//!
//! Everything here is computed from the record alone: the machine is not looked at.

use crate::args::{Global, ReportArgs};
use crate::beside::{self, BesideSource};
use crate::export::{ExportFormat, Exports};
use crate::{drawn, output, status};
use anyhow::{Context, Result};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_analyze::sides::RunFigures;
use syscost_analyze::whole::Analysis;
use syscost_core::units::count;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Record, Run, State};
use syscost_report::terminal::{self, RunPlace};
use syscost_report::{
    Report, build, comparisons, counts_beside, csv, escape, export, findings, html, side_page, svg,
};

const RESULTS: &str = "results.csv";
const COMPARISONS: &str = "comparisons.csv";
const FINDINGS: &str = "findings.json";
pub const PAGE: &str = "report.html";
const KEPT: &str = "the report could not be written (--out DIR writes it elsewhere)";

pub fn run(args: &ReportArgs, global: &Global) -> Result<ExitCode> {
    let exports = args.exports.checked(global.json)?;
    let run = RunDir::load(&args.dir)?;
    let out = args.out.as_deref().unwrap_or(&args.dir);
    let place = OpenDirectory::make(out).context(KEPT)?;
    let analysis = Analysis::of(&run);
    let mut elsewhere: Vec<BesideSource> = Vec::new();
    for path in &args.beside {
        elsewhere.extend(beside::read(path, &args.reading, &run, &analysis)?);
    }
    let operations = elsewhere.iter().filter(|one| one.cases.is_none()).map(|one| one.operations.clone());
    let mut report = build::report_beside(&run, &analysis, &operations.collect::<Vec<_>>());
    for BesideSource { operations, run: theirs, cases } in &elsewhere {
        if let Some(theirs) = theirs {
            side_page::show_beside(&mut report, &run, &operations.name, &RunFigures::of(theirs));
            counts_beside::show(&mut report, &run, &operations.name, theirs);
        }
        cases.iter().for_each(|cases| side_page::show_table(&mut report, &run, operations, cases));
    }
    let mut files = write(&run, &analysis, &report, &place)?;
    if let Some(plots) = &args.plots {
        files.extend(write_plots(&report, plots)?);
    }
    exported(&exports, &run, &analysis, &report)?;
    if global.json {
        let verdict: Vec<&str> = report.verdict.iter().map(|s| s.text.as_str()).collect();
        let state = run.record.state;
        output::print_json(&json!({ "dir": out, "state": state, "verdict": verdict, "files": files }))?;
    } else if !exports.to_stdout() {
        show(&report, &args.dir, out, global)?;
    }
    // The recorded state says how measuring ended; the status of `report` says whether there are figures.
    let state = if run.has_measured() { State::Complete } else { State::NothingMeasured };
    let Record { plan, failures, .. } = &run.record;
    status::of(state, false, || status::nothing("measured", plan, &plan.skips, failures))
}

/// How a run ends: its report is written beside it, and shown to whoever is there. `more` is what a script is told
/// beside the files.
pub fn written(
    run: &Run,
    out: &Path,
    shown: Option<&Global>,
    exports: &Exports,
    mut more: serde_json::Value,
) -> Result<()> {
    let analysis = Analysis::of(run);
    let report = build::report(run, &analysis);
    let files = write(run, &analysis, &report, &OpenDirectory::make(out).context(KEPT)?)?;
    exported(exports, run, &analysis, &report)?;
    let Some(global) = shown else { return Ok(()) };
    if !global.json {
        return if exports.to_stdout() { Ok(()) } else { show(&report, out, out, global) };
    }
    more["event"] = "written".into();
    more["dir"] = json!(out);
    more["files"] = json!(files);
    output::print_json_line(&more)
}

/// Writes the files of a report into a directory: which.
fn write(run: &Run, analysis: &Analysis, report: &Report, out: &OpenDirectory) -> Result<Vec<PathBuf>> {
    run.samples.intact()?;
    out.replace_with(RESULTS, |file| csv::write(run, &analysis.cells, file)).context(KEPT)?;
    out.replace_with(COMPARISONS, |file| comparisons::write(run, analysis, file)).context(KEPT)?;
    out.replace_with(FINDINGS, |file| findings::write(run, analysis, file)).context(KEPT)?;
    out.replace(PAGE, html::page(report).as_bytes()).context(KEPT)?;
    Ok([RESULTS, COMPARISONS, FINDINGS, PAGE].map(|name| out.path().join(name)).to_vec())
}

/// The answer for other programs.
fn exported(exports: &Exports, run: &Run, analysis: &Analysis, report: &Report) -> Result<()> {
    exports.write(|format| {
        Ok(match format {
            ExportFormat::Markdown => export::markdown(report),
            ExportFormat::Csv => csv::results(run, &analysis.cells),
            ExportFormat::Json => escape::plain_json(&export::json(run, analysis, report))?,
            ExportFormat::OpenMetrics => export::openmetrics(run, &analysis.cells),
        })
    })
}

/// Each drawing as SVG, and as PNG where a program here makes them.
fn write_plots(report: &Report, place: &Path) -> Result<Vec<PathBuf>> {
    let place = OpenDirectory::make(place)?;
    let mut files = Vec::new();
    for (name, content) in svg::files(report) {
        place.replace(&name, svg::printable(&content).as_bytes())?;
        files.push(place.path().join(&name));
    }
    let mut pictures = Vec::new();
    for drawing in &files {
        match drawn::png(place.path(), drawing) {
            Ok(content) => {
                let picture = drawing.with_extension("png");
                place.replace(&picture.file_name().unwrap_or_default().to_string_lossy(), &content)?;
                pictures.push(picture);
            }
            Err(error) => {
                output::complain(&format!("note: SVG files only: {error:#}"));
                break;
            }
        }
    }
    output::complain(&format!("{} in {}", count(files.len(), "plot"), place.path().display()));
    files.extend(pictures);
    Ok(files)
}

/// The report's end on the terminal.
fn show(report: &Report, run: &Path, out: &Path, global: &Global) -> Result<()> {
    let place = RunPlace { run, page: &out.join(PAGE) };
    output::print(&terminal::text(report, Some(place), output::look(global.color)))
}
