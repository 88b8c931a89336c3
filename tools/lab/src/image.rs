//! The guest's first file system: this program as its init, what the program needs, the modules,
//! and the orders.

use super::archive::Writer;
use super::kernel::Kernel;
use super::{Arch, guest, libraries};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::BufWriter;
use std::path::Path;

/// What goes in.
pub struct Contents<'a> {
    pub at: &'a Path,
    pub program: &'a Path,
    pub arch: Arch,
    pub kernel: &'a Kernel,
    pub modules: &'a [String],
    pub orders: &'a guest::GuestTask,
    pub spec: &'a str,
}

pub fn write(contents: &Contents<'_>) -> Result<()> {
    let mut archive =
        Image { archive: Writer::new(BufWriter::new(File::create_new(contents.at)?)), made: BTreeSet::new() };
    for folder in guest::FOLDERS {
        archive.folder(folder)?;
    }
    // Before the guest has mounted anything its init needs somewhere to write to.
    archive.archive.character_device("dev/console", 5, 1)?;
    archive.archive.character_device("dev/null", 1, 3)?;
    archive.copy(contents.program, "/init", true)?;
    for library in libraries::of(contents.program, contents.arch)? {
        archive.copy(&library, &library.to_string_lossy(), true)?;
    }
    for module in contents.modules {
        archive.copy(&contents.kernel.module(module), &guest::module_path(module), false)?;
    }
    archive.file(guest::SPEC, contents.spec.as_bytes())?;
    archive.file(guest::ORDERS, &serde_json::to_vec(contents.orders)?)?;
    archive.archive.finish()?;
    Ok(())
}

/// An archive with the folders of its files.
struct Image<W> {
    archive: Writer<W>,
    made: BTreeSet<String>,
}

impl<W: std::io::Write> Image<W> {
    fn folder(&mut self, path: &str) -> Result<()> {
        let ancestors: Vec<&Path> = Path::new(path).ancestors().collect();
        for ancestor in ancestors.into_iter().rev() {
            let name = ancestor.to_string_lossy();
            let name = name.trim_matches('/');
            if !name.is_empty() && self.made.insert(name.to_string()) {
                self.archive.directory(name)?;
            }
        }
        Ok(())
    }

    fn copy(&mut self, from: &Path, to: &str, executable: bool) -> Result<()> {
        let bytes = fs::read(from).with_context(|| format!("cannot read {}", from.display()))?;
        self.parents(to)?;
        Ok(self.archive.file(to, executable, &bytes)?)
    }

    fn file(&mut self, to: &str, bytes: &[u8]) -> Result<()> {
        self.parents(to)?;
        Ok(self.archive.file(to, false, bytes)?)
    }

    fn parents(&mut self, to: &str) -> Result<()> {
        let parent = Path::new(to).parent().map(|path| path.to_string_lossy().into_owned());
        self.folder(&parent.unwrap_or_default())
    }
}
