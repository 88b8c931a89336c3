//! The search for the highest rate: doubled until it loses too much, then halved on the log scale. A rate fails where two
//! steps in a row do, since one may be a disturbance. Programs that syscost is compared with are searched by it too.

use anyhow::Result;

/// The first rate that is tried, and the lowest.
const FIRST: f64 = 10_000.0;
const LOWEST: f64 = 100.0;
/// Of a rate that loses too much over one that does not: as near as the search goes.
const NEAREST: f64 = 1.05;
/// A sender that reaches less than this of a rate cannot send faster.
const KEEPS_UP: f64 = 0.9;
const MOST_TRIED: u32 = 40;

/// What became of a rate.
#[derive(Clone, Copy, Debug)]
pub struct TriedRate {
    /// What was sent a second: a sender may be slower than asked.
    pub achieved: f64,
    /// Not too much was lost.
    pub holds: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HighestRate {
    pub rate: f64,
    /// The sender could not send faster, and not too much was lost.
    pub sender_bound: bool,
}

/// `None`: too much is lost at any rate.
pub fn highest(mut step: impl FnMut(f64) -> Result<TriedRate>) -> Result<Option<HighestRate>> {
    let (mut rate, mut holds, mut loses) = (FIRST, None::<f64>, None::<f64>);
    for _ in 0..MOST_TRIED {
        let mut tried = step(rate)?;
        if !tried.holds || tried.achieved < KEEPS_UP * rate {
            let again = step(rate)?;
            if again.holds && (!tried.holds || again.achieved > tried.achieved) {
                tried = again;
            }
        }
        let reached = tried.achieved.min(rate);
        match tried.holds {
            true if tried.achieved < KEEPS_UP * rate => {
                let rate = holds.map_or(reached, |before| before.max(reached));
                return Ok(Some(HighestRate { rate, sender_bound: true }));
            }
            true => holds = Some(holds.map_or(reached, |before| before.max(reached))),
            // As fast as it goes: what was asked beyond that says nothing.
            false => loses = Some(reached),
        }
        rate = match (holds, loses) {
            (Some(holds), Some(loses)) if loses <= holds * NEAREST => break,
            (Some(holds), Some(loses)) => (holds * loses).sqrt(),
            (Some(holds), None) => 2.0 * holds.max(rate),
            (None, _) if rate <= LOWEST => break,
            (None, _) => (rate / 2.0).max(LOWEST),
        };
    }
    Ok(holds.map(|rate| HighestRate { rate, sender_bound: false }))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A path that loses what is above its capacity, and a sender that is no faster than this.
    fn found(capacity: f64, fastest: f64) -> Option<HighestRate> {
        highest(|rate| {
            let achieved = rate.min(fastest);
            Ok(TriedRate { achieved, holds: achieved <= capacity })
        })
        .unwrap()
    }

    #[test]
    fn the_rate_that_a_path_holds_is_found_from_either_side() {
        for capacity in [150.0, 9_000.0, 10_000.0, 333_333.0, 4.2e6] {
            let HighestRate { rate, sender_bound } = found(capacity, 1e9).unwrap();
            assert!(rate <= capacity && rate > capacity / 1.06 && !sender_bound, "{rate} of {capacity}");
        }
        assert_eq!(found(50.0, 1e9), None);
    }

    #[test]
    fn a_rate_fails_where_two_steps_in_a_row_do() {
        let mut steps = 0;
        let found = highest(|rate| {
            steps += 1;
            let disturbed = steps % 2 == 1;
            Ok(TriedRate { achieved: rate, holds: rate <= 50_000.0 && !disturbed })
        });
        let HighestRate { rate, .. } = found.unwrap().unwrap();
        assert!(rate <= 50_000.0 && rate > 50_000.0 / 1.06, "{rate}: every first step is disturbed");
    }

    #[test]
    fn a_sender_that_cannot_send_faster_is_told_from_a_path_that_loses() {
        let bound = found(1e6, 234_567.0).unwrap();
        assert_eq!(bound, HighestRate { rate: 234_567.0, sender_bound: true });
        // It loses as fast as it goes, and holds at less.
        let HighestRate { rate, sender_bound } = found(200_000.0, 234_567.0).unwrap();
        assert!((190_000.0..=200_000.0).contains(&rate) && !sender_bound, "{rate}");
    }
}
