//! Programs by their files: this very binary, for re-execution as a worker or a namespace holder, and others by name.
//!
//! The path of this binary must not name another one: a worker of another build would speak another protocol.
//! Source: proc(5), /proc/PID/exe.

use sha2::{Digest, Sha256};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const SELF: &str = "/proc/self/exe";

static OVERRIDE: OnceLock<PathBuf> = OnceLock::new();

/// Points at another binary: for integration tests, whose own executable is the test binary.
/// Only the first call counts.
pub fn set(path: impl Into<PathBuf>) {
    let _ = OVERRIDE.set(path.into());
}

/// The binary to execute.
pub fn path() -> PathBuf {
    if let Some(path) = OVERRIDE.get() {
        return path.clone();
    }
    // A rebuild during a run puts another file at our path: the link still leads to ours.
    match fs::read_link(SELF) {
        Ok(resolved) if same_file(&resolved, Path::new(SELF)) => resolved,
        _ => PathBuf::from(SELF),
    }
}

/// Another program's file: on the PATH, else in these folders.
pub fn named(name: &str, more_folders: &[&str]) -> Option<PathBuf> {
    let is_program =
        |file: &PathBuf| fs::metadata(file).is_ok_and(|seen| seen.is_file() && seen.mode() & 0o111 != 0);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(more_folders.iter().map(PathBuf::from));
    folders.map(|folder| folder.join(name)).find(is_program)
}

/// SHA-256 of the binary: figures of two runs compare only if their code was the same.
pub fn sha256() -> io::Result<String> {
    sha256_of(&path()).map_err(without_proc)
}

/// The same of another file.
pub fn sha256_of(file: &Path) -> io::Result<String> {
    let mut hasher = Sha256::new();
    io::copy(&mut fs::File::open(file)?, &mut hasher)?;
    Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// The same of a text.
pub fn sha256_of_text(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whatever is measured needs /proc: workers are started, and files are opened again, through it.
pub fn has_proc() -> io::Result<()> {
    fs::read_link(SELF).map(drop).map_err(without_proc)
}

/// Where there is no /proc at all, that is what is wrong.
fn without_proc(error: io::Error) -> io::Error {
    match Path::new(SELF).parent().is_some_and(Path::exists) {
        true => error,
        false => io::Error::new(
            error.kind(),
            "/proc is not mounted (or is that of other processes), and workers are started through it: mount -t proc proc /proc",
        ),
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    match (fs::metadata(a), fs::metadata(b)) {
        (Ok(a), Ok(b)) => (a.dev(), a.ino()) == (b.dev(), b.ino()),
        _ => false,
    }
}
