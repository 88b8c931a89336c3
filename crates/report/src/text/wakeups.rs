//! Do wakeups decide?

use super::figures::{short_place, times};
use super::{QuestionText, each, headline_of};
use crate::text::words::{Words, count, figure};
use syscost_analyze::finding::Says;
use syscost_analyze::finding::wakeups::{DecidedPair, WakeupPairs};
use syscost_core::units::{Unit, significant};
use syscost_measure::probe::transfer::axes::MECHANISM;

pub const TEXT: QuestionText = QuestionText {
    id: "wake_ups",
    question: "Do wakeups decide?",
    headline: |answer, words| headline_of(answer, words, |says, _| known(says).map(headline)),
    told: |answer, words| each(answer, words, |says, words| known(says).map(|pairs| sentence(pairs, words))),
};

fn known(says: &Says) -> Option<&WakeupPairs> {
    if let Says::WakeUps(pairs) = says { Some(pairs) } else { None }
}

fn compared(pairs: &WakeupPairs) -> &'static str {
    if pairs.axis == MECHANISM.id { "mechanisms and the control" } else { "read sizes" }
}

fn headline(pairs: &WakeupPairs) -> String {
    match (pairs.decided, pairs.differ) {
        (0, 0) => "Throughput differs significantly nowhere, so nothing shows that wakeups decide.".into(),
        (0, _) => "Wakeups do not decide: sleeps account for no significant difference.".into(),
        (decided, differ) => format!(
            "Wakeups account for {decided} of {} between {}.",
            count(differ, "significant difference"),
            compared(pairs)
        ),
    }
}

fn sentence(pairs: &WakeupPairs, words: &Words) -> String {
    match &pairs.largest {
        Some(most) => largest(pairs, most, words),
        None => format!(
            "Throughput differs significantly at {} of {} of {}.",
            pairs.differ,
            count(pairs.pairs, "pair"),
            compared(pairs)
        ),
    }
}

/// `At 64 B and 1 thread, message is 1.8x faster than buffer: the receiver sleeps 0.01, not 0.3 times a message.`
fn largest(pairs: &WakeupPairs, most: &DecidedPair, words: &Words) -> String {
    let DecidedPair { place, ratio, metric, of_fast, of_slow, each_ns, .. } = most;
    format!(
        "At {}, {} is {} faster than {}: the {} sleeps {} instead of {} times a message. Each sleep saved accounts for {}.",
        short_place(place),
        words.value(pairs.axis, &most.fast),
        times(ratio.value),
        words.value(pairs.axis, &most.slow),
        if metric.starts_with("receiver") { "receiver" } else { "sender" },
        significant(*of_fast),
        significant(*of_slow),
        figure(*each_ns, Unit::Nanoseconds),
    )
}
