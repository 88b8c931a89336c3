//! A group: a directory of runs that repeat one experiment. Each is a run directory of its own; `group.json` holds what
//! they share.

use super::directory::OpenDirectory;
use super::errors::WriteError;
use super::files::RECORD;
use super::{RunNames, SCHEMA};
use crate::spec::Spec;
use serde::Serialize;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use syscost_host::Fact;

pub const GROUP: &str = "group.json";

/// `group.json`, written before the first run.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRecord {
    pub schema: u32,
    pub started_unix_ns: u64,
    /// The command line as given.
    pub command: Vec<String>,
    pub names: RunNames,
    /// How many runs were asked for.
    pub runs: u32,
    /// The machine before the first run.
    pub host: Vec<Fact>,
    pub spec: Spec,
}

impl GroupRecord {
    pub fn new(
        started_unix_ns: u64,
        command: Vec<String>,
        names: RunNames,
        runs: u32,
        spec: Spec,
    ) -> GroupRecord {
        let host = syscost_host::fingerprint::facts();
        GroupRecord { schema: SCHEMA, started_unix_ns, command, names, runs, host, spec }
    }

    pub fn write(&self, directory: &OpenDirectory) -> Result<(), WriteError> {
        directory.replace_with(GROUP, |file: &mut dyn Write| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }
}

/// Where the runs of a group go, from 1.
pub fn member(group: &Path, number: u32) -> PathBuf {
    group.join(format!("run-{number}"))
}

/// The run directories in a directory, in the order of their names: `run-2` before `run-10`. Links are not followed.
pub fn members(group: &Path) -> io::Result<Vec<PathBuf>> {
    let is_run = |path: &PathBuf| {
        let is_directory = fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
        is_directory && fs::symlink_metadata(path.join(RECORD)).is_ok()
    };
    let entries = fs::read_dir(group)?.collect::<io::Result<Vec<_>>>()?;
    let mut runs: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(is_run).collect();
    runs.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_are_the_run_directories_in_the_order_of_their_numbers() {
        let scratch = tempfile::tempdir().unwrap();
        for number in [10, 2, 1] {
            fs::create_dir(member(scratch.path(), number)).unwrap();
            fs::write(member(scratch.path(), number).join(RECORD), "{}").unwrap();
        }
        fs::create_dir(scratch.path().join("run-3")).unwrap();
        fs::write(scratch.path().join(GROUP), "{}").unwrap();
        std::os::unix::fs::symlink(member(scratch.path(), 1), scratch.path().join("run-4")).unwrap();
        let found = members(scratch.path()).unwrap();
        assert_eq!(found, [1, 2, 10].map(|number| member(scratch.path(), number)));
        assert!(members(&scratch.path().join("none")).is_err());
    }
}
