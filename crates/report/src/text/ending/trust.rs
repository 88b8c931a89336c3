//! The first line: whether to believe the run, and why not.

use crate::material::{Material, state};
use crate::section::{capital, copies};
use crate::text::words::percent;
use syscost_analyze::trust::{TrustFact, TrustLevel};
use syscost_core::units::count;

/// Fewer rounds give no interval of a median at 95 %.
const ROUNDS: u32 = 6;

pub fn line(m: &Material) -> String {
    let mut reasons: Vec<(TrustLevel, String)> = Vec::new();
    let wrong = copies::errors(m).len();
    if wrong > 0 {
        reasons.push((TrustLevel::Poor, count(wrong, "contradiction") + " in what was counted"));
    }
    let failed = m.run.record.failures.len();
    if failed > 0 {
        reasons.push((TrustLevel::Fair, count(failed, "failed round")));
    }
    if let Some(few) = rounds(m).filter(|rounds| *rounds < ROUNDS) {
        reasons.push((TrustLevel::Fair, format!("{} of some cases", count(few as usize, "round"))));
    }
    let known = m.analysis.trust.reasons.iter();
    reasons.extend(known.filter_map(|reason| Some((reason.level, fact(&reason.fact)?))));
    // The worst first: it may be all that is read.
    reasons.sort_by_key(|(level, _)| std::cmp::Reverse(*level));
    let level = match reasons.first().map_or(TrustLevel::Good, |(level, _)| *level) {
        TrustLevel::Good => "good",
        TrustLevel::Fair => "fair",
        TrustLevel::Poor => "poor",
    };
    let told: Vec<String> = reasons.into_iter().map(|(_, text)| text).collect();
    if told.is_empty() {
        format!("Trust: {level}.")
    } else {
        format!("Trust: {level}. {}.", capital(&told.join(", ")))
    }
}

/// `None`: the report says it elsewhere.
fn fact(fact: &TrustFact) -> Option<String> {
    Some(match fact {
        TrustFact::NoSamples => "nothing usable was measured".into(),
        TrustFact::Emulated { by } => format!("an emulated machine ({by}): its times mean nothing"),
        TrustFact::Decided { decided, comparisons, .. } => {
            format!("{decided} of {} decided", count(*comparisons, "comparison"))
        }
        TrustFact::Twins { farthest, .. } => {
            format!("identical cases differ by {} at most", percent(*farthest))
        }
        TrustFact::Machine { others_share, steal_share, .. } => machine(*others_share, *steal_share),
        TrustFact::Level { slow_share, .. } => format!("{} of it on a slower machine", percent(*slow_share)),
        TrustFact::Ended { state: end } => state(*end).into(),
        TrustFact::FewRounds { .. }
        | TrustFact::NoTwins
        | TrustFact::Counters { .. }
        | TrustFact::Ledger { .. } => return None,
    })
}

/// `others used 12 % of the CPUs, steal 3 %`
fn machine(others: Option<f64>, steal: Option<f64>) -> String {
    let seen = |share: Option<f64>| share.filter(|share| *share >= 0.01).map(percent);
    let others = seen(others).map(|share| format!("others used {share} of the CPUs"));
    let steal = seen(steal).map(|share| format!("steal {share}"));
    let told: Vec<String> = [others, steal].into_iter().flatten().collect();
    if told.is_empty() { "quiet machine".into() } else { told.join(", ") }
}

/// The fewest of any case that has some.
fn rounds(m: &Material) -> Option<u32> {
    let cells = m.layouts.iter().flat_map(|layout| {
        let decisive = layout.probe.decisive();
        layout.cases.iter().filter_map(move |case| Some(layout.estimate(case.index, decisive.first()?)?.0.n))
    });
    cells.min()
}
