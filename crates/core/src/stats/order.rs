//! Order statistics of a slice: median, quantiles, median absolute deviation, ranks.
//!
//! The quantile is Hyndman and Fan's definition 7 ("Sample quantiles in statistical packages",
//! The American Statistician 50, 1996): linear between the two nearest order statistics, what R
//! and NumPy use unless told otherwise. Values must be finite; an empty slice has no quantile.

/// Finite values in ascending order.
pub(super) fn sorted(values: &[f64]) -> Vec<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted
}

/// The middle value, or the mean of the two middle ones.
pub fn median(values: &[f64]) -> Option<f64> {
    median_of_sorted(&sorted(values))
}

pub(super) fn median_of_sorted(sorted: &[f64]) -> Option<f64> {
    let n = sorted.len();
    match (n, n % 2) {
        (0, _) => None,
        (_, 1) => Some(sorted[n / 2]),
        // Halved first: the sum of two large values could overflow.
        _ => Some(sorted[n / 2 - 1] / 2.0 + sorted[n / 2] / 2.0),
    }
}

/// The `q`-quantile (0 to 1), definition 7.
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    quantile_of_sorted(&sorted(values), q)
}

/// The same of values in ascending order, without a copy.
pub fn quantile_of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let at = q.clamp(0.0, 1.0) * last as f64;
    let below = at.floor() as usize;
    let above = (below + 1).min(last);
    Some(sorted[below] + (at - below as f64) * (sorted[above] - sorted[below]))
}

/// Median absolute deviation from the median, unscaled (multiply by 1.4826 to compare with a
/// normal standard deviation).
pub fn mad(values: &[f64]) -> Option<f64> {
    let centre = median(values)?;
    let deviations: Vec<f64> = values.iter().map(|v| (v - centre).abs()).collect();
    median(&deviations)
}

/// Ranks from 1; equal values share the mean of their ranks.
pub fn ranks(values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|a, b| values[*a].total_cmp(&values[*b]));
    let mut ranks = vec![0.0; values.len()];
    let mut below = 0;
    for equal in order.chunk_by(|a, b| values[*a] == values[*b]) {
        let shared = below as f64 + (equal.len() as f64 + 1.0) / 2.0;
        for i in equal {
            ranks[*i] = shared;
        }
        below += equal.len();
    }
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn known_values() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
        // R: quantile(c(1, 2, 3, 4), 0.9) is 3.7.
        assert!((quantile(&[1.0, 2.0, 3.0, 4.0], 0.9).unwrap() - 3.7).abs() < 1e-12);
        assert_eq!(mad(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]), Some(1.0));
        assert_eq!(ranks(&[10.0, 30.0, 10.0, 20.0]), vec![1.5, 4.0, 1.5, 3.0]);
    }

    proptest! {
        #[test]
        fn quantiles_rise_and_stay_inside(mut v in prop::collection::vec(-1e9f64..1e9, 1..40), q in 0f64..1.0) {
            let low = quantile(&v, q * 0.5).unwrap();
            let high = quantile(&v, q).unwrap();
            prop_assert!(low <= high);
            v.sort_by(f64::total_cmp);
            prop_assert!(v[0] <= low && high <= v[v.len() - 1]);
            prop_assert!((median(&v).unwrap() - quantile(&v, 0.5).unwrap()).abs() <= 1e-6);
        }

        #[test]
        fn ranks_sum_as_without_ties(v in prop::collection::vec(0u8..6, 0..30)) {
            let values: Vec<f64> = v.iter().map(|n| f64::from(*n)).collect();
            let n = values.len() as f64;
            prop_assert_eq!(ranks(&values).iter().sum::<f64>(), n * (n + 1.0) / 2.0);
        }
    }
}
