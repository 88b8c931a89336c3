//! A memory control group of this process's own: what may be cached in it is known.
//!
//! It is made below the group that the process is in, or the nearest above it that hands memory on (version 2 hands on
//! nothing below a group with processes). The process moves into it and back out, and the group is removed when its owner
//! ends, also after kill -9. No other setting is changed. Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.rst,
//! cgroup-v1/memory.rst.

use super::Unavailable;
use super::allowance::{self, groups};
use super::cleaner::OwnedDirectory;
use super::files::Root;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The limit of a group, by version: 2 and 1.
const LIMITS: [&str; 2] = ["memory.max", "memory.limit_in_bytes"];
const MEMBERS: &str = "cgroup.procs";
/// What names the calling process in [`MEMBERS`].
const SELF: &str = "0";

/// This process is in it until it is dropped.
pub struct MemoryGroup {
    home: PathBuf,
    _directory: OwnedDirectory,
}

impl MemoryGroup {
    /// Moves this process into a new group that may use so many bytes.
    pub fn enter(bytes: u64) -> Result<MemoryGroup, Unavailable> {
        let (home, directory) = make(bytes)?;
        move_to(directory.path()).map_err(refused)?;
        Ok(MemoryGroup { home, _directory: directory })
    }
}

impl Drop for MemoryGroup {
    fn drop(&mut self) {
        // Where it fails the process ends soon, and the cleaner removes the group then.
        let _ = move_to(&self.home);
    }
}

/// Can a group be made here at all? Tried once.
pub fn possible() -> bool {
    static FOUND: OnceLock<bool> = OnceLock::new();
    *FOUND.get_or_init(|| make(allowance::WORKER_BYTES).is_ok())
}

/// The group that this process is in, and an empty one with the limit.
fn make(bytes: u64) -> Result<(PathBuf, OwnedDirectory), Unavailable> {
    let folders: Vec<PathBuf> =
        groups(&Root::here(), "memory")?.iter().map(|folder| Path::new("/").join(folder)).collect();
    let home = folders.first().ok_or_else(|| refused("this kernel has none for memory"))?.clone();
    let mut why = String::new();
    for above in &folders {
        match OwnedDirectory::create(above).and_then(|made| limit(&made, bytes).map(|()| made)) {
            Ok(made) => return Ok((home, made)),
            Err(error) => why = error.to_string(),
        }
    }
    Err(refused(why))
}

fn limit(made: &OwnedDirectory, bytes: u64) -> std::io::Result<()> {
    let files = LIMITS.map(|name| made.path().join(name));
    // Version 2 has no such file where the group above keeps memory to itself.
    let file = files.iter().find(|file| file.exists()).ok_or(std::io::ErrorKind::Unsupported)?;
    fs::write(file, bytes.to_string())
}

fn move_to(group: &Path) -> std::io::Result<()> {
    fs::write(group.join(MEMBERS), SELF)
}

fn refused(why: impl std::fmt::Display) -> Unavailable {
    Unavailable {
        reason: format!("no memory control group can be made here: {why}"),
        remedy: "systemd-run --user --scope -p MemoryMax=512M COMMAND, or docker run --memory 512m".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn members(group: &Path) -> Vec<String> {
        let text = fs::read_to_string(group.join(MEMBERS)).unwrap_or_default();
        text.lines().map(String::from).collect()
    }

    #[test]
    fn a_process_is_in_its_group_and_leaves_nothing() {
        let (home, own) = match make(64 << 20) {
            Ok((home, made)) => (home, made.path().to_path_buf()),
            Err(why) => return eprintln!("skipped: {}", why.reason),
        };
        assert!(!own.exists(), "dropped and removed");
        // Another process, because every thread of this one would move with it.
        let group = make(64 << 20).unwrap().1;
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = child.id().to_string();
        fs::write(group.path().join(MEMBERS), &id).unwrap();
        assert_eq!(members(group.path()), [id.as_str()]);
        let limit = LIMITS.iter().find_map(|name| fs::read_to_string(group.path().join(name)).ok());
        assert_eq!(limit.as_deref().map(str::trim), Some("67108864"));
        fs::write(home.join(MEMBERS), &id).unwrap();
        child.kill().and_then(|()| child.wait()).unwrap();
        let path = group.path().to_path_buf();
        drop(group);
        assert!(!path.exists());
    }
}
