//! The `directory` axis of every probe that reads files: which file system, and so which disk.
//!
//! It only says whether a scratch file can be made there; the harness makes it.

use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_host::Unavailable;
use syscost_host::scratch::{self, ScratchFile};

pub const ID: NameAxis = NameAxis::new("directory");

/// The axis, the working directory by default: what a person calls "this disk".
pub fn axis() -> Axis {
    ID.checked_text(check)
        .flag("dir", "directory")
        .help("where the scratch files are made: it decides the file system and the disk")
        .default_on(Names(&["."]))
}

fn check(text: &str) -> Result<(), String> {
    if text.is_empty() { Err("name a directory, such as . or /tmp".into()) } else { Ok(()) }
}

/// The directory of this point.
pub fn of(point: &Point) -> &str {
    point.text(ID).unwrap_or(".")
}

/// A scratch file in it.
pub fn file(point: &Point, bytes: u64, number: u32) -> ScratchFile {
    ScratchFile { directory: of(point).into(), bytes, number }
}

/// Can a file be made there? Where not, with the reason.
pub fn available(point: &Point) -> Result<(), Unavailable> {
    scratch::writable(of(point))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Value;

    #[test]
    fn a_directory_that_takes_no_file_is_unavailable_with_its_name() {
        let mut point = Point::default();
        point.set(ID.id, Value::text("/proc/nowhere"));
        let why = available(&point).unwrap_err();
        assert!(why.reason.contains("/proc/nowhere") && !why.remedy.is_empty(), "{why:?}");
        let dir = tempfile::tempdir().unwrap();
        point.set(ID.id, Value::text(dir.path().to_str().unwrap()));
        assert_eq!(available(&point), Ok(()));
        assert!(axis().parse("").is_err());
    }
}
