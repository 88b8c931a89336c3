//! netperf with `-f k -k THROUGHPUT,THROUGHPUT_UNITS`: 10^3 bits per second as a key and a value.
//!
//! The unit is checked, and `-f b` is refused: 2.7.1 then prints bytes per second, labelled
//! 10^0bits/s (its own byte counts show it).

use super::{ParseError, missing, rate, value_of};

const FIELD: &str = "THROUGHPUT";
const UNITS: &str = "THROUGHPUT_UNITS";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    let scale = match value_of(output, UNITS).ok_or_else(|| missing(UNITS, output))? {
        "10^3bits/s" => 1e3,
        "10^6bits/s" => 1e6,
        other => return Err(ParseError::NotARate { field: UNITS, text: other.to_string() }),
    };
    Ok(scale * rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)?)
}
