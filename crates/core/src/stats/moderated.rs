//! Variances of many like comparisons, each from few rounds, shrunk towards what they have in common.
//!
//! With five rounds a variance of its own says little: t needs 4 degrees of freedom, and |t| of 11 after a
//! correction for a hundred comparisons. What the others scattered by is a prior worth some more degrees of
//! freedom: as many as the variances themselves agree. Source: Smyth, "Linear models and empirical Bayes methods
//! for assessing differential expression", SAGMB 3, 2004, section 6.2.

use std::collections::BTreeSet;

/// A variance, and the degrees of freedom that it is known with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    pub value: f64,
    pub freedom: f64,
    /// Variances of one pool are expected to be alike, but for where they were seen.
    pub pool: usize,
    /// Those seen at one place are larger or smaller together.
    pub place: usize,
}

/// Fewer variances than this have no level of their own: such pools share one.
const OWN_LEVEL: usize = 6;

/// Pairs that were seen together share a rival, and what it did by chance. Where a place has fewer of each pool than this,
/// it would be taken for the place's own (simulated: 7 % of studies err instead of 2 %).
const OF_EACH_POOL: usize = 3;

/// Each variance with what the others tell of it.
///
/// The level of a pool is its own, and so is the factor of a place. How far variances agree with what both expect is
/// estimated from all together: a handful of variances cannot tell. It is taken lower by `caution` of its standard errors.
pub fn moderated(variances: &[Variance], caution: f64) -> Vec<Variance> {
    let places = PlaceFactor::of(variances);
    let at = |v: &Variance| places.get(v.place).copied().flatten();
    let scaled: Vec<Variance> = variances
        .iter()
        .map(|v| Variance { value: v.value / at(v).map_or(1.0, |place| place.factor), ..*v })
        .collect();
    let back = |v: Variance| match at(&v) {
        // Nor is it known better than its place.
        Some(place) => Variance { value: v.value * place.factor, freedom: v.freedom.min(place.freedom), ..v },
        None => v,
    };
    let found = places.iter().flatten().count();
    pooled(&scaled, caution, found).into_iter().map(back).collect()
}

/// What the variances of a place are multiples of their pools' by.
#[derive(Clone, Copy)]
struct PlaceFactor {
    factor: f64,
    /// With how many degrees of freedom the place knows it.
    freedom: f64,
}

impl PlaceFactor {
    /// By place; `None` where variances are too few, or have no pool elsewhere.
    fn of(variances: &[Variance]) -> Vec<Option<PlaceFactor>> {
        let count = |of: fn(&Variance) -> usize| variances.iter().map(|v| of(v) + 1).max().unwrap_or(0);
        let usable: Vec<(&Variance, f64)> = variances
            .iter()
            .filter(|v| v.value > 0.0 && v.freedom > 0.0)
            .map(|v| (v, unbiased_log(v)))
            .collect();
        let mut members: Vec<Vec<(&Variance, f64)>> = vec![Vec::new(); count(|v| v.place)];
        usable.iter().for_each(|one| members[one.0.place].push(*one));
        let mut of_pool = vec![(0.0, 0.0); count(|v| v.pool)];
        for (v, log) in &usable {
            of_pool[v.pool].0 += log;
            of_pool[v.pool].1 += 1.0;
        }
        let factor = |own: Vec<(&Variance, f64)>| {
            let pools: BTreeSet<usize> = own.iter().map(|(v, _)| v.pool).collect();
            if own.len() < OWN_LEVEL.max(OF_EACH_POOL * pools.len()) {
                return None;
            }
            let off = mean(own.iter().map(|(v, log)| log - of_pool[v.pool].0 / of_pool[v.pool].1));
            let known: f64 = own.iter().map(|(v, _)| v.freedom).sum();
            Some(PlaceFactor { factor: off.exp(), freedom: known * independent(pools.len()) })
        };
        let found: Vec<Option<PlaceFactor>> = members.into_iter().map(factor).collect();
        if found.iter().flatten().count() > 1 { found } else { Vec::new() }
    }
}

/// Pairs of r rivals are r (r - 1) / 2, and r - 1 of them are independent: their share.
fn independent(pairs: usize) -> f64 {
    4.0 / (1.0 + (1.0 + 8.0 * pairs as f64).sqrt())
}

/// The same for variances without places; those of so many have been brought to one.
fn pooled(variances: &[Variance], caution: f64, places: usize) -> Vec<Variance> {
    let pools = variances.iter().map(|v| v.pool + 1).max().unwrap_or(0);
    let usable: Vec<&Variance> = variances.iter().filter(|v| v.value > 0.0 && v.freedom > 0.0).collect();
    let mut members = vec![0; pools];
    usable.iter().for_each(|v| members[v.pool] += 1);
    // The last level is that of all pools without one of their own.
    let level_of = |v: &Variance| if members[v.pool] >= OWN_LEVEL { v.pool } else { pools };
    let mut levels = vec![VarianceLevel { of: Vec::new(), independent: 1.0 }; pools + 1];
    usable.iter().for_each(|v| levels[level_of(v)].of.push(**v));
    let few = members.iter().filter(|n| (1..OWN_LEVEL).contains(*n)).count();
    levels[pools].independent = independent(few);
    let Some(freedom) = prior_freedom(&levels, caution, places) else { return variances.to_vec() };
    if levels[pools].of.len() < OWN_LEVEL {
        levels[pools].of = levels.iter().flat_map(|level| level.of.clone()).collect();
    }
    let priors: Vec<Variance> = levels.iter().map(|level| prior(level, freedom)).collect();
    variances.iter().map(|v| with(&priors[level_of(v)], freedom, v)).collect()
}

/// Variances that are expected to be alike.
#[derive(Clone)]
struct VarianceLevel {
    of: Vec<Variance>,
    /// The share of them that tell something of their own.
    independent: f64,
}

/// The logarithm of a variance, freed of the bias that few degrees of freedom give it.
fn unbiased_log(v: &Variance) -> f64 {
    v.value.ln() - digamma(v.freedom / 2.0) + (v.freedom / 2.0).ln()
}

fn mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let n = values.len() as f64;
    values.sum::<f64>() / n
}

/// The degrees of freedom that a level is worth beside a variance's own; infinite where variances differ from their
/// level by no more than chance. `None` where no level has two variances.
fn prior_freedom(levels: &[VarianceLevel], caution: f64, places: usize) -> Option<f64> {
    let (mut squares, mut chance, mut left, mut points) = (0.0, 0.0, 0.0, 1.0f64);
    for level in levels.iter().filter(|level| level.of.len() > 1) {
        let n = level.of.len() as f64;
        let middle = mean(level.of.iter().map(unbiased_log));
        squares += level.of.iter().map(|v| (unbiased_log(v) - middle).powi(2)).sum::<f64>();
        chance += (1.0 - 1.0 / n) * level.of.iter().map(|v| trigamma(v.freedom / 2.0)).sum::<f64>();
        left += n - 1.0;
        points = points.max(n * level.independent - 1.0);
    }
    if left == 0.0 {
        return None;
    }
    // The factor of each place was made to fit.
    let kept = ((left - places.saturating_sub(1) as f64) / left).max(1.0 / left);
    let excess = (squares * (1.0 + caution * (2.0 / points).sqrt()) / kept - chance) / left;
    Some(if excess > 0.0 { 2.0 * inverse_trigamma(excess) } else { f64::INFINITY })
}

/// The variance that a level expects; its `freedom` is all that the level is made of.
fn prior(level: &VarianceLevel, freedom: f64) -> Variance {
    if level.of.is_empty() {
        return Variance { value: 0.0, freedom: 0.0, pool: 0, place: 0 };
    }
    let known: f64 = level.of.iter().map(|v| v.freedom).sum();
    let value = if freedom.is_finite() {
        (mean(level.of.iter().map(unbiased_log)) + digamma(freedom / 2.0) - (freedom / 2.0).ln()).exp()
    } else {
        level.of.iter().map(|v| v.freedom * v.value).sum::<f64>() / known
    };
    Variance { value, freedom: known * level.independent, pool: 0, place: 0 }
}

/// Nothing is known better than all variances of the level together know it.
fn with(prior: &Variance, freedom: f64, own: &Variance) -> Variance {
    if prior.freedom == 0.0 {
        return *own;
    }
    let weight = freedom.min(1e9);
    let value = (weight * prior.value + own.freedom * own.value) / (weight + own.freedom);
    Variance { value, freedom: (weight + own.freedom).min(prior.freedom.max(own.freedom)), ..*own }
}

/// Both by recurrence up to 6, and the asymptotic series from there. Source: Abramowitz and Stegun, 6.3.18 and 6.4.12.
fn digamma(x: f64) -> f64 {
    if x < 6.0 {
        return digamma(x + 1.0) - 1.0 / x;
    }
    let i = 1.0 / (x * x);
    x.ln() - 0.5 / x - i * (1.0 / 12.0 - i * (1.0 / 120.0 - i * (1.0 / 252.0 - i / 240.0)))
}

fn trigamma(x: f64) -> f64 {
    if x < 6.0 {
        return trigamma(x + 1.0) + 1.0 / (x * x);
    }
    let i = 1.0 / (x * x);
    1.0 / x + i / 2.0 + i / x * (1.0 / 6.0 - i * (1.0 / 30.0 - i * (1.0 / 42.0 - i / 30.0)))
}

/// By bisection of the logarithm: trigamma falls.
fn inverse_trigamma(y: f64) -> f64 {
    let (mut low, mut high) = (1e-8f64, 1e8f64);
    for _ in 0..100 {
        let middle = (low * high).sqrt();
        if trigamma(middle) > y { low = middle } else { high = middle }
    }
    (low * high).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn special_functions() {
        assert!((digamma(1.0) + 0.577_215_664_9).abs() < 1e-9);
        assert!((trigamma(1.0) - 1.644_934_066_8).abs() < 1e-9);
        assert!((inverse_trigamma(trigamma(2.5)) - 2.5).abs() < 1e-6);
    }

    /// `times` a chi-square with 4 degrees of freedom over 4, from a true variance drawn for each.
    fn drawn(n: usize, pool: usize, mut truth: impl FnMut(&mut Random) -> f64) -> Vec<Variance> {
        let mut random = Random::new(pool as u64);
        let mut one = || {
            let chi: f64 = (0..4).map(|_| random.normal().powi(2)).sum();
            Variance { value: truth(&mut random) * chi / 4.0, freedom: 4.0, pool, place: 0 }
        };
        (0..n).map(|_| one()).collect()
    }

    #[test]
    fn like_variances_become_one() {
        let all = moderated(&drawn(200, 0, |_| 2.0), 0.5);
        assert!(all.iter().all(|v| (v.value - 2.0).abs() < 1.0 && v.freedom > 12.0), "{:?}", all[0]);
    }

    #[test]
    fn unlike_variances_keep_their_own() {
        let scattered = drawn(400, 0, |r| (2.0 * r.normal()).exp());
        let all = moderated(&scattered, 0.5);
        assert!(all.iter().all(|v| v.freedom < 7.0), "{:?}", all[0]);
        let kept = all.iter().zip(&scattered).filter(|(m, own)| (m.value / own.value).ln().abs() < 1.0);
        assert!(kept.count() > 300);
    }

    #[test]
    fn a_pool_has_its_own_level_and_few_share_one() {
        let mut all = drawn(20, 0, |_| 1.0);
        all.extend(drawn(20, 1, |_| 100.0));
        all.extend(drawn(3, 2, |_| 100.0));
        let moderated = moderated(&all, 0.5);
        assert!(moderated[..20].iter().all(|v| v.value < 3.0));
        assert!(moderated[20..40].iter().all(|v| v.value > 30.0));
        assert!(moderated[40..].iter().all(|v| v.value > 3.0 && v.freedom > 4.0), "{:?}", &moderated[40..]);
    }

    /// Eight places, each ten times as noisy as the one before, with two pools and four variances of each.
    #[test]
    fn places_have_factors_where_each_pool_is_seen_there_often() {
        let mut random = Random::new(9);
        let mut seen = |often: usize| -> Vec<Variance> {
            let place = |place: usize| {
                let one = drawn(2 * often, random.below(1_000_000), move |_| 10f64.powi(place as i32));
                let at = move |(i, v)| Variance { pool: i % 2, place, ..v };
                one.into_iter().enumerate().map(at).collect::<Vec<_>>()
            };
            (0..8).flat_map(place).collect()
        };
        let often = moderated(&seen(4), 0.5);
        let near = |(i, v): (usize, &Variance)| (0.2..5.0).contains(&(v.value / 10f64.powi(i as i32 / 8)));
        assert!(often.iter().enumerate().all(near), "{often:?}");
        assert!(often.iter().all(|v| v.freedom > 8.0), "{often:?}");
        assert!(
            moderated(&seen(2), 0.5).iter().all(|v| v.freedom < 6.0),
            "a place is not told from its pairs"
        );
    }

    #[test]
    fn a_single_variance_stays_and_none_is_known_better_than_all_together() {
        let one = [Variance { value: 2.0, freedom: 4.0, pool: 0, place: 0 }];
        assert_eq!(moderated(&one, 0.5), one);
        assert_eq!(moderated(&[], 0.5), []);
        let two = [one[0], Variance { value: 2.1, freedom: 4.0, pool: 0, place: 0 }];
        assert_eq!(moderated(&two, 0.5)[0].freedom, 8.0);
        // One round has no variance: the others' stands in.
        let none = Variance { value: 0.0, freedom: 0.0, pool: 0, place: 0 };
        let three = moderated(&[two[0], two[1], none], 0.5);
        assert!((three[2].value - 2.05).abs() < 0.5 && three[2].freedom == 8.0, "{three:?}");
    }
}
