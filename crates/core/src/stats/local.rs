//! Does a common level wander? Medians of neighbouring values, and what chance makes of the same values.
//!
//! A permutation test: values that do not depend on time are exchangeable, so that every order of them is as likely
//! as the one that was seen. Source: Good, "Permutation, Parametric and Bootstrap Tests of Hypotheses" (2005), ch. 3.

use super::order;
use super::random::Random;
use std::ops::Range;

/// Orders that are tried: the smallest p is 1 / (1 + SHUFFLES).
const SHUFFLES: usize = 199;

/// Values in the order of time, cut into so many stretches of about as many values each.
pub fn stretches(values: usize, count: usize) -> impl Iterator<Item = Range<usize>> {
    (0..count).map(move |i| i * values / count..(i + 1) * values / count)
}

/// The median of each stretch of values in the order of time. There are at least as many values as stretches.
pub fn local_medians(values: &[f64], count: usize) -> Vec<f64> {
    stretches(values.len(), count).filter_map(|stretch| order::median(&values[stretch])).collect()
}

/// What the medians of stretches would be if time did not matter.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShuffledMedians {
    /// The probability that they scatter as much by chance.
    pub p: f64,
    /// Their mean square by chance.
    pub mean_square: f64,
    /// In 95 of 100 orders no median lies farther from 0.
    pub largest: f64,
}

impl ShuffledMedians {
    /// Of values around 0, in the order of time.
    pub fn of(values: &[f64], count: usize) -> ShuffledMedians {
        let seen = mean_square(&local_medians(values, count));
        let mut random = Random::new(values.len() as u64);
        let mut order = values.to_vec();
        let (mut squares, mut largest) = (Vec::new(), Vec::new());
        for _ in 0..SHUFFLES {
            random.shuffle(&mut order);
            let medians = local_medians(&order, count);
            squares.push(mean_square(&medians));
            largest.push(medians.iter().fold(0.0, |most: f64, median| most.max(median.abs())));
        }
        let as_much = squares.iter().filter(|square| **square >= seen).count();
        ShuffledMedians {
            p: (1 + as_much) as f64 / (1 + SHUFFLES) as f64,
            mean_square: squares.iter().sum::<f64>() / SHUFFLES as f64,
            largest: order::quantile(&largest, 0.95).unwrap_or(0.0),
        }
    }
}

/// 0 of nothing.
pub fn mean_square(values: &[f64]) -> f64 {
    values.iter().map(|value| value * value).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_is_in_one_stretch() {
        for (values, count) in [(10, 3), (7, 7), (100, 9)] {
            let joined: Vec<usize> = stretches(values, count).flatten().collect();
            assert_eq!(joined, (0..values).collect::<Vec<_>>());
        }
        assert_eq!(local_medians(&[1.0, 2.0, 3.0, 9.0, 9.0, 9.0], 2), [2.0, 9.0]);
    }

    #[test]
    fn values_without_a_level_are_rarely_given_one() {
        let mut random = Random::new(5);
        let found = |random: &mut Random| {
            let values: Vec<f64> = (0..200).map(|_| random.normal()).collect();
            ShuffledMedians::of(&values, 12).p <= 0.01
        };
        let wrong = (0..300).filter(|_| found(&mut random)).count();
        // More than 9 of 300 at a level of 1 % have a probability of .001.
        assert!(wrong <= 9, "{wrong} of 300");
    }

    #[test]
    fn a_step_is_found_and_what_chance_makes_is_known() {
        let mut random = Random::new(6);
        let mut values: Vec<f64> = (0..200).map(|_| random.normal()).collect();
        let quiet = ShuffledMedians::of(&values, 10);
        // A median of 20 scatters by 1.25 / sqrt(20) = 0.28; the largest of ten reaches about 2.8 times that.
        assert!(
            (0.05..0.11).contains(&quiet.mean_square) && (0.6..1.1).contains(&quiet.largest),
            "{quiet:?}"
        );
        values[150..].iter_mut().for_each(|value| *value += 1.5);
        assert_eq!(ShuffledMedians::of(&values, 10).p, 1.0 / 200.0);
    }
}
