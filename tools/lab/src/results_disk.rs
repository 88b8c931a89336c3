//! How files leave the guest: a disk without a file system, on which the guest writes one JSON document.
//!
//! No driver but that of the disk, no network, no right on either side. The host trusts none of it.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

/// Room for the files of a run; sparse until it is written.
pub const BYTES: u64 = 256 << 20;

/// What the guest has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestFiles {
    /// Exit status of what ran inside.
    pub status: i32,
    /// Why nothing could run, or nothing was kept.
    pub failure: Option<String>,
    /// The files of the run's directory, by name.
    pub files: Vec<(String, String)>,
}

/// A disk that holds nothing but the guest's marker, by which the guest knows it.
pub fn create(path: &Path, marker: &str) -> io::Result<()> {
    let mut disk = File::create_new(path)?;
    disk.write_all(marker.as_bytes())?;
    disk.set_len(BYTES)
}

/// Writes to the disk, and waits until it is there. A disk that does not begin with the marker is somebody's.
pub fn write(disk: &Path, marker: &str, brought: &GuestFiles) -> io::Result<()> {
    let mut disk = OpenOptions::new().read(true).write(true).open(disk)?;
    let mut begins = vec![0; marker.len()];
    disk.read_exact(&mut begins)?;
    if begins != marker.as_bytes() {
        return Err(io::Error::other("it is not the lab's disk: nothing was written"));
    }
    disk.rewind()?;
    disk.write_all(&serde_json::to_vec(brought)?)?;
    disk.sync_all()
}

/// Reads what the guest wrote: what follows the document is the rest of the disk.
pub fn read(disk: &Path) -> io::Result<GuestFiles> {
    let mut document = serde_json::Deserializer::from_reader(BufReader::new(File::open(disk)?));
    let brought = GuestFiles::deserialize(&mut document).map_err(|_| {
        // The marker is still there, or half of a document.
        io::Error::other("the guest ended before it wrote what it has to say")
    })?;
    match brought.files.iter().find(|(name, _)| !is_plain(name)) {
        Some((name, _)) => Err(io::Error::other(format!("{name:?} is no name of a run's file"))),
        None => Ok(brought),
    }
}

/// `samples.csv`: it cannot lead out of a directory.
fn is_plain(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('.')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(text: &[u8]) -> io::Result<GuestFiles> {
        let disk = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(&disk, text).unwrap();
        read(disk.path())
    }

    #[test]
    fn what_is_written_reads_back_and_an_empty_disk_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        create(&disk, "marker").unwrap();
        assert!(read(&disk).unwrap_err().to_string().contains("before it wrote"));
        let brought = GuestFiles {
            status: 1,
            failure: Some("no link".into()),
            files: vec![("run.json".into(), "{}".into()), ("samples.csv".into(), String::new())],
        };
        write(&disk, "marker", &brought).unwrap();
        assert_eq!(read(&disk).unwrap(), brought);
        let somebodys = folder.path().join("somebodys");
        std::fs::write(&somebodys, "a file system").unwrap();
        assert!(write(&somebodys, "marker", &brought).is_err());
        assert_eq!(std::fs::read(&somebodys).unwrap(), b"a file system");
    }

    #[test]
    fn what_leads_out_of_a_directory_is_refused() {
        for name in ["", "../x", "a/../b", ".hidden", "a//b", "a b", "a\u{e4}", "run/x"] {
            let files = GuestFiles { files: vec![(name.into(), "x".into())], ..GuestFiles::default() };
            assert!(written(&serde_json::to_vec(&files).unwrap()).is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = written(&bytes);
            let mut begun = b"{\"status\":0,".to_vec();
            begun.extend(bytes);
            let _ = written(&begun);
        }
    }
}
