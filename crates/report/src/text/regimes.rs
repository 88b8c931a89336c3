//! Where do short slices and steady windows differ?

use super::{QuestionText, each, headline_of};
use crate::text::words::{Words, count, percent};
use syscost_analyze::finding::Says;
use syscost_analyze::finding::regimes::{RegimePair, RegimesDiffer};
use syscost_core::axis::Point;
use syscost_core::units::significant;
use syscost_measure::probe::transfer::axes::MECHANISM;

pub const TEXT: QuestionText = QuestionText {
    id: "regimes",
    question: "Where do short slices and steady windows differ?",
    headline: |answer, words| headline_of(answer, words, |says, _| known(says).map(headline)),
    told: |answer, words| each(answer, words, |says, words| Some(sentence(known(says)?, words))),
};

fn known(says: &Says) -> Option<&RegimesDiffer> {
    if let Says::Regimes(differ) = says { Some(differ) } else { None }
}

/// `At 12 of 128 pairs, by 4 % to 20 %.`
fn headline(differ: &RegimesDiffer) -> String {
    let apart = |pair: &RegimePair| percent(pair.windows_over_slices.value.ln().abs().exp_m1());
    let (Some(largest), Some(smallest)) = (differ.pairs.first(), differ.pairs.last()) else {
        return String::new();
    };
    let range = match (apart(smallest), apart(largest)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    format!("At {} of {}, by {range}.", differ.pairs.len(), count(differ.looked_at, "pair"))
}

fn sentence(differ: &RegimesDiffer, words: &Words) -> String {
    let Some(largest) = differ.pairs.first() else { return String::new() };
    let name = |point: &Point| point.text(MECHANISM).unwrap_or_default().to_string();
    format!(
        "Largest: {} costs {}x the CPU of {} by slices and {}x by windows. Its place is {}. A slice begins with empty queues.",
        name(&largest.a_point),
        significant(largest.by_slices),
        name(&largest.b_point),
        significant(largest.by_windows()),
        words.place(&largest.a_point, &[MECHANISM.id]),
    )
}
