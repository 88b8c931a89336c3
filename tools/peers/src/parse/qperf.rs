//! qperf `-uu` tcp_bw: `bw  =  2022297600 bytes/sec`, what the receiver counted.

use super::{ParseError, missing, rate};

const FIELD: &str = "bw in bytes/sec";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    let value = output
        .lines()
        .filter_map(|line| line.trim().strip_prefix("bw")?.trim_start().strip_prefix('='))
        .find_map(|value| value.trim().strip_suffix("bytes/sec"))
        .ok_or_else(|| missing(FIELD, output))?;
    Ok(8.0 * rate(FIELD, &value.replace(',', ""))?)
}
