//! neper's client: `remote_throughput=`, the receiver's payload bits per second.

use super::{ParseError, missing, rate, value_of};

const FIELD: &str = "remote_throughput";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)
}

/// tcp_rr with `-p PERCENTILE`: that of the round trip, in nanoseconds; printed in seconds.
pub fn round_trip_ns(percentile: u8, output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "latency_p";
    let named = format!("{FIELD}{percentile}");
    Ok(1e9 * rate(FIELD, value_of(output, &named).ok_or_else(|| missing(FIELD, output))?)?)
}
