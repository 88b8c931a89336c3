//! The files that cases read: made once a run, held open by the harness, without a name.
//!
//! A file is created without a name (or unlinked at once) and filled with random bytes; workers open it through
//! /proc/PID/fd, with whatever flags they need. When the harness ends, whatever it dies of, the
//! kernel frees the space: nothing can be left behind. A file that would take more than a part of
//! the free space is refused, so that no disk is filled. Sources: proc(5), open(2), unlink(2).

use super::Unavailable;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use syscost_sys::buffer::Buffer;
use syscost_sys::optional::{SYNC, synced};
use syscost_sys::{disk, namespace, random};

/// The share of the free space that one file may take.
const SHARE_OF_FREE: f64 = 0.5;
const CHUNK_BYTES: usize = 1 << 20;
const SECTOR_BYTES: usize = 512;
/// Length and alignment that every device takes with O_DIRECT.
const DIRECT_BYTES: usize = 4096;

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
            // Where the binary carries file capabilities the kernel shows its descriptors to no worker otherwise.
            namespace::allow_inspection().map_err(|error| Unavailable {
                reason: format!("this process may not show its files to its workers: {error}"),
                remedy: "allow prctl(PR_SET_DUMPABLE) in the sandbox".into(),
            })?;
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

/// Can files of this directory be read past the page cache (O_DIRECT)?
pub fn allows_direct_reads(directory: &str) -> Result<(), Unavailable> {
    let try_it = || -> io::Result<()> {
        let mut file = nameless(Path::new(directory))?;
        let mut block = Buffer::zeroed(DIRECT_BYTES, DIRECT_BYTES);
        file.write_all(&block)?;
        synced(&file, &SYNC)?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path)?;
        direct.read_exact_at(&mut block, 0)
    };
    try_it().map_err(|error| Unavailable {
        reason: format!(
            "the file system of {directory} does not read past the page cache (O_DIRECT): {error}"
        ),
        remedy: "name a directory on a disk's own file system (ext4, xfs, btrfs) with --dir".into(),
    })
}

fn make(wanted: &ScratchFile) -> Result<File, Unavailable> {
    let directory = Path::new(&wanted.directory);
    let refuse = |error: io::Error| refused(&wanted.directory, &error);
    let free = disk::free_bytes(directory).map_err(refuse)?;
    if wanted.bytes as f64 > free as f64 * SHARE_OF_FREE {
        let size = syscost_core::units::Unit::Bytes;
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

/// An open file that no directory names: it never had a name where the file system can do that, so
/// that not even a kill at the wrong moment leaves one.
fn nameless(directory: &Path) -> io::Result<File> {
    let file = OpenOptions::new().read(true).write(true).custom_flags(libc::O_TMPFILE).open(directory);
    match file.as_ref().map_err(io::Error::raw_os_error) {
        // The kernel, or this file system, has none (open(2)).
        Err(Some(libc::EOPNOTSUPP | libc::EISDIR | libc::ENOENT | libc::EINVAL)) => unlinked(directory),
        _ => file,
    }
}

/// An open file that no directory names any more.
fn unlinked(directory: &Path) -> io::Result<File> {
    let name: PathBuf = directory.join(format!(".syscost-{}", random::token()?));
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&name)?;
    std::fs::remove_file(&name)?;
    Ok(file)
}

/// Random bytes, different in every block, so that no file system can compress or share them; each
/// sector begins with what [`sector_mark`] says. On the disk when it returns.
fn fill(file: &mut File, wanted: &ScratchFile) -> io::Result<()> {
    let mut chunk = vec![0u8; CHUNK_BYTES];
    random::fill(&mut chunk)?;
    let mut at = 0;
    while at < wanted.bytes {
        for (sector, start) in chunk.chunks_exact_mut(SECTOR_BYTES).zip((at..).step_by(SECTOR_BYTES)) {
            sector[..8].copy_from_slice(&sector_mark(start));
        }
        let now = (wanted.bytes - at).min(CHUNK_BYTES as u64);
        file.write_all(&chunk[..now as usize])?;
        at += now;
    }
    synced(file, &SYNC)
}

/// How the sector at this offset of every scratch file begins: a reader can tell that it got what
/// it asked for.
#[inline]
pub fn sector_mark(offset: u64) -> [u8; 8] {
    offset.to_le_bytes()
}

/// Are these the bytes at this offset of a scratch file? Both must lie on a sector's edge.
#[inline]
pub fn is_right(bytes: &[u8], offset: u64) -> bool {
    let mut sectors = bytes.chunks(SECTOR_BYTES).zip((offset..).step_by(SECTOR_BYTES));
    sectors.all(|(sector, at)| {
        let mark = &sector_mark(at)[..sector.len().min(8)];
        sector.starts_with(mark)
    })
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
        let zeroes = bytes.chunks(SECTOR_BYTES).flat_map(|s| s.iter().skip(8)).filter(|b| **b == 0).count();
        assert!(zeroes < 1000, "random bytes");
        assert!(is_right(&bytes, 0) && is_right(&bytes[4096..8192], 4096));
        assert!(!is_right(&bytes[4096..8192], 8192), "another block is noticed");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "nothing to leave behind");
    }

    #[test]
    fn a_file_system_that_wants_a_name_is_served_too() {
        let dir = tempfile::tempdir().unwrap();
        for make in [nameless, unlinked] {
            let mut file = make(dir.path()).unwrap();
            file.write_all(b"here").unwrap();
            let path = format!("/proc/self/fd/{}", file.as_raw_fd());
            assert_eq!(std::fs::read(path).unwrap(), b"here");
            assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        }
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
