//! sockperf throughput: `Message Rate is 601040 [msg/sec]`, times the message size.
//!
//! Its own `BandWidth` line is not used: its "Mbps" are units of 2^20 bits. The rate is what the
//! sender handed to the kernel; sockperf has no receiver's figure for a stream.

use super::{ParseError, missing, rate};

const FIELD: &str = "Message Rate";

pub fn bits_per_second(output: &str, message_bytes: u64) -> Result<f64, ParseError> {
    let (_, rest) = output.split_once("Message Rate is ").ok_or_else(|| missing(FIELD, output))?;
    let (messages, _) = rest.split_once(" [msg/sec]").ok_or_else(|| missing(FIELD, output))?;
    Ok(8.0 * message_bytes as f64 * rate(FIELD, messages)?)
}

/// `ping-pong --full-rtt`: a percentile of the round trip (`50.000`), in nanoseconds; printed in microseconds.
pub fn round_trip_ns(percentile: &str, output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "percentile";
    let named = format!("{FIELD} {percentile}");
    let line = output.lines().find(|line| line.contains(&named)).ok_or_else(|| missing(FIELD, output))?;
    let (_, microseconds) = line.split_once('=').ok_or_else(|| missing(FIELD, output))?;
    Ok(1e3 * rate(FIELD, microseconds)?)
}
