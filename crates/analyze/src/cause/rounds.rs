//! What the rounds of both sides of a difference counted.

use super::share::{RoundPoint, RoundsChange};
use super::{Between, Difference};
use std::collections::{BTreeMap, BTreeSet};

/// By round.
pub struct SideRounds {
    pub worse: BTreeMap<u32, RoundPoint>,
    pub better: BTreeMap<u32, RoundPoint>,
    /// Each round of one side belongs to that of the other.
    pub paired: bool,
}

impl SideRounds {
    pub fn of(
        difference: &Difference,
        rounds: impl Fn(usize) -> Option<BTreeMap<u32, RoundPoint>>,
    ) -> Option<SideRounds> {
        match &difference.between {
            Between::Cases { worse, better } => {
                let (mut worse, mut better) = (rounds(*worse)?, rounds(*better)?);
                worse.retain(|round, _| better.contains_key(round));
                better.retain(|round, _| worse.contains_key(round));
                Some(SideRounds { worse, better, paired: true })
            }
            Between::Rounds { case, slow, fast } => {
                let all = rounds(*case)?;
                let of = |wanted: &BTreeSet<u32>| {
                    all.iter().filter(|(round, _)| wanted.contains(round)).map(|(r, at)| (*r, *at)).collect()
                };
                Some(SideRounds { worse: of(slow), better: of(fast), paired: false })
            }
        }
    }

    /// `None`: too few rounds.
    pub fn change(&self) -> Option<RoundsChange> {
        if self.paired {
            let pair = |(round, worse): (&u32, &RoundPoint)| Some((*worse, *self.better.get(round)?));
            return RoundsChange::paired(&self.worse.iter().filter_map(pair).collect::<Vec<_>>());
        }
        let points = |side: &BTreeMap<u32, RoundPoint>| side.values().copied().collect::<Vec<_>>();
        RoundsChange::between(&points(&self.worse), &points(&self.better))
    }
}
