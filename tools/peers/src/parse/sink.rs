//! Our own receiver for other senders: `goodput=` in bits per second.

use super::{ParseError, missing, rate, value_of};

const FIELD: &str = "goodput";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)
}
