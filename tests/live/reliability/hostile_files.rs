//! Files of a stranger: whatever is in them, reading gives an answer or an error that names the place.
//!
//! Every file of the fuzzers' corpus (`fuzz/corpus`) is changed in a hundred ways, by a fixed seed: a
//! few seconds of what `fuzz/run` does for longer and better. What has to hold is said in `fuzz/targets`, for both.

#[path = "../../../fuzz/targets/mod.rs"]
mod targets;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use syscost_core::stats::random::Random;
use syscost_experiment::run::files::{RECORD, RunDir, SAMPLES};
use targets::Seen;

const CHANGES: usize = 120;

/// Bytes that parsers care about.
const TELLING: &[&[u8]] = &[
    b",",
    b"\n",
    b"\"",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b"=",
    b"-",
    b".",
    b"e",
    b"0",
    b"9",
    b"\0",
    b"\xff",
    b"\xc3",
    b"-1",
    b"1e308",
    b"1e-308",
    b"18446744073709551615",
    b"4294967295",
    b"null",
    b"true",
    b"NaN",
    b"inf",
    b"",
];

fn fuzz() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz")
}

/// What is in a folder, by name.
fn entries(folder: &Path) -> BTreeSet<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.map(|entry| entry.expect("an entry").path()).collect()
}

fn corpus(target: &str) -> Vec<Vec<u8>> {
    let files = entries(&fuzz().join("corpus").join(target));
    assert!(!files.is_empty(), "{target} has a corpus");
    files.into_iter().map(|path| std::fs::read(path).expect("a file")).collect()
}

/// One to four changes: a piece is replaced, doubled, cut out or cut off.
fn changed(random: &mut Random, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..=random.below(4) {
        let from = random.below(bytes.len() + 1);
        let to = (from + random.below(12)).min(bytes.len());
        match random.below(6) {
            0 => bytes.truncate(from),
            1 => drop(bytes.drain(from..to)),
            2 => {
                let piece = bytes[from..to].to_vec();
                let at = random.below(bytes.len() + 1);
                bytes.splice(at..at, piece);
            }
            3 if from < bytes.len() => bytes[from] ^= 1 << random.below(8),
            _ => drop(bytes.splice(from..to, TELLING[random.below(TELLING.len())].iter().copied())),
        }
    }
    bytes
}

/// Every file of a target's corpus as it is, then changed; some are understood and some refused.
fn look(target: &str, changes: usize) {
    let (_, look) = targets::ALL.iter().find(|(name, _)| *name == target).expect("a target of this name");
    let scratch = tempfile::tempdir().expect("a directory");
    let mut random = Random::new(11);
    let (mut understood, mut refused) = (0, 0);
    for bytes in corpus(target) {
        let each = std::iter::once(bytes.clone()).chain((0..changes).map(|_| changed(&mut random, &bytes)));
        for bytes in each {
            match look(&bytes, scratch.path()) {
                Seen::Understood => understood += 1,
                Seen::Refused => refused += 1,
            }
        }
    }
    assert!(
        understood > changes / 50 && refused > changes / 50,
        "{understood} understood, {refused} refused"
    );
}

#[test]
fn every_target_has_a_corpus_and_a_test() {
    let names: BTreeSet<String> = targets::ALL.iter().map(|(name, _)| name.to_string()).collect();
    let stems = |folder: &str| -> BTreeSet<String> {
        let stem = |path: PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
        entries(&fuzz().join(folder)).into_iter().map(stem).collect()
    };
    assert_eq!(stems("corpus"), names);
    assert_eq!(&stems("targets") - &BTreeSet::from(["mod".to_string()]), names);
    for name in names {
        let call = format!("\n    look(\"{name}\", ");
        assert!(include_str!("hostile_files.rs").contains(&call), "no test looks at {name}");
    }
}

#[test]
fn a_peer_that_says_anything_is_understood_or_refused() {
    look("frames", CHANGES);
}

#[test]
fn a_far_host_that_says_anything_is_understood_or_refused() {
    look("agent", CHANGES);
}

#[test]
fn a_guest_that_writes_anything_gives_plain_files_or_none() {
    look("guest", CHANGES);
}

#[test]
fn a_path_that_is_taken_is_no_option_no_command_and_no_other_file() {
    look("path", CHANGES);
}

#[test]
fn a_record_is_reported_or_refused_by_its_name() {
    look("record", CHANGES / 4);
    a_case_that_calls_itself_another_is_refused();
}

#[test]
fn samples_are_read_twice_alike_or_refused_by_line_and_column() {
    look("samples", CHANGES);
    an_infinite_figure_leaves_its_row_out();
}

#[test]
fn an_experiment_reads_back_or_is_refused_at_its_place() {
    look("spec", CHANGES);
}

#[test]
fn a_fleet_reads_back_and_gives_each_host_one_step_at_a_time_or_is_refused() {
    look("fleet", CHANGES);
}

#[test]
fn a_group_names_its_own_directories_or_is_refused() {
    look("group", CHANGES);
}

#[test]
fn other_peoples_tables_are_read_or_refused_by_name() {
    look("table", CHANGES);
}

#[test]
fn a_file_that_changes_while_it_is_read_is_noticed() {
    let directory = two_cases();
    let run = RunDir::load(directory.path()).expect("a run");
    let file = directory.path().join(SAMPLES);
    let text = std::fs::read_to_string(&file).expect("rows");
    std::fs::write(&file, &text[..text.len() / 2]).expect("written");
    let left: usize = run.record.plan.cases.iter().map(|c| run.samples.of_case(c.index).iter().count()).sum();
    assert!(left < run.samples.tally().samples);
    let error = run.samples.intact().expect_err("half of the file is gone").to_string();
    assert!(error.contains("changed while it was being read") && error.contains(SAMPLES), "{error}");
    rows_of_another_round_in_the_place_of_others_are_noticed();
}

fn rows_of_another_round_in_the_place_of_others_are_noticed() {
    let directory = two_cases();
    let run = RunDir::load(directory.path()).expect("a run");
    let file = directory.path().join(SAMPLES);
    let text = std::fs::read_to_string(&file).expect("rows");
    // Each row is as long as it was and says another round: only what it says can tell it.
    let other = |line: &str| {
        let mut fields: Vec<&str> = line.split(',').collect();
        fields[2] = if fields[2] == "7" { "8" } else { "7" };
        fields.join(",")
    };
    let (header, rows) = text.split_once('\n').expect("a header");
    let rows: Vec<String> = rows.lines().map(other).collect();
    let changed = format!("{header}\n{}\n", rows.join("\n"));
    assert_eq!(changed.len(), text.len());
    std::fs::write(&file, changed).expect("written");
    let left: usize = run.record.plan.cases.iter().map(|c| run.samples.of_case(c.index).iter().count()).sum();
    assert!(left < run.samples.tally().samples, "rows of another round are samples");
    let error = run.samples.intact().expect_err("they are other rounds").to_string();
    assert!(error.contains("changed while it was being read") && error.contains(SAMPLES), "{error}");
}

/// A run as the fuzzers' corpus has it.
fn two_cases() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    for (from, to) in [("record/two-cases.json", RECORD), ("samples/two-cases.csv", SAMPLES)] {
        std::fs::copy(fuzz().join("corpus").join(from), directory.path().join(to)).expect("copied");
    }
    directory
}

fn a_case_that_calls_itself_another_is_refused() {
    let directory = two_cases();
    let file = directory.path().join(RECORD);
    let text = std::fs::read_to_string(&file).expect("a record");
    let mut record: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    record["plan"]["cases"][1]["index"] = 0.into();
    std::fs::write(&file, record.to_string()).expect("written");
    let error = RunDir::load(directory.path()).expect_err("two cases of one index").to_string();
    assert!(error.contains(RECORD) && error.contains("calls itself case 0"), "{error}");
}

fn an_infinite_figure_leaves_its_row_out() {
    let directory = two_cases();
    let file = directory.path().join(SAMPLES);
    let text = std::fs::read_to_string(&file).expect("rows");
    let whole = RunDir::load(directory.path()).expect("a run").samples.len();
    for odd in ["inf", "NaN", "-inf"] {
        let (header, rows) = text.split_once('\n').expect("a header");
        let mut fields: Vec<&str> = rows.lines().next().expect("a row").split(',').collect();
        fields[4] = odd;
        let rest = rows.split_once('\n').expect("more rows").1;
        std::fs::write(&file, format!("{header}\n{}\n{rest}", fields.join(","))).expect("written");
        let read = RunDir::load(directory.path());
        assert!(read.is_err() || read.is_ok_and(|run| run.samples.len() < whole), "{odd} is a figure");
    }
}
