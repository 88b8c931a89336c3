//! The files that cases read: made once a run, held open by the harness, without a name.
//!
//! A file is created, unlinked at once and filled with random bytes; workers open it through
//! /proc/PID/fd, with whatever flags they need. When the harness ends, whatever it dies of, the
//! kernel frees the space: nothing can be left behind. A file that would take more than a part of
//! the free space is refused, so that no disk is filled. Sources: proc(5), open(2), unlink(2).

use super::Unavailable;
use crate::sys::{disk, random};
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// The share of the free space that one file may take.
const SHARE_OF_FREE: f64 = 0.5;
const CHUNK_BYTES: usize = 1 << 20;

/// A file of random bytes that a case reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ScratchFile {
    /// The directory that decides the file system and the disk.
    pub directory: String,
    pub bytes: u64,
    /// Tells files of one size apart.
    pub number: u32,
}

/// The files of a run so far.
#[derive(Default)]
pub struct Scratch {
    files: BTreeMap<ScratchFile, File>,
}

impl Scratch {
    /// The paths of these files, made where they are not yet there.
    pub fn paths(&mut self, wanted: &[ScratchFile]) -> Result<Vec<String>, Unavailable> {
        wanted.iter().map(|file| self.path(file)).collect()
    }

    fn path(&mut self, wanted: &ScratchFile) -> Result<String, Unavailable> {
        if !self.files.contains_key(wanted) {
            let file = make(wanted)?;
            self.files.insert(wanted.clone(), file);
        }
        Ok(format!("/proc/{}/fd/{}", std::process::id(), self.files[wanted].as_raw_fd()))
    }
}

/// Can a file be made in this directory at all?
pub fn writable(directory: &str) -> Result<(), Unavailable> {
    nameless(Path::new(directory)).map(|_| ()).map_err(|error| refused(directory, &error))
}

fn make(wanted: &ScratchFile) -> Result<File, Unavailable> {
    let directory = Path::new(&wanted.directory);
    let refuse = |error: io::Error| refused(&wanted.directory, &error);
    let free = disk::free_bytes(directory).map_err(refuse)?;
    if wanted.bytes as f64 > free as f64 * SHARE_OF_FREE {
        let size = crate::units::Unit::Bytes;
        return Err(Unavailable {
            reason: format!(
                "a file of {} would take more than half of the {} that are free in {}",
                size.format(wanted.bytes as f64),
                size.format(free as f64),
                wanted.directory
            ),
            remedy: "free some space, name a smaller file size, or another directory with --dir".into(),
        });
    }
    let mut file = nameless(directory).map_err(refuse)?;
    fill(&mut file, wanted).map_err(refuse)?;
    Ok(file)
}

fn refused(directory: &str, error: &io::Error) -> Unavailable {
    Unavailable {
        reason: format!("cannot write a scratch file in {directory}: {error}"),
        remedy: "name a directory on a writable file system with --dir".into(),
    }
}

/// An open file that no directory names (any more).
fn nameless(directory: &Path) -> io::Result<File> {
    let name: PathBuf = directory.join(format!(".syscost-{}", random::token()?));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&name)?;
    std::fs::remove_file(&name)?;
    Ok(file)
}

/// Random bytes, different in every block, so that no file system can compress or share them; on
/// the disk when it returns.
fn fill(file: &mut File, wanted: &ScratchFile) -> io::Result<()> {
    let mut chunk = vec![0u8; CHUNK_BYTES];
    random::fill(&mut chunk)?;
    let mut left = wanted.bytes;
    while left > 0 {
        for block in chunk.chunks_exact_mut(512) {
            block[..8].copy_from_slice(&left.to_le_bytes());
        }
        let now = left.min(CHUNK_BYTES as u64);
        file.write_all(&chunk[..now as usize])?;
        left -= now;
    }
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(directory: &Path, bytes: u64) -> ScratchFile {
        ScratchFile { directory: directory.to_string_lossy().into_owned(), bytes, number: 0 }
    }

    #[test]
    fn a_file_has_its_bytes_and_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let mut scratch = Scratch::default();
        let file = wanted(dir.path(), 100_001);
        let paths = scratch.paths(&[file.clone(), file]).unwrap();
        assert_eq!(paths[0], paths[1], "made once");
        let bytes = std::fs::read(&paths[0]).unwrap();
        assert_eq!(bytes.len(), 100_001);
        assert!(bytes.iter().filter(|b| **b == 0).count() < 3000, "random bytes");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing to leave behind");
    }

    #[test]
    fn a_file_that_would_fill_the_disk_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let why = Scratch::default().paths(&[wanted(dir.path(), 1 << 60)]).unwrap_err();
        assert!(why.reason.contains("half of the"), "{why:?}");
        let why = writable("/proc/nowhere").unwrap_err();
        assert!(why.reason.contains("/proc/nowhere"), "{why:?}");
    }
}
