//! neper's client: `remote_throughput=`, the receiver's payload bits per second.

use super::{ParseError, missing, rate, value_of};

const FIELD: &str = "remote_throughput";

pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)
}

/// tcp_rr with `-p 50`: the median round trip, in nanoseconds; printed in seconds.
pub fn round_trip_ns(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "latency_p50";
    Ok(1e9 * rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)?)
}
