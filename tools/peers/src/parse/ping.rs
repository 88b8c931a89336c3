//! ping: the mean over the packets' own lines, `time=0.016 ms`, without the slowest twentieth.
//!
//! Its summary cuts the mean to whole microseconds. A packet's time is the difference of two clock
//! readings in whole microseconds, whose errors cancel in a mean but not in a median.

use super::{ParseError, missing, rate};

const FIELD: &str = "time=";
const KEPT: f64 = 0.95;

pub fn nanoseconds(output: &str) -> Result<f64, ParseError> {
    let packet = |line: &str| line.split_once("time=")?.1.strip_suffix(" ms")?.trim().parse::<f64>().ok();
    let mut times: Vec<f64> = output.lines().filter_map(packet).filter(|ms| ms.is_finite()).collect();
    times.sort_by(f64::total_cmp);
    times.truncate((times.len() as f64 * KEPT).ceil() as usize);
    if times.is_empty() {
        return Err(missing(FIELD, output));
    }
    let mean = times.iter().sum::<f64>() / times.len() as f64;
    rate(FIELD, &(1e6 * mean).to_string())
}
