//! `lab compare`: counted guests side by side, a column for each kernel.

use crate::args::Global;
use crate::compare::runs_at;
use crate::lab_args::LabCompareArgs;
use crate::output;
use anyhow::{Context, Result, anyhow, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_analyze::sides::counts;
use syscost_analyze::sides::facts::differing;
use syscost_experiment::run::Run;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_report::kernels::{self, Kernels};
use syscost_report::side_page::ComparedSides;
use syscost_report::terminal::{self, TerminalLook};
use syscost_report::{html, sides};

const TABLE: &str = "kernels.csv";

pub fn run(args: &LabCompareArgs, global: &Global) -> Result<ExitCode> {
    let mut places = Vec::new();
    for place in &args.runs {
        let mut runs = runs_at(place)?;
        // A directory of several guests names them by their kernels; they ran one after the other.
        if runs.len() > 1 {
            let started = |run: &PathBuf| RunDir::record(run).map_or(0, |record| record.started_unix_ns);
            runs.sort_by_key(started);
        }
        places.extend(runs);
    }
    compare(&places, args.out.as_deref(), global)?;
    Ok(ExitCode::SUCCESS)
}

/// Compares each run with the first of them.
pub fn compare(places: &[PathBuf], out: Option<&Path>, global: &Global) -> Result<()> {
    let runs = places.iter().map(|place| RunDir::load(place)).collect::<Result<Vec<Run>, _>>()?;
    if let Some((_, place)) = runs.iter().zip(places).find(|(run, _)| !counts(&run.record)) {
        bail!("{} counts no instructions: make it with syscost lab --count instructions", place.display());
    }
    let Some((first, others)) = runs.split_first().filter(|(_, others)| !others.is_empty()) else {
        bail!("there is one run, and nothing to compare it with: name another directory");
    };
    let all = Kernels::of(first, others)
        .map_err(|why| anyhow!("these runs cannot be compared: {}", sides::refused(&why)))?;
    let base = std::slice::from_ref(&all.base);
    if let Some(out) = out {
        let place = OpenDirectory::make(out)?;
        place.replace_with(TABLE, |file| kernels::write(&all, file)).context("cannot keep the comparison")?;
        for (number, rival) in all.rivals.iter().enumerate() {
            let candidate = std::slice::from_ref(&rival.figures);
            let differing = differing(base, candidate);
            let page =
                ComparedSides { compared: &rival.comparison, first, base, candidate, differing: &differing };
            let name = format!("{}-{}.html", number + 1, kernels::file_name(&rival.label));
            place.replace(&name, html::page(&page.report()).as_bytes())?;
        }
    }
    if global.json {
        return output::print_json(
            &json!({ "base": kernels::label(&first.record), "answers": all.answers(), "dir": out }),
        );
    }
    let look = TerminalLook { width: output::columns(), colour: output::Paint::stdout(global.color).on() };
    let mut text = String::new();
    for answer in all.answers() {
        text += &output::entry("", 0, &answer);
    }
    text += &terminal::table(&kernels::table(&all), look);
    text += &output::entry("", 0, kernels::NOT_TOLD);
    output::print(&text)
}
