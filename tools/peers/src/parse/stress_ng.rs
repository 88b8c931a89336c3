//! stress-ng `--metrics-brief`: bogo operations a second of real time, or a metric of a stressor.

use super::{ParseError, missing, rate};

const FIELD: &str = "bogo ops/s (real time)";

/// Nanoseconds of real time a bogo operation. Columns: stressor, bogo ops, real, usr, sys, and two rates.
pub fn nanoseconds_per_bogo_operation(output: &str, stressor: &str) -> Result<f64, ParseError> {
    let columns = metrics(output).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = columns.into_iter().find(|columns| columns.len() == 7 && columns[0] == stressor);
    let row = row.ok_or_else(|| missing(FIELD, output))?;
    Ok(1e9 / rate(FIELD, row[5])?)
}

/// A metric that the stressor measures itself, by its words: `nanosecs per page fault`.
pub fn own_metric(output: &str, words: &'static str) -> Result<f64, ParseError> {
    let line = metrics(output).find(|line| line.contains(words)).ok_or_else(|| missing(words, output))?;
    let number = line.split(words).next().and_then(|before| before.split_whitespace().last());
    rate(words, number.unwrap_or_default())
}

/// What follows `stress-ng: metrc: [14205]` on each line that has it.
fn metrics(output: &str) -> impl Iterator<Item = &str> {
    output.lines().filter_map(|line| line.split_once("metrc: [")?.1.split_once("] ").map(|(_, rest)| rest))
}
