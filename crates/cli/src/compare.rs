//! `compare BASE.. -- CANDIDATE..`: what got dearer between two sides of recorded runs.

use crate::args::Global;
use crate::export::{ExportFormat, Exports};
use crate::side_args::CompareArgs;
use crate::{baseline, output};
use anyhow::{Context, Result, bail};
use serde_json::json;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use syscost_analyze::sides::facts::{differing, refusal};
use syscost_analyze::sides::{RunFigures, SideComparison};
use syscost_core::units::count;
use syscost_experiment::run::Run;
use syscost_experiment::run::directory::OpenDirectory;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::GroupSides;
use syscost_report::side_page::ComparedSides;
use syscost_report::terminal;
use syscost_report::text::ending::EndTable;
use syscost_report::{escape, export, html, sides};

const COMPARISONS: &str = "comparisons.csv";
const PAGE: &str = "comparison.html";
/// Facts that differ which a screen has room for, their heading among them.
const FACTS: usize = 7;
const NO_CANDIDATE: &str =
    "there is nothing to compare with: name a second run or group, or one group of two variants";

pub fn run(args: &CompareArgs, global: &Global) -> Result<ExitCode> {
    let exports = args.exports.checked(global.json)?;
    let (base, candidate) = sides_of(args)?;
    told(&base, &candidate, Telling { out: args.out.as_deref(), all: args.all, exports: &exports }, global)?;
    Ok(ExitCode::SUCCESS)
}

/// Where a comparison is told.
pub struct Telling<'a> {
    /// The directory of its page.
    pub out: Option<&'a Path>,
    /// On the screen, whatever its length?
    pub all: bool,
    pub exports: &'a Exports,
}

/// Compares two sides, and says in a screen what changed.
pub fn told(of_base: &[PathBuf], of_candidate: &[PathBuf], telling: Telling, global: &Global) -> Result<()> {
    let Telling { out, all, exports } = telling;
    let (first, base) = side(of_base)?;
    let (_, candidate) = side(of_candidate)?;
    if let Some(why) = refusal(&base, &candidate) {
        bail!("these runs cannot be compared: {}", sides::refused(&why));
    }
    let compared = SideComparison::of(&base, &candidate);
    if compared.changes.is_empty() {
        bail!("these runs cannot be compared: no case has a figure on both sides");
    }
    if let Some(out) = out {
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
    let runs = format!("{} against {}: ", count(candidate.len(), "run"), count(base.len(), "run"));
    let answer = runs + &sides::answer(&compared);
    let rivals = sides::rival_table(&compared, &first);
    let shared = rivals.iter().map(|_| sides::SHARED.to_string());
    let notes: Vec<String> = shared.chain(sides::notes(&compared, &first, (&base, &candidate))).collect();
    let tables: Vec<EndTable> = std::iter::once(sides::table(&compared, &first)).chain(rivals).collect();
    let facts = sides::facts(&differing(&base, &candidate));
    exports.write(|format| {
        Ok(match format {
            ExportFormat::Csv => {
                let mut csv = Vec::new();
                sides::write(&compared, (&first, &base, &candidate), &mut csv)?;
                String::from_utf8_lossy(&csv).into_owned()
            }
            ExportFormat::Json => escape::plain_json(&sides::json(&compared, &first, &answer, &notes))?,
            _ => export::compared(&answer, &tables, notes.iter().chain(&facts)),
        })
    })?;
    if global.json {
        let change = |change| json!(sides::verdict(change, &compared));
        let verdicts: Vec<_> = compared.changes.iter().map(change).collect();
        let rivals: Vec<_> = compared.rivals.iter().map(change).collect();
        return output::print_json(
            &json!({ "answer": sides::answer(&compared), "verdicts": verdicts, "rivals": rivals, "dir": out }),
        );
    }
    if exports.to_stdout() {
        return Ok(());
    }
    let look = output::look(global.color);
    let head = output::entry("", 0, &answer);
    let mut tail: String = notes.iter().map(|note| output::entry("", 0, note)).collect();
    let shown = if all { facts.len() } else { FACTS };
    let left = facts.len().saturating_sub(shown);
    let left = (left > 0).then(|| format!("  … {}: --all shows them", count(left, "more fact")));
    for line in facts.into_iter().take(shown).chain(left) {
        tail += &format!("{}\n", terminal::cut(&line, usize::from(look.width)));
    }
    let room = terminal::LINES.saturating_sub(head.lines().count() + tail.lines().count());
    let shown = terminal::tables(&tables, if all { usize::MAX } else { room }, look);
    output::print(&(head + &shown + &tail))
}

/// The directories of both sides; one group of two variants is both.
fn sides_of(args: &CompareArgs) -> Result<(Vec<PathBuf>, Vec<PathBuf>)> {
    if !args.candidate.is_empty() {
        return Ok((args.base.clone(), args.candidate.clone()));
    }
    let group = match args.base.as_slice() {
        [group] => group,
        [base, candidate] => return Ok((vec![base.clone()], vec![candidate.clone()])),
        _ => bail!("which of these are the candidate? write -- before the first of them"),
    };
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
    for path in paths.iter().map(|path| baseline::runs_at(path)).collect::<Result<Vec<_>>>()?.concat() {
        let run = RunDir::load(&path)?;
        figures.push(RunFigures::of(&run));
        first.get_or_insert(run);
    }
    Ok((first.context("a side has no run")?, figures))
}
