//! `sysbench memory`: `24832.00 MiB transferred (24724.70 MiB/sec)`.

use super::{ParseError, missing, rate};

const FIELD: &str = "MiB/sec";

pub fn bytes_per_second(output: &str) -> Result<f64, ParseError> {
    let line = output.lines().find(|line| line.contains("MiB transferred ("));
    let number =
        line.and_then(|line| line.split_once('(')?.1.split_once(" MiB/sec")).map(|(number, _)| number);
    Ok(f64::from(1 << 20) * rate(FIELD, number.ok_or_else(|| missing(FIELD, output))?)?)
}
