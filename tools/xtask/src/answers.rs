//! What reports of recorded runs answer to every question, to the letter, with the cases that show it.

use crate::{Generated, Tree};
use anyhow::{Context, Result};
use syscost_analyze::compare::study::ALONG;
use syscost_analyze::whole::Analysis;
use syscost_report::text::words::Words;
use syscost_report::text::{self, AnswerText};

/// The runs that documents show, and the small one of the tests.
const RUNS: &[&str] = &[
    "docs/runs/default",
    "docs/runs/ways",
    "docs/runs/zerocopy-cliff",
    "docs/runs/os",
    "tests/data/small-run",
];

/// Cases named of one sentence.
const CASES: usize = 12;

pub fn files(tree: &Tree) -> Result<Vec<Generated>> {
    let of = |dir: &&str| {
        let run = tree.load(dir)?;
        let (analysis, words) = (Analysis::of(&run), Words::of(&run));
        let texts: Vec<String> =
            analysis.answers.iter().map(|answer| written(&text::answer(answer, &words))).collect();
        let name = dir.rsplit('/').next().context("a run has a name")?;
        let told = text::recommendation::recommendation(&run, &analysis.recommendation, ALONG.id);
        let told = told.statements().into_iter().map(|s| format!("- {}\n", s.text)).collect::<String>();
        let first = format!("# {}\n{told}", text::trust::headline(&analysis.trust));
        let texts: Vec<String> = std::iter::once(first).chain(texts).collect();
        Ok(Generated::golden(&format!("answers-{name}.txt"), texts.join("\n")))
    };
    RUNS.iter().map(of).collect()
}

fn written(answer: &AnswerText) -> String {
    let mut out = format!("# {} {:?}\n", answer.question, answer.verdict);
    if let Some((lacks, command)) = &answer.lacks {
        out += &format!("not measured: {lacks}\n$ {command}\n");
    }
    if !answer.headline.is_empty() {
        out += &format!("{}\n", answer.headline);
    }
    for statement in &answer.statements {
        let mut cases: Vec<usize> = statement.cells.iter().map(|c| c.case).collect();
        cases.sort_unstable();
        cases.dedup();
        let shown: Vec<String> = cases.iter().take(CASES).map(usize::to_string).collect();
        let left = cases.len().saturating_sub(CASES);
        let more = if left > 0 { format!(" and {left} more") } else { String::new() };
        out += &format!("- {}\n  (cases {}{more})\n", statement.text, shown.join(" "));
    }
    out.extend(answer.caveats.iter().map(|caveat| format!("note: {caveat}\n")));
    out
}
