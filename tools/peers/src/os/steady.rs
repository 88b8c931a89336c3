//! Whether our figures scatter more from round to round than those of the steadiest peer. Pure.
//!
//! Both visit a row in the same rounds. What a figure is away from its tool's median, as a ratio, belongs to either tool
//! alike where both are as steady: a permutation test of the mean distance (Brown and Forsythe 1974, by permutation;
//! Manly, Randomization, Bootstrap and Monte Carlo Methods in Biology, 6.6). One-sided: only our being worse is said. Holm
//! over the rows.

use syscost_core::stats::{self, random::Random};

/// Rounds without which nothing is said.
pub const FEWEST: usize = 10;
const ORDERS: usize = 20_000;

/// The chance of ours being so much farther from their median than theirs, where both scatter alike; `None`: too few.
pub fn p(ours: &[f64], theirs: &[f64]) -> Option<f64> {
    if ours.len().min(theirs.len()) < FEWEST {
        return None;
    }
    let (ours, theirs) = (distances(ours)?, distances(theirs)?);
    let all: Vec<f64> = ours.iter().chain(&theirs).copied().collect();
    let excess = |values: &[f64]| mean(&values[..ours.len()]) - mean(&values[ours.len()..]);
    let seen = excess(&all);
    let mut random = Random::new(1);
    let mut order = all;
    let as_large = (0..ORDERS).filter(|_| {
        random.shuffle(&mut order);
        // Orders that only exchange equals are as large.
        excess(&order) >= seen - 1e-12
    });
    Some((1 + as_large.count()) as f64 / (1 + ORDERS) as f64)
}

fn distances(values: &[f64]) -> Option<Vec<f64>> {
    if values.iter().any(|value| *value <= 0.0) {
        return None;
    }
    let logs: Vec<f64> = values.iter().map(|value| value.ln()).collect();
    let middle = stats::median(&logs)?;
    Some(logs.iter().map(|log| (log - middle).abs()).collect())
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds of a tool: a level, a scatter, and every tenth round three times as far.
    fn rounds(random: &mut Random, scatter: f64) -> Vec<f64> {
        let one = |round| {
            let far = if round == 7 { 3.0 } else { 1.0 };
            (100.0f64.ln() + far * scatter * random.normal()).exp()
        };
        (0..FEWEST).map(one).collect()
    }

    fn found(ratio: f64) -> f64 {
        let mut random = Random::new(7);
        let claims = (0..300).filter(|_| {
            let (ours, theirs) = (rounds(&mut random, 0.05 * ratio), rounds(&mut random, 0.05));
            p(&ours, &theirs).is_some_and(|p| p <= 0.05)
        });
        claims.count() as f64 / 300.0
    }

    /// At most one in twenty where both scatter alike (and chance), and four of five where ours scatters four times as much.
    #[test]
    fn it_claims_where_ours_is_worse_and_seldom_where_not() {
        assert!(found(1.0) <= 0.08, "{}", found(1.0));
        assert!(found(0.5) <= 0.01, "ours is steadier");
        assert!(found(4.0) >= 0.8, "{}", found(4.0));
    }

    #[test]
    fn too_few_rounds_say_nothing() {
        let many = [1.0; FEWEST];
        assert_eq!((p(&many[1..], &many), p(&many, &many[1..])), (None, None));
        assert_eq!(p(&many, &many), Some(1.0), "no scatter at all");
        assert_eq!(p(&[0.0; FEWEST], &many), None, "no ratio to nothing");
    }
}
