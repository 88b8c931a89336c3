//! Files of a stranger: whatever is in them, reading gives an answer or an error that names the place.
//!
//! Every file of the fuzzers' corpus (`fuzz/corpus`) is changed in thousands of ways, by a fixed seed: a
//! few seconds of what `fuzz/run` does for longer and better.

use std::path::{Path, PathBuf};
use syscost::analysis::whole::Analysis;
use syscost::report::{build, html};
use syscost::run::files::{RECORD, RunDir, SAMPLES};
use syscost::run::histograms::HISTOGRAMS;
use syscost::spec::Spec;
use syscost::stats::random::Random;
use syscost::table::{self, Mapping, overtakes::overtakes};
use syscost::worker::protocol::{self, FromWorker, ToWorker};

const CHANGES: usize = if cfg!(debug_assertions) { 60 } else { 600 };

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

fn corpus(target: &str) -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{target} has a corpus");
    files.into_iter().map(|path| (path.clone(), std::fs::read(&path).expect("a file"))).collect()
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

/// Every file of a corpus as it is, then changed.
fn each(target: &str, changes: usize, mut look: impl FnMut(&[u8])) {
    let mut random = Random::new(11);
    for (_, bytes) in corpus(target) {
        look(&bytes);
        (0..changes).for_each(|_| look(&changed(&mut random, &bytes)));
    }
}

/// A run of two cases, in which one file is then a stranger's.
fn directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a directory");
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    for (from, to) in [("record/two-cases.json", RECORD), ("samples/two-cases.csv", SAMPLES)] {
        std::fs::copy(folder.join(from), directory.path().join(to)).expect("copied");
    }
    RunDir::load(directory.path()).expect("a run");
    directory
}

#[test]
fn a_peer_that_says_anything_is_understood_or_refused() {
    each("frames", CHANGES, |bytes| {
        let mut input = bytes;
        while let Ok(Some(_)) = protocol::read::<FromWorker>(&mut input) {}
        let mut input = bytes;
        while let Ok(Some(_)) = protocol::read::<ToWorker>(&mut input) {}
    });
}

#[test]
fn a_record_is_reported_or_refused_by_its_name() {
    let directory = directory();
    let mut reported = 0;
    each("record", CHANGES / 2, |bytes| {
        std::fs::write(directory.path().join(RECORD), bytes).expect("written");
        match RunDir::load(directory.path()) {
            Ok(run) => {
                html::page(&build::report_beside(&run, &Analysis::of(&run), &[]));
                reported += 1;
            }
            Err(error) => assert!(
                error.to_string().contains("run.json") || error.to_string().contains("samples.csv"),
                "{error}"
            ),
        }
    });
    assert!(reported > 1, "some changes leave a record that can be read");
}

#[test]
fn samples_are_read_twice_alike_or_refused_by_line_and_column() {
    for (target, file) in [("samples", SAMPLES), ("histograms", HISTOGRAMS)] {
        let directory = directory();
        each(target, CHANGES, |bytes| {
            std::fs::write(directory.path().join(file), bytes).expect("written");
            match RunDir::load(directory.path()) {
                Ok(run) => {
                    let cases = run.record.plan.cases.iter();
                    let read: usize = cases.map(|c| run.samples.of_case(c.index).iter().count()).sum();
                    assert_eq!(read, run.samples.tally().samples);
                    run.samples.intact().expect("nobody changed the files");
                }
                Err(error) => assert!(error.to_string().contains(&format!("{file}, line ")), "{error}"),
            }
        });
    }
}

#[test]
fn a_file_that_changes_while_it_is_read_is_noticed() {
    let directory = directory();
    let run = RunDir::load(directory.path()).expect("a run");
    let file = directory.path().join(SAMPLES);
    let text = std::fs::read_to_string(&file).expect("rows");
    std::fs::write(&file, &text[..text.len() / 2]).expect("written");
    let left: usize = run.record.plan.cases.iter().map(|c| run.samples.of_case(c.index).iter().count()).sum();
    assert!(left < run.samples.tally().samples);
    let error = run.samples.intact().expect_err("half of the file is gone").to_string();
    assert!(error.contains("changed while it was being read") && error.contains(SAMPLES), "{error}");
}

#[test]
fn an_experiment_reads_back_or_is_refused_at_its_place() {
    each("spec", CHANGES, |bytes| {
        let Ok(text) = std::str::from_utf8(bytes) else { return };
        match Spec::from_toml(text, "mine.toml") {
            Ok(spec) => assert_eq!(Spec::from_toml(&spec.to_toml(), "again.toml").ok(), Some(spec)),
            Err(error) => assert!(error.to_string().contains("mine.toml"), "{error}"),
        }
    });
}

#[test]
fn other_peoples_tables_are_read_or_refused_by_name() {
    each("table", CHANGES, |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let mapping = Mapping::from_toml(&text, "mapping.toml").unwrap_or_default();
        match table::read("theirs.csv", &text, &mapping) {
            Ok(table) => drop(overtakes(&table)),
            Err(error) => assert!(error.to_string().contains("theirs.csv"), "{error}"),
        }
    });
}
