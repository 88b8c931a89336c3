//! osbench: `33.469200 us / thread`, below a headline.

use super::{ParseError, missing, rate};

const FIELD: &str = "us /";

/// Nanoseconds of each.
pub fn each(output: &str) -> Result<f64, ParseError> {
    let number = output.lines().find_map(|line| line.split_once(" us / ").map(|(number, _)| number));
    Ok(1e3 * rate(FIELD, number.ok_or_else(|| missing(FIELD, output))?)?)
}
