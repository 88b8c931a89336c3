//! `perf bench`: microseconds an operation, or GB/sec, which are units of 2^30.

use super::{ParseError, missing, rate};

pub fn nanoseconds(output: &str) -> Result<f64, ParseError> {
    Ok(1e3 * number_before("usecs/op", output)?)
}

/// The only function that was asked for: its GB/sec count 2^30 bytes (tools/perf/bench/mem-functions.c).
pub fn bytes_per_second(output: &str) -> Result<f64, ParseError> {
    Ok(f64::from(1 << 30) * number_before("GB/sec", output)?)
}

fn number_before(unit: &'static str, output: &str) -> Result<f64, ParseError> {
    let number = output.lines().find_map(|line| line.trim().strip_suffix(unit));
    rate(unit, number.ok_or_else(|| missing(unit, output))?)
}
