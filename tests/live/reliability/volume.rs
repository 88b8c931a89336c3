//! Large plans, large runs, large files: planned, reported and continued in bounded memory.
//!
//! CPU times are printed, and only a multiple of what is promised fails: what grows with the square of a plan
//! takes minutes, whatever else the machine does.

use super::large;
use std::path::Path;

const GIBIBYTE: u64 = 1 << 30;
/// How much longer than promised anything may take before it is taken for a defect.
const PATIENCE: f64 = 10.0;
const MINUTES: f64 = 60.0 * PATIENCE;
/// Surprises make a report of 20,000 cases take 1.2 times as long. It was three times while each looked through all cases.
const AS_LONG: f64 = 2.5;

/// A debug build takes ten times as long and tells nothing of either.
fn optimised(test: &str) -> bool {
    if cfg!(debug_assertions) {
        crate::common::skipped(test, "a debug build: cargo test --release");
    }
    !cfg!(debug_assertions)
}

fn told(what: &str, needed: &large::Needed) {
    eprintln!("{what}: {:.1} s of CPU time, {} MiB at most", needed.cpu_seconds, needed.peak_bytes >> 20);
    assert!(matches!(needed.code, Some(0 | 1)), "{what}: {:?}\n{}", needed.code, needed.said);
}

fn size(path: &Path) -> u64 {
    std::fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).len()
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_hundred_thousand_cases_are_planned_in_a_moment() {
    if !optimised("a_hundred_thousand_cases_are_planned_in_a_moment") {
        return;
    }
    let directory = large::directory();
    let file = directory.path().join("large.toml");
    std::fs::write(&file, large::spec(4_900).to_toml()).expect("the experiment is written");
    let needed = large::watched(&["plan", file.to_str().expect("UTF-8")], directory.path(), PATIENCE);
    told("planning 98,000 cases", &needed);
    assert!(needed.peak_bytes < GIBIBYTE);
    let document = ["plan", "--json", file.to_str().expect("UTF-8")];
    let needed = large::watched(&document, directory.path(), MINUTES);
    told("planning 98,000 cases as JSON", &needed);
    assert!(needed.peak_bytes < GIBIBYTE / 8, "{} MiB: is the document a tree?", needed.peak_bytes >> 20);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_hundred_thousand_cases_are_reported_in_bounded_memory() {
    if !optimised("a_hundred_thousand_cases_are_reported_in_bounded_memory") {
        return;
    }
    let directory = large::directory();
    let run = large::run_of(&large::spec(4_900), 2, 1, large::alike, directory.path());
    let needed = large::watched(&["report", run.to_str().expect("UTF-8")], directory.path(), MINUTES);
    told("reporting 98,000 cases", &needed);
    assert!(needed.peak_bytes < GIBIBYTE / 4 * 5, "{} MiB", needed.peak_bytes >> 20);
    let page = size(&run.join("report.html"));
    assert!(page < 8 << 20, "a page of {} MiB is no page", page >> 20);
    let text = std::fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(text.contains("results.csv"), "the page says where the rest is");
}

/// Thousands of claims about neighbours, levels and far rounds, each with its most likely cause.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn thousands_of_surprises_are_reported_in_a_moment_too() {
    if !optimised("thousands_of_surprises_are_reported_in_a_moment_too") {
        return;
    }
    let directory = large::directory();
    let report = |costs: large::Cost, most_cpu_seconds| {
        let run = large::run_of(&large::spec(1_000), 12, 1, costs, directory.path());
        let needed =
            large::watched(&["report", run.to_str().expect("UTF-8")], directory.path(), most_cpu_seconds);
        (run, needed)
    };
    let (plain, needed) = report(large::alike, MINUTES);
    told("reporting 20,000 cases of which none surprises", &needed);
    std::fs::remove_dir_all(plain).expect("removed");
    let (run, needed) = report(large::surprising, AS_LONG * needed.cpu_seconds);
    told("reporting 20,000 cases of which many surprise", &needed);
    assert!(needed.peak_bytes < GIBIBYTE / 2, "{} MiB", needed.peak_bytes >> 20);
    let text = std::fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(text.len() < 8 << 20, "surprises are told by kind and cause");
}

/// As many as a plan of that many ways to move data has: each has a row, and is named by what tells it from the others.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn ten_thousand_audits_are_reported_in_a_moment() {
    if !optimised("ten_thousand_audits_are_reported_in_a_moment") {
        return;
    }
    let directory = large::directory();
    let (small, run) =
        (Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small-run"), directory.path().join("run"));
    std::fs::create_dir(&run).expect("a directory");
    std::fs::copy(small.join("samples.csv"), run.join("samples.csv")).expect("samples");
    let text = std::fs::read(small.join("run.json")).expect("a record");
    let mut record: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
    let few = record["audits"].as_array().expect("audits").clone();
    let many = (0..10_000).map(|number| {
        let mut audit = few[number % few.len()].clone();
        audit["point"]["message_bytes"] = (64 + number).into();
        audit
    });
    record["audits"] = many.collect();
    std::fs::write(run.join("run.json"), record.to_string()).expect("a record");
    let needed = large::watched(&["report", run.to_str().expect("UTF-8")], directory.path(), 5.0 * PATIENCE);
    told("reporting 10,000 audits", &needed);
    assert!(needed.peak_bytes < GIBIBYTE / 2, "{} MiB", needed.peak_bytes >> 20);
}

/// The same plan with three times as many rounds: what is kept of a round is its place in the file and one
/// number for each metric.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn samples_are_read_when_they_are_needed() {
    if !optimised("samples_are_read_when_they_are_needed") {
        return;
    }
    let directory = large::directory();
    // SYSCOST_VOLUME_ROUNDS=60 makes a file of a gigabyte.
    let most = std::env::var("SYSCOST_VOLUME_ROUNDS").ok().and_then(|text| text.parse().ok()).unwrap_or(12);
    let mut peaks = Vec::new();
    for rounds in [most / 4, most] {
        let here = directory.path().join(rounds.to_string());
        std::fs::create_dir(&here).expect("a directory");
        let run = large::run_of(&large::spec(45), rounds, 100, large::alike, &here);
        let bytes = size(&run.join("samples.csv"));
        let path = run.to_str().expect("UTF-8");
        let report = large::watched(&["report", path], &here, MINUTES);
        told(&format!("reporting {} MB of samples", bytes / 1_000_000), &report);
        let resumed = large::watched(&["run", "--resume", path, "--time-limit", "1s"], &here, MINUTES);
        told(&format!("continuing {} MB of samples", bytes / 1_000_000), &resumed);
        assert!(report.peak_bytes.max(resumed.peak_bytes) < GIBIBYTE);
        peaks.push((bytes, report.peak_bytes.max(resumed.peak_bytes)));
        std::fs::remove_dir_all(here).expect("removed");
    }
    let [(small, less), (large, more)] = peaks[..] else { panic!("two runs") };
    assert!(
        more.saturating_sub(less) < (large - small) / 2,
        "{} MB more samples took {} MB more memory",
        (large - small) / 1_000_000,
        more.saturating_sub(less) / 1_000_000
    );
}
