//! The guest's first file system: this program as its init, what the program needs, the modules,
//! and the orders. A cpio archive of the "newc" kind.
//!
//! Source: Documentation/driver-api/early-userspace/buffer-format.rst.

use super::kernel::Kernel;
use super::{LabRequest, guest, libraries};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

const MAGIC: &str = "070701";
const TRAILER: &str = "TRAILER!!!";
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;
const FILE: u32 = 0o100_644;
const CHARACTER_DEVICE: u32 = 0o020_600;

/// Writes the file system that a guest of this request boots into.
pub fn write(
    at: &Path,
    program: &Path,
    kernel: &Kernel,
    orders: &guest::GuestTask,
    request: &LabRequest<'_>,
) -> Result<()> {
    let mut image = Image::new(BufWriter::new(File::create_new(at)?));
    for folder in guest::FOLDERS {
        image.folder(Path::new(folder))?;
    }
    // Before the guest has mounted anything its init needs somewhere to write to. No right is needed for that.
    image.entry("dev/console", CHARACTER_DEVICE, (5, 1), b"")?;
    image.entry("dev/null", CHARACTER_DEVICE, (1, 3), b"")?;
    image.copy(program, "/init", PROGRAM)?;
    for library in libraries::of(program, request.arch)? {
        image.copy(&library, &library.to_string_lossy(), PROGRAM)?;
    }
    for module in orders.modules.iter().chain(&orders.disk_modules).collect::<BTreeSet<_>>() {
        image.copy(&kernel.module(module), &guest::module_path(module), FILE)?;
    }
    image.file(guest::SPEC, FILE, request.spec.to_toml().as_bytes())?;
    image.file(guest::ORDERS, FILE, &serde_json::to_vec(orders)?)?;
    image.finish()?;
    Ok(())
}

/// An archive with the folders of its files.
struct Image<W> {
    out: W,
    entries: u32,
    folders: BTreeSet<String>,
}

impl<W: Write> Image<W> {
    fn new(out: W) -> Image<W> {
        Image { out, entries: 0, folders: BTreeSet::new() }
    }

    fn folder(&mut self, path: &Path) -> io::Result<()> {
        let ancestors: Vec<&Path> = path.ancestors().collect();
        for ancestor in ancestors.into_iter().rev() {
            let name = ancestor.to_string_lossy();
            if !matches!(&*name, "" | "/") && self.folders.insert(name.to_string()) {
                self.entry(&name, DIRECTORY, (0, 0), b"")?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, from: &Path, to: &str, mode: u32) -> Result<()> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        Ok(self.file(to, mode, &bytes)?)
    }

    fn file(&mut self, to: &str, mode: u32, bytes: &[u8]) -> io::Result<()> {
        self.folder(Path::new(to).parent().unwrap_or(Path::new("")))?;
        self.entry(to, mode, (0, 0), bytes)
    }

    fn finish(mut self) -> io::Result<W> {
        self.entry(TRAILER, 0, (0, 0), b"")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, name: &str, mode: u32, device: (u32, u32), content: &[u8]) -> io::Result<()> {
        self.entries += 1;
        // Without a leading slash: the kernel unpacks into its root.
        let name = name.trim_start_matches('/');
        let size = u32::try_from(content.len())
            .map_err(|_| io::Error::other(format!("{name} is too large for a cpio archive")))?;
        let fields =
            [self.entries, mode, 0, 0, 1, 0, size, 0, 0, device.0, device.1, name.len() as u32 + 1, 0];
        let fields: String = fields.iter().map(|field| format!("{field:08x}")).collect();
        self.padded(format!("{MAGIC}{fields}{name}\0").as_bytes())?;
        self.padded(content)
    }

    /// Headers with their names, and files, end at a multiple of four.
    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        self.out.write_all(&[0; 3][..bytes.len().next_multiple_of(4) - bytes.len()])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_layout_is_that_of_the_kernels_documentation() {
        let mut image = Image::new(Vec::new());
        image.file("/init", PROGRAM, b"abc").unwrap();
        let bytes = image.finish().unwrap();
        let text = String::from_utf8_lossy(&bytes);
        assert!(text.starts_with("07070100000001000081ed"), "magic, number, mode: {text}");
        assert_eq!(&bytes[110..116], b"init\0\0", "name, its end, padding to 116");
        assert_eq!(&bytes[116..120], b"abc\0");
        assert_eq!(bytes.len() % 4, 0);
    }

    #[test]
    fn folders_come_before_their_files_and_once() {
        let mut image = Image::new(Vec::new());
        image.file("/lab/a", FILE, b"").unwrap();
        image.file("/lab/b", FILE, b"").unwrap();
        let bytes = image.finish().unwrap();
        let places: Vec<usize> = ["lab\0", "lab/a\0", "lab/b\0"]
            .iter()
            .map(|name| {
                let text = bytes.windows(name.len()).enumerate().filter(|(_, w)| *w == name.as_bytes());
                let found: Vec<usize> = text.map(|(at, _)| at).collect();
                assert_eq!(found.len(), 1, "{name}");
                found[0]
            })
            .collect();
        assert!(places.is_sorted());
    }
}
