//! Variances of many like comparisons, each from few rounds, shrunk towards what they have in common.
//!
//! With five rounds a variance of its own says little: t needs 4 degrees of freedom, and |t| of 11 after a
//! correction for a hundred comparisons. What the others scattered by is a prior worth some more degrees of
//! freedom: as many as the variances themselves agree. Source: Smyth, "Linear models and empirical Bayes methods
//! for assessing differential expression", SAGMB 3, 2004, section 6.2.

/// A variance, and the degrees of freedom that it is known with.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Variance {
    pub value: f64,
    pub freedom: f64,
    /// Variances of one pool are expected to be alike.
    pub pool: usize,
}

/// Fewer variances than this have no level of their own: such pools share one.
const OWN_LEVEL: usize = 6;

/// Each variance with what the others tell of it.
///
/// The level of a pool is its own. How far variances agree with the level of their pool is estimated from all pools
/// together: a handful of variances cannot tell. It is taken lower by `caution` of its standard errors.
pub fn moderated(variances: &[Variance], caution: f64) -> Vec<Variance> {
    let pools = variances.iter().map(|v| v.pool + 1).max().unwrap_or(0);
    let usable: Vec<&Variance> = variances.iter().filter(|v| v.value > 0.0 && v.freedom > 0.0).collect();
    let mut members = vec![0; pools];
    usable.iter().for_each(|v| members[v.pool] += 1);
    // The last level is that of all pools without one of their own.
    let level_of = |v: &Variance| if members[v.pool] >= OWN_LEVEL { v.pool } else { pools };
    let mut levels = vec![VarianceLevel { of: Vec::new(), independent: 1.0 }; pools + 1];
    usable.iter().for_each(|v| levels[level_of(v)].of.push(**v));
    let few = members.iter().filter(|n| (1..OWN_LEVEL).contains(*n)).count();
    // Pairs of r rivals are r (r - 1) / 2, and r - 1 of them are independent.
    levels[pools].independent = 4.0 / (1.0 + (1.0 + 8.0 * few as f64).sqrt());
    let Some(freedom) = prior_freedom(&levels, caution) else { return variances.to_vec() };
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
fn prior_freedom(levels: &[VarianceLevel], caution: f64) -> Option<f64> {
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
    let excess = (squares * (1.0 + caution * (2.0 / points).sqrt()) - chance) / left;
    Some(if excess > 0.0 { 2.0 * inverse_trigamma(excess) } else { f64::INFINITY })
}

/// The variance that a level expects; its `freedom` is all that the level is made of.
fn prior(level: &VarianceLevel, freedom: f64) -> Variance {
    if level.of.is_empty() {
        return Variance { value: 0.0, freedom: 0.0, pool: 0 };
    }
    let known: f64 = level.of.iter().map(|v| v.freedom).sum();
    let value = if freedom.is_finite() {
        (mean(level.of.iter().map(unbiased_log)) + digamma(freedom / 2.0) - (freedom / 2.0).ln()).exp()
    } else {
        level.of.iter().map(|v| v.freedom * v.value).sum::<f64>() / known
    };
    Variance { value, freedom: known * level.independent, pool: 0 }
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
            Variance { value: truth(&mut random) * chi / 4.0, freedom: 4.0, pool }
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

    #[test]
    fn a_single_variance_stays_and_none_is_known_better_than_all_together() {
        let one = [Variance { value: 2.0, freedom: 4.0, pool: 0 }];
        assert_eq!(moderated(&one, 0.5), one);
        assert_eq!(moderated(&[], 0.5), []);
        let two = [one[0], Variance { value: 2.1, freedom: 4.0, pool: 0 }];
        assert_eq!(moderated(&two, 0.5)[0].freedom, 8.0);
        // One round has no variance: the others' stands in.
        let none = Variance { value: 0.0, freedom: 0.0, pool: 0 };
        let three = moderated(&[two[0], two[1], none], 0.5);
        assert!((three[2].value - 2.05).abs() < 0.5 && three[2].freedom == 8.0, "{three:?}");
    }
}
