//! nuttcp `-fparse`: `rate_Mbps=`, in 10^6 bits per second, all streams.

use super::{ParseError, missing, rate, value_of};

const FIELD: &str = "rate_Mbps";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    Ok(1e6 * rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)?)
}
