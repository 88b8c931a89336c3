//! Puts a result into its page.

use anyhow::{Context, Result, bail};
use std::path::Path;

const BEGIN: &str = "<!-- peers:begin (generated; edits are lost) -->";
const END: &str = "<!-- peers:end -->";

/// Replaces what is between a page's markers.
pub fn splice(file: &Path, generated: &str) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (Some(begin), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        bail!("{} lacks the markers {BEGIN} and {END}", file.display());
    };
    let spliced = format!("{}{BEGIN}\n\n{generated}\n{}", &text[..begin], &text[end..]);
    std::fs::write(file, spliced).with_context(|| format!("cannot write {}", file.display()))
}
