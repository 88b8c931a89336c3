//! Adjusted p-values for many comparisons at once; same order as given, 1 at most.
//!
//! Sources: Holm, Scandinavian Journal of Statistics 6, 1979 (no false claim at all, any
//! dependence); Benjamini and Hochberg, JRSS B 57, 1995 (share of false claims; also no false claim
//! at all where nothing differs, for independent or positively dependent tests).

/// Indices by ascending value.
fn ascending(values: &[f64]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    order
}

/// Holm's step-down adjustment: the chance of any false claim.
pub fn holm(p: &[f64]) -> Vec<f64> {
    holm_weighted(p, &vec![1.0; p.len()])
}

/// The same, where a hypothesis of weight 2 may err twice as often as one of weight 1. Weights are positive and fixed
/// before the data are seen.
pub fn holm_weighted(p: &[f64], weights: &[f64]) -> Vec<f64> {
    let by_weight: Vec<f64> = p.iter().zip(weights).map(|(p, weight)| p / weight).collect();
    let mut left: f64 = weights.iter().sum();
    let mut adjusted = vec![1.0; p.len()];
    let mut worst: f64 = 0.0;
    for i in ascending(&by_weight) {
        worst = worst.max(by_weight[i] * left).min(1.0);
        adjusted[i] = worst;
        left -= weights[i];
    }
    adjusted
}

/// Benjamini and Hochberg's step-up adjustment: the expected share of false claims.
pub fn benjamini_hochberg(p: &[f64]) -> Vec<f64> {
    let mut adjusted = vec![1.0; p.len()];
    let mut best: f64 = 1.0;
    for (rank, i) in ascending(p).into_iter().enumerate().rev() {
        best = best.min(p[i] * (p.len() as f64 / (rank + 1) as f64));
        adjusted[i] = best;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;
    use proptest::prelude::*;

    fn close(a: &[f64], b: &[f64]) -> bool {
        a.len() == b.len() && a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-12)
    }

    #[test]
    fn worked_examples() {
        // R: p.adjust(c(0.04, 0.01, 0.03, 0.005), "holm") and "BH".
        let p = [0.04, 0.01, 0.03, 0.005];
        assert!(close(&holm(&p), &[0.06, 0.03, 0.06, 0.02]));
        assert!(close(&benjamini_hochberg(&p), &[0.04, 0.02, 0.04, 0.02]));
        // By hand: 0.005 / 3 against the weight of 8 that is left, then 0.01 against 5; the others are not surer.
        assert!(close(&holm_weighted(&p, &[1.0, 1.0, 3.0, 3.0]), &[0.05, 0.05, 0.05, 0.005 / 3.0 * 8.0]));
        assert!(holm(&[]).is_empty() && benjamini_hochberg(&[]).is_empty());
    }

    #[test]
    fn where_nothing_differs_few_families_hold_a_claim() {
        let mut random = Random::new(11);
        for adjust in [holm, benjamini_hochberg] {
            let families = 3_000;
            let claims = (0..families)
                .filter(|_| {
                    let p: Vec<f64> = (0..40).map(|_| random.unit()).collect();
                    adjust(&p).iter().any(|p| *p < 0.05)
                })
                .count();
            assert!((claims as f64) < 0.065 * f64::from(families), "{claims}");
        }
    }

    proptest! {
        #[test]
        fn adjusted_values_keep_order_and_never_shrink(p in prop::collection::vec(0f64..1.0, 0..40)) {
            let (h, bh) = (holm(&p), benjamini_hochberg(&p));
            for i in 0..p.len() {
                prop_assert!(p[i] <= bh[i] + 1e-15 && bh[i] <= h[i] + 1e-15 && h[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || (h[i] <= h[j] && bh[i] <= bh[j]));
                }
            }
        }
    }
}
