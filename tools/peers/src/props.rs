//! The file that other programs read, as their operations want it to lie in the page cache.

use anyhow::{Context, Result};
use rustix::fs::{Advice, fadvise};
use std::fs::File;
use std::os::unix::fs::FileExt;

/// Its size.
pub const BYTES: u64 = 64 << 20;

/// Leaves the file in the page cache in single pages, whoever read it before: a large folio that a
/// write or a read-ahead left there is mapped by one fault, which would decide the figure.
pub fn cache_by_page(path: &str) -> Result<()> {
    let file = File::open(path).with_context(|| path.to_string())?;
    for advice in [Advice::DontNeed, Advice::Random] {
        fadvise(&file, 0, None, advice).with_context(|| format!("{path}: fadvise"))?;
    }
    let mut page = [0; 4096];
    for offset in (0..BYTES).step_by(page.len()) {
        file.read_exact_at(&mut page, offset)?;
    }
    Ok(())
}
