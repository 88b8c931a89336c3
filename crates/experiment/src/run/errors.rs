//! Why a run directory could not be written, read or continued: what happened, what it means, and the
//! next command. It decides nothing. Source: errno(3).

use super::SCHEMA;
use std::io;
use std::path::{Path, PathBuf};
use syscost_core::units::count;
use syscost_host::scarce;

/// What a run is known by.
pub const RECORD: &str = "run.json";

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
    #[error(
        "{path} was removed while the run was writing it: {} lost; \
         measure again with `syscost run --out DIR`, in a directory that nobody cleans up",
        count(*rows, "sample"), path = path.display()
    )]
    Removed { path: PathBuf, rows: usize },
    #[error(
        "{path} was moved away while the run was writing it: what it measured ({}) is in it; \
         continue with `syscost run --resume DIR`, where it is now",
        count(*rows, "sample"), path = path.display()
    )]
    Moved { path: PathBuf, rows: usize },
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

pub(super) fn write_error(path: &Path, source: io::Error) -> WriteError {
    // A run without its record is none: nothing can be continued.
    let begun = path.parent().is_some_and(|dir| dir.join(RECORD).exists());
    let (kept, then) = match begun {
        true => ("; what was recorded until now is whole", ", then continue with `syscost run --resume DIR`"),
        false => ("; nothing was measured yet", ""),
    };
    let meaning = match code(&source) {
        Some(libc::ENOSPC | libc::EDQUOT) => format!(
            "no space is left there{kept}: free some space (df -h; df -i for files){then}, or choose another \
             directory with --out"
        ),
        Some(libc::EFBIG) => format!(
            "the file would be larger than this process or this file system allows{kept}: raise the limit \
             (ulimit -f unlimited){then}"
        ),
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
        _ => plainly(&source),
    };
    WriteError::Io { path: path.into(), meaning, source }
}

/// The kernel's number, also of an error that a writer in between has wrapped.
fn code(error: &io::Error) -> Option<i32> {
    let wrapped = || {
        let inner = error.get_ref()?;
        let of_csv = inner.downcast_ref::<csv::Error>().map(csv::Error::kind);
        match of_csv {
            Some(csv::ErrorKind::Io(error)) => code(error),
            _ => inner.downcast_ref::<io::Error>().and_then(code),
        }
    };
    error.raw_os_error().or_else(wrapped)
}

pub(super) fn read_error(dir: &Path, name: &'static str, source: io::Error) -> LoadError {
    let path = dir.join(name);
    let meaning = match source.raw_os_error() {
        Some(libc::ENOENT | libc::ENOTDIR) => return LoadError::NotARun { path: dir.into(), missing: name },
        Some(libc::ELOOP) => "it is a symbolic link, which syscost does not follow".into(),
        Some(libc::EACCES) => "you may not read it; ask its owner, or run as the user who made it".into(),
        _ => plainly(&source),
    };
    LoadError::Io { path, meaning, source }
}

/// What the system says, with the limit that it speaks of.
fn plainly(error: &io::Error) -> String {
    scarce::meaning(error).map_or_else(|| error.to_string(), |limit| format!("{error}: {limit}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn read_only_and_forbidden_places_say_so() {
        for (code, words) in [(libc::EROFS, "read-only"), (libc::EACCES, "may not write")] {
            let wrapped = io::Error::other(io::Error::from_raw_os_error(code));
            let text = write_error(Path::new("/x/run"), wrapped).to_string();
            assert!(text.contains("/x/run") && text.contains(words) && text.contains("--out"), "{text}");
        }
    }

    #[test]
    fn a_limit_on_the_size_of_files_is_named() {
        let scratch = tempfile::tempdir().unwrap();
        let said = || {
            let full = io::Error::from_raw_os_error(libc::EFBIG);
            write_error(&scratch.path().join("samples.csv"), full).to_string()
        };
        assert!(said().contains("ulimit -f") && !said().contains("--resume"), "no run: {}", said());
        std::fs::write(scratch.path().join(RECORD), "").unwrap();
        assert!(said().contains("ulimit -f") && said().contains("--resume"), "{}", said());
    }
}
