//! What the analysis found wrong with figures: impossible samples, wide, drifting, two-level cells.

use super::{capital, grouped, plural, unless_empty};
use crate::material::Material;
use crate::text::problems;
use crate::text::words::Words;
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
        let (some, all) = (cases(of).len(), plural(m.run.record.plan.cases.len(), "case"));
        let text = format!("The run was short for {some} of {all}. {}", problems::summary(of));
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

/// Is it that most cases had too little time? That is one thing about the run: a list of cases says no more.
fn is_short_run(m: &Material, of: &[&Problem]) -> bool {
    let of_time =
        |kind: &ProblemKind| matches!(kind, ProblemKind::FewRounds { .. } | ProblemKind::WideInterval { .. });
    of.iter().all(|problem| of_time(&problem.kind)) && 2 * cases(of).len() > m.run.record.plan.cases.len()
}

fn cases(of: &[&Problem]) -> BTreeSet<usize> {
    of.iter().map(|problem| problem.case).collect()
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
    let told: Vec<(String, Vec<&Problem>)> =
        kinds(problems).into_iter().filter(|(_, of)| !is_short_run(m, of)).collect();
    let all: BTreeSet<usize> = told.iter().flat_map(|(_, of)| cases(of)).collect();
    let kinds: Vec<String> = told.iter().map(|(name, of)| format!("{name} ({})", cases(of).len())).collect();
    (!all.is_empty()).then(|| Notice {
        title: format!("Problems with {} of {}", all.len(), plural(m.run.record.plan.cases.len(), "case")),
        text: format!("Found: {}. See \"Figures to be careful with\".", kinds.join(", ")),
        remedy: "give the run more time with --time-limit, or free the machine of other work".into(),
        cases: all.into_iter().collect(),
    })
}

fn kinds<'a>(all: impl Iterator<Item = &'a Problem>) -> Vec<(String, Vec<&'a Problem>)> {
    grouped(all.map(|problem| (problems::name(&problem.kind), problem)))
}
