//! cpio archives of the "newc" kind: what a kernel takes as its first file system, and how the
//! guest's files come back.
//!
//! A reader of a guest's archive trusts nothing: names are plain and relative, sizes are limited.
//! Source: Documentation/driver-api/early-userspace/buffer-format.rst.

use std::io::{self, Read, Write};

const MAGIC: &[u8] = b"070701";
const HEADER_BYTES: usize = 110;
const TRAILER: &str = "TRAILER!!!";
const DIRECTORY: u32 = 0o040_000;
const REGULAR: u32 = 0o100_000;
const CHARACTER_DEVICE: u32 = 0o020_000;
const TYPE: u32 = 0o170_000;

/// Writes one archive.
pub struct Writer<W> {
    out: W,
    written: u64,
    entries: u32,
}

impl<W: Write> Writer<W> {
    pub fn new(out: W) -> Writer<W> {
        Writer { out, written: 0, entries: 0 }
    }

    pub fn directory(&mut self, name: &str) -> io::Result<()> {
        self.header(name, DIRECTORY | 0o755, 0, (0, 0))
    }

    /// A device node: it needs no right to be written into an archive.
    pub fn character_device(&mut self, name: &str, major: u32, minor: u32) -> io::Result<()> {
        self.header(name, CHARACTER_DEVICE | 0o600, 0, (major, minor))
    }

    pub fn file(&mut self, name: &str, executable: bool, bytes: &[u8]) -> io::Result<()> {
        let size = u32::try_from(bytes.len())
            .map_err(|_| io::Error::other(format!("{name} is too large for a cpio archive")))?;
        self.header(name, REGULAR | if executable { 0o755 } else { 0o644 }, size, (0, 0))?;
        self.put(bytes)?;
        self.pad()
    }

    pub fn finish(mut self) -> io::Result<W> {
        self.header(TRAILER, 0, 0, (0, 0))?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn header(&mut self, name: &str, mode: u32, size: u32, device: (u32, u32)) -> io::Result<()> {
        self.entries += 1;
        // Without a leading slash: the kernel unpacks into its root.
        let name = name.trim_start_matches('/');
        let fields =
            [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
        let mut header = MAGIC.to_vec();
        for field in fields {
            header.extend(format!("{field:08x}").as_bytes());
        }
        header.extend(name.as_bytes());
        header.push(0);
        self.put(&header)?;
        self.pad()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.written += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Headers with their names, and files, end at a multiple of four.
    fn pad(&mut self) -> io::Result<()> {
        let padding = (4 - self.written % 4) % 4;
        self.put(&[0; 3][..padding as usize])
    }
}

/// The regular files of an archive: name and content. Directories are left out; anything else, and
/// a name that is not plain and relative, is an error.
pub fn read(mut input: impl Read, largest_bytes: u64) -> io::Result<Vec<(String, Vec<u8>)>> {
    let mut files = Vec::new();
    let mut total = 0u64;
    loop {
        let mut header = [0; HEADER_BYTES];
        input.read_exact(&mut header)?;
        let number = |field: usize| -> io::Result<u32> {
            let start = MAGIC.len() + 8 * field;
            let text = header.get(start..start + 8).and_then(|digits| std::str::from_utf8(digits).ok());
            text.and_then(|digits| u32::from_str_radix(digits, 16).ok())
                .ok_or_else(|| bad("a field is no number"))
        };
        if !header.starts_with(MAGIC) {
            return Err(bad("an entry has no header"));
        }
        let (mode, size, name_bytes) = (number(1)?, number(6)?, number(11)?);
        total += u64::from(size);
        if name_bytes == 0 || name_bytes > 4096 || total > largest_bytes {
            return Err(bad("an entry is too large"));
        }
        let name = take(&mut input, name_bytes, HEADER_BYTES)?;
        let name = String::from_utf8(name).map_err(|_| bad("a name is not UTF-8"))?;
        let name = name.trim_end_matches('\0').to_string();
        if name == TRAILER {
            return Ok(files);
        }
        let content = take(&mut input, size, 0)?;
        match mode & TYPE {
            DIRECTORY => {}
            REGULAR if is_plain(&name) => files.push((name, content)),
            _ => return Err(bad(&format!("{name:?} is no plain file"))),
        }
    }
}

/// This many bytes, and the padding behind them, of which `before` bytes come first.
fn take(input: &mut impl Read, bytes: u32, before: usize) -> io::Result<Vec<u8>> {
    let padding = (4 - (before + bytes as usize) % 4) % 4;
    let mut content = Vec::new();
    input.take(u64::from(bytes)).read_to_end(&mut content)?;
    if content.len() < bytes as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    input.read_exact(&mut [0; 3][..padding])?;
    Ok(content)
}

/// `run/samples.csv`: it cannot lead out of a directory.
fn is_plain(name: &str) -> bool {
    let part = |part: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)
    };
    name.split('/').all(part)
}

fn bad(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("not a sound cpio archive: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const LIMIT: u64 = 1 << 20;

    #[test]
    fn what_leads_out_of_a_directory_is_refused() {
        for name in ["../x", "a/../b", ".hidden", "a//b", "a b", "a\u{e4}"] {
            let mut archive = Writer::new(Vec::new());
            archive.file(name, false, b"x").unwrap();
            let bytes = archive.finish().unwrap();
            assert!(read(bytes.as_slice(), LIMIT).is_err(), "{name}");
        }
        let mut archive = Writer::new(Vec::new());
        archive.character_device("dev/console", 5, 1).unwrap();
        assert!(read(archive.finish().unwrap().as_slice(), LIMIT).is_err(), "a device");
        let mut archive = Writer::new(Vec::new());
        archive.file("large", false, &[0; 100]).unwrap();
        assert!(read(archive.finish().unwrap().as_slice(), 99).is_err(), "too large");
    }

    #[test]
    fn the_layout_is_that_of_the_kernels_documentation() {
        let mut archive = Writer::new(Vec::new());
        archive.file("/init", true, b"abc").unwrap();
        let bytes = archive.finish().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("07070100000001000081ed"), "magic, number, mode: {text}");
        assert_eq!(&bytes[110..116], b"init\0\0", "name, its end, padding to 116");
        assert_eq!(&bytes[116..120], b"abc\0");
        assert_eq!(bytes.len() % 4, 0);
    }

    proptest! {
        #[test]
        fn files_read_back(files in prop::collection::vec(("[a-z][a-z0-9._-]{0,8}", prop::collection::vec(any::<u8>(), 0..50)), 0..6)) {
            let mut archive = Writer::new(Vec::new());
            archive.directory("run").unwrap();
            for (name, content) in &files {
                archive.file(name, false, content).unwrap();
            }
            let bytes = archive.finish().unwrap();
            prop_assert_eq!(read(bytes.as_slice(), LIMIT).unwrap(), files);
        }

        #[test]
        fn garbage_is_an_error_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = read(bytes.as_slice(), LIMIT);
            let mut begun = b"070701".to_vec();
            begun.extend(bytes);
            let _ = read(begun.as_slice(), LIMIT);
        }
    }
}
