//! lmbench: one line on standard error, in microseconds, megabytes (10^6) a second or, for the
//! curve of lat_mem_rd, nanoseconds by megabytes (2^20) of memory.

use super::{ParseError, missing, rate};

/// `Simple syscall: 0.1262 microseconds`: the number before the word, in nanoseconds.
pub fn microseconds(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "microseconds";
    let line = output.lines().find(|line| line.trim_end().ends_with(FIELD));
    let number = line.and_then(|line| line.split_whitespace().rev().nth(1));
    Ok(1e3 * rate(FIELD, number.ok_or_else(|| missing(FIELD, output))?)?)
}

/// lat_ctx: `2 1.66`, processes and microseconds a switch.
pub fn context_switch(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "line of 2 processes";
    let number = output.lines().find_map(|line| line.trim().strip_prefix("2 "));
    Ok(1e3 * rate(FIELD, number.ok_or_else(|| missing(FIELD, output))?)?)
}

/// bw_mem: `0.016384 192641.39`, megabytes and megabytes a second.
pub fn bandwidth(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "megabytes per second";
    let pair = output.lines().find_map(two_numbers);
    let (_, rate_text) = pair.ok_or_else(|| missing(FIELD, output))?;
    Ok(1e6 * rate(FIELD, rate_text)?)
}

/// lat_mem_rd: the curve's point at this size.
pub fn load_at(output: &str, bytes: u64) -> Result<f64, ParseError> {
    const FIELD: &str = "size in the curve";
    // Sizes are printed with five decimals: 512 bytes apart they still differ.
    let wanted = format!("{:.5}", bytes as f64 / f64::from(1 << 20));
    let point = output.lines().filter_map(two_numbers).find(|(size, _)| *size == wanted);
    let (_, ns) = point.ok_or_else(|| missing(FIELD, output))?;
    rate(FIELD, ns)
}

/// A line of exactly two numbers.
fn two_numbers(line: &str) -> Option<(&str, &str)> {
    let (first, second) = line.trim().split_once(' ')?;
    let numeric = |text: &str| text.parse::<f64>().is_ok();
    (numeric(first) && numeric(second)).then_some((first, second))
}
