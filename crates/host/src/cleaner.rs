//! A named directory that is removed when its owner ends, also after kill -9.
//!
//! For files that another program opens by name (a server's configuration and what it serves); everything else is a
//! file without a name ([`super::scratch`]). A cleaner process of this binary waits for its owner to end, then
//! removes the directory. If the cleaner is killed too, the next owner finds the directory unlocked and removes it.

use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};
use syscost_sys::sleep::sleep;
use syscost_sys::{process, program, random};

/// The hidden subcommand; the directory follows it.
pub const SUBCOMMAND: &str = "cleaner";
const PREFIX: &str = ".syscost-served-";
/// Long after its owner has taken the lock of a directory that it made: for directories whose maker
/// cannot be asked for.
const SURELY_LOCKED: Duration = Duration::from_secs(60);
/// The kernel drops the lock with its last holder, also after kill -9.
const ALONE: FlockOperation = FlockOperation::NonBlockingLockExclusive;
/// A killed server may write for a moment longer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The directory; dropping it removes it.
pub struct OwnedDirectory {
    path: PathBuf,
    cleaner: Child,
    line: Option<ChildStdin>,
    _lock: File,
}

impl OwnedDirectory {
    /// Makes a directory below `parent` that only this user may enter, and removes what others
    /// could not.
    pub fn create(parent: &Path) -> io::Result<OwnedDirectory> {
        let parent = parent.canonicalize()?;
        sweep(&parent);
        let path = parent.join(format!("{PREFIX}{}-{}", process::identity(), random::token()?));
        // The cleaner first: from its start on nothing that is made can stay.
        let mut cleaner = process::spawn_apart(|| {
            let mut cleaner = Command::new(program::path());
            cleaner.arg(SUBCOMMAND).arg(&path);
            cleaner.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
            cleaner
        })?;
        let line = cleaner.stdin.take();
        let made = DirBuilder::new().mode(0o700).create(&path).and_then(|()| File::open(&path));
        match made.and_then(|file| flock(&file, ALONE).map_err(io::Error::from).map(|()| file)) {
            Ok(lock) => Ok(OwnedDirectory { path, cleaner, line, _lock: lock }),
            Err(error) => {
                drop(line);
                let _ = cleaner.wait();
                Err(error)
            }
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for OwnedDirectory {
    fn drop(&mut self) {
        remove(&self.path);
        self.line.take();
        let _ = self.cleaner.wait();
    }
}

/// Runs the cleaner: waits for its parent to end, removes the directory, returns the exit status.
pub fn main() -> i32 {
    let Some(path) = std::env::args_os().nth(2).map(PathBuf::from).filter(|path| is_ours(path)) else {
        return 2;
    };
    // Nothing is ever sent: the line ends when its owner does.
    let _ = io::stdin().lock().read(&mut [0]);
    if remove(&path) { 0 } else { 1 }
}

fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    path.is_absolute() && name.is_some_and(|name| name.starts_with(PREFIX))
}

/// A directory whose files are the kernel's (a control group) goes with those in it, which have none of their own.
fn remove_with_empty_ones(path: &Path) -> io::Result<()> {
    let within =
        fs::read_dir(path)?.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    within.for_each(|entry| _ = fs::remove_dir(entry.path()));
    fs::remove_dir(path)
}

/// Removes the directory, again while someone still puts files into it.
fn remove(path: &Path) -> bool {
    let start = Instant::now();
    loop {
        match remove_with_empty_ones(path).or_else(|_| fs::remove_dir_all(path)) {
            Ok(()) => return true,
            Err(error) if error.kind() == io::ErrorKind::NotFound && !path.exists() => return true,
            Err(_) if start.elapsed() > PATIENCE => return false,
            Err(_) => sleep(Duration::from_millis(20)),
        }
    }
}

/// Does the process that made a directory of this name live?
fn maker_lives(path: &Path) -> Option<bool> {
    let name = path.file_name()?.to_str()?.strip_prefix(PREFIX)?;
    process::lives(name.rsplit_once('-')?.0)
}

/// Removes directories below `parent` whose owner is no more: nobody holds their lock.
pub fn sweep(parent: &Path) {
    // A cleaner that lives removes an absolute path only: so does this.
    let Ok(parent) = parent.canonicalize() else { return };
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()).filter(|path| is_ours(path)) {
        if is_orphaned(&path).unwrap_or(false) {
            remove(&path);
        }
    }
}

fn is_orphaned(path: &Path) -> io::Result<bool> {
    let metadata = fs::symlink_metadata(path)?;
    let age = metadata.modified()?.elapsed().unwrap_or_default();
    let mine = metadata.uid() == geteuid().as_raw();
    let owned = maker_lives(path).unwrap_or(age <= SURELY_LOCKED);
    if !metadata.is_dir() || !mine || owned {
        return Ok(false);
    }
    // Not through a link that took its place meanwhile.
    let directory =
        OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW | libc::O_DIRECTORY).open(path)?;
    Ok(flock(&directory, ALONE).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::SystemTime;

    #[test]
    fn an_orphan_is_swept_and_a_locked_or_a_foreign_directory_is_not() {
        let parent = tempfile::tempdir().unwrap();
        let old = |name: &str| {
            let path = parent.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("file"), "x").unwrap();
            let file = File::open(&path).unwrap();
            file.set_modified(SystemTime::now() - Duration::from_secs(3600)).unwrap();
            (path, file)
        };
        let (orphan, _) = old(".syscost-served-1");
        let (owned, lock) = old(".syscost-served-2");
        flock(&lock, ALONE).unwrap();
        let (foreign, _) = old("another");
        let young = parent.path().join(".syscost-served-3");
        fs::create_dir(&young).unwrap();
        sweep(parent.path());
        assert!(!orphan.exists() && owned.exists() && foreign.exists() && young.exists());
    }

    #[test]
    fn a_young_orphan_is_swept_once_its_maker_is_gone() {
        let parent = tempfile::tempdir().unwrap();
        let make = |maker: String| {
            let path = parent.path().join(format!("{PREFIX}{maker}-0a1b"));
            fs::create_dir(&path).unwrap();
            path
        };
        let own = process::identity();
        let mine = make(own.clone());
        // Its maker's number is another's by now: ours.
        let (number, began) = own.rsplit_once('-').unwrap();
        let other = format!("{number}-{}", began.parse::<u64>().unwrap() + 1);
        let orphan = make(other.clone());
        let link = parent.path().join(format!("{PREFIX}{other}-0a1c"));
        std::os::unix::fs::symlink(&mine, &link).unwrap();
        sweep(parent.path());
        assert!(!orphan.exists() && mine.exists());
        assert!(link.symlink_metadata().is_ok(), "a link is nothing of ours");
    }

    #[test]
    fn only_a_directory_of_ours_is_removed() {
        assert!(is_ours(Path::new("/tmp/.syscost-served-abc")));
        for wrong in ["/tmp", ".syscost-served-abc", "/tmp/.syscost-served-abc/..", "/"] {
            assert!(!is_ours(Path::new(wrong)), "{wrong}");
        }
    }
}
