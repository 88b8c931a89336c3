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

/// TCP_RR with `-k TRANSACTION_RATE`: nanoseconds a transaction.
pub fn transaction_ns(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "TRANSACTION_RATE";
    Ok(1e9 / rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)?)
}

/// TCP_RR with `-k P99_LATENCY`: the quantile in nanoseconds; printed in whole microseconds.
pub fn latency_ns(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "P99_LATENCY";
    Ok(1e3 * rate(FIELD, value_of(output, FIELD).ok_or_else(|| missing(FIELD, output))?)?)
}

/// TCP_CC, the old table of six columns: nanoseconds a connection.
pub fn connection_ns(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "Trans. Rate per sec";
    let columns = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let numbers =
        |columns: &Vec<&str>| columns.len() == 6 && columns.iter().all(|c| c.parse::<f64>().is_ok());
    let row = columns.into_iter().find(numbers).ok_or_else(|| missing(FIELD, output))?;
    Ok(1e9 / rate(FIELD, row[5])?)
}

/// TCP_SENDFILE with `-P 0 -f k`: the old row of five columns, the last in 10^3 bits per second.
pub fn sendfile_bits_per_second(output: &str) -> Result<f64, ParseError> {
    const FIELD: &str = "Throughput 10^3bits/sec";
    let columns = output.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = columns
        .into_iter()
        .find(|columns| columns.len() == 5 && columns.iter().all(|c| c.parse::<f64>().is_ok()))
        .ok_or_else(|| missing(FIELD, output))?;
    Ok(1e3 * rate(FIELD, row[4])?)
}
