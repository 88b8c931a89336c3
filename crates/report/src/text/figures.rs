//! Figures, ranges and ratios as every answer writes them.

use syscost_core::axis::Point;
use syscost_core::sample::Metric;
use syscost_core::stats::Estimate;
use syscost_core::units::{Unit, count, significant};
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};

/// By its id.
pub fn metric(id: &str) -> Option<Metric> {
    probe::ALL.iter().find_map(|probe| probe.metrics().into_iter().find(|metric| metric.id == id))
}

/// `64 KiB and 4 threads`: what decides most; the data have every coordinate.
pub fn short_place(point: &Point) -> String {
    let size = point.int(MESSAGE_BYTES).map(|bytes| Unit::Bytes.format(bytes as f64));
    let threads = point.int(THREADS).map(|threads| count(threads as usize, "thread"));
    size.into_iter().chain(threads).collect::<Vec<_>>().join(" and ")
}

/// The smallest and the largest.
pub fn extremes(values: &[f64]) -> Option<(f64, f64)> {
    let fold = |best: fn(f64, f64) -> f64| values.iter().copied().reduce(best);
    Some((fold(f64::min)?, fold(f64::max)?))
}

/// Two digits: of many places no more are alike.
pub fn rounded(value: f64) -> f64 {
    if value == 0.0 {
        return value;
    }
    let scale = 10f64.powi(1 - value.abs().log10().floor() as i32);
    (value * scale).round() / scale
}

/// `4.9 to 8.1 us`, `900 ns to 8.1 us`, `8.1 us`
pub fn low_to_high((low, high): (f64, f64), unit: Unit) -> String {
    let (low, high) = (unit.format(rounded(low)), unit.format(rounded(high)));
    match (low.split_once(' '), high.split_once(' ')) {
        _ if low == high => low,
        (Some((number, one)), Some((_, other))) if one == other => format!("{number} to {high}"),
        _ => format!("{low} to {high}"),
    }
}

/// Below this, a second digit is all of a difference.
const NEAR_ONE: f64 = 1.2;

/// How many times one is the other, whichever is larger: `1.3x`, `1.06x`
pub fn times(ratio: f64) -> String {
    let value = ratio.max(1.0 / ratio);
    format!("{}x", significant(if value < NEAR_ONE { value } else { rounded(value) }))
}

/// The same, where its interval stands beside it: a third digit where two would round it out of that.
pub fn times_within(ratio: &Estimate) -> String {
    let value = ratio.value.max(1.0 / ratio.value);
    let (low, high) = ends(ratio);
    if (low..=high).contains(&rounded(value)) { times(value) } else { format!("{}x", significant(value)) }
}

/// `1.3x to 2.6x`
pub fn times_range((low, high): (f64, f64)) -> String {
    let (low, high) = (times(low), times(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// `95 % CI 1.2 to 1.4`, larger over smaller
pub fn interval(ratio: &Estimate) -> String {
    let (low, high) = ends(ratio);
    let level = (ratio.level * 100.0 + 1e-9).floor();
    format!("{level} % CI {} to {}", significant(low), significant(high))
}

/// Larger over smaller.
pub fn ends(ratio: &Estimate) -> (f64, f64) {
    if ratio.value < 1.0 { (1.0 / ratio.high, 1.0 / ratio.low) } else { (ratio.low, ratio.high) }
}

/// ` (3 of 4 places)`; nothing where it is all
pub fn at_places(some: usize, all: usize) -> String {
    if some == all { String::new() } else { format!(" ({some} of {all} places)") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_have_one_unit_and_two_digits() {
        assert_eq!(low_to_high((4913.0, 8123.0), Unit::Nanoseconds), "4.9 to 8.1 us");
        assert_eq!(low_to_high((912.0, 8123.0), Unit::Nanoseconds), "910 ns to 8.1 us");
        assert_eq!(low_to_high((8119.0, 8123.0), Unit::Nanoseconds), "8.1 us");
        assert_eq!((times(0.5), times_range((1.31, 2.578))), ("2x".into(), "1.3x to 2.6x".into()));
        assert_eq!(times(1.0 / 1.034), "1.03x", "not once");
    }

    #[test]
    fn a_ratio_is_not_rounded_out_of_its_interval() {
        let of = |value, low, high| {
            let ratio = Estimate { value, low, high, level: 0.999, n: 6, unit: Unit::Ratio };
            (times_within(&ratio), interval(&ratio))
        };
        let told = |times: &str, ends: &str| (times.to_string(), format!("99 % CI {ends}"));
        assert_eq!(of(1.058, 1.031, 1.0784), told("1.06x", "1.03 to 1.08"));
        assert_eq!(of(1.0 / 1.058, 1.0 / 1.0784, 1.0 / 1.031), told("1.06x", "1.03 to 1.08"));
        assert_eq!(of(1.258, 1.22, 1.32), told("1.3x", "1.22 to 1.32"));
        assert_eq!(of(156.2, 155.0, 158.0), told("156x", "155 to 158"));
    }
}
