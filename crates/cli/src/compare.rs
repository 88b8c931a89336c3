//! `compare BASE.. -- CANDIDATE..`: what got dearer between two sides of recorded runs.

use crate::args::Global;
use crate::output;
use crate::side_args::CompareArgs;
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_analyze::sides::facts::{differing, refusal};
use syscost_analyze::sides::{RunFigures, SideComparison};
use syscost_core::units::count;
use syscost_experiment::run::Run;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::{RECORD, RunDir};
use syscost_experiment::run::group::members;
use syscost_report::sides;
use syscost_report::terminal::{self, TerminalLook};

const COMPARISONS: &str = "comparisons.csv";

pub fn run(args: &CompareArgs, global: &Global) -> Result<ExitCode> {
    let (first, base) = side(&args.base)?;
    let (_, candidate) = side(&args.candidate)?;
    if let Some(why) = refusal(&base, &candidate) {
        bail!("these runs cannot be compared: {}", sides::refused(&why));
    }
    let compared = SideComparison::of(&base, &candidate);
    if compared.changes.is_empty() {
        bail!("these runs cannot be compared: no case has a figure on both sides");
    }
    if let Some(out) = &args.out {
        let place = OpenDirectory::make(out)?;
        place.replace_with(COMPARISONS, |file| sides::write(&compared, (&first, &base, &candidate), file))?;
    }
    if global.json {
        let change = |change| json!(sides::verdict(change, &compared));
        let verdicts: Vec<_> = compared.changes.iter().map(change).collect();
        output::print_json(
            &json!({ "answer": sides::answer(&compared), "verdicts": verdicts, "dir": args.out }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let runs = format!("{} against {}: ", count(candidate.len(), "run"), count(base.len(), "run"));
    let look = TerminalLook { width: output::columns(), colour: output::Paint::stdout(global.color).on() };
    let mut text = output::entry("", 0, &(runs + &sides::answer(&compared)));
    text += &terminal::table(&sides::table(&compared, &first), look);
    for note in sides::notes(&compared, &base, &candidate) {
        text += &output::entry("", 0, &note);
    }
    for line in sides::facts(&differing(&base, &candidate)) {
        text += &format!("{}\n", terminal::cut(&line, usize::from(look.width)));
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The runs of a side, and the first of them whole.
pub fn side(paths: &[PathBuf]) -> Result<(Run, Vec<RunFigures>)> {
    let mut first = None;
    let mut figures = Vec::new();
    for path in paths.iter().map(|path| runs_at(path)).collect::<Result<Vec<_>>>()?.concat() {
        let run = RunDir::load(&path)?;
        figures.push(RunFigures::of(&run));
        first.get_or_insert(run);
    }
    Ok((first.context("a side has no run")?, figures))
}

/// A run, or those of a group.
fn runs_at(path: &Path) -> Result<Vec<PathBuf>> {
    if path.join(RECORD).exists() {
        return Ok(vec![path.into()]);
    }
    let runs = members(path).with_context(|| format!("cannot read {}", path.display()))?;
    if runs.is_empty() {
        bail!("{} is neither a run nor a group of runs: no run.json in it or below", path.display());
    }
    Ok(runs)
}
