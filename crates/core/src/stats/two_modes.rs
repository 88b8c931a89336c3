//! Two clusters in one set of values: a case that is sometimes fast and sometimes slow.
//!
//! The values (their logarithms, where all are positive) are cut at the gap that is largest against the wider of the
//! two clusters it makes; each cluster must hold a fifth of the values and at least three. How often one cluster gaps
//! as far by chance is simulated: normal, skewed, uniform and heavy-tailed samples of the same size, of which the one
//! that gaps most counts. Whoever asks of many cases corrects the p-value for all of them.

use super::median;
use super::order::sorted;
use super::random::Random;
use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock, Mutex};

/// Fewer values show two clusters by chance too often.
pub const TWO_MODES_FEWEST: usize = 8;
/// A gap below so many widths is seen by chance too often to be worth a simulation: small samples gap more.
fn least_strength(n: usize) -> f64 {
    (12.0 / n as f64).max(1.0)
}

/// Simulated samples of each shape: a p-value is no smaller than one of so many.
const DRAWS: usize = 20_000;
const SEED: u64 = 0x2_1e7e15;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TwoModes {
    /// Medians of the two clusters.
    pub low: f64,
    pub high: f64,
    /// How many of the values are in the lower cluster, and the share of them.
    pub low_count: usize,
    pub low_share: f64,
    /// How often values of one cluster look like this, not corrected for other tests.
    pub p: f64,
}

/// The two clusters that these values would be, with the probability that they are one; `None` for too few values,
/// or a gap that is no wider than a cluster.
pub fn two_modes(values: &[f64]) -> Option<TwoModes> {
    let n = values.len();
    if n < TWO_MODES_FEWEST {
        return None;
    }
    let sorted = sorted(values);
    let (at, strength) = if sorted[0] > 0.0 {
        widest_gap(&sorted.iter().map(|value| value.ln()).collect::<Vec<_>>())?
    } else {
        widest_gap(&sorted)?
    };
    if strength < least_strength(n) {
        return None;
    }
    let (below, above) = sorted.split_at(at);
    Some(TwoModes {
        low: median(below)?,
        high: median(above)?,
        low_count: at,
        low_share: at as f64 / n as f64,
        p: by_chance(n, strength),
    })
}

/// Where ascending values gap most, and the gap over the wider of the two clusters; `None` where all are equal.
fn widest_gap(sorted: &[f64]) -> Option<(usize, f64)> {
    let n = sorted.len();
    if sorted[0] == sorted[n - 1] {
        return None;
    }
    let fewest = (n / 5).max(3);
    let strength = |at: usize| {
        let width = (sorted[at - 1] - sorted[0]).max(sorted[n - 1] - sorted[at]);
        (sorted[at] - sorted[at - 1]) / width
    };
    (fewest..=n - fewest).map(|at| (at, strength(at))).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Strengths of the gaps of single clusters of a size, ascending, of each shape.
type Simulated = Arc<Vec<Vec<f64>>>;

/// How often one cluster of n values gaps as far, of the shape that does so most.
fn by_chance(n: usize, strength: f64) -> f64 {
    static KNOWN: LazyLock<Mutex<BTreeMap<usize, Simulated>>> = LazyLock::new(Mutex::default);
    let mut known = KNOWN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let simulated = known.entry(n).or_insert_with(|| Arc::new(simulate(n))).clone();
    drop(known);
    let beyond = |sorted: &Vec<f64>| sorted.len() - sorted.partition_point(|one| *one < strength);
    let most = simulated.iter().map(beyond).max().unwrap_or(0);
    (most + 1) as f64 / (DRAWS + 1) as f64
}

fn simulate(n: usize) -> Vec<Vec<f64>> {
    let shape = |draw: &fn(&mut Random) -> f64| {
        let mut random = Random::new(SEED ^ n as u64);
        let mut strengths = Vec::with_capacity(DRAWS);
        for _ in 0..DRAWS {
            let mut values: Vec<f64> = (0..n).map(|_| draw(&mut random)).collect();
            values.sort_unstable_by(f64::total_cmp);
            strengths.extend(widest_gap(&values).map(|(_, strength)| strength));
        }
        strengths.sort_unstable_by(f64::total_cmp);
        strengths
    };
    ONE_CLUSTER.iter().map(|(_, draw)| shape(draw)).collect()
}

type Draw = fn(&mut Random) -> f64;

/// Shapes that costs have, on a scale of logarithms.
const ONE_CLUSTER: &[(&str, Draw)] = &[
    ("normal", Random::normal),
    ("exponential", |r| -(1.0 - r.unit()).ln()),
    ("uniform", Random::unit),
    ("Student with 3 degrees of freedom", |r| {
        let chi: f64 = (0..3).map(|_| r.normal().powi(2)).sum();
        r.normal() / (chi / 3.0).sqrt()
    }),
];

#[cfg(test)]
mod tests {
    use super::*;

    /// With 48 figures asked and Holm's correction, a run of one-cluster figures has a false one in at most one of twenty.
    #[test]
    fn one_cluster_is_called_two_as_seldom_as_its_p_says() {
        let sources: Vec<(&str, Draw)> = ONE_CLUSTER
            .iter()
            .map(|(name, draw)| (*name, *draw))
            .chain([("lognormal", lognormal as _)])
            .collect();
        let runs = 4_000;
        for (name, draw) in sources {
            for n in [8, 12, 20, 40] {
                let mut random = Random::new(n as u64);
                let mut called = [0; 2];
                for _ in 0..runs {
                    // What is measured is positive: the logarithms have the shape.
                    let values: Vec<f64> = (0..n).map(|_| (0.1 * draw(&mut random)).exp()).collect();
                    let p = two_modes(&values).map_or(1.0, |modes| modes.p);
                    called[0] += usize::from(p < 0.05);
                    called[1] += usize::from(p < 0.05 / 48.0);
                }
                assert!(called[0] <= runs * 6 / 100, "{name} n={n}: {called:?} of {runs}");
                assert!(called[1] <= 10, "{name} n={n}: {called:?} of {runs}");
            }
        }
    }

    fn lognormal(random: &mut Random) -> f64 {
        random.normal().exp()
    }

    #[test]
    fn two_levels_are_found_among_many_figures() {
        let mut random = Random::new(8);
        let mut found = 0;
        for _ in 0..200 {
            // A quarter of the rounds is slow: 4.3 and 57 us, as a pipe between unpinned tasks.
            let v: Vec<f64> = (0..20)
                .map(|i| if i % 4 == 0 { 57.0 } else { 4.3 } * (0.1 * random.normal()).exp())
                .collect();
            if let Some(modes) = two_modes(&v).filter(|modes| modes.p < 0.05 / 48.0) {
                found += 1;
                assert!((modes.low - 4.3).abs() < 1.0 && (modes.high - 57.0).abs() < 12.0);
                assert_eq!((modes.low_count, modes.low_share), (15, 0.75));
            }
        }
        assert!(found >= 180, "{found} of 200");
    }

    #[test]
    fn equal_values_are_one_cluster() {
        assert_eq!(two_modes(&[3.0; 20]), None);
        assert!(two_modes(&[3.0, 3.0, 3.0, 3.0, 5.0, 5.0, 5.0, 5.0]).is_some());
        assert_eq!(two_modes(&[1.0, 2.0]), None);
        let again = || two_modes(&[1.0, 1.1, 1.2, 1.3, 9.0, 9.1, 9.2, 9.3, 9.4]);
        assert_eq!(again(), again(), "the same at every rebuild");
    }
}
