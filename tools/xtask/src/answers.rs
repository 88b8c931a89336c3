//! What reports of recorded runs answer, to the letter, with the cases that show it.

use crate::{Generated, Tree};
use anyhow::{Context, Result};
use syscost_analyze::whole::Analysis;
use syscost_analyze::words::Words;
use syscost_report::text::{self, AnswerText};

/// Questions whose answers are kept. Those about a machine's copies and counters have tests of their own.
const ASKED: &[&str] = &["one_copy", "zero_copy_from", "unexpected"];

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
        let texts = ASKED.iter().map(|id| {
            let answered = analysis.answers.iter().find(|answer| answer.question == *id);
            answered
                .map(|answer| written(&text::answer(answer, &words)))
                .with_context(|| format!("nothing answers {id}"))
        });
        let name = dir.rsplit('/').next().context("a run has a name")?;
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        Ok(Generated::golden(&format!("answers-{name}.txt"), texts.join("\n")))
    };
    RUNS.iter().map(of).collect()
}

fn written(answer: &AnswerText) -> String {
    let mut out = format!("# {}\n", answer.question);
    if let Some((lacks, command)) = &answer.lacks {
        out += &format!("not measured: {lacks}\n$ {command}\n");
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
