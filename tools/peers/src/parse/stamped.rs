//! `peers stamped receive`: quantiles as `p99=`, in nanoseconds.

use super::{ParseError, missing, rate, value_of};

pub fn nanoseconds(field: &'static str, output: &str) -> Result<f64, ParseError> {
    rate(field, value_of(output, field).ok_or_else(|| missing(field, output))?)
}
