//! Events of several kinds that explain at least half of a difference together, where none does alone.
//!
//! The sum is tested as one event is: of each round the cost of all of them is taken, and the error of their prices is
//! that of the sum, rows that two prices share included. Which kinds are added up is chosen by the data, so the p-value is
//! multiplied by the number of sets that could have been chosen (Bonferroni). Each of them must come more often per second
//! of CPU time, as a cause alone must.

use super::price::{Price, PricedRun};
use super::rounds::SideRounds;
use super::share::{HALF, RoundPoint, RoundsChange, ShareTest};
use super::{Candidate, Difference, LostTime, MOST, at_difference};
use crate::model::figure::Figure;
use std::collections::BTreeMap;
use syscost_core::axis::Point;

/// Kinds that are named together at most.
const MOST_KINDS: usize = 3;
/// What explains less is not added up.
const FEWEST_SHARE: f64 = 0.05;

/// A sum of candidates at one difference.
pub struct SummedEvents {
    /// Which candidates, the largest share first.
    pub members: Vec<usize>,
    pub change: RoundsChange,
    pub price: Price,
    pub test: ShareTest,
    pub rounds: u32,
    /// Sets of kinds that it was chosen from.
    pub chosen_from: f64,
}

impl SummedEvents {
    /// Uncorrected, of what it is about to be called.
    pub fn p_alone(&self) -> f64 {
        let ShareTest { p_half, p_rate, p_lost, .. } = self.test;
        if self.test.share > HALF { p_half.max(p_rate).max(p_lost) } else { p_half.max(p_lost) }
    }

    /// Corrected for the choice of its kinds.
    pub fn p(&self) -> f64 {
        (self.p_alone() * self.chosen_from).min(1.0)
    }

    pub fn explains(&self) -> bool {
        self.test.share > HALF && self.test.share <= MOST && self.test.rate_rises
    }
}

/// The sum that explains most of a difference; `None`: fewer than two kinds of events are more frequent.
pub fn of(
    run: &PricedRun,
    (asked, difference): (usize, &Difference),
    candidates: &[Candidate],
) -> Option<SummedEvents> {
    let here: Vec<usize> = at_difference(candidates, asked).collect();
    let members = chosen(difference, &here, candidates)?;
    let of: Vec<&Candidate> = members.iter().map(|at| &candidates[*at]).collect();
    let sides = summed(&of)?;
    let change = sides.change()?;
    let place = &run.run.case(*difference.cases().first()?)?.point;
    let price = price(run, place, difference, &of)?;
    let members_test = of.iter().map(|one| one.test);
    let p_rate = members_test.clone().map(|test| test.p_rate).fold(0.0, f64::max);
    let rate_rises = members_test.clone().all(|test| test.rate_rises);
    let test = ShareTest { p_rate, rate_rises, ..change.test(&price) };
    let rounds = sides.worse.len() as u32;
    let chosen_from = sets(here.len());
    Some(SummedEvents { members, change, price, test, rounds, chosen_from })
}

/// Sets of two kinds and more that are named.
fn sets(kinds: usize) -> f64 {
    let choose = |of: usize| (0..of).map(|i| (kinds - i) as f64 / (i + 1) as f64).product::<f64>();
    (2..=MOST_KINDS.min(kinds)).map(choose).sum()
}

/// The fewest of the largest shares that come to more than half, else as many as are named.
fn chosen(difference: &Difference, here: &[usize], candidates: &[Candidate]) -> Option<Vec<usize>> {
    let adds = |at: &usize| {
        let test = candidates[*at].test;
        test.rate_rises && (FEWEST_SHARE..=MOST).contains(&test.share)
    };
    let mut groups: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for at in here.iter().copied().filter(adds) {
        // By the clock both sides work at once: only what the same side pays adds up.
        let side = match difference.time {
            LostTime::Cpu => "",
            LostTime::Clock => candidates[at].price.formula.as_str(),
        };
        groups.entry(side).or_default().push(at);
    }
    let share = |at: &usize| candidates[*at].test.share;
    let sum = |of: &[usize]| of.iter().map(share).sum::<f64>();
    let mut largest = groups.into_values().max_by(|a, b| sum(a).total_cmp(&sum(b)))?;
    largest.sort_by(|a, b| share(b).total_cmp(&share(a)));
    largest.truncate(MOST_KINDS);
    let enough = (2..=largest.len()).find(|many| sum(&largest[..*many]) > HALF).unwrap_or(largest.len());
    largest.truncate(enough);
    (largest.len() > 1).then_some(largest)
}

/// What all of them cost, round by round.
fn summed(of: &[&Candidate]) -> Option<SideRounds> {
    let cost = |pick: fn(&SideRounds) -> &BTreeMap<u32, RoundPoint>| -> BTreeMap<u32, RoundPoint> {
        let one = |(round, first): (&u32, &RoundPoint)| {
            let each = of.iter().map(|c| Some(c.price.ns * pick(&c.sides).get(round)?.events));
            Some((*round, RoundPoint { events: each.sum::<Option<f64>>()?, ..*first }))
        };
        pick(&of[0].sides).iter().filter_map(one).collect()
    };
    let paired = of.first()?.sides.paired;
    Some(SideRounds { worse: cost(|s| &s.worse), better: cost(|s| &s.better), paired })
}

/// Of one unit of the sum, with the error that the prices of its events give it.
fn price(run: &PricedRun, place: &Point, difference: &Difference, of: &[&Candidate]) -> Option<Price> {
    let all = match difference.time {
        LostTime::Cpu => {
            let steps = run.steps(place);
            let paid = |one: &&Candidate| -> Option<Figure> {
                let sides = (one.counter.sides)(&steps)?.into_iter();
                Some(sides.reduce(|a, b| a.plus(&b))?.times(one.change.events))
            };
            let each = of.iter().map(paid).collect::<Option<Vec<_>>>()?;
            Price::of(&each.into_iter().reduce(|a, b| a.plus(&b))?)?
        }
        LostTime::Clock => {
            let events: f64 = of.iter().map(|one| one.change.events).sum();
            let one = of.first()?.price.clone();
            Price { ns: one.ns * events, variance: one.variance * events * events, ..one }
        }
    };
    Some(Price { ns: 1.0, variance: all.variance / all.ns.powi(2), ..all })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_of_two_and_three_kinds_are_counted() {
        assert_eq!([2, 3, 7].map(sets), [1.0, 4.0, 56.0]);
    }
}
