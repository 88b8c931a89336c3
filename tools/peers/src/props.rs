//! The file that other programs read. They open it by name, so it has one; it goes when this
//! program ends, and one that a killed program left is found and removed at the next start.

use anyhow::{Context, Result, ensure};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
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
        syscost_sys::random::fill(&mut bytes)?;
        file.write_all(&bytes)?;
        file.sync_all()?;
        Ok(made)
    }

    pub fn path(&self) -> &str {
        self.0.to_str().unwrap_or_default()
    }
}

/// Leaves the file in the page cache in single pages, whoever read it before: a large folio that a
/// write or a read-ahead left there is mapped by one fault, which would decide the figure.
pub fn cache_by_page(path: &str) -> Result<()> {
    let file = fs::File::open(path).with_context(|| path.to_string())?;
    let advise = |advice: libc::c_int| {
        // SAFETY: takes a live descriptor and numbers; a refusal is returned.
        unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, advice) }
    };
    ensure!(
        advise(libc::POSIX_FADV_DONTNEED) == 0 && advise(libc::POSIX_FADV_RANDOM) == 0,
        "{path}: fadvise"
    );
    let mut page = [0; 4096];
    for offset in (0..BYTES as u64).step_by(page.len()) {
        file.read_exact_at(&mut page, offset)?;
    }
    Ok(())
}

impl Drop for ReadFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A file that a program wants at a fixed place, and its folder if that was not there.
pub struct Prop {
    file: PathBuf,
    folder: Option<PathBuf>,
}

impl Prop {
    /// A copy of `from` at `to`; refused where something is in the way.
    pub fn copy(from: &Path, to: &str) -> Result<Prop> {
        use std::os::unix::fs::OpenOptionsExt;
        let file = PathBuf::from(to);
        let folder = file.parent().filter(|folder| fs::create_dir(folder).is_ok()).map(PathBuf::from);
        let mut prop = Prop { file: PathBuf::new(), folder };
        let mut options = OpenOptions::new();
        let mut made =
            options.write(true).create_new(true).mode(0o700).open(&file).with_context(|| to.to_string())?;
        prop.file = file;
        std::io::copy(&mut fs::File::open(from)?, &mut made)?;
        Ok(prop)
    }
}

impl Drop for Prop {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
        if let Some(folder) = &self.folder {
            let _ = fs::remove_dir(folder);
        }
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
