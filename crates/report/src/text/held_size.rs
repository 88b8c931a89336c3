//! How large is the file cache?

use crate::text::words::{capital, figure};
use syscost_analyze::finding::held_size::HeldRoom;
use syscost_core::units::Unit;

fn size(bytes: f64) -> String {
    Unit::Bytes.format(bytes)
}

/// `The file cache held 112 MiB to 120 MiB of 128 MiB available: reads of 4 KiB cost 0.4 us, and 1.8 us beyond.`
pub fn headline(room: &HeldRoom) -> String {
    let cost = |ns: f64| figure(ns, Unit::Nanoseconds);
    format!(
        "{} held {} to {} of {} available: {} cost {}, and {} beyond.",
        capital(room.holder),
        // Sizes that were measured are not rounded as figures are.
        size(room.held),
        size(room.lost),
        size(room.room),
        room.act,
        cost(room.cost_held),
        cost(room.cost_lost)
    )
}

/// What was expected, and what else shows it.
pub fn sentence(room: &HeldRoom) -> String {
    let mut text = match &room.expected {
        Some((bytes, source)) => format!("Expected before the measurement: {} ({source}).", size(*bytes)),
        None => "Nothing was expected before the measurement.".into(),
    };
    let kept = room.kept.map(|bytes| format!(" Of larger files {} stayed cached (mincore).", size(bytes)));
    text.extend(kept);
    text
}

/// Completes "this run has not measured ".
pub fn lack(
    holder: &str,
    largest: Option<f64>,
    room: Option<f64>,
    reason: Option<&(String, String)>,
) -> String {
    let because = match (largest, room, reason) {
        (Some(largest), Some(room), _) if largest < room => {
            format!("the largest file had {}, and {} of memory were available", size(largest), size(room))
        }
        (Some(largest), ..) => format!("up to {} no size is clearly the last that it held", size(largest)),
        (None, _, Some((reason, remedy))) => format!("{reason}; {remedy}"),
        (None, ..) => "no file was read again".into(),
    };
    format!("the size of {holder} ({because})")
}
