//! Labels for values far from the rest. Labels only: an outlier is a measurement like any other.
//!
//! A value is mild beyond Tukey's inner fences (1.5 interquartile ranges outside the quartiles) and
//! extreme beyond the outer ones (3), and must also lie more than 5 scaled MADs from the median,
//! because fences alone label several per cent of small clean samples. Source: Tukey, "Exploratory
//! data analysis", 1977; Leys et al., Journal of Experimental Social Psychology 49, 2013.

use super::{mad, median, quantile};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outlier {
    None,
    Mild,
    Extreme,
}

/// How many scaled MADs away an outlier is at least.
const MADS: f64 = 5.0;
/// MAD of a normal distribution to its standard deviation.
const NORMAL: f64 = 1.4826;

/// One label per value, in the order given.
pub fn outliers(values: &[f64]) -> Vec<Outlier> {
    let figures = || Some((quantile(values, 0.25)?, quantile(values, 0.75)?, median(values)?, mad(values)?));
    let Some((q1, q3, centre, mad)) = figures() else { return Vec::new() };
    let spread = q3 - q1;
    values
        .iter()
        .map(|v| {
            let beyond = (q1 - v).max(v - q3);
            if beyond <= 1.5 * spread || (v - centre).abs() <= MADS * NORMAL * mad {
                Outlier::None
            } else if beyond <= 3.0 * spread {
                Outlier::Mild
            } else {
                Outlier::Extreme
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stats::random::Random;

    #[test]
    fn labels_what_is_far_away_and_keeps_everything() {
        let values = [10.0, 10.1, 9.9, 10.2, 9.8, 10.0, 10.1, 30.0];
        let labels = outliers(&values);
        assert_eq!(labels.len(), values.len());
        assert_eq!(labels[7], Outlier::Extreme);
        assert!(labels[..7].iter().all(|l| *l == Outlier::None));
        assert!(outliers(&[]).is_empty());
        assert_eq!(outliers(&[1.0, 1.0, 1.0]), vec![Outlier::None; 3]);
    }

    #[test]
    fn beyond_three_spreads_an_outlier_is_extreme() {
        // Quartiles 25 and 75, spread 50: 3.5 spreads beyond, and 8 median deviations.
        let values: Vec<f64> = (0..100).map(f64::from).chain([250.0]).collect();
        assert_eq!(outliers(&values)[100], Outlier::Extreme);
        let near: Vec<f64> = [10.0; 10].into_iter().chain((0..30).map(|i| 10.0 + f64::from(i % 3))).collect();
        assert!(outliers(&near).iter().all(|label| *label == Outlier::None));
        // Quartiles 10 and 11, median deviation 0: 2.5 spreads beyond.
        let mild: Vec<f64> = [10.0; 70].into_iter().chain([11.0; 29]).chain([13.5]).collect();
        assert_eq!(outliers(&mild)[99], Outlier::Mild);
    }

    #[test]
    fn clean_samples_get_few_labels() {
        let mut random = Random::new(21);
        let runs = 1_000;
        let labelled = (0..runs)
            .filter(|_| {
                // A sum of twelve uniform values is close to normal.
                let v: Vec<f64> = (0..12).map(|_| (0..12).map(|_| random.unit()).sum()).collect();
                outliers(&v).iter().any(|l| *l != Outlier::None)
            })
            .count();
        assert!(labelled < runs / 10, "{labelled} of {runs}");
    }
}
