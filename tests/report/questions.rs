//! What reports answer, to the letter, from recorded runs. (`references` sees that each sentence names cells that exist.)
//!
//! After a wanted change: INSTA_UPDATE=always cargo test --test report questions, and read the difference.

use std::path::Path;
use syscost_analyze::finding::{Answer, Answered};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::{Run, RunDir};

/// Questions whose answers are kept here. Those about the machine's copies and counters have tests of their own.
const ASKED: &[&str] = &["one_copy", "zero_copy_from", "unexpected", "predictions", "trustworthy"];

/// The runs that documents show, and the small one of the tests.
fn recorded() -> Vec<(String, Run)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let runs = [
        "docs/runs/default",
        "docs/runs/ways",
        "docs/runs/zerocopy-cliff",
        "docs/runs/os",
        "tests/data/small-run",
    ];
    let load = |dir: &str| {
        let run = RunDir::load(&root.join(dir)).unwrap_or_else(|error| panic!("{dir}: {error}"));
        let name = dir.rsplit('/').next().expect("a name").to_string();
        (name, run)
    };
    runs.into_iter().map(load).collect()
}

fn told(answered: &Answered) -> String {
    let mut out = format!("# {}\n", answered.about.question);
    match &answered.answer {
        Answer::Found { statements, caveats } => {
            for statement in statements {
                let mut cases: Vec<usize> = statement.cells.iter().map(|c| c.case).collect();
                cases.sort_unstable();
                cases.dedup();
                let shown: Vec<String> = cases.iter().take(12).map(usize::to_string).collect();
                let more =
                    if cases.len() > 12 { format!(" and {} more", cases.len() - 12) } else { String::new() };
                out += &format!("- {}\n  (cases {}{more})\n", statement.text, shown.join(" "));
            }
            out.extend(caveats.iter().map(|caveat| format!("mind: {caveat}\n")));
        }
        Answer::CannotBeAnswered { because, command } => {
            out += &format!("cannot be answered because {because}\n$ {command}\n");
        }
    }
    out
}

#[test]
fn answers_of_recorded_runs() {
    for (name, run) in recorded() {
        let analysis = Analysis::of(&run);
        let asked = |id: &&str| analysis.answers.iter().find(|a| a.about.id == *id).expect("asked");
        let text: Vec<String> = ASKED.iter().map(|id| told(asked(id))).collect();
        insta::assert_snapshot!(format!("answers_{name}"), text.join("\n"));
    }
}
