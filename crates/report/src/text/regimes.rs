//! Where do short slices and steady windows differ?

use super::{QuestionText, statement};
use crate::text::words::{Words, count, percent};
use syscost_analyze::finding::regimes::{RegimePair, RegimesDiffer};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::units::significant;
use syscost_measure::probe::transfer::axes::MECHANISM;

pub const TEXT: QuestionText = QuestionText {
    id: "regimes",
    question: "Where do short slices and steady windows differ?",
    headline: |answer: &Answer, words: &Words| {
        answer.shown.first().map_or(String::new(), |shown| statement(shown, words).text)
    },
    sentence: |says, words| match says {
        Says::Regimes(differ) => Some(sentence(differ, words)),
        _ => None,
    },
};

fn sentence(differ: &RegimesDiffer, words: &Words) -> String {
    let apart = |pair: &RegimePair| percent(pair.windows_over_slices.value.ln().abs().exp_m1());
    let (Some(largest), Some(smallest)) = (differ.pairs.first(), differ.pairs.last()) else {
        return String::new();
    };
    let range = match (apart(smallest), apart(largest)) {
        (low, high) if low == high => low,
        (low, high) => format!("{low} to {high}"),
    };
    format!(
        "The ratio of CPU per message differs between short slices and steady windows at {} of {}, by {range}. Largest: \
         {}, {}x by slices and {}x by windows. A slice begins with empty queues.",
        differ.pairs.len(),
        count(differ.looked_at, "pair"),
        named(largest, words),
        significant(largest.by_slices),
        significant(largest.by_windows()),
    )
}

/// `msg_zerocopy over send at 64 B and 1 thread`
fn named(pair: &RegimePair, words: &Words) -> String {
    let [a, b] = [&pair.a_point, &pair.b_point];
    let name = |point: &syscost_core::axis::Point| point.text(MECHANISM).unwrap_or_default().to_string();
    format!("{} over {} at {}", name(a), name(b), words.place(a, &[MECHANISM.id]))
}
