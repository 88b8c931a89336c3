//! From which size does a class of mechanisms beat two-copy?

use super::{QuestionText, headline_of};
use crate::text::words::{Words, count};
use syscost_analyze::compare::study::{ALONG, RIVALS};
use syscost_analyze::finding::overtaking::{Overtakes, Overtaking};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::units::significant;
use syscost_measure::probe::transfer::axes::THREADS;

pub const ONE_COPY: QuestionText = text("one_copy", "From which size does one-copy beat two-copy?");
pub const ZERO_COPY: QuestionText = text("zero_copy_from", "From which size does zero-copy beat two-copy?");

const fn text(id: &'static str, question: &'static str) -> QuestionText {
    QuestionText {
        id,
        question,
        headline: |answer: &Answer, words: &Words| headline_of(answer, words, says),
        sentence: says,
    }
}

fn says(says: &Says, words: &Words) -> Option<String> {
    match says {
        Says::Overtaking(one) => Some(sentence(one, words)),
        _ => None,
    }
}

/// `sendmsg beats pack_send from between 4 KiB and 64 KiB up (CPU, 4 thread counts). It is 1.2x [1.1, 1.3] as good, at 64 KiB.`
fn sentence(one: &Overtaking, words: &Words) -> String {
    let name = |way| words.name(way, RIVALS.id, &one.held);
    let show = |at: u64| words.range(ALONG.id, at, at);
    let between = |low: u64, high: u64| format!("between {} and {}", show(low), show(high));
    let (ours, theirs) = (name(&one.ours), name(&one.theirs));
    let beats = match &one.overtakes {
        Overtakes::From { low, high } => format!("beats {theirs} from {} up", between(*low, *high)),
        Overtakes::OnlyUpTo { low, high } => format!("beats {theirs} only up to {}", between(*low, *high)),
        Overtakes::Several(borders) => {
            format!("beats {theirs} in turns ({})", count(borders.len(), "crossing"))
        }
        Overtakes::Always if one.same.len() + one.undecided.len() == 0 => {
            format!("beats {theirs} at every size tested")
        }
        Overtakes::Always => format!("beats {theirs} wherever they differ"),
        Overtakes::Never if one.worse.is_empty() => format!("does not differ significantly from {theirs}"),
        Overtakes::Never => format!("never beats {theirs}"),
    };
    let threads = match one.threads[..] {
        [] => String::new(),
        [only] => format!(", {}", count(only as usize, "thread")),
        _ => format!(", {} thread counts", one.threads.len()),
    };
    let ratio = one.decisive.map_or(String::new(), |(at, ratio)| {
        let word = if one.better.is_empty() { "At best it is" } else { "It is" };
        let value = significant(ratio.value);
        format!(
            " {word} {value}x [{}, {}] as good, at {}.",
            significant(ratio.low),
            significant(ratio.high),
            show(at)
        )
    });
    let place = words.with(&one.held.without(THREADS.id));
    format!("{ours} {beats}{place} ({}{threads}).{ratio}", title(one.metric))
}

/// At one size, what is cheaper a byte is cheaper a message.
fn title(metric: &str) -> &str {
    if metric.contains("cpu") { "CPU" } else { metric }
}
