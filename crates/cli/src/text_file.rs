//! Text files that a user names: read whole, or refused.
//!
//! What is larger than any such file would be is something else (a disk's image, a device without an end), and
//! a part of it is never taken for the whole.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The file's text; `what` is what it should be, and `instead` what to do where it is too large for that.
pub fn read(path: &Path, most_bytes: u64, what: &str, instead: &str) -> Result<String> {
    match String::from_utf8(bytes(path, most_bytes, what, instead)?) {
        Ok(text) => Ok(text),
        Err(error) => bail!(
            "{} is not UTF-8 at byte {}: convert it (iconv -t UTF-8) or name another file",
            path.display(),
            error.utf8_error().valid_up_to()
        ),
    }
}

/// The same for a file that may have another encoding.
pub fn bytes(path: &Path, most_bytes: u64, what: &str, instead: &str) -> Result<Vec<u8>> {
    let about = || format!("cannot read {}", path.display());
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(most_bytes + 1).read_to_end(&mut bytes))
        .with_context(about)?;
    if bytes.len() as u64 > most_bytes {
        bail!("{} is larger than {} MiB, which is no {what}: {instead}", path.display(), most_bytes >> 20);
    }
    Ok(bytes)
}
