//! A file with a name, at a path as long as is asked for, in a directory that goes with it, whatever ends the round.

use anyhow::Result;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, mkdirat, openat, statat};
use std::ffi::{CStr, CString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use syscost_host::Unavailable;
use syscost_host::cleaner::OwnedDirectory;

/// What the file holds, by which a look-up shows that it found it.
pub const FILE_BYTES: usize = 4096;
/// Of what is made.
pub const MADE: Mode = Mode::from_raw_mode(0o600);

/// A directory of one's own with a file in it, and as many directories in one another as the path has.
pub struct NamedFile {
    pub top: OwnedFd,
    /// From `top`.
    pub path: CString,
    pub file: File,
    _owned: OwnedDirectory,
}

impl NamedFile {
    /// Below this directory, at a path of so many names.
    pub fn below(directory: &str, depth: u64) -> Result<NamedFile> {
        let refused = |error: std::io::Error| Unavailable {
            reason: format!("cannot make files in {directory}: {error}"),
            remedy: "name a directory on a writable file system with --dir".into(),
        };
        let owned = OwnedDirectory::create(Path::new(directory)).map_err(refused)?;
        let fill = || -> std::io::Result<(OwnedFd, File, CString)> {
            let opened = OFlags::DIRECTORY | OFlags::CLOEXEC;
            let top = openat(CWD, owned.path(), opened, Mode::empty())?;
            let mut path = String::new();
            for _ in 1..depth {
                path.push('d');
                mkdirat(&top, &*path, Mode::RWXU)?;
                path.push('/');
            }
            path.push_str("file");
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::RDWR | OFlags::CLOEXEC;
            let file = File::from(openat(&top, &*path, flags, MADE)?);
            file.write_all_at(&[7; FILE_BYTES], 0)?;
            file.sync_all()?;
            Ok((top, file, CString::new(path)?))
        };
        let (top, file, path) = fill().map_err(refused)?;
        Ok(NamedFile { top, path, file, _owned: owned })
    }

    /// Is there anything of this name?
    pub fn has(&self, name: &CStr) -> bool {
        statat(&self.top, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }
}
