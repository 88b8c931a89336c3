//! The levels of a curve: where a latency stands still while the working set grows.
//!
//! On logarithmic axes the curve is cut into straight pieces by optimal partitioning (Jackson et
//! al., "An algorithm for optimal partitioning of data on an interval", 2005): the cut that
//! minimises the squared residuals, in units of the noise, plus a penalty for each piece (Schwarz's
//! criterion). A piece that hardly rises is a plateau, any other a ramp between two; plateaus of
//! nearly the same height are one level. It knows nothing of caches: what a level is, others say.

use super::{mad, median};

/// Values closer than this ratio are one level.
const LEAST_RATIO: f64 = 1.25;
/// A piece that rises less than this (in ln y for each ln x: 0.4 is a third for each doubling)
/// stands still: a hit rate that falls slowly is a level, one cache giving way to the next is not.
const FLATTEST_RAMP: f64 = 0.4;
/// A plateau of fewer points may as well be a bend of a ramp.
const FEWEST_POINTS: usize = 3;
/// Noise below this share of a value is not worth a level of its own.
const LEAST_NOISE: f64 = 0.05;
/// Parameters of a piece: where it begins, its height and its slope.
const PARAMETERS: f64 = 3.0;

/// One plateau of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The smallest x that was measured on it.
    pub from_x: f64,
    /// The largest x that was measured on it: the level ends between this one and the next.
    pub to_x: f64,
    /// The median of its values.
    pub value: f64,
}

/// Finds the levels of (x, y), both positive, in ascending order of x. Points with another sign,
/// or not finite, are left out; the same x twice counts with both values.
pub fn levels(points: &[(f64, f64)]) -> Vec<Level> {
    let usable = |&&(x, y): &&(f64, f64)| x > 0.0 && y > 0.0 && x.is_finite() && y.is_finite();
    let mut curve: Vec<(f64, f64)> = points.iter().filter(usable).copied().collect();
    curve.sort_by(|a, b| a.0.total_cmp(&b.0));
    let logs: Vec<(f64, f64)> = curve.iter().map(|(x, y)| (x.ln(), y.ln())).collect();
    let plateaus: Vec<(usize, usize)> =
        pieces(&logs).into_iter().filter(|&(from, to)| stands_still(&logs[from..to])).collect();
    joined(&curve, plateaus)
        .into_iter()
        .filter(|(from, to)| to - from >= FEWEST_POINTS)
        .map(|(from, to)| Level {
            from_x: curve[from].0,
            to_x: curve[to - 1].0,
            value: height(&curve[from..to]),
        })
        .collect()
}

/// Joins neighbours of nearly the same height, and what lies between them.
fn joined(curve: &[(f64, f64)], plateaus: Vec<(usize, usize)>) -> Vec<(usize, usize)> {
    let mut levels: Vec<(usize, usize)> = Vec::new();
    for (from, to) in plateaus {
        let same = levels.last().is_some_and(|&(a, b)| {
            let ratio = height(&curve[from..to]) / height(&curve[a..b]);
            (LEAST_RATIO.recip()..LEAST_RATIO).contains(&ratio)
        });
        match levels.last_mut() {
            Some(last) if same => last.1 = to,
            _ => levels.push((from, to)),
        }
    }
    levels
}

fn height(part: &[(f64, f64)]) -> f64 {
    let values: Vec<f64> = part.iter().map(|(_, y)| *y).collect();
    median(&values).unwrap_or(f64::NAN)
}

fn stands_still(part: &[(f64, f64)]) -> bool {
    line(part).slope.abs() < FLATTEST_RAMP
}

/// The straight pieces of the best cut, as ranges of indices.
fn pieces(points: &[(f64, f64)]) -> Vec<(usize, usize)> {
    let n = points.len();
    let noise = noise(points);
    let penalty = PARAMETERS * (n.max(2) as f64).ln();
    // best[to]: the cost of the points before `to`, and where their last piece begins.
    let mut best = vec![(0.0, 0)];
    for to in 1..=n {
        let cost = |from: usize| best[from].0 + line(&points[from..to]).residuals / noise.powi(2) + penalty;
        let candidates = (0..to).map(|from| (cost(from), from));
        best.push(candidates.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((0.0, 0)));
    }
    let mut pieces = Vec::new();
    let mut to = n;
    while to > 0 {
        let from = best[to].1;
        pieces.push((from, to));
        to = from;
    }
    pieces.reverse();
    pieces
}

/// The standard deviation of a point around a smooth curve. Second differences do not see slopes,
/// and their median absolute deviation does not see the few places where a level changes.
fn noise(points: &[(f64, f64)]) -> f64 {
    let differences: Vec<f64> = points.windows(3).map(|w| w[0].1 - 2.0 * w[1].1 + w[2].1).collect();
    let deviation = mad(&differences).unwrap_or(0.0) * 1.4826 / 6f64.sqrt();
    deviation.max(LEAST_NOISE)
}

/// A straight line through points, by least squares.
struct FittedLine {
    slope: f64,
    /// Sum of squared residuals.
    residuals: f64,
}

fn line(points: &[(f64, f64)]) -> FittedLine {
    let n = points.len() as f64;
    let (mx, my) = points.iter().fold((0.0, 0.0), |(a, b), (x, y)| (a + x / n, b + y / n));
    let sum = |of: fn(f64, f64) -> f64| points.iter().map(|(x, y)| of(x - mx, y - my)).sum::<f64>();
    let (xx, xy, yy) = (sum(|x, _| x * x), sum(|x, y| x * y), sum(|_, y| y * y));
    let slope = if xx > 0.0 { xy / xx } else { 0.0 };
    FittedLine { slope, residuals: (yy - slope * xy).max(0.0) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    const KIB: f64 = 1024.0;

    /// Two points for each doubling from 4 KiB to 512 MiB.
    fn sizes() -> Vec<f64> {
        (0..=34).map(|i| 4.0 * KIB * 2f64.powf(f64::from(i) / 2.0)).collect()
    }

    /// Loads in random order over nested caches: a share of them hits each.
    fn machine(caches: &[(f64, f64)], memory: f64, x: f64) -> f64 {
        let mut cost = 0.0;
        let mut served = 0.0;
        for (bytes, latency) in caches {
            // Random order with least-recently-used replacement: the share falls faster than size.
            let share = (bytes / x).powi(3).min(1.0);
            cost += (share - served).max(0.0) * latency;
            served = share.max(served);
        }
        cost + (1.0 - served) * memory
    }

    fn near(found: &[Level], wanted: &[f64]) -> bool {
        found.len() == wanted.len()
            && found.iter().zip(wanted).all(|(level, value)| (level.value / value - 1.0).abs() < 0.12)
    }

    #[test]
    fn clean_steps_are_found_where_they_are() {
        let curve: Vec<(f64, f64)> = sizes()
            .into_iter()
            .map(|x| {
                (
                    x,
                    if x <= 32.0 * KIB {
                        1.0
                    } else if x <= 1024.0 * KIB {
                        4.0
                    } else {
                        80.0
                    },
                )
            })
            .collect();
        let found = levels(&curve);
        assert!(near(&found, &[1.0, 4.0, 80.0]), "{found:?}");
        assert_eq!((found[0].from_x, found[0].to_x), (4.0 * KIB, 32.0 * KIB));
        assert_eq!(found[1].to_x, 1024.0 * KIB);
    }

    #[test]
    fn three_caches_and_memory_with_ramps_and_noise() {
        let caches = [(48.0 * KIB, 1.0), (1024.0 * KIB, 4.0), (32768.0 * KIB, 14.0)];
        let mut random = Random::new(3);
        let mut right = 0;
        for _ in 0..100 {
            let curve: Vec<(f64, f64)> = sizes()
                .into_iter()
                .map(|x| (x, machine(&caches, 110.0, x) * (0.03 * random.normal()).exp()))
                .collect();
            right += usize::from(near(&levels(&curve), &[1.0, 4.0, 14.0, 110.0]));
        }
        assert!(right >= 95, "{right} of 100");
    }

    #[test]
    fn a_flat_curve_is_one_level_and_a_ramp_is_none() {
        let mut random = Random::new(4);
        for noise in [0.0, 0.02, 0.1] {
            let flat: Vec<(f64, f64)> =
                sizes().into_iter().map(|x| (x, 5.0 * (noise * random.normal()).exp())).collect();
            let found = levels(&flat);
            assert!(near(&found, &[5.0]), "noise {noise}: {found:?}");
            assert_eq!((found[0].from_x, found[0].to_x), (sizes()[0], sizes()[34]));
        }
        let ramp: Vec<(f64, f64)> = sizes().into_iter().map(|x| (x, x / KIB)).collect();
        assert_eq!(levels(&ramp), []);
    }

    /// Dependent loads over huge pages on a virtual machine with caches of 48 KiB, 1 MiB and 32 MiB,
    /// of which others use the last too: it ends early, and in a long ramp.
    #[test]
    fn a_real_curve_has_the_levels_of_its_machine() {
        let fine = [
            0.94, 0.95, 0.94, 0.94, 0.95, 0.95, 0.95, 1.01, 3.33, 3.35, 3.35, 3.36, 3.36, 3.39, 3.80, 4.19,
            5.83, 9.81, 11.79, 12.45, 12.82, 13.74, 16.77, 63.08, 90.08, 120.25, 124.73, 140.81, 142.74,
        ];
        let coarse = [(128.0, 149.73), (256.0, 152.83), (512.0, 162.96)];
        // 4, 6, 8, 12, 16, ... KiB to 64 MiB, then one point for each doubling.
        let size = |i: usize| KIB * f64::from(4 << (i / 2)) * if i % 2 == 1 { 1.5 } else { 1.0 };
        let mut curve: Vec<(f64, f64)> = fine.iter().enumerate().map(|(i, y)| (size(i), *y)).collect();
        curve.extend(coarse.map(|(mib, y)| (mib * 1024.0 * KIB, y)));
        let found = levels(&curve);
        assert_eq!(found.len(), 4, "{found:#?}");
        assert_eq!((found[0].value, found[0].to_x), (0.95, 48.0 * KIB), "{found:#?}");
        assert!((3.3..3.9).contains(&found[1].value) && found[1].to_x <= 1024.0 * KIB, "{found:#?}");
        assert!((11.0..15.0).contains(&found[2].value) && found[2].to_x <= 8192.0 * KIB, "{found:#?}");
        assert!((120.0..160.0).contains(&found[3].value), "{found:#?}");
    }

    #[test]
    fn one_wild_point_makes_no_level() {
        let curve: Vec<(f64, f64)> =
            sizes().into_iter().enumerate().map(|(i, x)| (x, if i == 12 { 40.0 } else { 5.0 })).collect();
        assert!(near(&levels(&curve), &[5.0]), "{:?}", levels(&curve));
    }

    #[test]
    fn what_is_no_curve_has_no_levels() {
        assert_eq!(levels(&[]), []);
        assert_eq!(levels(&[(1.0, 1.0), (2.0, 1.0)]), [], "too few points");
        assert_eq!(levels(&[(0.0, 1.0), (1.0, f64::NAN), (-1.0, 2.0)]), []);
    }
}
