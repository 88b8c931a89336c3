//! What `--export-..` and `--plots` write, read by readers that are not ours.

use crate::report::common;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::files::RunDir;
use syscost_report::{build, csv, export};

fn syscost(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_syscost")).args(arguments).output().expect("it starts")
}

fn run_directory(path: &Path) {
    let mut run = common::small_run();
    (run.record.slice_rounds, run.slices) = (0, Default::default());
    RunDir::create(path, &run.record).expect("a run").append(&run.samples).expect("samples");
}

/// Checks what OpenMetrics 1.0 asks: families in one piece, a type, the unit at the end of the name, an end.
fn families(text: &str) -> BTreeSet<String> {
    let body = text.strip_suffix("# EOF\n").expect("an end");
    let (mut known, mut name, mut seen) = (BTreeSet::new(), String::new(), BTreeSet::new());
    for line in body.lines() {
        let words: Vec<&str> = line.splitn(4, ' ').collect();
        match words.as_slice() {
            ["#", "TYPE", family, kind] => {
                assert_eq!(*kind, "gauge", "{line}");
                assert!(known.insert(family.to_string()), "{family} is in two pieces");
                name = family.to_string();
            }
            ["#", "UNIT", family, unit] => assert!(*family == name && family.ends_with(unit), "{line}"),
            ["#", "HELP", family, help] => assert!(*family == name && !help.is_empty(), "{line}"),
            _ => {
                let (series, value) = line.rsplit_once(' ').expect("a sample");
                assert!(series == name || series.starts_with(&format!("{name}{{")), "{line} below {name}");
                let value: f64 = value.parse().expect("a number");
                assert!(value.is_finite() && seen.insert(series), "{line}");
            }
        }
    }
    known
}

#[test]
fn openmetrics_has_every_figure_in_base_units() {
    let run = common::small_run();
    let analysis = Analysis::of(&run);
    let text = export::openmetrics(&run, &analysis.cells);
    let known = families(&text);
    for name in
        ["syscost_run", "syscost_total_cpu_per_message_seconds", "syscost_total_cpu_per_message_low_seconds"]
    {
        assert!(known.contains(name), "no {name} in {known:?}");
    }
    let samples = |name: &str| text.lines().filter(|line| line.starts_with(&format!("{name}{{"))).count();
    let asked = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
    let measured = asked.filter(|case| analysis.cells.cell(case.index, "throughput").is_some()).count();
    assert_eq!(samples("syscost_throughput_bytes_per_second"), measured);
}

/// One figure has one value, whichever file it is read from.
#[test]
fn json_has_the_rows_of_the_table() {
    let run = common::small_run();
    let analysis = Analysis::of(&run);
    let document = export::json(&run, &analysis, &build::report(&run, &analysis));
    let results = document["results"].as_array().expect("results");
    let table = csv::results(&run, &analysis.cells);
    let mut reader = ::csv::Reader::from_reader(table.as_bytes());
    let columns = reader.headers().expect("columns").clone();
    let at = |name: &str| columns.iter().position(|column| column == name).expect("a column");
    let [case, metric, value] = ["case", "metric", "value"].map(at);
    let rows: Vec<_> = reader.records().map(|row| row.expect("a row")).collect();
    assert_eq!(rows.len(), results.len());
    for (row, result) in rows.iter().zip(results) {
        assert_eq!(
            (row[case].parse::<u64>().ok(), &row[metric]),
            (result["case"].as_u64(), result["metric"].as_str().expect("a metric"))
        );
        assert_eq!(row[value].parse::<f64>().ok(), result["value"].as_f64());
    }
    assert_eq!(document["findings"]["run"], document["run"]);
}

#[test]
fn markdown_has_the_answer_and_every_row_of_the_tables() {
    let run = common::small_run();
    let report = build::report(&run, &Analysis::of(&run));
    let text = export::markdown(&report);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).collect();
    let rows: usize = report.ending.tables.iter().map(|table| table.rows.len() + 2).sum();
    assert_eq!(lines.len(), rows, "{text}");
    for table in &report.ending.tables {
        let columns = table.columns.len() + 1;
        assert!(lines.iter().any(|line| line.matches('|').count() == columns), "{text}");
    }
    assert!(report.ending.answer.iter().all(|answer| answer.len() > 20));
}

#[test]
fn an_export_goes_to_its_file_or_takes_the_place_of_the_screen() {
    let home = tempfile::tempdir().expect("a directory");
    let path = |name: &str| home.path().join(name).to_str().expect("a path").to_string();
    run_directory(&home.path().join("run"));
    let (run, file) = (path("run"), path("deep/a.md"));
    let done = syscost(&["report", &run, "--export-markdown", &file, "--export-openmetrics", "-"]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    families(&String::from_utf8(done.stdout).expect("UTF-8"));
    assert!(fs::read_to_string(&file).expect("a file").starts_with("## "));
    for wrong in [["--export-csv", "-", "--export-json", "-"], ["--export-csv", "-", "--json", "--quiet"]] {
        let done = syscost(&[&["report", run.as_str()], wrong.as_slice()].concat());
        assert_eq!(done.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&done.stderr).contains("stdout takes one document"));
    }
    let done = syscost(&["run", "timer", "--export-csv", &run]);
    assert_eq!(done.status.code(), Some(2), "a directory is told before a minute is measured");
}

/// Programs that show a plot elsewhere know neither variables nor a theme.
#[test]
fn plots_carry_their_colours() {
    let home = tempfile::tempdir().expect("a directory");
    run_directory(&home.path().join("run"));
    let [run, plots] =
        ["run", "plots"].map(|name| home.path().join(name).to_str().expect("a path").to_string());
    let done = syscost(&["report", &run, "--plots", &plots]);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let files = |kind: &str| {
        let all =
            fs::read_dir(Path::new(&plots)).expect("plots").map(|entry| entry.expect("an entry").path());
        all.filter(|file| file.extension().is_some_and(|own| own == kind)).collect::<Vec<_>>()
    };
    let (drawings, pictures) = (files("svg"), files("png"));
    assert!(!drawings.is_empty());
    for file in &drawings {
        let text = fs::read_to_string(file).expect("an SVG");
        assert!(
            !text.contains("var(--c") && !text.contains("@media") && text.contains("color:#0072b2"),
            "{}",
            file.display()
        );
    }
    match pictures.len() {
        0 => assert!(String::from_utf8_lossy(&done.stderr).contains("librsvg2-bin"), "the remedy is told"),
        some => assert_eq!(some, drawings.len()),
    }
}
