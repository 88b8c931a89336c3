//! The same experiment measured on another machine, or after a change that no figure outlasts: a run directory of its
//! own (`session-2`) in the run's. No record and no file holds rows of two of them, so no reader can pool them.

use super::WriteError;
use super::directory::OpenDirectory;
use super::files::RECORD;
use std::fs;
use std::path::{Path, PathBuf};

const PREFIX: &str = "session-";
/// The run's own samples are its first.
const FIRST: u32 = 2;

/// The sessions in the directory of a run, in order of their numbers.
pub fn within(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    // A link leads to files of another place.
    let directories = entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let numbers = directories.filter_map(|entry| number(entry.file_name().to_str()?));
    let mut numbers: Vec<u32> =
        numbers.filter(|number| fs::symlink_metadata(dir.join(name(*number)).join(RECORD)).is_ok()).collect();
    numbers.sort_unstable();
    numbers.into_iter().map(name).collect()
}

/// Makes the directory of another session.
pub fn make(run: &OpenDirectory) -> Result<PathBuf, WriteError> {
    run.make_first((FIRST..).map(name))
}

/// The run that has this directory as a session.
pub fn run_of(dir: &Path) -> Option<PathBuf> {
    let whole = dir.canonicalize().ok()?;
    number(whole.file_name()?.to_str()?)?;
    let run = whole.parent()?;
    run.join(RECORD).exists().then(|| run.into())
}

fn name(number: u32) -> String {
    format!("{PREFIX}{number}")
}

/// Only of a name that [`make`] would give.
fn number(text: &str) -> Option<u32> {
    let number = text.strip_prefix(PREFIX)?.parse().ok()?;
    (number >= FIRST && name(number) == text).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn sessions_have_numbers_and_a_record_and_are_no_links() {
        let scratch = tempfile::tempdir().unwrap();
        let dir = scratch.path();
        let held = OpenDirectory::open(dir).unwrap();
        let made: Vec<PathBuf> = (0..11).map(|_| make(&held).unwrap()).collect();
        assert_eq!((made[0].clone(), made[10].clone()), (dir.join("session-2"), dir.join("session-12")));
        assert!(within(dir).is_empty(), "none has a record");
        for at in [10, 0, 1] {
            fs::write(made[at].join(RECORD), "{}").unwrap();
        }
        fs::create_dir(dir.join("session-02")).unwrap();
        fs::write(dir.join("session-02").join(RECORD), "{}").unwrap();
        symlink(dir.join("session-2"), dir.join("session-99")).unwrap();
        assert_eq!(within(dir), ["session-2", "session-3", "session-12"]);
        assert_eq!(run_of(&dir.join("session-2")), None, "what it is in is no run");
        fs::write(dir.join(RECORD), "{}").unwrap();
        assert_eq!(run_of(&dir.join("session-2")), Some(dir.canonicalize().unwrap()));
        assert_eq!(run_of(dir), None);
    }
}
