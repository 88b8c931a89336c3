//! The run directory: `run.json` and `samples.csv`, kept valid at every instant.
//!
//! The record is replaced atomically (temporary file, fsync, rename); samples are appended in
//! whole rows, one write per batch. A crash can leave one torn last row, which readers ignore
//! with a warning and [`RunDir::resume`] cuts off. Files of the directory are never followed
//! through symbolic links, and nothing that is found in one makes the reader panic.

use super::directory::OpenDirectory;
pub use super::errors::{LoadError, ResumeError, WriteError};
use super::errors::{read_error, write_error};
use super::lines::RowPlace;
pub use super::open::{RECORD, SAMPLES};
use super::open::{one_name, open_file, options, regular, unreadable};
use super::profile::ProfileFile;
use super::rows::{self, BadField};
use super::samples::{self, Samples, WrittenRows};
use super::slices::{self, SliceRow};
use super::{Audit, Record, Run, SCHEMA, leftovers};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use serde::Deserialize;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syscost_core::axis::Name;
use syscost_core::sample::Sample;
use syscost_core::units::count;
use syscost_measure::own;
use syscost_sys::optional::{SYNC_DATA, synced};

/// Largest `run.json` that is read: tens of thousands of cases stay far below.
const LARGEST_RECORD: u64 = 256 << 20;

/// An open run directory that this process alone appends to.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    held: OpenDirectory,
    samples: File,
    /// Bytes of whole rows in `samples.csv`.
    length: u64,
    /// How many of them are samples.
    rows: usize,
    /// Does the lock keep other writers away?
    locked: bool,
    /// The quantities that the file has columns for.
    quantities: Vec<String>,
    probes: Vec<Name>,
}

impl RunDir {
    /// Makes the directory (and its parents) and both files. Refuses one that holds anything.
    pub fn create(path: &Path, record: &Record) -> Result<RunDir, WriteError> {
        let held = OpenDirectory::make(path)?;
        let begun = leftovers::only_a_beginning(&held.way).map_err(|e| write_error(path, e))?;
        if !begun && fs::read_dir(&held.way).map_err(|e| write_error(path, e))?.next().is_some() {
            let is_run = path.join(RECORD).exists();
            let hint = if is_run {
                format!(", or continue it with `syscost run --resume {}`", path.display())
            } else {
                String::new()
            };
            return Err(WriteError::Exists { path: path.into(), hint });
        }
        let file = path.join(SAMPLES);
        let way = held.way.join(SAMPLES);
        // A start that was killed before it wrote a record left an empty file: it is used again.
        let samples = options(true).create_new(!begun).open(&way).map_err(|e| write_error(&file, e))?;
        held.hand_over(&samples).map_err(|e| write_error(&file, e))?;
        let quantities = rows::quantity_columns(&record.plan);
        let locked = take_lock(&samples, path)?;
        let mut dir = RunDir {
            path: path.into(),
            held,
            samples,
            length: 0,
            rows: 0,
            locked,
            quantities,
            probes: probes(record),
        };
        dir.write_record(record)?;
        let header = rows::header(&dir.quantities);
        dir.write_rows(header.as_bytes())?;
        Ok(dir)
    }

    /// Opens a run to continue it, and reads it. A torn last row is cut off with the rest of its
    /// round, which is to be measured again.
    pub fn resume(path: &Path) -> Result<(RunDir, Run), ResumeError> {
        let held = OpenDirectory::open(path).map_err(|error| match error {
            WriteError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ResumeError::Load(LoadError::NotARun { path: path.into(), missing: RECORD })
            }
            error => error.into(),
        })?;
        let mut record = read_record(path)?;
        let file = path.join(SAMPLES);
        let samples = options(true).open(held.way.join(SAMPLES)).map_err(|e| match e.kind() {
            io::ErrorKind::NotFound => ResumeError::Load(read_error(path, SAMPLES, e)),
            _ => ResumeError::Write(write_error(&file, e)),
        })?;
        let locked = take_lock(&samples, path)?;
        leftovers::sweep(&held.way);
        // Opened again: a copy of the descriptor would hold the lock for as long as the samples are read.
        let again = open_file(&held.way, SAMPLES)?;
        let mut read = samples::read(path, again, &mut record)?;
        if read.torn {
            read.whole = read.samples.drop_last_round().unwrap_or(read.whole);
        }
        let slices = slices::read(&held.way, &mut record)?;
        let profiles = ProfileFile::load(&held.way)?.profiles;
        let run = Run { record, samples: read.samples, slices, profiles };
        let wanted = rows::quantity_columns(&run.record.plan);
        if let Some(column) = wanted.into_iter().find(|c| !read.quantities.contains(c)) {
            return Err(WriteError::Columns { path: file, column }.into());
        }
        samples.set_len(read.whole).map_err(|e| write_error(&file, e))?;
        let mut dir = RunDir {
            path: path.into(),
            held,
            samples,
            length: read.whole,
            rows: run.samples.tally().samples,
            locked,
            quantities: read.quantities,
            probes: probes(&run.record),
        };
        if read.whole == 0 {
            // The crash came before the header was out.
            let header = rows::header(&dir.quantities);
            dir.write_rows(header.as_bytes())?;
        }
        Ok((dir, run))
    }

    /// What a run recorded beside its samples, which may be gigabytes.
    pub fn record(path: &Path) -> Result<Record, LoadError> {
        read_record(path)
    }

    /// Reads a run. Rows are streamed; one torn last row becomes a warning of the record.
    pub fn load(path: &Path) -> Result<Run, LoadError> {
        let mut record = read_record(path)?;
        let samples = samples::read(path, open_file(path, SAMPLES)?, &mut record)?.samples;
        let slices = slices::read(path, &mut record)?;
        let profiles = ProfileFile::load(path)?.profiles;
        let mut run = Run { record, samples, slices, profiles };
        run.tell_sessions();
        Ok(run)
    }

    /// The samples of a run that has none yet; [`Samples::written`] takes in what is appended.
    pub fn no_samples(&self) -> Result<Samples, LoadError> {
        let file = open_file(&self.held.way, SAMPLES)?;
        Ok(Samples::none_of(&self.path, file, self.quantities.clone()))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory, as it was opened.
    pub fn directory(&self) -> &OpenDirectory {
        &self.held
    }

    /// Can no other syscost write here? A file system without locks cannot tell.
    pub fn is_locked(&self) -> bool {
        self.locked
    }

    /// Is the file that is open here still the one that the directory names? Written on, it would
    /// be lost without a word.
    fn in_place(&self) -> Result<(), WriteError> {
        let path = self.path.join(SAMPLES);
        let open = self.samples.metadata().map_err(|e| write_error(&path, e))?;
        let named = fs::symlink_metadata(&path).is_ok_and(|m| (m.dev(), m.ino()) == (open.dev(), open.ino()));
        match named {
            true => Ok(()),
            false if open.nlink() == 0 => Err(WriteError::Removed { path, rows: self.rows }),
            false => Err(WriteError::Moved { path, rows: self.rows }),
        }
    }

    /// Replaces `run.json` atomically, and makes the samples before it durable first.
    pub fn write_record(&mut self, record: &Record) -> Result<(), WriteError> {
        self.probes = probes(record);
        self.in_place()?;
        synced(&self.samples, &SYNC_DATA).map_err(|e| write_error(&self.path.join(SAMPLES), e))?;
        let json = |file: &mut dyn Write| {
            let mut file = Limited { out: file, left: LARGEST_RECORD };
            serde_json::to_writer_pretty(&mut file, record)?;
            file.write_all(b"\n")
        };
        self.held.replace_with(RECORD, json)
    }

    /// Replaces what was sampled.
    pub fn write_profile(&self, file: &ProfileFile) -> Result<(), WriteError> {
        file.write(&self.held)
    }

    /// Appends the slices of a round of a block; its samples follow.
    pub fn append_slices(&mut self, rows: &[SliceRow]) -> Result<(), WriteError> {
        self.in_place()?;
        slices::append(&self.held.way, rows).map_err(|error| self.held.named(error))
    }

    /// Appends whole rows with one write; all of them, or none.
    pub fn append(&mut self, samples: &[Sample]) -> Result<WrittenRows, WriteError> {
        self.in_place()?;
        let histograms =
            super::histograms::append(&self.held.way, samples).map_err(|error| self.held.named(error))?;
        let mut lines = String::new();
        let mut places = Vec::new();
        for sample in samples {
            let refuse = |e: BadField| WriteError::Sample { column: e.column, reason: e.reason };
            let probe = self.probes.get(sample.case).map(Name::as_str).ok_or_else(|| {
                refuse(BadField {
                    column: "case".into(),
                    reason: format!("{} is not in the plan", sample.case),
                })
            })?;
            let before = lines.len() as u64;
            rows::write_row(&mut lines, sample, probe, &self.quantities).map_err(refuse)?;
            places.push(RowPlace { offset: self.length + before, bytes: lines.len() as u64 - before });
        }
        self.write_rows(lines.as_bytes())?;
        self.rows += samples.len();
        Ok(WrittenRows { rows: places, histograms })
    }

    fn write_rows(&mut self, bytes: &[u8]) -> Result<(), WriteError> {
        if let Err(error) = self.samples.write_all(bytes) {
            // A full disk may have taken half a row: leave the file as it was. Should that fail
            // too, readers still ignore the torn row.
            let _ = self.samples.set_len(self.length);
            return Err(write_error(&self.path.join(SAMPLES), error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }
}

/// Writes no more than a reader takes: what was there before is better than what nobody can read.
struct Limited<W> {
    out: W,
    left: u64,
}

impl<W: Write> Write for Limited<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len() as u64).ok_or_else(|| {
            let most = LARGEST_RECORD >> 20;
            io::Error::other(format!(
                "it would be larger than the {most} MiB that are read; ask for fewer cases"
            ))
        })?;
        self.out.write_all(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// False where the file system has no locks (some network mounts): it is still usable by one writer.
fn take_lock(file: &File, dir: &Path) -> Result<bool, WriteError> {
    regular(file).and_then(|()| one_name(file)).map_err(|e| write_error(&dir.join(SAMPLES), e))?;
    // The kernel drops the lock with its last holder, also after kill -9: nothing stale is left.
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Err(WriteError::InUse { path: dir.into() }),
        Err(_) => Ok(false),
    }
}

fn probes(record: &Record) -> Vec<Name> {
    record.plan.cases.iter().map(|c| c.probe.clone()).collect()
}

/// What every version of a record says.
#[derive(Deserialize)]
struct Versioned {
    schema: u64,
}

fn read_record(dir: &Path) -> Result<Record, LoadError> {
    let path = dir.join(RECORD);
    let file = open_file(dir, RECORD)?;
    let mut json = Vec::new();
    file.take(LARGEST_RECORD + 1).read_to_end(&mut json).map_err(|e| read_error(dir, RECORD, e))?;
    let damaged = |reason: String| LoadError::Record { path: path.clone(), reason };
    if json.len() as u64 > LARGEST_RECORD {
        return Err(damaged(format!("it is larger than {} MiB", LARGEST_RECORD >> 20)));
    }
    let read = serde_json::from_slice::<Record>(&json);
    // A newer record need not parse as ours.
    let version = match &read {
        Ok(record) => Some(record.schema.into()),
        Err(_) => serde_json::from_slice::<Versioned>(&json).ok().map(|version| version.schema),
    };
    if let Some(found) = version.filter(|found| *found > u64::from(SCHEMA)) {
        return Err(LoadError::Newer { path, found });
    }
    let mut record = read.map_err(|e| damaged(unreadable(&e)))?;
    consistent(&record).map_err(damaged)?;
    own::register(&record.spec.own);
    record.audits = std::mem::take(&mut record.audits).into_iter().map(Audit::as_seen).collect();
    Ok(record)
}

/// Indices that later rooms use without asking, and shares that statistics divide by.
fn consistent(record: &Record) -> Result<(), String> {
    let cases = record.plan.cases.len();
    for (position, case) in record.plan.cases.iter().enumerate() {
        if case.index != position {
            return Err(format!("plan.cases[{position}] calls itself case {}", case.index));
        }
        if case.twin_of.is_some_and(|twin| twin >= cases) {
            return Err(format!("case {position} repeats a case that is not in the plan"));
        }
    }
    let named = record.warnings.iter().flat_map(|w| w.cases.iter().copied());
    let named = named.chain(record.failures.iter().map(|f| f.case)).chain(record.settings.keys().copied());
    if let Some(case) = named.into_iter().find(|case| *case >= cases) {
        return Err(format!("it speaks of case {case}, and the plan has {}", count(cases, "case")));
    }
    let impossible = record.audits.iter().enumerate();
    if let Some((number, count)) = impossible.filter_map(|(n, audit)| Some((n, audit.impossible()?))).next() {
        return Err(format!("audits[{number}] counts {count}, which no round comes to"));
    }
    for (name, share) in [("precision", record.spec.precision), ("confidence", record.spec.confidence)] {
        if !(share > 0.0 && share < 1.0) {
            return Err(format!("spec.{name} is {share}, not a share between 0 and 1"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn counts_that_no_round_comes_to_are_refused_wherever_they_stand() {
        let written = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/small-run").join(RECORD);
        let good: serde_json::Value = serde_json::from_slice(&fs::read(written).unwrap()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        let read = |record: &serde_json::Value| {
            fs::write(directory.path().join(RECORD), record.to_string()).unwrap();
            read_record(directory.path()).map(drop).map_err(|error| error.to_string())
        };
        assert_eq!(read(&good), Ok(()));
        let audits = good["audits"].as_array().unwrap();
        let number = audits.iter().position(|audit| audit["counts"].is_object()).unwrap();
        for field in ["delivered_bytes", "counts/copied_in", "counts/copied_out", "completions"] {
            let mut crafted = good.clone();
            *crafted.pointer_mut(&format!("/audits/{number}/{field}")).unwrap() = u64::MAX.into();
            let error = read(&crafted).unwrap_err();
            assert!(
                error.contains(&format!("audits[{number}] counts 18446744073709551615")),
                "{field}: {error}"
            );
        }
    }

    #[test]
    fn no_more_is_written_than_is_read() {
        let mut out = Vec::new();
        let mut limited = Limited { out: &mut out, left: 5 };
        assert!(limited.write_all(b"1234").is_ok() && limited.write_all(b"5").is_ok());
        assert!(limited.write_all(b"6").unwrap_err().to_string().contains("256 MiB"));
        assert_eq!(out, b"12345");
    }

    #[test]
    fn a_full_disk_says_what_it_means_and_what_to_do() {
        // /dev/full refuses every write with ENOSPC.
        let samples = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut dir = RunDir {
            path: "/somewhere".into(),
            held: OpenDirectory::open(Path::new("/")).unwrap(),
            samples,
            length: 0,
            rows: 0,
            locked: true,
            quantities: Vec::new(),
            probes: vec!["transfer".into()],
        };
        let error = dir.append(&[Sample { elapsed_ns: 1.0, ..Sample::default() }]).unwrap_err().to_string();
        assert!(error.contains("/somewhere/samples.csv") && error.contains("--resume"), "{error}");
        assert_eq!(dir.length, 0);
    }
}
