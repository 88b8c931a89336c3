//! A raw record as both comparisons write it: comment lines with facts, then CSV with known headings.

use anyhow::{Context, Result, bail};
use std::path::Path;

/// What the comment lines say, label and value, and the lines of the table.
pub type Recorded = (Vec<(String, String)>, Vec<csv::StringRecord>);

/// Reads a record whose table has these columns.
pub fn read(path: &Path, columns: &[&str]) -> Result<Recorded> {
    let text = std::fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    let facts = text
        .lines()
        .map_while(|line| line.strip_prefix("# ")?.split_once(": "))
        .map(|(label, value)| (label.to_string(), value.to_string()))
        .collect();
    let body: String =
        text.lines().filter(|line| !line.starts_with("# ")).map(|line| format!("{line}\n")).collect();
    let mut reader = csv::Reader::from_reader(body.as_bytes());
    if reader.headers()? != columns {
        bail!("{} is not a record of this comparison", path.display());
    }
    let lines = reader.records().collect::<Result<_, _>>()?;
    Ok((facts, lines))
}
