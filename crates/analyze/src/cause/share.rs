//! The share of a difference that events explain: what they cost over what was lost, with Fieller's interval.
//!
//! Events, price and difference are means with errors of their own; a ratio of such means has no error of its own, but
//! "price x events - share x lost" has. Sources: Fieller (1954); Satterthwaite (1946) on the degrees of freedom.

use super::price::Price;
use syscost_core::stats::Estimate;
use syscost_core::stats::student::{critical, two_sided};
use syscost_core::units::Unit;

/// A cause explains at least so much.
pub const HALF: f64 = 0.5;
/// Paired rounds, or rounds of a group, below which nothing has an error.
const FEWEST: usize = 3;

/// What one round counted, and what it took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundPoint {
    /// Events and nanoseconds of one message or byte.
    pub events: f64,
    pub ns: f64,
    /// Events per second of CPU time.
    pub rate: f64,
}

/// How much more of everything the worse side has: means, and what they scatter by.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoundsChange {
    pub events: f64,
    pub lost: f64,
    rate: f64,
    var_events: f64,
    var_lost: f64,
    covariance: f64,
    var_rate: f64,
    freedom: f64,
}

/// What the tests say of one kind of event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ShareTest {
    pub share: f64,
    /// That the share is not half.
    pub p_half: f64,
    /// That the rate per CPU second is not the same: what comes with time alone is no cause of more time.
    pub p_rate: f64,
    /// That something was lost.
    pub p_lost: f64,
    pub rate_rises: bool,
}

impl RoundsChange {
    /// Of rounds that both sides have: (worse, better).
    pub fn paired(rounds: &[(RoundPoint, RoundPoint)]) -> Option<RoundsChange> {
        let change = |(worse, better): &(RoundPoint, RoundPoint)| RoundPoint {
            events: worse.events - better.events,
            ns: worse.ns - better.ns,
            rate: worse.rate - better.rate,
        };
        let moments = Moments::of(&rounds.iter().map(change).collect::<Vec<_>>())?;
        Some(moments.change(moments.freedom))
    }

    /// Of slow rounds and the others.
    pub fn between(worse: &[RoundPoint], better: &[RoundPoint]) -> Option<RoundsChange> {
        let (w, b) = (Moments::of(worse)?, Moments::of(better)?);
        let apart = |a: RoundPoint, b: RoundPoint| RoundPoint {
            events: a.events - b.events,
            ns: a.ns - b.ns,
            rate: a.rate - b.rate,
        };
        let both = Moments {
            mean: apart(w.mean, b.mean),
            var_events: w.var_events + b.var_events,
            var_ns: w.var_ns + b.var_ns,
            covariance: w.covariance + b.covariance,
            var_rate: w.var_rate + b.var_rate,
            freedom: w.freedom.min(b.freedom),
        };
        Some(both.change(both.freedom))
    }

    pub fn test(&self, price: &Price) -> ShareTest {
        let (theta, variance, freedom) = self.theta(price, HALF);
        ShareTest {
            share: price.ns * self.events / self.lost,
            p_half: p_of(theta, variance, freedom),
            p_rate: p_of(self.rate, self.var_rate, self.freedom),
            p_lost: if self.lost > 0.0 { p_of(self.lost, self.var_lost, self.freedom) } else { 1.0 },
            rate_rises: self.rate > 0.0,
        }
    }

    /// The shares that are not rejected at this level; `None`: all are, or none beyond some.
    pub fn share(&self, price: &Price, confidence: f64, rounds: u32) -> Option<Estimate> {
        let value = price.ns * self.events / self.lost;
        let (_, _, freedom) = self.theta(price, value);
        let t2 = critical(1.0 - confidence, freedom).powi(2);
        let cost = price.ns * self.events;
        let var_cost = self.events.powi(2) * price.variance + price.ns.powi(2) * self.var_events;
        let a = self.lost.powi(2) - t2 * self.var_lost;
        let b = cost * self.lost - t2 * price.ns * self.covariance;
        let c = cost * cost - t2 * var_cost;
        let root = (b * b - a * c).max(0.0).sqrt();
        let bounded = a > 0.0 && value.is_finite();
        bounded.then(|| Estimate {
            value,
            low: (b - root) / a,
            high: (b + root) / a,
            level: confidence,
            n: rounds,
            unit: Unit::Ratio,
        })
    }

    /// What the events cost less this share of what was lost, its variance and degrees of freedom.
    fn theta(&self, price: &Price, share: f64) -> (f64, f64, f64) {
        let of_price = self.events.powi(2) * price.variance;
        let of_rounds = price.ns.powi(2) * self.var_events + share.powi(2) * self.var_lost
            - 2.0 * share * price.ns * self.covariance;
        let of_rounds = of_rounds.max(0.0);
        let variance = of_price + of_rounds;
        let parts = of_price.powi(2) / price.freedom + of_rounds.powi(2) / self.freedom;
        let freedom = if parts > 0.0 { variance.powi(2) / parts } else { self.freedom };
        (price.ns * self.events - share * self.lost, variance, freedom)
    }
}

fn p_of(mean: f64, variance: f64, freedom: f64) -> f64 {
    match variance > 0.0 {
        true => two_sided(mean / variance.sqrt(), freedom),
        false if mean == 0.0 => 1.0,
        false => 0.0,
    }
}

/// Means of rounds and the variances of these means.
struct Moments {
    mean: RoundPoint,
    var_events: f64,
    var_ns: f64,
    covariance: f64,
    var_rate: f64,
    freedom: f64,
}

impl Moments {
    fn of(rounds: &[RoundPoint]) -> Option<Moments> {
        let n = rounds.len() as f64;
        let mean = |of: fn(&RoundPoint) -> f64| rounds.iter().map(of).sum::<f64>() / n;
        let mean = RoundPoint { events: mean(|r| r.events), ns: mean(|r| r.ns), rate: mean(|r| r.rate) };
        let product = |of: &dyn Fn(&RoundPoint) -> f64| rounds.iter().map(of).sum::<f64>() / (n - 1.0) / n;
        (rounds.len() >= FEWEST).then(|| Moments {
            var_events: product(&|r| (r.events - mean.events).powi(2)),
            var_ns: product(&|r| (r.ns - mean.ns).powi(2)),
            covariance: product(&|r| (r.events - mean.events) * (r.ns - mean.ns)),
            var_rate: product(&|r| (r.rate - mean.rate).powi(2)),
            mean,
            freedom: n - 1.0,
        })
    }

    fn change(&self, freedom: f64) -> RoundsChange {
        RoundsChange {
            events: self.mean.events,
            lost: self.mean.ns,
            rate: self.mean.rate,
            var_events: self.var_events,
            var_lost: self.var_ns,
            covariance: self.covariance,
            var_rate: self.var_rate,
            freedom,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::random::Random;

    /// 10 rounds in which 0.5 events more come to this share of 1000 ns that are lost; the price was measured 4 times.
    fn drawn(share: f64, noise: f64, random: &mut Random) -> (RoundsChange, Price) {
        let true_price = share * 1000.0 / 0.5;
        let rounds: Vec<(RoundPoint, RoundPoint)> = (0..10)
            .map(|_| {
                let mut point = |events: f64, ns: f64| RoundPoint {
                    events: events * (1.0 + noise * random.normal()),
                    ns: ns * (1.0 + noise * random.normal()),
                    rate: events / ns,
                };
                (point(0.7, 3000.0), point(0.2, 2000.0))
            })
            .collect();
        let measured: Vec<f64> = (0..4).map(|_| true_price * (1.0 + noise * random.normal())).collect();
        let mean = measured.iter().sum::<f64>() / 4.0;
        let variance = measured.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 3.0 / 4.0;
        let price = Price { ns: mean, variance, freedom: 3.0, formula: String::new(), cells: Vec::new() };
        (RoundsChange::paired(&rounds).expect("ten rounds"), price)
    }

    #[test]
    fn the_interval_holds_the_share_and_half_is_called_more_than_half_at_the_stated_rate() {
        let mut random = Random::new(5);
        let trials = 2000;
        for share in [0.2, 0.5, 0.9] {
            let (mut held, mut above) = (0, 0);
            for _ in 0..trials {
                let (change, price) = drawn(share, 0.05, &mut random);
                let interval = change.share(&price, 0.95, 10);
                held += usize::from(interval.is_some_and(|e| e.low <= share && share <= e.high));
                let test = change.test(&price);
                above += usize::from(test.share > HALF && test.p_half < 0.05);
            }
            assert!(held * 100 >= trials * 94, "share {share}: {held} of {trials}");
            match share {
                low if low < HALF => assert_eq!(above, 0),
                half if half == HALF => assert!(above * 100 <= trials * 3, "{above} of {trials}"),
                _ => assert!(above * 100 >= trials * 80, "{above} of {trials}"),
            }
        }
    }

    #[test]
    fn nothing_lost_has_no_share_and_two_rounds_say_nothing() {
        let point = |ns: f64| RoundPoint { events: 1.0, ns, rate: 1.0 };
        let noise = [(point(10.0), point(11.0)), (point(12.0), point(9.0)), (point(9.0), point(10.0))];
        let price = Price { ns: 5.0, variance: 1.0, freedom: 3.0, formula: String::new(), cells: Vec::new() };
        let change = RoundsChange::paired(&noise).expect("three rounds");
        assert_eq!(change.share(&price, 0.95, 3), None);
        assert!(change.test(&price).p_lost > 0.05);
        assert_eq!(RoundsChange::paired(&noise[..2]), None);
    }
}
