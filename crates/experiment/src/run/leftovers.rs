//! What a killed syscost left in a run directory: found by the next one, and removed.
//!
//! A file is ours to remove only if it has the name of a temporary file of ours, is a regular file of
//! this user, and the process that it names is no more. Nothing else is touched, whatever its name.

use super::open::{RECORD, SAMPLES};
use std::fs::{self, DirEntry};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use syscost_sys::{place, process};

/// Kinds of files that are replaced as a whole, through a temporary one beside them.
const REPLACED: [&str; 8] = ["json", "csv", "parquet", "html", "svg", "py", "md", "1"];

/// The temporary file through which this process replaces a file of this name.
pub(super) fn temporary(name: &str) -> String {
    format!(".{name}.{}.tmp", process::identity())
}

/// Which process a temporary file's name names.
fn maker(file: &str) -> Option<&str> {
    let (name, identity) = file.strip_prefix('.')?.strip_suffix(".tmp")?.rsplit_once('.')?;
    let (stem, kind) = name.rsplit_once('.')?;
    (!stem.is_empty() && REPLACED.contains(&kind)).then_some(identity)
}

/// Is this a temporary file of a syscost of this user that is no more?
fn is_left(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let maker = name.to_str().and_then(maker);
    let ours = entry.metadata().is_ok_and(|m| m.is_file() && place::is_ours(m.uid()));
    ours && maker.and_then(process::lives) == Some(false)
}

/// Removes what killed processes left. What cannot be removed stays: it does no harm.
pub fn sweep(dir: &Path) {
    for entry in fs::read_dir(dir).into_iter().flatten().flatten().filter(is_left) {
        let _ = fs::remove_file(entry.path());
    }
}

/// Does the directory hold nothing but the beginning of a run whose record was never written?
pub(super) fn only_a_beginning(dir: &Path) -> io::Result<bool> {
    let mut begun = false;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        let empty = metadata.is_file() && metadata.len() == 0 && place::is_ours(metadata.uid());
        if entry.file_name() == SAMPLES && empty {
            begun = true;
        } else if !is_left(&entry) || !entry.file_name().to_string_lossy().contains(RECORD) {
            return Ok(false);
        }
    }
    Ok(begun)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    /// Of a process that had this one's number before it.
    fn ended() -> String {
        let own = process::identity();
        let (number, began) = own.rsplit_once('-').unwrap();
        format!("{number}-{}", began.parse::<u64>().unwrap() + 1)
    }

    #[test]
    fn only_a_temporary_file_names_its_maker() {
        assert_eq!(maker(".run.json.1-12-5.tmp"), Some("1-12-5"));
        assert_eq!(maker(".throughput.svg.7.tmp"), Some("7"));
        for foreign in ["run.json", ".run.json.tmp", ".notes.12.tmp", "..json.1.tmp", ".a.txt.1.tmp"] {
            assert_eq!(maker(foreign), None, "{foreign}");
        }
        assert_eq!(maker(temporary(RECORD).as_str()), Some(process::identity().as_str()));
    }

    #[test]
    fn what_the_dead_left_goes_and_what_is_somebodys_stays() {
        let dir = tempfile::tempdir().unwrap();
        let make = |name: String| fs::write(dir.path().join(name), "{").unwrap();
        let dead = ended();
        make(format!(".run.json.{dead}.tmp"));
        make(format!(".report.html.{dead}.tmp"));
        let kept = [
            ".run.json.1.tmp".to_string(),
            temporary("results.csv"),
            ".report.html.x.tmp".into(),
            format!(".notes.{dead}.tmp"),
            "run.json".into(),
        ];
        kept.iter().cloned().for_each(make);
        symlink("run.json", dir.path().join(format!(".plot.svg.{dead}.tmp"))).unwrap();
        sweep(dir.path());
        let mut left: Vec<String> = fs::read_dir(dir.path())
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        left.sort();
        let mut wanted = [&kept[..], &[format!(".plot.svg.{dead}.tmp")]].concat();
        wanted.sort();
        assert_eq!(left, wanted);
    }

    #[test]
    fn a_beginning_is_told_from_a_run_and_from_anything_else() {
        let dir = tempfile::tempdir().unwrap();
        let begun = || only_a_beginning(dir.path()).unwrap();
        assert!(!begun(), "nothing at all");
        fs::write(dir.path().join(SAMPLES), "").unwrap();
        assert!(begun());
        fs::write(dir.path().join(format!(".run.json.{}.tmp", ended())), "{").unwrap();
        assert!(begun());
        fs::write(dir.path().join("notes"), "mine").unwrap();
        assert!(!begun());
        fs::remove_file(dir.path().join("notes")).unwrap();
        fs::write(dir.path().join(SAMPLES), "case,probe\n").unwrap();
        assert!(!begun());
    }
}
