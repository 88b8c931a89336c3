//! Do wakeups decide?

use super::cause;
use super::figures::{short_place, times_within};
use crate::text::words::{Words, count};

use syscost_analyze::finding::wakeups::{DecidedPair, WakeupPairs};
use syscost_measure::probe::transfer::axes::MECHANISM;

fn compared(pairs: &WakeupPairs) -> &'static str {
    if pairs.axis == MECHANISM.id { "mechanisms and the control" } else { "read sizes" }
}

pub fn headline(pairs: &WakeupPairs) -> String {
    let differ = count(pairs.differ, "significant difference");
    match (pairs.decided, pairs.differ) {
        (0, 0) => format!(
            "At no single size and thread count does throughput differ significantly between {}.",
            compared(pairs)
        ),
        (0, all) if pairs.ruled_out == all => {
            format!("No: sleeps explain less than half of each of {differ} between {}.", compared(pairs))
        }
        (0, _) if pairs.ruled_out > 0 => format!(
            "Sleeps explain less than half of {} of {differ} between {}; the others are undecided.",
            pairs.ruled_out,
            compared(pairs)
        ),
        (0, _) => {
            format!("Undecided: none of {differ} between {} is shown to be due to sleeps.", compared(pairs))
        }
        (decided, _) => {
            format!("Sleeps explain at least half of {decided} of {differ} between {}.", compared(pairs))
        }
    }
}

pub fn sentence(pairs: &WakeupPairs, words: &Words) -> String {
    match &pairs.largest {
        Some(most) => largest(pairs, most, words),
        None => format!(
            "Throughput differs significantly at {} of {} of {}, each at one size and thread count.",
            pairs.differ,
            count(pairs.pairs, "pair"),
            compared(pairs)
        ),
    }
}

/// `At 64 B and 1 thread, message is 1.8x faster than buffer. Sleeps of the receiver explain 82 % of it ..`
fn largest(pairs: &WakeupPairs, most: &DecidedPair, words: &Words) -> String {
    let DecidedPair { place, ratio, cause: why, .. } = most;
    format!(
        "At {}, {} is {} faster than {}. {} {}",
        short_place(place),
        words.value(pairs.axis, &most.fast),
        times_within(ratio),
        words.value(pairs.axis, &most.slow),
        cause::sentence(why),
        why.events().first().map(cause::price).unwrap_or_default()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;

    #[test]
    fn what_is_ruled_out_is_said_of_some_differences_too() {
        let pairs = |ruled_out| {
            let (axis, largest) = (MECHANISM.id, None);
            WakeupPairs { axis, pairs: 32, differ: 26, undecided: 6, decided: 0, ruled_out, largest }
        };
        let of = |ruled_out| headline(&pairs(ruled_out));
        assert!(of(0).starts_with("Undecided: none of 26 significant differences"), "{}", of(0));
        assert!(of(23).starts_with("Sleeps explain less than half of 23 of 26 significant"), "{}", of(23));
        assert!(of(26).starts_with("No: sleeps explain less than half of each of 26"), "{}", of(26));
        // Beside answers over thread counts it was read as one of these.
        let places = sentence(&pairs(0), &Words::of(&Synthetic::default().run()));
        assert!(places.ends_with("and the control, each at one size and thread count."), "{places}");
    }
}
