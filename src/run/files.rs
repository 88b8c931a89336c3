//! The run directory: `run.json` and `samples.csv`, kept valid at every instant.
//!
//! The record is replaced atomically (temporary file, fsync, rename); samples are appended in
//! whole rows, one write per batch. A crash can leave one torn last row, which readers ignore
//! with a warning and [`RunDir::resume`] cuts off. Files of the directory are never followed
//! through symbolic links, and nothing that is found in one makes the reader panic.

use super::held::{Held, one_name};
use super::rows::{self, BadField};
use super::samples::{self, Place, Samples, Written};
use super::{Record, Run, SCHEMA, leftovers};
use crate::sample::Sample;
use crate::sys::lock;
use serde::Deserialize;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

pub const RECORD: &str = "run.json";
pub const SAMPLES: &str = "samples.csv";
/// Largest `run.json` that is read: tens of thousands of cases stay far below.
const LARGEST_RECORD: u64 = 256 << 20;

/// Why a directory could not be made or written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error("{path} already holds files: choose another directory with --out{hint}", path = path.display())]
    Exists { path: PathBuf, hint: String },
    #[error("{path} is not a directory: choose another one with --out", path = path.display())]
    NotADirectory { path: PathBuf },
    #[error("{path} is in use by another syscost: wait for it, or choose another directory with --out", path = path.display())]
    InUse { path: PathBuf },
    #[error("cannot write {path}: {meaning}", path = path.display())]
    Io { path: PathBuf, meaning: String, source: io::Error },
    #[error("refusing to record an impossible sample: {column}: {reason}")]
    Sample { column: String, reason: String },
    #[error("{path} was made by another version of syscost: it has no column {column}; start a new run instead", path = path.display())]
    Columns { path: PathBuf, column: String },
}

/// Why a directory could not be read as a run.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    #[error(
        "{path} is not a run directory: it has no {missing} (`syscost run --out DIR` makes one, with run.json and samples.csv in it)",
        path = path.display()
    )]
    NotARun { path: PathBuf, missing: &'static str },
    #[error("cannot read {path}: {meaning}", path = path.display())]
    Io { path: PathBuf, meaning: String, source: io::Error },
    #[error(
        "{path} has format {found}, this syscost reads up to {SCHEMA}: use a newer syscost",
        path = path.display()
    )]
    Newer { path: PathBuf, found: u64 },
    #[error("{path} is damaged: {reason}", path = path.display())]
    Record { path: PathBuf, reason: String },
    #[error("{path}, line {line}, column {column}: {reason}", path = path.display())]
    Row { path: PathBuf, line: u64, column: String, reason: String },
    #[error(
        "{path} was changed while it was being read ({what}): run the command again when nothing else writes there",
        path = path.display()
    )]
    Changed { path: PathBuf, what: String },
}

/// Why a run could not be continued.
#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

/// An open run directory that this process alone appends to.
#[derive(Debug)]
pub struct RunDir {
    path: PathBuf,
    held: Held,
    samples: File,
    /// Bytes of whole rows in `samples.csv`.
    length: u64,
    quantities: Vec<String>,
    probes: Vec<String>,
}

impl RunDir {
    /// Makes the directory (and its parents) and both files. Refuses one that holds anything.
    pub fn create(path: &Path, record: &Record) -> Result<RunDir, WriteError> {
        fs::create_dir_all(path).map_err(|e| match e.kind() {
            io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
                WriteError::NotADirectory { path: path.into() }
            }
            _ => write_error(path, e),
        })?;
        let held = Held::open(path)?;
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
        let quantities = rows::quantity_columns(&record.plan);
        let mut dir = RunDir {
            path: path.into(),
            held,
            samples: take_lock(samples, path)?,
            length: 0,
            quantities,
            probes: probes(record),
        };
        leftovers::sweep(&dir.held.way);
        dir.write_record(record)?;
        let header = rows::header(&dir.quantities);
        dir.write_rows(header.as_bytes())?;
        Ok(dir)
    }

    /// Opens a run to continue it, and reads it. A torn last row is cut off with the rest of its
    /// round, which is to be measured again.
    pub fn resume(path: &Path) -> Result<(RunDir, Run), ResumeError> {
        let held = Held::open(path).map_err(|error| match error {
            WriteError::Io { source, .. } if source.kind() == io::ErrorKind::NotFound => {
                ResumeError::Load(LoadError::NotARun { path: path.into(), missing: RECORD })
            }
            error => error.into(),
        })?;
        let mut record = read_record(path)?;
        let file = path.join(SAMPLES);
        let samples = options(true).open(held.way.join(SAMPLES)).map_err(|e| read_error(path, SAMPLES, e))?;
        let samples = take_lock(samples, path)?;
        leftovers::sweep(&held.way);
        let again = samples.try_clone().map_err(|e| read_error(path, SAMPLES, e))?;
        let mut read = samples::read(path, again, &mut record)?;
        if read.torn
            && let Some(start) = read.samples.drop_last_round()
        {
            read.whole = start;
        }
        let run = Run { record, samples: read.samples };
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

    /// Reads a run. Rows are streamed; one torn last row becomes a warning of the record.
    pub fn load(path: &Path) -> Result<Run, LoadError> {
        let mut record = read_record(path)?;
        let samples = samples::read(path, open_file(path, SAMPLES)?, &mut record)?.samples;
        Ok(Run { record, samples })
    }

    /// The samples of a run that has none yet; [`Samples::written`] takes in what is appended.
    pub fn no_samples(&self) -> Result<Samples, WriteError> {
        let file = self.samples.try_clone().map_err(|e| write_error(&self.path.join(SAMPLES), e))?;
        Ok(Samples::none_of(&self.path, file, &self.quantities))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces `run.json` atomically, and makes the samples before it durable first.
    pub fn write_record(&mut self, record: &Record) -> Result<(), WriteError> {
        self.probes = probes(record);
        self.samples.sync_data().map_err(|e| write_error(&self.path.join(SAMPLES), e))?;
        let mut json = serde_json::to_vec_pretty(record)
            .map_err(|e| write_error(&self.path.join(RECORD), io::Error::other(e)))?;
        json.push(b'\n');
        replace(&self.held.way, RECORD, &json).map_err(|error| self.held.named(error, &self.path))
    }

    /// Appends whole rows with one write; all of them, or none.
    pub fn append(&mut self, samples: &[Sample]) -> Result<Written, WriteError> {
        let histograms = super::histograms::append(&self.held.way, samples)
            .map_err(|error| self.held.named(error, &self.path))?;
        let mut lines = String::new();
        let mut places = Vec::new();
        for sample in samples {
            let refuse = |e: BadField| WriteError::Sample { column: e.column, reason: e.reason };
            let probe = self.probes.get(sample.case).map(String::as_str).ok_or_else(|| {
                refuse(BadField {
                    column: "case".into(),
                    reason: format!("{} is not in the plan", sample.case),
                })
            })?;
            let before = lines.len() as u64;
            rows::write_row(&mut lines, sample, probe, &self.quantities).map_err(refuse)?;
            places.push(Place { offset: self.length + before, bytes: lines.len() as u64 - before });
        }
        self.write_rows(lines.as_bytes())?;
        Ok(Written { rows: places, histograms })
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

/// Replaces one file of a run directory atomically (also `results.csv` and `report.html`).
pub fn replace(dir: &Path, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
    replace_with(dir, name, |out| out.write_all(bytes))
}

/// The same with what this writes, piece by piece.
pub fn replace_with(
    dir: &Path,
    name: &str,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    let path = dir.join(name);
    let temporary = dir.join(leftovers::temporary(name));
    let fail = |e| write_error(&path, e);
    let written = write_new(&temporary, content).and_then(|()| fs::rename(&temporary, &path));
    if let Err(error) = written {
        let _ = fs::remove_file(&temporary);
        return Err(fail(error));
    }
    // The rename itself must survive a power cut.
    File::open(dir).and_then(|d| d.sync_all()).map_err(fail)
}

fn write_new(path: &Path, content: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    // A leftover of a killed process with our process id is ours to remove; a link is not followed.
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let mut file = BufWriter::new(options(false).write(true).create_new(true).open(path)?);
    content(&mut file)?;
    file.into_inner()?.sync_all()
}

/// Never through a symbolic link, never waiting for the other end of a FIFO.
pub(super) fn options(append: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    if append {
        options.read(true).append(true);
    }
    options
}

pub(super) fn open_file(dir: &Path, name: &'static str) -> Result<File, LoadError> {
    let file = options(false).read(true).open(dir.join(name)).map_err(|e| read_error(dir, name, e))?;
    regular(&file).map_err(|e| read_error(dir, name, e))?;
    Ok(file)
}

fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}

fn take_lock(file: File, dir: &Path) -> Result<File, WriteError> {
    regular(&file).and_then(|()| one_name(&file)).map_err(|e| write_error(&dir.join(SAMPLES), e))?;
    match lock::exclusive(&file) {
        Ok(()) => Ok(file),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Err(WriteError::InUse { path: dir.into() }),
        // File systems without locks (some network mounts) are still usable by one writer.
        Err(_) => Ok(file),
    }
}

fn probes(record: &Record) -> Vec<String> {
    record.plan.cases.iter().map(|c| c.probe.clone()).collect()
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
    // The schema first: a newer record need not parse as ours.
    #[derive(Deserialize)]
    struct Versioned {
        schema: u64,
    }
    let version: Versioned = serde_json::from_slice(&json).map_err(|e| damaged(e.to_string()))?;
    if version.schema > u64::from(SCHEMA) {
        return Err(LoadError::Newer { path, found: version.schema });
    }
    let record: Record = serde_json::from_slice(&json).map_err(|e| damaged(e.to_string()))?;
    consistent(&record).map_err(damaged)?;
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
        return Err(format!("it speaks of case {case}, and the plan has {cases} cases"));
    }
    for (name, share) in [("precision", record.spec.precision), ("confidence", record.spec.confidence)] {
        if !(share > 0.0 && share < 1.0) {
            return Err(format!("spec.{name} is {share}, not a share between 0 and 1"));
        }
    }
    Ok(())
}

pub(super) fn write_error(path: &Path, source: io::Error) -> WriteError {
    let meaning = match source.raw_os_error() {
        Some(libc::ENOSPC | libc::EDQUOT) => {
            "no space is left there; what was recorded until now is whole: free some space (df -h), \
             then continue with `syscost run --resume DIR`, or choose another directory with --out"
                .into()
        }
        Some(libc::EROFS) => {
            "the file system is read-only; choose a directory on another one with --out".into()
        }
        Some(libc::EACCES | libc::EPERM) => {
            "you may not write there; choose another directory with --out, or change its permissions (ls -ld)"
                .into()
        }
        Some(libc::ELOOP) => "it is a symbolic link, which syscost does not follow; remove it".into(),
        Some(libc::ENOENT) => {
            "no directory can be made there, or it was removed meanwhile; choose another one with --out"
                .into()
        }
        _ => source.to_string(),
    };
    WriteError::Io { path: path.into(), meaning, source }
}

pub(super) fn read_error(dir: &Path, name: &'static str, source: io::Error) -> LoadError {
    let path = dir.join(name);
    let meaning = match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => return LoadError::NotARun { path: dir.into(), missing: name },
        Some(libc::ELOOP) => "it is a symbolic link, which syscost does not follow".into(),
        Some(libc::EACCES) => "you may not read it; ask its owner, or run as the user who made it".into(),
        _ => source.to_string(),
    };
    LoadError::Io { path, meaning, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_says_what_it_means_and_what_to_do() {
        // /dev/full refuses every write with ENOSPC.
        let samples = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut dir = RunDir {
            path: "/somewhere".into(),
            held: Held::open(Path::new("/")).unwrap(),
            samples,
            length: 0,
            quantities: Vec::new(),
            probes: vec!["transfer".into()],
        };
        let error = dir.append(&[Sample { elapsed_ns: 1.0, ..Sample::default() }]).unwrap_err().to_string();
        assert!(error.contains("/somewhere/samples.csv") && error.contains("--resume"), "{error}");
        assert_eq!(dir.length, 0);
    }

    #[test]
    fn read_only_and_forbidden_places_say_so() {
        for (code, words) in [(libc::EROFS, "read-only"), (libc::EACCES, "may not write")] {
            let text = write_error(Path::new("/x/run"), io::Error::from_raw_os_error(code)).to_string();
            assert!(text.contains("/x/run") && text.contains(words) && text.contains("--out"), "{text}");
        }
    }
}
