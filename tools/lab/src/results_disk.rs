//! How files leave the guest: a disk without a file system, which the guest writes once.
//!
//! A magic word, a length, and an archive: no driver but that of the disk, no network, no right on
//! either side. The host trusts none of it.

use super::archive::{self, Writer};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

/// Room for the files of a run; sparse until it is written.
pub const BYTES: u64 = 256 << 20;
const MAGIC: &[u8; 8] = b"syscost1";
const RUN: &str = "run/";
const STATUS: &str = "status";
const FAILURE: &str = "failure";

/// What the guest has to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GuestFiles {
    /// Exit status of what ran inside.
    pub status: i32,
    /// Why nothing could run, or nothing was kept.
    pub failure: Option<String>,
    /// The files of the run's directory, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

/// An empty disk.
pub fn create(path: &Path) -> io::Result<()> {
    File::create_new(path)?.set_len(BYTES)
}

/// Writes to the disk, and waits until it is there.
pub fn write(disk: &Path, brought: &GuestFiles) -> io::Result<()> {
    let mut archive = Writer::new(Vec::new());
    archive.file(STATUS, false, brought.status.to_string().as_bytes())?;
    if let Some(failure) = &brought.failure {
        archive.file(FAILURE, false, failure.as_bytes())?;
    }
    for (name, bytes) in &brought.files {
        archive.file(&format!("{RUN}{name}"), false, bytes)?;
    }
    let archive = archive.finish()?;
    if archive.len() as u64 + 16 > BYTES {
        return Err(io::Error::other(format!("{} bytes do not fit onto the disk", archive.len())));
    }
    let mut disk = OpenOptions::new().write(true).open(disk)?;
    disk.write_all(MAGIC)?;
    disk.write_all(&(archive.len() as u64).to_le_bytes())?;
    disk.write_all(&archive)?;
    disk.sync_all()
}

/// Reads what the guest wrote.
pub fn read(disk: &Path) -> io::Result<GuestFiles> {
    let mut disk = File::open(disk)?;
    let (mut magic, mut length) = ([0; 8], [0; 8]);
    disk.read_exact(&mut magic)?;
    disk.read_exact(&mut length)?;
    if &magic != MAGIC {
        return Err(io::Error::other("the guest ended before it wrote anything"));
    }
    let files = archive::read(disk.take(u64::from_le_bytes(length)), BYTES)?;
    let mut brought = GuestFiles { status: -1, ..GuestFiles::default() };
    for (name, bytes) in files {
        match name.as_str() {
            STATUS => {
                let text = String::from_utf8_lossy(&bytes);
                brought.status = text.parse().map_err(|_| io::Error::other("the status is no number"))?;
            }
            FAILURE => brought.failure = Some(String::from_utf8_lossy(&bytes).into_owned()),
            name => match name.strip_prefix(RUN).filter(|name| !name.contains('/')) {
                Some(name) => brought.files.push((name.to_string(), bytes)),
                None => return Err(io::Error::other(format!("an unknown file {name:?}"))),
            },
        }
    }
    Ok(brought)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_reads_back_and_an_empty_disk_says_so() {
        let folder = tempfile::tempdir().unwrap();
        let disk = folder.path().join("disk");
        create(&disk).unwrap();
        assert!(read(&disk).unwrap_err().to_string().contains("before it wrote"));
        let brought = GuestFiles {
            status: 1,
            failure: Some("no link".into()),
            files: vec![("run.json".into(), b"{}".to_vec()), ("samples.csv".into(), vec![])],
        };
        write(&disk, &brought).unwrap();
        assert_eq!(read(&disk).unwrap(), brought);
    }
}
