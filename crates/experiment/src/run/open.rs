//! How a file of a run directory is opened: never through a link, and only what is a file of one name.
//!
//! Sources: open(2) on O_NOFOLLOW and O_NONBLOCK, inode(7) on links.

use super::errors::{LoadError, read_error};
use flate2::read::MultiGzDecoder;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

pub use super::errors::RECORD;
pub const SAMPLES: &str = "samples.csv";
/// A small file can unpack to more memory than a machine has.
const UNPACKED_MOST: u64 = 1 << 30;

/// Never through a symbolic link, never waiting for the other end of a FIFO.
pub(super) fn options(append: bool) -> OpenOptions {
    let mut options = OpenOptions::new();
    options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    if append {
        options.read(true).append(true);
    }
    options
}

/// Is there something of this name, packed or not?
pub(super) fn is_there(dir: &Path, name: &str) -> bool {
    [name, &format!("{name}.gz")].iter().any(|name| dir.join(name).symlink_metadata().is_ok())
}

/// A file to be read. Where only `NAME.gz` is there (gzip leaves a third of a kept run), its content.
pub(super) fn open_file(dir: &Path, name: &'static str) -> Result<File, LoadError> {
    let open = |name: &str| {
        let file = options(false).read(true).open(dir.join(name))?;
        regular(&file).map(|()| file)
    };
    let file = match open(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => match open(&format!("{name}.gz")) {
            Ok(packed) => unpacked(packed, UNPACKED_MOST),
            Err(_) => Err(error),
        },
        other => other,
    };
    file.map_err(|e| read_error(dir, name, e))
}

/// What a gzip file holds, in memory: a run may lie where nothing can be written.
fn unpacked(packed: File, most: u64) -> io::Result<File> {
    let mut file = File::from(memfd_create(c"unpacked", MemfdFlags::CLOEXEC)?);
    let mut content = MultiGzDecoder::new(packed).take(most + 1);
    if io::copy(&mut content, &mut file)? > most {
        return Err(io::Error::other("its .gz holds more than 1 GiB; unpack it with gunzip"));
    }
    file.rewind()?;
    Ok(file)
}

pub(super) fn regular(file: &File) -> io::Result<()> {
    if file.metadata()?.is_file() { Ok(()) } else { Err(io::Error::other("it is not a regular file")) }
}

/// A file that is appended to or cut must be nobody else's too: in a stranger's directory it may be another
/// name (a hard link) of any file.
pub(super) fn one_name(file: &File) -> io::Result<()> {
    match file.metadata()?.nlink() {
        0 | 1 => Ok(()),
        _ => {
            Err(io::Error::other("it is another name of a file elsewhere (a hard link); copy the directory"))
        }
    }
}

/// What is wrong with JSON of ours, and what to do where it is whole and of another form.
pub(super) fn unreadable(error: &serde_json::Error) -> String {
    let older =
        if error.is_data() { " (files of before the first release are not read: measure again)" } else { "" };
    format!("{error}{older}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use std::io::Write;

    fn packed(dir: &Path, content: &[u8]) {
        let mut gzip = GzEncoder::new(File::create(dir.join("samples.csv.gz")).unwrap(), Compression::fast());
        gzip.write_all(content).unwrap();
        gzip.finish().unwrap();
    }

    #[test]
    fn a_packed_file_is_read_where_there_is_no_other() {
        let dir = tempfile::tempdir().unwrap();
        let read = || {
            let mut text = String::new();
            open_file(dir.path(), SAMPLES).map(|mut file| file.read_to_string(&mut text).map(|_| text))
        };
        assert!(read().is_err() && !is_there(dir.path(), SAMPLES));
        packed(dir.path(), b"case\n1\n");
        assert!(is_there(dir.path(), SAMPLES));
        assert_eq!(read().unwrap().unwrap(), "case\n1\n");
        std::fs::write(dir.path().join(SAMPLES), "plain").unwrap();
        assert_eq!(read().unwrap().unwrap(), "plain");
    }

    #[test]
    fn what_unpacks_to_too_much_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        packed(dir.path(), &[b'0'; 100_000]);
        let open = || File::open(dir.path().join("samples.csv.gz")).unwrap();
        assert!(unpacked(open(), 100_000).is_ok());
        assert!(unpacked(open(), 99_999).unwrap_err().to_string().contains("gunzip"));
    }
}
