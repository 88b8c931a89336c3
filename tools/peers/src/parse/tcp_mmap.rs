//! The kernel's tcp_mmap self-test, receiver: `received 7154.92 MB (99.9 % mmap'ed) in 1.0 s, 58.2 Gbit`.

use super::{ParseError, missing, rate};

const FIELD: &str = "Gbit of a received stream";

/// The receiver's payload rate from its accept(2) to the end of the stream.
pub fn bits_per_second(output: &str) -> Result<f64, ParseError> {
    let line = received(output)?;
    let (before, _) = line.rsplit_once(" Gbit").ok_or_else(|| missing(FIELD, output))?;
    let number = before.rsplit(' ').next().unwrap_or_default();
    Ok(1e9 * rate(FIELD, number)?)
}

fn received(output: &str) -> Result<&str, ParseError> {
    let whole = |line: &&str| line.starts_with("received ") && line.contains(" Gbit");
    output.lines().find(whole).ok_or_else(|| missing(FIELD, output))
}
