//! core-to-core-latency `--csv`: the lower triangle of nanoseconds; its mean.
//!
//! What it says for people goes to standard error, and may follow: a line of the matrix has only
//! numbers, commas and blanks.

use super::{ParseError, missing, rate};

const FIELD: &str = "cell of the matrix";

pub fn nanoseconds(output: &str) -> Result<f64, ParseError> {
    let of_matrix = |line: &&str| {
        line.ends_with(',')
            && line.split(',').all(|cell| cell.trim().is_empty() || cell.trim().parse::<f64>().is_ok())
    };
    let cells = output.lines().filter(of_matrix).flat_map(|line| line.split(','));
    let cells = cells.map(str::trim).filter(|cell| !cell.is_empty());
    let cells = cells.map(|cell| rate(FIELD, cell)).collect::<Result<Vec<f64>, _>>()?;
    if cells.is_empty() {
        return Err(missing(FIELD, output));
    }
    Ok(cells.iter().sum::<f64>() / cells.len() as f64)
}
