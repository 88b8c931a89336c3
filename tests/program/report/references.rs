//! Every sentence of a report stands on something that exists, and can be clicked through to it.

use crate::report::common::{self, Shape};
use std::path::Path;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::{Run, RunDir, State};
use syscost_report::text::words::Words;
use syscost_report::{Block, Report, Statement, build, html, text};

/// Sentences about a run that has nothing to show: there is no figure, and they say so.
const ON_NOTHING: [&str; 3] = ["This run was interrupted.", "This run has not ended", "No usable sample"];

fn statements<'s>(report: &'s Report, answers: &'s [Statement]) -> Vec<&'s Statement> {
    let mut all: Vec<&Statement> = report.verdict.iter().collect();
    for block in report.blocks() {
        match block {
            Block::Statement(one) => all.push(one),
            Block::Statements(several) => all.extend(several),
            _ => {}
        }
    }
    all.extend(answers);
    all
}

/// Asserts it of every sentence, and returns how many there are.
fn walk(run: &Run) -> usize {
    let analysis = Analysis::of(run);
    let report = build::report(run, &analysis);
    let page = html::page(&report);
    let words = Words::of(run);
    let answers = analysis.answers.iter();
    let answers: Vec<Statement> =
        answers.flat_map(|answer| text::answer(answer, &words).statements).collect();
    let all = statements(&report, &answers);
    for statement in &all {
        let text = &statement.text;
        if ON_NOTHING.iter().any(|start| text.starts_with(start)) {
            assert!(statement.cells.is_empty(), "{text}");
            continue;
        }
        assert!(!statement.cells.is_empty(), "stands on nothing: {text}");
        let exists = |cell: &&syscost_report::CellRef| cell.exists(run, &analysis.cells);
        assert!(statement.cells.iter().any(|cell| exists(&cell)), "none of {:?}: {text}", statement.cells);
        // What has no figure is at least a case of the plan.
        for cell in &statement.cells {
            assert!(run.case(cell.case).is_some(), "{cell:?}: {text}");
        }
    }
    for statement in report.verdict.iter().filter(|s| !s.cells.is_empty()) {
        let linked = |cell: &syscost_report::CellRef| page.contains(&format!("href=\"#c{}-", cell.case));
        assert!(statement.cells.iter().any(linked), "no link: {}", statement.text);
    }
    all.len()
}

#[test]
fn every_sentence_of_synthetic_runs_stands_on_a_cell_that_exists() {
    assert!(walk(&common::small_run()) > 20);
    let shapes = [
        Shape { counters: true, ..common::small() },
        Shape { paths: vec!["veth", "loopback"], nodelay: vec!["on", "off"], ..common::small() },
        Shape { mechanisms: vec!["send"], sizes: vec![4096], threads: vec![1], ..common::small() },
        Shape { mechanisms: vec!["pack_send", "msg_zerocopy"], threads: vec![1, 2, 4, 8], ..common::small() },
    ];
    for shape in &shapes {
        assert!(walk(&common::run(shape)) > 3);
    }
}

#[test]
fn also_where_samples_are_missing_refused_or_none() {
    let mut broken = common::small_run();
    broken.record.state = State::Interrupted;
    for sample in broken.samples.iter_mut().filter(|s| s.case < 3) {
        sample.elapsed_ns = -1.0;
    }
    broken.samples.retain(|s| s.case != 5 && s.round < 6);
    walk(&broken);
    let mut empty = common::run(&Shape { rounds: 0, ..common::small() });
    walk(&empty);
    empty.record.audits.clear();
    walk(&empty);
    empty.record.plan.cases.clear();
    walk(&empty);
}

#[test]
fn every_sentence_of_recorded_runs_stands_on_a_cell_that_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let recorded = ["docs/runs/default", "docs/runs/os", "docs/runs/zerocopy-cliff", "tests/data/small-run"];
    for name in recorded {
        let run = RunDir::load(&root.join(name)).expect(name);
        assert!(walk(&run) > 3, "{name}");
    }
}
