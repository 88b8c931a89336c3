//! Sentences of answers over the committed runs.

use super::*;
use std::collections::BTreeSet;
use std::path::Path;
use syscost_analyze::finding;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::RunDir;

/// Words of a sentence, at most.
const WORDS: usize = 24;
/// Statements that somebody reads.
const LISTED: usize = 20;

#[test]
fn every_question_of_the_analysis_has_words_in_its_order() {
    let asked: Vec<&str> = finding::ALL.iter().map(|finding| finding.id()).collect();
    let told: Vec<&str> = QUESTIONS.iter().map(|(id, _)| *id).collect();
    assert_eq!(asked, told);
    let questions: BTreeSet<&str> = QUESTIONS.iter().map(|(_, question)| *question).collect();
    assert_eq!(questions.len(), QUESTIONS.len());
    assert!(questions.iter().all(|question| question.ends_with('?')));
}

/// The answers of a committed run.
fn answers(run: &str) -> Vec<(Answer, AnswerText)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let run = RunDir::load(&root.join(run)).unwrap();
    let words = Words::of(&run);
    let answers = Analysis::of(&run).answers;
    answers.into_iter().map(|one| (one.clone(), answer(&one, &words))).collect()
}

fn is_short(text: &str) -> bool {
    text.split(". ").all(|sentence| sentence.split_whitespace().count() <= WORDS)
}

#[test]
fn every_sentence_about_the_committed_runs_has_under_25_words() {
    let mut long = Vec::new();
    for run in ["default", "ways", "zerocopy-cliff", "os"] {
        for (data, told) in &answers(&format!("docs/runs/{run}")) {
            assert_eq!(told.headline.is_empty(), data.lacks.is_some(), "{run}: {}", told.question);
            let statements = told.statements.iter().map(|statement| &statement.text);
            let texts = statements.chain(&told.caveats).chain([&told.headline]);
            long.extend(texts.filter(|text| !is_short(text)).map(|text| format!("{run}: {text}")));
        }
    }
    assert!(long.is_empty(), "{long:#?}");
}

/// What shows an answer says more than the answer, and each thing once.
#[test]
fn statements_repeat_neither_the_headline_nor_each_other() {
    for run in ["default", "ways", "zerocopy-cliff", "os"] {
        for (data, told) in answers(&format!("docs/runs/{run}")) {
            let texts: BTreeSet<&str> = told.statements.iter().map(|s| s.text.as_str()).collect();
            assert_eq!(texts.len(), told.statements.len(), "{run}: {:#?}", told.statements);
            let first = told.statements.first().map_or("", |statement| &statement.text);
            assert!(data.lacks.is_some() || first != told.headline, "{run}: {first}");
            assert!(told.statements.len() <= LISTED, "{run}: {:#?}", told.statements);
        }
    }
}

#[test]
fn a_run_of_operations_is_asked_nothing_about_transfers() {
    let asked: Vec<&str> = answers("docs/runs/os").iter().map(|(answer, _)| answer.question).collect();
    assert_eq!(asked, ["expensive", "held_size", "unexpected"]);
}
