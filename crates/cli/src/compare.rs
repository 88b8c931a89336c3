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
use syscost_experiment::run::group::{GroupSides, members};
use syscost_report::side_page::ComparedSides;
use syscost_report::terminal;
use syscost_report::{html, sides};

const COMPARISONS: &str = "comparisons.csv";
const PAGE: &str = "comparison.html";
const NO_CANDIDATE: &str =
    "there is nothing to compare with: name the candidate after --, or one group of two variants";

pub fn run(args: &CompareArgs, global: &Global) -> Result<ExitCode> {
    let (of_base, of_candidate) = sides_of(args)?;
    let (first, base) = side(&of_base)?;
    let (_, candidate) = side(&of_candidate)?;
    if let Some(why) = refusal(&base, &candidate) {
        bail!("these runs cannot be compared: {}", sides::refused(&why));
    }
    let compared = SideComparison::of(&base, &candidate);
    if compared.changes.is_empty() {
        bail!("these runs cannot be compared: no case has a figure on both sides");
    }
    if let Some(out) = &args.out {
        let place = OpenDirectory::make(out)?;
        let page = ComparedSides {
            compared: &compared,
            first: &first,
            base: &base,
            candidate: &candidate,
            differing: &differing(&base, &candidate),
        };
        place.replace(PAGE, html::page(&page.report()).as_bytes())?;
        place.replace_with(COMPARISONS, |file| sides::write(&compared, (&first, &base, &candidate), file))?;
    }
    if global.json {
        let change = |change| json!(sides::verdict(change, &compared));
        let verdicts: Vec<_> = compared.changes.iter().map(change).collect();
        let rivals: Vec<_> = compared.rivals.iter().map(change).collect();
        output::print_json(
            &json!({ "answer": sides::answer(&compared), "verdicts": verdicts, "rivals": rivals, "dir": args.out }),
        )?;
        return Ok(ExitCode::SUCCESS);
    }
    let runs = format!("{} against {}: ", count(candidate.len(), "run"), count(base.len(), "run"));
    let look = output::look(global.color);
    let mut text = output::entry("", 0, &(runs + &sides::answer(&compared)));
    text += &terminal::table(&sides::table(&compared, &first), look);
    if let Some(table) = sides::rival_table(&compared, &first) {
        text += &terminal::table(&table, look);
        text += &output::entry("", 0, sides::SHARED);
    }
    for note in sides::notes(&compared, &base, &candidate) {
        text += &output::entry("", 0, &note);
    }
    for line in sides::facts(&differing(&base, &candidate)) {
        text += &format!("{}\n", terminal::cut(&line, usize::from(look.width)));
    }
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// The directories of both sides; one group of two variants is both.
fn sides_of(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    if !args.candidate.is_empty() {
        return Ok((args.base.clone(), args.candidate.clone()));
    }
    let [group] = args.base.as_slice() else { bail!("{NO_CANDIDATE}") };
    let about = || format!("cannot read {}", group.display());
    let variants = GroupSides::load(group).with_context(about)?.map_or(vec![], |sides| sides.variants);
    let places: Vec<PathBuf> = variants.iter().map(|variant| group.join(&variant.label)).collect();
    match places.as_slice() {
        [] => bail!("{NO_CANDIDATE}"),
        [base, candidate] => Ok((vec![base.clone()], vec![candidate.clone()])),
        all => {
            let named: Vec<String> = all.iter().map(|place| place.display().to_string()).collect();
            bail!(
                "{} has several variants; name two: compare BASE -- CANDIDATE, of {}",
                group.display(),
                named.join(", ")
            )
        }
    }
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
pub fn runs_at(path: &Path) -> Result<Vec<PathBuf>> {
    if path.join(RECORD).exists() {
        return Ok(vec![path.into()]);
    }
    let runs = members(path).with_context(|| format!("cannot read {}", path.display()))?;
    if runs.is_empty() {
        bail!("{} is neither a run nor a group of runs: no run.json in it or below", path.display());
    }
    Ok(runs)
}
