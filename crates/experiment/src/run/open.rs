//! How a file of a run directory is opened: never through a link, and only what is a file of one name.
//!
//! Sources: open(2) on O_NOFOLLOW and O_NONBLOCK, inode(7) on links.

use super::errors::{LoadError, read_error};
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

pub const RECORD: &str = "run.json";
pub const SAMPLES: &str = "samples.csv";

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

pub(super) fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
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

/// What is wrong with JSON of ours, and what to do where it is whole and of another form.
pub(super) fn unreadable(error: &serde_json::Error) -> String {
    let older =
        if error.is_data() { " (files of before the first release are not read: measure again)" } else { "" };
    format!("{error}{older}")
}
