//! The run directory on a real file system: what is written reads back, what is damaged is named,
//! nothing is followed through a link, and a crash loses one row at most.

use crate::report::common;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_experiment::run::{LoadError, ResumeError, RunDir, WriteError};

fn made() -> (tempfile::TempDir, PathBuf, syscost_experiment::run::Run) {
    let scratch = tempfile::tempdir().unwrap();
    let path = scratch.path().join("deep/run");
    let mut run = common::small_run();
    (run.record.slice_rounds, run.slices) = (0, Default::default());
    let mut dir = RunDir::create(&path, &run.record).unwrap();
    dir.append(&run.samples).unwrap();
    (scratch, path, run)
}

#[test]
fn a_run_reads_back_exactly_and_writes_the_same_bytes() {
    let (scratch, path, run) = made();
    let read = RunDir::load(&path).unwrap();
    assert_eq!(read, run);
    let again = scratch.path().join("again");
    RunDir::create(&again, &read.record).unwrap().append(&read.samples).unwrap();
    for file in ["run.json", "samples.csv"] {
        assert_eq!(fs::read(path.join(file)).unwrap(), fs::read(again.join(file)).unwrap(), "{file}");
    }
    assert_eq!(fs::read_dir(&path).unwrap().count(), 2, "no temporary file is left");
}

#[test]
fn samples_that_are_still_read_keep_no_lock() {
    let (_scratch, path, _) = made();
    let (first, run) = RunDir::resume(&path).unwrap();
    let none = first.no_samples().unwrap();
    assert!(matches!(RunDir::resume(&path), Err(ResumeError::Write(WriteError::InUse { .. }))));
    drop(first);
    // The next stage of a refining run begins while the former one's samples are looked at.
    assert!(RunDir::resume(&path).is_ok());
    assert!(!run.samples.is_empty() && none.is_empty());
}

#[test]
fn a_torn_last_row_is_ignored_with_a_warning_and_cut_off_on_resume() {
    let (_scratch, path, run) = made();
    let file = path.join("samples.csv");
    let whole = fs::read(&file).unwrap();
    for cut in [1, 7, 40] {
        fs::write(&file, &whole[..whole.len() - cut]).unwrap();
        let read = RunDir::load(&path).unwrap();
        assert_eq!(read.samples, run.samples[..run.samples.len() - 1]);
        assert_eq!(read.record.warnings.last().unwrap().id, "torn_row");
    }
    let (mut dir, resumed) = RunDir::resume(&path).unwrap();
    // The whole round goes: it is measured again, not counted with some of its windows.
    let torn = run.samples.last().map(|s| (s.case, s.round)).unwrap();
    let kept = run.samples.iter().position(|s| (s.case, s.round) == torn).unwrap();
    assert!(kept < run.samples.len() - 1, "the fixture's rounds have several windows");
    assert_eq!(resumed.samples, run.samples[..kept]);
    dir.append(&run.samples[kept..]).unwrap();
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn a_run_that_lost_even_its_header_can_be_resumed() {
    let (_scratch, path, run) = made();
    let file = path.join("samples.csv");
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..20]).unwrap();
    let (mut dir, resumed) = RunDir::resume(&path).unwrap();
    assert!(resumed.samples.is_empty());
    dir.append(&run.samples).unwrap();
    assert_eq!(fs::read(&file).unwrap(), whole);
}

#[test]
fn a_newer_format_is_said_to_be_newer() {
    let (_scratch, path, _) = made();
    fs::write(path.join("run.json"), r#"{"schema": 99, "unknown": [1]}"#).unwrap();
    let error = RunDir::load(&path).unwrap_err();
    assert!(matches!(error, LoadError::Newer { found: 99, .. }), "{error}");
}

/// The first line of damage must not be the last of the run.
#[test]
fn every_valid_row_of_a_damaged_file_is_kept_and_the_rest_is_said() {
    let (_scratch, path, run) = made();
    let file = path.join("samples.csv");
    let text = fs::read_to_string(&file).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    let damage = [
        lines[2].replacen(",true,", ",perhaps,", 1).into_bytes(),
        b"999999,transfer,0,0,1,1,1,true,,1".to_vec(),
        vec![b'x'; 3 << 20],
        vec![0xff; 40],
        Vec::new(),
    ];
    let mut damaged = [lines[..3].join("\n").as_bytes(), b"\n"].concat();
    damage.iter().for_each(|line| damaged.extend([line, &b"\n"[..]].concat()));
    // A hole of zeros, and whole rows behind it.
    damaged.extend(vec![0; (1 << 20) + 7]);
    damaged.extend([lines[3..].join("\n").as_bytes(), b"\n"].concat());
    fs::write(&file, &damaged).unwrap();
    let loaded = RunDir::load(&path).unwrap();
    assert_eq!(loaded.samples, run.samples, "every valid row, as it was");
    let warned = |warnings: &[syscost_experiment::run::Warning]| -> Vec<String> {
        warnings.iter().filter(|w| w.id == "damaged_samples").map(|w| w.observed.clone()).collect()
    };
    let [said] = &warned(&loaded.record.warnings)[..] else { panic!("{:?}", loaded.record.warnings) };
    assert!(said.contains("5 rows of samples.csv") && said.contains("line 4, column verified"), "{said}");
    for _ in 0..2 {
        let (mut dir, resumed) = RunDir::resume(&path).unwrap();
        assert_eq!(resumed.samples, run.samples);
        assert_eq!(warned(&resumed.record.warnings).len(), 1, "said once, however often it is continued");
        dir.write_record(&resumed.record).unwrap();
    }
    assert_eq!(fs::read(&file).unwrap(), damaged, "what could not be read is still there to look at");
    // Cut off by a loss of power: blocks that were never written.
    damaged.extend(vec![0; 2 << 20]);
    fs::write(&file, &damaged).unwrap();
    let torn = RunDir::load(&path).unwrap();
    assert_eq!(torn.samples, run.samples);
    assert!(torn.record.warnings.iter().any(|w| w.id == "torn_row"), "{:?}", torn.record.warnings);
    drop(RunDir::resume(&path).unwrap());
    assert!(
        fs::metadata(&file).unwrap().len() < damaged.len() as u64 - (2 << 20),
        "its round is measured again"
    );
}

/// Files beside the samples spoil no sample.
#[test]
fn what_is_lost_or_damaged_beside_the_samples_is_said() {
    let (_scratch, path, mut run) = made();
    run.record.slice_rounds = 3;
    fs::write(path.join("run.json"), serde_json::to_vec(&run.record).unwrap()).unwrap();
    let warned = |path: &Path, id: &str| {
        let read = RunDir::load(path).unwrap_or_else(|error| panic!("{id}: {error}"));
        assert!(!read.samples.is_empty(), "{id}");
        read.record.warnings.iter().any(|warning| warning.id == id)
    };
    assert!(warned(&path, "lost_slices"));
    fs::write(path.join("slices.csv"), "nothing\n").unwrap();
    assert!(warned(&path, "damaged_slices"));
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runs/latency");
    let copy = tempfile::tempdir().unwrap();
    for file in ["run.json.gz", "samples.csv.gz"] {
        fs::copy(recorded.join(file), copy.path().join(file)).unwrap();
    }
    assert!(warned(copy.path(), "lost_histograms"));
    let unpacked =
        Command::new("gzip").arg("-dc").arg(recorded.join("histograms.csv.gz")).output().expect("gzip");
    let times = String::from_utf8(unpacked.stdout).unwrap();
    fs::write(copy.path().join("histograms.csv"), times.replacen("case,", "cas\0,", 1)).unwrap();
    assert!(warned(copy.path(), "damaged_histograms") && !warned(copy.path(), "lost_histograms"));
    let kept = RunDir::load(copy.path()).unwrap();
    let whole = RunDir::load(&recorded).unwrap();
    assert_eq!(kept.samples.iter().collect::<Vec<_>>(), whole.samples.iter().collect::<Vec<_>>());
}

#[test]
fn a_file_in_which_no_row_can_be_read_names_file_line_and_column() {
    let (_scratch, path, _) = made();
    let file = path.join("samples.csv");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace(",true,", ",perhaps,")).unwrap();
    let error = RunDir::load(&path).unwrap_err().to_string();
    assert!(error.contains("samples.csv, line 2, column verified"), "{error}");
    assert!(RunDir::resume(&path).is_err());
}

#[test]
fn a_record_that_speaks_of_no_case_is_damaged() {
    let (_scratch, path, mut run) = made();
    run.record.failures.push(syscost_experiment::run::Failure {
        case: 9999,
        round: 0,
        message: String::new(),
    });
    fs::write(path.join("run.json"), serde_json::to_vec(&run.record).unwrap()).unwrap();
    assert!(RunDir::load(&path).unwrap_err().to_string().contains("case 9999"));
}

#[test]
fn an_impossible_sample_spoils_its_whole_batch_and_nothing_else() {
    let (_scratch, path, run) = made();
    let (mut dir, _) = RunDir::resume(&path).unwrap();
    let before = fs::read(path.join("samples.csv")).unwrap();
    let mut impossible = run.samples[0].clone();
    impossible.elapsed_ns = f64::INFINITY;
    let error = dir.append(&[run.samples[0].clone(), impossible]).unwrap_err();
    assert!(matches!(error, WriteError::Sample { .. }), "{error}");
    assert_eq!(fs::read(path.join("samples.csv")).unwrap(), before, "all rows of a batch, or none");
}

#[test]
fn a_run_of_before_the_first_release_is_refused_by_that_word() {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/small-run/run.json");
    let mut record: serde_json::Value = serde_json::from_slice(&fs::read(recorded).unwrap()).unwrap();
    record.as_object_mut().unwrap().remove("sessions");
    let scratch = tempfile::tempdir().unwrap();
    fs::write(scratch.path().join("run.json"), record.to_string()).unwrap();
    let error = RunDir::load(scratch.path()).unwrap_err().to_string();
    assert!(error.contains("`sessions`") && error.contains("before the first release"), "{error}");
}
