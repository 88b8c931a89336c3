//! What is unexpected?

use super::figures::{times, times_range};
use super::latency_along;
use super::rulers::typed;
use crate::text::words::{Words, and, count, figure, row_name};

use std::collections::BTreeSet;
use syscost_analyze::answer::AnswerVerdict;
use syscost_analyze::finding::unexpected::{Surprise, SurpriseSeen, SurprisingPlace, Unforeseen};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::axis::{Point, Value};
use syscost_core::units::significant;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, THREADS};
use syscost_measure::probe::{self, Probe, transfer};

/// The strongest phenomenon, and how many others there are.
pub fn headline(answer: &Answer, first: &Unforeseen) -> String {
    let is_phenomenon = |says: &Says| matches!(says, Says::Unexpected(Unforeseen::Phenomenon { .. }));
    let phenomena = answer.shown.iter().filter(|shown| is_phenomenon(&shown.says)).count();
    let more = match phenomena {
        0 | 1 => String::new(),
        2 => " There is 1 more phenomenon.".into(),
        several => format!(" There are {} more phenomena.", several - 1),
    };
    if answer.verdict == AnswerVerdict::Undecided {
        return "Nothing unexpected is significant, but most comparisons are undecided.".into();
    }
    strongest(first) + &more
}

fn strongest(unforeseen: &Unforeseen) -> String {
    match unforeseen {
        Unforeseen::Phenomenon { kind, factors, .. } => {
            format!("{}.", phenomenon(*kind, &format!("up to {}", times(factors.1))))
        }
        Unforeseen::NotFound { beside: None, .. } => "Nothing unexpected was found.".into(),
        Unforeseen::NotFound { beside: Some(change), .. } => {
            format!("Nothing unexpected is significant. {}", latency_along::headline(change))
        }
    }
}

fn phenomenon(kind: Surprise, by: &str) -> String {
    match kind {
        Surprise::LargerIsWorse => format!("Larger messages move bytes {by} worse"),
        Surprise::LargerIsCheaper => format!("Larger messages take {by} less CPU time"),
        Surprise::MoreThreadsAreFaster => format!("Round trips are {by} shorter with more threads"),
        Surprise::TwoLevels => format!("Cases alternate between two levels, {by} apart"),
        Surprise::OffTheModel => format!("Cases are {by} farther from their account than others"),
    }
}

pub fn sentence(unforeseen: &Unforeseen, words: &Words) -> String {
    match unforeseen {
        Unforeseen::NotFound { kinds, .. } => {
            let names: Vec<String> = kinds.iter().map(|(kind, _)| sought(*kind).to_string()).collect();
            format!("None significant: {}.", and(&names))
        }
        Unforeseen::Phenomenon { kind, factors, places } => {
            let Some(most) = places.first() else { return String::new() };
            // One case seen by two metrics is one place.
            let cases: BTreeSet<usize> = places.iter().map(|place| place.case).collect();
            format!(
                "{} ({}). {}: {}.{}",
                phenomenon(*kind, &times_range(*factors)),
                count(cases.len(), "place"),
                if cases.len() > 1 { "The largest" } else { "There" },
                seen(most, words),
                next(most)
            )
        }
    }
}

fn sought(kind: Surprise) -> &'static str {
    match kind {
        Surprise::LargerIsWorse => "larger messages that cost more a byte",
        Surprise::LargerIsCheaper => "larger messages that cost less",
        Surprise::MoreThreadsAreFaster => "round trips that more threads shorten",
        Surprise::TwoLevels => "cases with two levels",
        Surprise::OffTheModel => "cases off their account",
    }
}

/// The command that would show the cause.
fn next(place: &SurprisingPlace) -> String {
    let step = match &place.seen {
        SurpriseSeen::Step { axis, from, to, .. } => Some((*axis, *from, *to)),
        SurpriseSeen::Levels { .. } | SurpriseSeen::Model { .. } => None,
    };
    format!(" Next: `{}`.", command(&place.probe, &place.place, step))
}

/// The command that samples where the time goes there: at both ends of a step along an axis.
fn command(probe: &str, place: &Point, step: Option<(&str, u64, u64)>) -> String {
    let Some(known) = probe::find(probe).filter(|p| p.about().id == transfer::Transfer.about().id) else {
        return format!("syscost profile {probe}");
    };
    let always = [MECHANISM.id, MESSAGE_BYTES.id, THREADS.id, PATH.id];
    let mut command = "syscost profile".to_string();
    for axis in known.axes() {
        let values: Vec<Value> = match step.filter(|(id, ..)| *id == axis.id) {
            Some((_, from, to)) => vec![Value::Int(from), Value::Int(to)],
            None => place.get(axis.id).cloned().into_iter().collect(),
        };
        if values.is_empty() || (!always.contains(&axis.id) && axis.default() == values) {
            continue;
        }
        let typed: Vec<String> = values.iter().map(|value| typed(&axis, value)).collect();
        command += &format!(" --{} {}", axis.flag, typed.join(","));
    }
    command
}

/// `sendmsg at 1 thread, 1 KiB to 4 KiB. Median throughput: 2.43 Gbit/s to 702 Mbit/s`
fn seen(place: &SurprisingPlace, words: &Words) -> String {
    let metric = |id: &str| probe::find(&place.probe)?.metrics().into_iter().find(|metric| metric.id == id);
    let of = |id: &str, value: f64| metric(id).map_or(value.to_string(), |m| figure(value, m.unit));
    let title = |id: &'static str| metric(id).map_or(id, |m| m.title);
    match &place.seen {
        SurpriseSeen::Step { axis, from, to, changes } => {
            let show = |value: u64| words.value(axis, &Value::Int(value));
            let ends = format!("{} to {}", show(*from), show(*to));
            let thing = if *axis == "threads" { " threads" } else { "" };
            let change = changes.first().map_or(String::new(), |change| {
                let (from, to) = (of(change.metric, change.from), of(change.metric, change.to));
                format!(". Median {}: {from} to {to}", title(change.metric))
            });
            format!("{}, {ends}{thing}{change}", who(place, words))
        }
        SurpriseSeen::Levels { metric, low, high, .. } => {
            let (title, who) = (title(metric), who(place, words));
            format!("{title} of {who}, {} or {}", of(metric, *low), of(metric, *high))
        }
        SurpriseSeen::Model { measured, accounted, typical } => format!(
            "{} costs {} of its account, typically {}",
            who(place, words),
            as_factor(measured / accounted),
            as_factor(*typical)
        ),
    }
}

fn as_factor(ratio: f64) -> String {
    format!("{}x", significant((ratio * 100.0).round() / 100.0))
}

/// `sendmsg (messages per call 64) at 64 KiB and 1 thread (offloads on)`; an operation by its row.
fn who(at: &SurprisingPlace, words: &Words) -> String {
    let Some(probe) = probe::find(&at.probe) else { return at.probe.clone() };
    if let Some(row) = probe.row(&at.place) {
        return row_name(probe.about().title, &row);
    }
    let named_by = probe.about().ruler.unwrap_or(MECHANISM.id);
    let way = words.way(probe, &at.place, named_by);
    let said = words.constant().into_iter().filter(|id| ![MESSAGE_BYTES.id, THREADS.id].contains(id));
    let axes = probe.axes();
    let chosen = axes.iter().map(|axis| axis.id).filter(|id| probe.chosen(id));
    let known: Vec<&str> = said.chain(chosen).chain([named_by]).collect();
    let place = words.place(&at.place, &known);
    match place.chars().next() {
        None => way,
        Some(first) if first.is_ascii_digit() => format!("{way} at {place}"),
        Some(_) => format!("{way} {place}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;

    /// Of a run with offloads on and off it was said without them.
    #[test]
    fn a_place_has_what_varies_in_the_run() {
        let mut run = Synthetic { rounds: 1, ..Default::default() }.run();
        for (i, case) in run.record.plan.cases.iter_mut().enumerate() {
            case.point.set("offloads", Value::text(if i % 2 == 0 { "on" } else { "off" }));
        }
        let case = &run.record.plan.cases[0];
        let seen = SurpriseSeen::Step { axis: MESSAGE_BYTES.id, from: 64, to: 1024, changes: Vec::new() };
        let place = case.point.without(MESSAGE_BYTES.id);
        let at = SurprisingPlace { case: case.index, probe: case.probe.to_string(), place, seen };
        let said = who(&at, &Words::of(&run));
        assert!(said.contains(" at 1 thread") && said.ends_with("(offloads on)"), "{said}");
    }
}
