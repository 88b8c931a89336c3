//! mbw `-q`: the line of averages, `Copy: 15970.056 MiB/s`.

use super::{ParseError, missing, rate};

const FIELD: &str = "AVG Copy";

pub fn bytes_per_second(output: &str) -> Result<f64, ParseError> {
    let line = output.lines().find(|line| line.starts_with("AVG"));
    let number =
        line.and_then(|line| line.split_once("Copy: ")?.1.split_once(" MiB/s")).map(|(number, _)| number);
    Ok(f64::from(1 << 20) * rate(FIELD, number.ok_or_else(|| missing(FIELD, output))?)?)
}
