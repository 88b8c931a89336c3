//! The file that other programs read. They open it by name, so it has one; it goes when this
//! program ends, and one that a killed program left is found and removed at the next start.

use anyhow::{Context, Result};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

const PREFIX: &str = ".syscost-peers-";
const BYTES: usize = 64 << 20;

pub struct ReadFile(PathBuf);

impl ReadFile {
    /// 64 MiB of random bytes, on the disk when this returns.
    pub fn make(directory: &Path) -> Result<ReadFile> {
        remove_leftovers(directory);
        // Absolute, as it is named to programs that run elsewhere.
        let directory = directory.canonicalize().with_context(|| directory.display().to_string())?;
        let path = directory.join(format!("{PREFIX}{}", std::process::id()));
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let mut file = file.with_context(|| format!("cannot make {}", path.display()))?;
        let made = ReadFile(path);
        let mut bytes = vec![0; BYTES];
        syscost::sys::random::fill(&mut bytes)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        Ok(made)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

impl Drop for ReadFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Files of programs that are no more.
fn remove_leftovers(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let maker = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if maker.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
