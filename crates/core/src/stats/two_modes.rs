//! Two clusters in one set of values: a case that is sometimes fast and sometimes slow.
//!
//! The values are cut at the gap that is largest against the wider of the two clusters it makes;
//! each cluster must hold a fifth of the values and at least three. Two clusters are called when
//! the gap exceeds that width by a factor chosen so that normal, lognormal, uniform and
//! heavy-tailed samples are called at most once in fifty (simulated in the tests). A median says
//! little about such a case, so it is reported with both levels.

use super::median;
use super::order::sorted;

/// Fewer values show two clusters by chance too often.
const FEWEST: usize = 8;

/// How many widths of the wider cluster the gap must exceed: small samples gap by chance.
fn factor(n: usize) -> f64 {
    (17.5 / n as f64).max(1.25)
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// Medians of the two clusters.
    pub low: f64,
    pub high: f64,
    /// Share of the values in the lower cluster.
    pub low_share: f64,
}

/// The two clusters, if there are two.
pub fn two_modes(values: &[f64]) -> Option<TwoModes> {
    let n = values.len();
    if n < FEWEST {
        return None;
    }
    let sorted = sorted(values);
    if sorted[0] == sorted[n - 1] {
        return None;
    }
    let fewest = (n / 5).max(3);
    let strength = |at: usize| {
        let width = (sorted[at - 1] - sorted[0]).max(sorted[n - 1] - sorted[at]);
        (sorted[at] - sorted[at - 1]) / width
    };
    let at = (fewest..=n - fewest).max_by(|a, b| strength(*a).total_cmp(&strength(*b)))?;
    if strength(at) <= factor(n) {
        return None;
    }
    let (below, above) = sorted.split_at(at);
    Some(TwoModes { low: median(below)?, high: median(above)?, low_share: at as f64 / n as f64 })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn one_cluster_is_rarely_called_two() {
        type Source = (&'static str, fn(&mut Random) -> f64);
        let sources: &[Source] = &[
            ("normal", Random::normal),
            ("lognormal", |r| r.normal().exp()),
            ("uniform", Random::unit),
            ("Student with 3 degrees of freedom", |r| {
                let chi: f64 = (0..3).map(|_| r.normal().powi(2)).sum();
                r.normal() / (chi / 3.0).sqrt()
            }),
        ];
        let runs = 2_000;
        for (name, draw) in sources {
            for n in [8, 10, 12, 20, 40] {
                let mut random = Random::new(n as u64);
                let called = (0..runs)
                    .filter(|_| {
                        let v: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
                        two_modes(&v).is_some()
                    })
                    .count();
                assert!(called <= runs / 50, "{name} n={n}: {called} of {runs}");
            }
        }
    }

    #[test]
    fn two_levels_are_found() {
        let mut random = Random::new(8);
        let mut found = 0;
        for _ in 0..200 {
            // A quarter of the rounds is slow: 4.3 and 57 us, as a pipe between unpinned tasks.
            let v: Vec<f64> = (0..20)
                .map(|i| if i % 4 == 0 { 57.0 } else { 4.3 } * (0.1 * random.normal()).exp())
                .collect();
            if let Some(modes) = two_modes(&v) {
                found += 1;
                assert!((modes.low - 4.3).abs() < 1.0 && (modes.high - 57.0).abs() < 12.0);
                assert_eq!(modes.low_share, 0.75);
            }
        }
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn equal_values_are_one_cluster() {
        assert_eq!(two_modes(&[3.0; 20]), None);
        assert!(two_modes(&[3.0, 3.0, 3.0, 3.0, 5.0, 5.0, 5.0, 5.0]).is_some());
        assert_eq!(two_modes(&[1.0, 2.0]), None);
    }
}
