//! How does latency change with threads, message size and rate?

use super::figures::{interval, metric, times_range, times_within};
use super::words::{Words, capital};
use crate::Statement;
use syscost_analyze::finding::latency_along::{ChangedRange, LatencyChange};
use syscost_analyze::finding::{Says, Shown};
use syscost_core::units::Unit;
use syscost_measure::probe::tcp_latency::axes::{LOOP, RATE};
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES};

/// `From 1 to 4 threads`
fn span(change: &LatencyChange) -> String {
    let (from, to) = (change.from as f64, change.to as f64);
    let unit = match change.axis {
        axis if axis == MESSAGE_BYTES.id => Unit::Bytes,
        axis if axis == RATE.id => Unit::PerSecond,
        _ => return format!("From {from} to {to} threads"),
    };
    format!("From {} to {}", unit.format(from), unit.format(to))
}

/// `From 1 to 4 threads p99 latency rises 2.4x to 3.7x at 15 of 15 places.`
pub fn headline(change: &LatencyChange) -> String {
    let (span, all) = (span(change), change.places);
    let title = metric(change.metric).map_or(change.metric, |metric| metric.title);
    let told = |(verb, found): (&str, &Option<ChangedRange>)| {
        let ChangedRange { places, least, most } = found.as_ref()?;
        let range = times_range((least.ratio.value, most.ratio.value));
        Some(format!("{verb} {range} at {places} of {all} places"))
    };
    let changes: Vec<String> =
        [("rises", &change.higher), ("falls", &change.lower)].into_iter().filter_map(told).collect();
    match &changes[..] {
        [] => format!("{span}, no change of {title} is significant."),
        changes => format!("{span} {title} {}.", changes.join(", and ")),
    }
}

/// What changes, or where nothing does the first.
pub fn statements(shown: &[Shown], words: &Words) -> Vec<Statement> {
    let says = |shown: &Shown| {
        let Says::Latency(change) = &shown.says else { return None };
        let told = Statement { text: sentence(change, words), cells: shown.cells.clone() };
        Some((told, change.higher.is_some() || change.lower.is_some()))
    };
    let all: Vec<(Statement, bool)> = shown.iter().filter_map(says).collect();
    let changed = all.iter().filter(|(_, changes)| *changes).count().max(1);
    all.into_iter().take(changed).map(|(told, _)| told).collect()
}

/// The same with its largest change, and what is the same or undecided.
fn sentence(change: &LatencyChange, words: &Words) -> String {
    let mut told = headline(change);
    let largest = |(what, found): (&str, &Option<ChangedRange>)| {
        let most = &found.as_ref()?.most;
        let name = words.name(&most.place, MECHANISM.id, &most.place.without(MECHANISM.id));
        let place = words.place(&most.place, &[MECHANISM.id, LOOP.id]);
        let (ratio, ends) = (times_within(&most.ratio), interval(&most.ratio));
        Some(format!(" The largest {what} is {ratio} ({ends}): {name}, {place}."))
    };
    told.extend([("rise", &change.higher), ("fall", &change.lower)].into_iter().filter_map(largest));
    let changed: usize =
        [&change.higher, &change.lower].into_iter().flatten().map(|range| range.places).sum();
    let open = change.places - changed - change.same;
    let rest = [(change.same, "the same"), (open, "undecided")];
    let rest: Vec<String> =
        rest.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{what} at {n}")).collect();
    if !rest.is_empty() {
        told += &format!(" {} of {}.", capital(&rest.join(", ")), change.places);
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::finding::along::LargestChange;
    use syscost_core::axis::Point;
    use syscost_core::stats::Estimate;

    #[test]
    fn a_change_is_told_with_its_range_and_where_it_holds() {
        let change = |value: f64| {
            let ratio =
                Estimate { value, low: value * 0.9, high: value * 1.1, level: 0.99, n: 8, unit: Unit::Ratio };
            LargestChange { from: 1, to: 4, ratio, place: Point::default() }
        };
        let mut all = LatencyChange {
            axis: "threads",
            metric: "latency_p99",
            from: 1,
            to: 4,
            places: 15,
            higher: Some(ChangedRange { places: 13, least: change(2.4), most: change(3.7) }),
            lower: None,
            same: 1,
        };
        let rises = "From 1 to 4 threads p99 latency rises 2.4x to 3.7x at 13 of 15 places.";
        assert_eq!(headline(&all), rises);
        all.higher = None;
        assert_eq!(headline(&all), "From 1 to 4 threads, no change of p99 latency is significant.");
        (all.axis, all.lower) =
            ("rate", Some(ChangedRange { places: 14, least: change(0.5), most: change(0.25) }));
        (all.from, all.to) = (2_000, 100_000);
        assert_eq!(headline(&all), "From 2 k/s to 100 k/s p99 latency falls 2x to 4x at 14 of 15 places.");
    }
}
