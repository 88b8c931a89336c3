//! Whose directory and whose files they are: the run directory that was opened first is the one that is written
//! to, and a file with another name elsewhere is not ours to change.
//!
//! Nothing is written here. Sources: symlink(7), proc(5) on /proc/self/fd, inode(7) on links.

use super::errors::{WriteError, write_error};
use rustix::process::geteuid;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The directory that was opened first: what is written goes there, whatever has its name by then.
#[derive(Debug)]
pub(super) struct OpenDirectory {
    _directory: File,
    /// A path that leads to it as long as it is held; its name, where there is no /proc.
    pub(super) way: PathBuf,
}

impl OpenDirectory {
    /// Not through a link that somebody else has put there: in a folder that all may write to (/tmp) it would
    /// decide where our files go.
    pub(super) fn open(path: &Path) -> Result<OpenDirectory, WriteError> {
        let fail = |e| write_error(path, e);
        let link = fs::symlink_metadata(path).map_err(fail)?;
        let strange = link.is_symlink() && ![0, geteuid().as_raw()].contains(&link.uid());
        if strange {
            return Err(fail(io::Error::from_raw_os_error(libc::ELOOP)));
        }
        let directory = OpenOptions::new()
            .read(true)
            .custom_flags(libc::O_DIRECTORY | libc::O_CLOEXEC | libc::O_NONBLOCK)
            .open(path)
            .map_err(fail)?;
        let way = PathBuf::from(format!("/proc/self/fd/{}", directory.as_raw_fd()));
        let way = if way.exists() { way } else { path.into() };
        Ok(OpenDirectory { _directory: directory, way })
    }

    /// The error with the name that people know.
    pub(super) fn named(&self, error: WriteError, path: &Path) -> WriteError {
        match error {
            WriteError::Io { path: way, meaning, source } => {
                let path = way.strip_prefix(&self.way).map_or(way.clone(), |file| path.join(file));
                WriteError::Io { path, meaning, source }
            }
            error => error,
        }
    }
}

/// A file that is appended to or cut must be nobody else's too: in a stranger's directory it may be another
/// name (a hard link) of any file.
pub(super) fn one_name(file: &File) -> io::Result<()> {
    match file.metadata()?.nlink() {
        0 | 1 => Ok(()),
        _ => {
            Err(io::Error::other("it is another name of a file elsewhere (a hard link); copy the directory"))
        }
    }
}
