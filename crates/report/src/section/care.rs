//! What the analysis found wrong with figures: impossible samples, wide, drifting, two-level cells.

use super::{capital, grouped, plural, unless_empty};
use crate::material::Material;
use crate::text::problems;
use crate::text::words::{Words, and};
use crate::{Block, Entry, Notice, Section, Statement, Table};
use std::collections::BTreeSet;
use syscost_analyze::Problem;
use syscost_analyze::cells::metric;
use syscost_analyze::problem::ProblemKind;

/// Rows of one kind on the page.
const LISTED: usize = 24;

pub fn section(m: &Material) -> Option<Section> {
    let words = Words::of(m.run);
    let blocks = kinds(m.analysis.problems.iter())
        .into_iter()
        .flat_map(|(name, of)| of_kind(m, &words, &name, &of))
        .collect();
    unless_empty("care", "Figures to be careful with", blocks)
}

/// One sentence with all of its cells, and the cases folded.
fn of_kind(m: &Material, words: &Words, name: &str, of: &[&Problem]) -> Vec<Block> {
    let cells = of.iter().flat_map(|problem| problem.cells.iter().cloned()).collect();
    if is_short_run(m, of) {
        let (some, all) = (places(m, of).len(), planned(m));
        let text = format!(
            "Few rounds or wide intervals in {some} of {}. {}",
            plural(all, "case"),
            problems::summary(of)
        );
        return vec![Block::Statement(Statement { text, cells })];
    }
    let rows = of.iter().take(LISTED).map(|problem| row(m, words, problem)).collect();
    let rest = of.len().saturating_sub(LISTED);
    let note = (rest > 0).then(|| format!("findings.json has {rest} more."));
    let columns = ["case", "figure", name];
    let table = Table::new(format!("care-{}", name.replace(' ', "-")), &columns, rows).noted(note);
    let title = format!("{}: {}", capital(name), plural(of.len(), "figure"));
    vec![
        Block::Statement(Statement { text: problems::summary(of), cells }),
        Block::Folded { title, blocks: vec![Block::Table(table)] },
    ]
}

/// Do few rounds explain most of them? That is a fact about the run, and a list of cases adds nothing to it.
fn is_short_run(m: &Material, of: &[&Problem]) -> bool {
    let of_time =
        |kind: &ProblemKind| matches!(kind, ProblemKind::FewRounds { .. } | ProblemKind::WideInterval { .. });
    of.iter().all(|problem| of_time(&problem.kind)) && 2 * places(m, of).len() > planned(m)
}

/// A twin is the same place again: it is counted as the case that it repeats.
fn places(m: &Material, of: &[&Problem]) -> BTreeSet<usize> {
    let place = |case: usize| m.run.case(case).and_then(|case| case.twin_of).unwrap_or(case);
    of.iter().map(|problem| place(problem.case)).collect()
}

fn planned(m: &Material) -> usize {
    m.run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()).count()
}

fn row(m: &Material, words: &Words, problem: &Problem) -> Vec<Entry> {
    let metric = problem.cells.first().and_then(|cell| metric(m.run, cell.metric));
    let title = metric.map_or("figures", |metric| metric.title);
    let subject = m.run.case(problem.case).map_or_else(String::new, |case| words.subject(case, title));
    let detail = problems::detail(&problem.kind, metric.as_ref());
    [problem.case.to_string(), subject, detail].map(Entry::Text).to_vec()
}

/// One line for the list of warnings.
pub fn notice(m: &Material) -> Option<Notice> {
    let problems = m.analysis.problems.iter().filter(|problem| !problem.kind.of_setup());
    let (short, told): (Vec<ProblemGroup>, Vec<ProblemGroup>) =
        kinds(problems).into_iter().partition(|(_, of)| is_short_run(m, of));
    let all: Vec<&Problem> = told.iter().flat_map(|(_, of)| of.iter().copied()).collect();
    let found: Vec<String> =
        told.iter().map(|(name, of)| format!("{name} ({})", places(m, of).len())).collect();
    let besides = |(name, of): &ProblemGroup| format!(", besides {name} in {}", places(m, of).len());
    let besides: String = short.iter().map(besides).collect();
    (!all.is_empty()).then(|| Notice {
        title: format!("Problems with {} of {}{besides}", places(m, &all).len(), plural(planned(m), "case")),
        text: format!("Found: {}. See \"Figures to be careful with\".", found.join(", ")),
        remedy: remedies(&told),
        cases: all.iter().map(|problem| problem.case).collect::<BTreeSet<usize>>().into_iter().collect(),
    })
}

/// What helps against which kind; one remedy for all of them stands alone.
fn remedies(told: &[ProblemGroup]) -> String {
    let known =
        told.iter().filter_map(|(name, of)| Some((problems::about(&of.first()?.kind).1?, name.clone())));
    match &grouped(known)[..] {
        [(remedy, names)] if names.len() == told.len() => remedy.to_string(),
        all => all
            .iter()
            .map(|(remedy, names)| format!("{}: {remedy}", and(names)))
            .collect::<Vec<_>>()
            .join("; "),
    }
}

/// Problems of a kind, with its name.
type ProblemGroup<'a> = (String, Vec<&'a Problem>);

fn kinds<'a>(all: impl Iterator<Item = &'a Problem>) -> Vec<ProblemGroup<'a>> {
    grouped(all.map(|problem| (problems::about(&problem.kind).0, problem)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kinds: &[ProblemKind]) -> String {
        let all: Vec<Problem> =
            kinds.iter().map(|kind| Problem { kind: kind.clone(), case: 0, cells: Vec::new() }).collect();
        remedies(&super::kinds(all.iter()))
    }

    #[test]
    fn each_kind_has_its_own_remedy_and_what_nothing_helps_against_has_none() {
        let far = ProblemKind::Outliers { values: vec![9.0], median: 1.0 };
        let harness = ProblemKind::HarnessShare { slices: Some(0.02), windows: None };
        let few = ProblemKind::FewRounds { rounds: 3 };
        let wide = ProblemKind::WideInterval { rounds: 9, half_width: 0.3, asked: 0.05 };
        assert_eq!(of(std::slice::from_ref(&harness)), "");
        assert_eq!(of(&[few.clone(), wide]), "a longer --time-limit");
        let doctor = "see `syscost doctor`";
        assert_eq!(of(&[far.clone(), harness]), format!("outliers: {doctor}"));
        let both = format!("outliers: {doctor}; few rounds: a longer --time-limit");
        assert_eq!(of(&[far, few]), both);
    }
}
