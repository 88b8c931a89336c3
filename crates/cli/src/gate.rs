//! `gate --baseline BASE --budget 5% CANDIDATE`: an exit status for whoever must not become dearer.

use crate::args::Global;
use crate::compare::side;
use crate::side_args::{GateArgs, WhenUndecided};
use crate::{export, output};
use anyhow::Result;
use std::process::ExitCode;
use syscost_analyze::sides::RunFigures;
use syscost_analyze::sides::facts::refusal;
use syscost_analyze::sides::gate::{BudgetState, Budgets, GateAnswer};
use syscost_core::axis::suggest;
use syscost_core::units::count;
use syscost_experiment::run::Run;
use syscost_measure::probe;
use syscost_report::gate::GateReport;
use syscost_report::sides;

const OVER: u8 = 1;
const NOT_COMPARABLE: u8 = 3;
const UNDECIDED: u8 = 4;
/// What `git bisect run` takes for a commit that cannot be judged.
const CANNOT_BE_JUDGED: u8 = 125;

pub fn run(args: &GateArgs, global: &Global) -> Result<ExitCode> {
    let (first, base) = side(&args.baseline)?;
    let (_, candidate) = side(&args.candidate)?;
    match judged(&budgets(&args.budget), &base, &candidate) {
        Ok(answer) => told(args, global, &first, &answer),
        Err(why) => {
            output::fail(&why, output::Paint::stderr(global.color), global.json);
            let skips = args.undecided == WhenUndecided::Skip;
            Ok(ExitCode::from(if skips { CANNOT_BE_JUDGED } else { NOT_COMPARABLE }))
        }
    }
}

/// An error says why both sides, which were read, cannot be judged.
fn judged(budgets: &Budgets, base: &[RunFigures], candidate: &[RunFigures]) -> Result<GateAnswer, String> {
    if let Some(why) = refusal(base, candidate) {
        return Err(format!("these runs cannot be compared: {}", sides::refused(&why)));
    }
    let answer = GateAnswer::of(base, candidate, budgets);
    let unused = budgets.named.keys().find(|kind| answer.judged.iter().all(|case| !case.has_budget_of(kind)));
    if let Some(kind) = unused {
        let kinds: Vec<&str> = probe::ALL.iter().map(|probe| probe.about().id).chain(["cpu"]).collect();
        let near = suggest(kind, &kinds, &[]);
        return Err(format!("no case of both sides has the budget {kind}: {near}"));
    }
    if answer.judged.is_empty() {
        return Err("these runs cannot be compared: no case has a figure on both sides".into());
    }
    // A case that is over its budget is told, whatever else is missing.
    if let Some(lost) = answer.lost.first().filter(|_| answer.state() != BudgetState::Exceeded) {
        let cases = count(answer.lost.len(), "case");
        return Err(format!(
            "the candidate lacks {cases} of the base, for example {lost}: measure both with one experiment"
        ));
    }
    Ok(answer)
}

fn budgets(asked: &[(Option<String>, f64)]) -> Budgets {
    let mut budgets = Budgets::default();
    for (kind, share) in asked {
        match kind {
            Some(kind) => _ = budgets.named.insert(kind.clone(), *share),
            None => budgets.others = Some(*share),
        }
    }
    budgets
}

fn told(args: &GateArgs, global: &Global, first: &Run, answer: &GateAnswer) -> Result<ExitCode> {
    let report =
        GateReport::of(answer, first, matches!(args.undecided, WhenUndecided::Exit | WhenUndecided::Fail));
    let (to_stdout, to_files): (Vec<_>, Vec<_>) =
        args.write.iter().partition(|(_, file)| export::is_stdout(file));
    let on_screen = to_stdout.is_empty();
    for (format, file) in to_files.into_iter().chain(to_stdout) {
        export::put(file, &(format.write)(&report))?;
    }
    if global.json {
        output::print_json(&report.json())?;
    } else if on_screen {
        let mut text =
            output::entry("", 0, &report.sentence()) + &output::table(&report.table(), global.color);
        text.extend(report.notes().into_iter().map(|note| output::entry("", 0, note)));
        output::print(&text)?;
    }
    Ok(ExitCode::from(status(answer.state(), args.undecided)))
}

fn status(state: BudgetState, undecided: WhenUndecided) -> u8 {
    match (state, undecided) {
        (BudgetState::Within, _) | (BudgetState::Undecided, WhenUndecided::Pass) => 0,
        (BudgetState::Exceeded, _) | (BudgetState::Undecided, WhenUndecided::Fail) => OVER,
        (BudgetState::Undecided, WhenUndecided::Exit) => UNDECIDED,
        (BudgetState::Undecided, WhenUndecided::Skip) => CANNOT_BE_JUDGED,
    }
}
