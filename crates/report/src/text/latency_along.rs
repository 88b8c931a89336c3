//! How does latency change with threads, message size and rate?

use super::LATENCY;
use super::figures::{interval, metric, times_range, times_within};
use super::words::{Words, capital};
use crate::Statement;
use crate::material::Material;
use syscost_analyze::finding::latency_along::{ChangedRange, LatencyChange};
use syscost_analyze::finding::{Answer, Says, Shown};
use syscost_analyze::latency::RANKED;
use syscost_core::axis::Point;
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

/// `median round trips`, `p99 latency`
fn subject(change: &LatencyChange) -> String {
    match change.metric {
        _ if !change.round_trips => metric(change.metric).map_or(change.metric, |metric| metric.title).into(),
        id if id == RANKED[0] => "p99 round trips".into(),
        _ => "median round trips".into(),
    }
}

/// `From 2 to 8 threads median round trips take 2.4x to 3.7x longer at all 15 places.`
pub fn headline(change: &LatencyChange) -> String {
    let (span, all, subject) = (span(change), change.places, subject(change));
    let verbs = match change.round_trips {
        true => [("take", " longer"), ("are", " shorter")],
        false => [("rises", ""), ("falls", "")],
    };
    let told = |((verb, how), found): ((&str, &str), &Option<ChangedRange>)| {
        let ChangedRange { places, least, most } = found.as_ref()?;
        let range = times_range((least.ratio.value, most.ratio.value));
        let places =
            if *places == all && all > 1 { format!("all {all}") } else { format!("{places} of {all}") };
        Some(format!("{verb} {range}{how} at {places} places"))
    };
    let changes: Vec<String> =
        verbs.into_iter().zip([&change.higher, &change.lower]).filter_map(told).collect();
    match &changes[..] {
        [] => format!("{span}, no change of {subject} is significant."),
        changes => format!("{span} {subject} {}.", changes.join(", and ")),
    }
}

fn changes(shown: &[Shown]) -> impl Iterator<Item = (&LatencyChange, &Shown)> {
    shown.iter().filter_map(|shown| match &shown.says {
        Says::Latency(change) => Some((change, shown)),
        _ => None,
    })
}

fn is_significant(change: &LatencyChange) -> bool {
    change.higher.is_some() || change.lower.is_some()
}

/// What changes, or where nothing does the first.
pub fn statements(shown: &[Shown], words: &Words) -> Vec<Statement> {
    let told = |(change, shown): (&LatencyChange, &Shown)| Statement {
        text: sentence(change, words),
        cells: shown.cells.clone(),
    };
    let changed = changes(shown).filter(|(change, _)| is_significant(change)).count().max(1);
    changes(shown).take(changed).map(told).collect()
}

/// What a run says of it first: of each axis the quantile that changes most, both ways.
pub fn opening(m: &Material) -> Vec<Statement> {
    let Some(answer) = m.analysis.answers.iter().find(|answer| answer.question == LATENCY) else {
        return Vec::new();
    };
    let told = || changes(&answer.shown).filter(|(change, _)| is_significant(change));
    let first = |axis: &str| told().find(|(change, _)| change.axis == axis).map(|(change, _)| change.metric);
    let of_first = told().filter(|(change, _)| first(change.axis) == Some(change.metric));
    of_first.map(|(change, shown)| Statement { text: headline(change), cells: shown.cells.clone() }).collect()
}

/// Changes that are told and have several places.
pub fn with_places(answer: &Answer) -> impl Iterator<Item = &LatencyChange> {
    let told = changes(&answer.shown).map(|(change, _)| change);
    told.filter(|change| is_significant(change) && change.places > 1)
}

/// The way and the place of one of them.
pub fn who(place: &Point, words: &Words) -> [String; 2] {
    let name = words.name(place, MECHANISM.id, &place.without(MECHANISM.id));
    [name, words.place(place, &[MECHANISM.id, LOOP.id])]
}

/// The same with its largest change, and what is the same or undecided.
fn sentence(change: &LatencyChange, words: &Words) -> String {
    let mut told = headline(change);
    let largest = |(what, found): (&str, &Option<ChangedRange>)| {
        let most = &found.as_ref()?.most;
        let [name, place] = who(&most.place, words);
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
            round_trips: false,
            from: 1,
            to: 4,
            places: 15,
            higher: Some(ChangedRange { places: 13, least: change(2.4), most: change(3.7) }),
            lower: None,
            same: 1,
            each: Vec::new(),
        };
        let rises = "From 1 to 4 threads p99 latency rises 2.4x to 3.7x at 13 of 15 places.";
        assert_eq!(headline(&all), rises);
        all.round_trips = true;
        let longer = "From 1 to 4 threads p99 round trips take 2.4x to 3.7x longer at 13 of 15 places.";
        assert_eq!(headline(&all), longer);
        all.round_trips = false;
        all.higher = None;
        assert_eq!(headline(&all), "From 1 to 4 threads, no change of p99 latency is significant.");
        (all.axis, all.lower) =
            ("rate", Some(ChangedRange { places: 14, least: change(0.5), most: change(0.25) }));
        (all.from, all.to) = (2_000, 100_000);
        assert_eq!(headline(&all), "From 2 k/s to 100 k/s p99 latency falls 2x to 4x at 14 of 15 places.");
    }
}
