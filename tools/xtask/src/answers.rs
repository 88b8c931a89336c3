//! What reports of recorded runs answer, to the letter, with the cases that show it.

use crate::{Generated, Tree};
use anyhow::{Context, Result};
use syscost_analyze::finding::{Answer, Answered};
use syscost_analyze::whole::Analysis;

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
        let analysis = Analysis::of(&run);
        let texts = ASKED.iter().map(|id| {
            let answered = analysis.answers.iter().find(|answered| answered.about.id == *id);
            answered.map(text).with_context(|| format!("nothing answers {id}"))
        });
        let name = dir.rsplit('/').next().context("a run has a name")?;
        let texts: Vec<String> = texts.collect::<Result<_>>()?;
        Ok(Generated::golden(&format!("answers-{name}.txt"), texts.join("\n")))
    };
    RUNS.iter().map(of).collect()
}

fn text(answered: &Answered) -> String {
    let mut out = format!("# {}\n", answered.about.question);
    match &answered.answer {
        Answer::Found { statements, caveats } => {
            for statement in statements {
                let mut cases: Vec<usize> = statement.cells.iter().map(|c| c.case).collect();
                cases.sort_unstable();
                cases.dedup();
                let shown: Vec<String> = cases.iter().take(CASES).map(usize::to_string).collect();
                let left = cases.len().saturating_sub(CASES);
                let more = if left > 0 { format!(" and {left} more") } else { String::new() };
                out += &format!("- {}\n  (cases {}{more})\n", statement.text, shown.join(" "));
            }
            out.extend(caveats.iter().map(|caveat| format!("note: {caveat}\n")));
        }
        Answer::CannotBeAnswered { because, command } => {
            out += &format!("cannot be answered because {because}\n$ {command}\n");
        }
    }
    out
}
