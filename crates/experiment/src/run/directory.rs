//! Whose directory and whose files they are: the run directory that was opened first is the one that is written
//! to, and a file with another name elsewhere is not ours to change.
//!
//! Files are replaced as a whole, through a temporary one. Sources: symlink(7), proc(5) on /proc/self/fd, inode(7)
//! on links.

use super::errors::{WriteError, write_error};
use super::leftovers;
use super::open::{RECORD, options};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use syscost_sys::optional::{SYNC, synced};
use syscost_sys::place;

/// The directory that was opened first: what is written goes there, whatever has its name by then.
#[derive(Debug)]
pub struct OpenDirectory {
    directory: File,
    path: PathBuf,
    /// A path that leads to it as long as it is held; its name, where there is no /proc.
    pub(super) way: PathBuf,
}

impl OpenDirectory {
    /// Not through a link that somebody else has put anywhere on the way: it would decide where our files go.
    pub fn open(path: &Path) -> Result<OpenDirectory, WriteError> {
        OpenDirectory::held(path, place::open(path))
    }

    /// The same, with what is missing of the way, and without what a killed syscost left there.
    pub fn make(path: &Path) -> Result<OpenDirectory, WriteError> {
        let held = OpenDirectory::held(path, place::make(path))?;
        leftovers::sweep(&held.way);
        Ok(held)
    }

    fn held(path: &Path, opened: io::Result<File>) -> Result<OpenDirectory, WriteError> {
        let directory = opened.map_err(|e| match e.kind() {
            io::ErrorKind::NotADirectory => WriteError::NotADirectory { path: path.into() },
            _ => write_error(path, e),
        })?;
        let way = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        let way = if way.exists() { way } else { path.into() };
        Ok(OpenDirectory { directory, path: path.into(), way })
    }

    /// As people know it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Makes a directory of this name in it, or of the first `name-2`, `name-3` that is free: where.
    pub fn make_another(&self, name: &str) -> Result<PathBuf, WriteError> {
        let others = (2u64..).map(|number| format!("{name}-{number}"));
        for name in std::iter::once(name.to_string()).chain(others) {
            match place::make_new(&self.directory, name.as_ref()) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => {
                    let path = self.path.join(&name);
                    return made.map(|_| path.clone()).map_err(|e| write_error(&path, e));
                }
            }
        }
        Err(write_error(&self.path, io::Error::other("no name is free")))
    }

    /// Another user who may decide what the run in it is: the directory's owner, or the record's.
    pub fn stranger(&self, is_own: impl Fn(u32) -> bool) -> io::Result<Option<u32>> {
        let record = fs::symlink_metadata(self.way.join(RECORD))?;
        let owners = [self.directory.metadata()?.uid(), record.uid()];
        Ok(owners.into_iter().find(|owner| !is_own(*owner)))
    }

    /// Waits until no other process holds it alone: from then on this one does, until it is dropped.
    pub fn wait_alone(&self) -> io::Result<()> {
        match flock(&self.directory, FlockOperation::LockExclusive) {
            // A file system without locks (some network mounts) is still usable by one writer.
            Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
            locked => Ok(locked?),
        }
    }

    /// Is there anything of this name, a link included?
    pub fn has(&self, name: &str) -> bool {
        fs::symlink_metadata(self.way.join(name)).is_ok()
    }

    /// Whoever called sudo keeps what is made in a directory of theirs.
    pub(super) fn hand_over(&self, file: &File) -> io::Result<()> {
        place::hand_over(file, &self.directory)
    }

    /// Replaces one of its files atomically.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> Result<(), WriteError> {
        self.replace_with(name, |out| out.write_all(bytes))
    }

    /// The same with what this writes, piece by piece.
    pub fn replace_with(
        &self,
        name: &str,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), WriteError> {
        let temporary = self.way.join(leftovers::temporary(name));
        let written = self.write_new(&temporary, content);
        let replaced = written.and_then(|()| fs::rename(&temporary, self.way.join(name)));
        if replaced.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        // The rename itself must survive a power cut.
        replaced
            .and_then(|()| synced(&self.directory, &SYNC))
            .map_err(|e| write_error(&self.path.join(name), e))
    }

    fn write_new(
        &self,
        path: &Path,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> io::Result<()> {
        // A leftover of a killed process with our process id is ours to remove; a link is not followed.
        match fs::remove_file(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
            _ => {}
        }
        let file = options(false).write(true).create_new(true).open(path)?;
        self.hand_over(&file)?;
        let mut file = BufWriter::new(file);
        content(&mut file)?;
        synced(&file.into_inner()?, &SYNC)
    }

    /// The error with the name that people know.
    pub(super) fn named(&self, error: WriteError) -> WriteError {
        match error {
            WriteError::Io { path: way, meaning, source } => {
                let path = way.strip_prefix(&self.way).map_or(way.clone(), |file| self.path.join(file));
                WriteError::Io { path, meaning, source }
            }
            error => error,
        }
    }
}
