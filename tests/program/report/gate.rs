//! What a gate writes for other programs, read by readers that are not ours.

use crate::report::common;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use syscost_analyze::sides::RunFigures;
use syscost_analyze::sides::gate::{BudgetState, Budgets, GateAnswer};
use syscost_experiment::run::Run;
use syscost_report::gate::{FORMATS, GateReport};

/// Identical runs, so many a side, that were to become cheaper by this share.
fn answer(run: &Run, a_side: usize, budget: f64) -> GateAnswer {
    let side = |name: &str| -> Vec<RunFigures> {
        let mut run = run.clone();
        (0..a_side)
            .map(|number| {
                run.record.id = format!("{name}{number}");
                RunFigures::of(&run)
            })
            .collect()
    };
    GateAnswer::of(&side("base"), &side("new"), &Budgets { others: Some(budget), ..Budgets::default() })
}

/// The three answers: all over, all within, all undecided.
fn answers(run: &Run) -> [GateAnswer; 3] {
    let all = [answer(run, 2, -0.1), answer(run, 2, 0.1), answer(run, 1, 0.1)];
    let states = all.each_ref().map(GateAnswer::state);
    assert_eq!(states, [BudgetState::Exceeded, BudgetState::Within, BudgetState::Undecided]);
    all
}

fn written(report: &GateReport, format: &str) -> String {
    (FORMATS.iter().find(|known| known.name == format).expect("a format").write)(report)
}

/// What a Python program makes of the text; `None` where its module is not installed.
fn read_by(module: &str, program: &str, text: &str) -> Option<String> {
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("target/python");
    let python = |program: &str| {
        let mut python = Command::new("python3");
        python.env("PYTHONPATH", &packages).args(["-c", program]).stderr(Stdio::piped());
        python
    };
    if !python(&format!("import {module}")).output().is_ok_and(|done| done.status.success()) {
        eprintln!("skipped: gate: python3 has no {module}");
        return None;
    }
    let mut child =
        python(program).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 starts");
    child.stdin.take().expect("a pipe").write_all(text.as_bytes()).expect("it reads");
    let done = child.wait_with_output().expect("it ends");
    assert!(done.status.success(), "{}\n{text}", String::from_utf8_lossy(&done.stderr));
    Some(String::from_utf8_lossy(&done.stdout).trim().to_string())
}

/// Names and places of elements as Jenkins and GitLab read them.
const JUNIT: &str = "
import sys, xml.etree.ElementTree as tree
root = tree.fromstring(sys.stdin.read())
assert root.tag == 'testsuites' and set(root.attrib) <= {'name', 'tests', 'failures', 'errors', 'disabled', 'time'}, root.attrib
suite, = root
assert suite.tag == 'testsuite', suite.tag
assert set(suite.attrib) <= {'name', 'tests', 'failures', 'errors', 'skipped', 'time', 'timestamp', 'hostname'}, suite.attrib
for case in suite:
    assert case.tag == 'testcase' and set(case.attrib) == {'classname', 'name'}, case.attrib
    for told in case:
        assert told.tag in ('failure', 'skipped') and set(told.attrib) <= {'type', 'message'}, told.tag
count = lambda tag: len(suite.findall('testcase/' + tag))
assert (len(suite), count('failure'), count('skipped')) == tuple(int(suite.get(a)) for a in ('tests', 'failures', 'skipped'))
print(len(suite), count('failure'), count('skipped'))
";

#[test]
fn junit_is_read_and_counts_what_it_holds() {
    let run = common::small_run();
    let [over, within, open] = answers(&run);
    let n = over.judged.len();
    let expected = [
        (&over, true, format!("{n} {n} 0")),
        (&within, true, format!("{n} 0 0")),
        (&open, true, format!("{n} {n} 0")),
        (&open, false, format!("{n} 0 {n}")),
    ];
    for (answer, undecided_fails, counts) in expected {
        let text = written(&GateReport::of(answer, &run, undecided_fails), "junit");
        let Some(read) = read_by("xml.etree.ElementTree", JUNIT, &text) else { return };
        assert_eq!(read, counts);
    }
}

#[test]
fn what_other_tools_read_holds_every_case() {
    let run = common::small_run();
    for answer in &answers(&run) {
        let (report, n) = (GateReport::of(answer, &run, false), answer.judged.len());
        let json = report.json();
        assert_eq!(json["cases"].as_array().map(Vec::len), Some(n));
        assert!(json["cases"][0]["cost_ratio"].as_f64().is_some_and(|ratio| ratio > 0.0), "{json}");
        let markdown = written(&report, "markdown");
        let rows: Vec<&str> = markdown.lines().filter(|line| line.starts_with("| ")).collect();
        assert_eq!(rows.len(), n + 2);
        assert!(
            rows.iter().all(|row| row.matches(" | ").count() == rows[0].matches(" | ").count()),
            "{markdown}"
        );
        let lines = written(&report, "github");
        let told = if answer.state() == BudgetState::Within { 0 } else { n };
        assert_eq!(lines.lines().count(), told);
        let level = if answer.state() == BudgetState::Exceeded { "::error " } else { "::warning " };
        assert!(lines.lines().all(|line| line.starts_with(level) && !line.contains("% ")), "{lines}");
    }
}
