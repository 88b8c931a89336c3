//! A group: a directory of runs that repeat one experiment. Each is a run directory of its own; `group.json` holds what
//! they share.

use super::directory::OpenDirectory;
use super::errors::WriteError;
use super::open::{RECORD, is_there};
use super::{RunNames, SCHEMA};
use crate::spec::Spec;
use crate::variants::{self, Variant};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{self, Read, Write};
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
    /// Of each variant, where there are some.
    pub runs: u32,
    /// What alternated; none where one experiment was repeated.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub variants: Vec<Variant>,
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
        let variants = Vec::new();
        GroupRecord { schema: SCHEMA, started_unix_ns, command, names, runs, variants, host, spec }
    }

    pub fn write(&self, directory: &OpenDirectory) -> Result<(), WriteError> {
        directory.replace_with(GROUP, |file: &mut dyn Write| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }
}

/// More is no `group.json`.
const LONGEST_RECORD: u64 = 16 << 20;

/// What a comparison asks of `group.json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct GroupSides {
    schema: u32,
    #[serde(default)]
    pub variants: Vec<GroupSide>,
}

#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct GroupSide {
    /// The directory of its runs, in that of the group.
    pub label: String,
}

impl GroupSides {
    /// What alternated in a directory; `None`: it is no group.
    pub fn load(group: &Path) -> io::Result<Option<GroupSides>> {
        let mut text = Vec::new();
        match File::open(group.join(GROUP)) {
            Ok(file) => file.take(LONGEST_RECORD).read_to_end(&mut text)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        GroupSides::read(&text).map(Some).map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))
    }

    pub fn read(text: &[u8]) -> Result<GroupSides, String> {
        let sides: GroupSides =
            serde_json::from_slice(text).map_err(|error| format!("{GROUP} is damaged: {error}"))?;
        if sides.schema > SCHEMA {
            return Err(format!(
                "{GROUP} has format {}, this syscost reads up to {SCHEMA}: use a newer syscost",
                sides.schema
            ));
        }
        if !sides.variants.is_empty() {
            variants::check(sides.variants.iter().map(|one| one.label.as_str()))
                .map_err(|why| format!("{GROUP} is damaged: {why}"))?;
        }
        Ok(sides)
    }
}

/// Is a directory that of a run, packed or not?
pub fn is_run(path: &Path) -> bool {
    is_there(path, RECORD)
}

/// Where the runs of a group go, from 1.
pub fn member(group: &Path, number: u32) -> PathBuf {
    group.join(format!("run-{number}"))
}

/// The run directories in a directory, in the order of their names: `run-2` before `run-10`. Links are not followed.
pub fn members(group: &Path) -> io::Result<Vec<PathBuf>> {
    let is_member = |path: &PathBuf| {
        let is_directory = fs::symlink_metadata(path).is_ok_and(|data| data.is_dir());
        is_directory && is_run(path)
    };
    let entries = fs::read_dir(group)?.collect::<io::Result<Vec<_>>>()?;
    let mut runs: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).filter(is_member).collect();
    runs.sort_by_key(|path| (path.as_os_str().len(), path.clone()));
    Ok(runs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sides_of_a_group_are_its_variants_and_a_label_leads_nowhere_else() {
        let of = |labels: [&str; 2]| {
            GroupSides::read(
                serde_json::json!({"schema": 1, "variants": labels.map(|label| serde_json::json!({"label": label}))})
                    .to_string()
                    .as_bytes(),
            )
        };
        assert_eq!(of(["old", "new"]).unwrap().variants[1].label, "new");
        assert!(of(["old", "../other"]).unwrap_err().contains("damaged"));
        assert_eq!(GroupSides::read(br#"{"schema": 1, "runs": 3}"#).unwrap().variants, []);
        assert!(GroupSides::read(br#"{"schema": 99}"#).unwrap_err().contains("newer"));
        assert!(GroupSides::read(b"{").is_err());
        assert_eq!(GroupSides::load(Path::new("/nowhere")).unwrap(), None);
    }

    #[test]
    fn members_are_the_run_directories_in_the_order_of_their_numbers() {
        let scratch = tempfile::tempdir().unwrap();
        for number in [10, 2, 1] {
            fs::create_dir(member(scratch.path(), number)).unwrap();
            fs::write(member(scratch.path(), number).join(RECORD), "{}").unwrap();
        }
        fs::create_dir(scratch.path().join("run-3")).unwrap();
        // A run that was packed is one still.
        fs::rename(member(scratch.path(), 2).join(RECORD), member(scratch.path(), 2).join("run.json.gz"))
            .unwrap();
        fs::write(scratch.path().join(GROUP), "{}").unwrap();
        std::os::unix::fs::symlink(member(scratch.path(), 1), scratch.path().join("run-4")).unwrap();
        let found = members(scratch.path()).unwrap();
        assert_eq!(found, [1, 2, 10].map(|number| member(scratch.path(), number)));
        assert!(members(&scratch.path().join("none")).is_err());
    }
}
