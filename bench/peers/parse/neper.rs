//! neper's client: `remote_throughput=`, the receiver's payload bits per second.

use super::{ParseError, missing, rate, value_of};

const FIELD: &str = "remote_throughput";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)
}
