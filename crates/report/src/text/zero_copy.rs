//! What did zero-copy remove, and what did it add?

use super::{QuestionText, copies, statement};
use crate::text::words::{Words, and};
use syscost_analyze::finding::zero_copy::{AddedCount, ZeroCopyChange};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::units::significant;

pub const TEXT: QuestionText = QuestionText {
    id: "zero_copy",
    question: "What did zero-copy remove, and what did it add?",
    headline: |answer: &Answer, words: &Words| {
        answer.shown.first().map_or(String::new(), |shown| statement(shown, words).text)
    },
    sentence: |says, _| match says {
        Says::ZeroCopy(change) => Some(sentence(change)),
        _ => None,
    },
};

fn sentence(change: &ZeroCopyChange) -> String {
    match change {
        ZeroCopyChange::Copies(copies) => copies::sentence(copies),
        ZeroCopyChange::PerMessage { ours, theirs, added } => {
            let counts: Vec<String> = added.iter().map(count).collect();
            format!("{ours} adds to each message, against {theirs}: {}.", and(&counts))
        }
    }
}

/// `1.24 to 1.35 system calls instead of 1`
fn count(added: &AddedCount) -> String {
    let (one, more) = match added.metric {
        "completions_per_message" => ("completion", "completions"),
        "sender_system_calls_per_message" => ("system call", "system calls"),
        "sender_voluntary_switches_per_message" => ("sleep of the sender", "sleeps of the sender"),
        _ => ("ENOBUFS refusal", "ENOBUFS refusals"),
    };
    let ours = range(added.ours);
    format!("{ours} {} instead of {}", if ours == "1" { one } else { more }, range(added.theirs))
}

/// `1`, `1.24 to 1.35`, `none`
fn range((smallest, largest): (f64, f64)) -> String {
    let (low, high) = (significant(smallest), significant(largest));
    match low == high {
        true if largest == 0.0 => "none".into(),
        true => low,
        false => format!("{low} to {high}"),
    }
}
