//! Readers of what each peer prints: text in, bits per second out. Pure: no processes, no files,
//! so that `tests/peers_parsers.rs` can run them over recorded outputs.
//!
//! Each reader takes the receiver's figure (goodput) where the tool prints one, and asks for an
//! exact field: a tool that changes its output fails with what was missing, never with a 0.

pub mod core_to_core;
pub mod fio;
pub mod iperf3;
pub mod lmbench;
pub mod mbw;
pub mod neper;
pub mod netperf;
pub mod nuttcp;
pub mod osbench;
pub mod perf_bench;
pub mod ping;
pub mod qperf;
pub mod sink;
pub mod sockperf;
pub mod stamped;
pub mod stress_ng;
pub mod sysbench;
pub mod tcp_mmap;

/// Why an output could not be read.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum ParseError {
    #[error("no {field} in the output, which ends: {tail}")]
    Missing { field: &'static str, tail: String },
    #[error("the tool says: {0}")]
    Tool(String),
    #[error("{field} is {text:?}, not a rate")]
    NotARate { field: &'static str, text: String },
}

/// The last piece of an output, for error messages.
fn tail(output: &str) -> String {
    let line = output.lines().rev().find(|l| !l.trim().is_empty()).unwrap_or("(nothing)");
    line.trim().chars().take(160).collect()
}

fn missing(field: &'static str, output: &str) -> ParseError {
    ParseError::Missing { field, tail: tail(output) }
}

/// A positive, finite number.
fn rate(field: &'static str, text: &str) -> Result<f64, ParseError> {
    match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() && number > 0.0 => Ok(number),
        _ => Err(ParseError::NotARate { field, text: text.trim().to_string() }),
    }
}

/// The value of `key=value` on a line of its own or among others, whitespace-separated.
fn value_of<'a>(output: &'a str, key: &str) -> Option<&'a str> {
    output.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
}
