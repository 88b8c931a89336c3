//! What does each layer and setting between the two ends cost?

use super::figures::rounded;
use crate::text::words::{Words, capital};
use syscost_analyze::finding::layers::{LayerCost, LayerPlace};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::axis::{Point, Value};
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_measure::mechanism;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH};

/// Places that are told one by one; of more those of the control.
const LISTED: usize = 8;

/// `A 64 B message by send takes 8.7 us of CPU over veth: bridge adds 0.41 us, vxlan adds 1.9 us, macvlan is undecided.`
pub fn headline(answer: &Answer, words: &Words) -> String {
    let known = answer.shown.iter().filter_map(|shown| match &shown.says {
        Says::Layers(cost) => Some(cost),
        _ => None,
    });
    let all: Vec<&LayerCost> = known.collect();
    let axes = all.chunk_by(|a, b| a.axis == b.axis).filter_map(|of_axis| headline_of_axis(of_axis, words));
    axes.collect::<Vec<String>>().join(" ")
}

fn headline_of_axis(all: &[&LayerCost], words: &Words) -> Option<String> {
    let last = all.last()?;
    let beside: Vec<&LayerCost> = all.iter().copied().filter(|cost| cost.beside == last.beside).collect();
    let of_controls = || beside.iter().flat_map(|cost| of_control(cost));
    let all = || beside.iter().flat_map(|cost| &cost.places);
    let is_decided = |place: &&LayerPlace| place.verdict != Verdict::Undecided;
    // Where something is decided, if that is anywhere.
    let first = of_controls().find(is_decided).or(all().find(is_decided)).or(of_controls().next())?;
    let there = |cost: &&LayerCost| {
        let place = cost.places.iter().find(|place| place.place == first.place)?;
        Some(format!("{} {}", words.value(&cost.axis, &cost.layer), change(&place.added, place.verdict)))
    };
    let parts: Vec<String> = beside.iter().filter_map(there).collect();
    let way = words.way(&Transfer, &first.place, MECHANISM.id);
    Some(format!(
        "A {} message by {way} takes {} of CPU {}: {}.",
        size(&first.place),
        time(first.without),
        with(last, &last.beside, words),
        parts.join(", ")
    ))
}

/// `over veth`, `with CPU placement same`
fn with(cost: &LayerCost, value: &Value, words: &Words) -> String {
    let value_of = words.value(&cost.axis, value);
    if cost.axis == PATH.id {
        format!("over {value_of}")
    } else {
        format!("with {} {value_of}", words.title(&cost.axis))
    }
}

/// Places of the control, where it was measured.
pub fn of_control(cost: &LayerCost) -> impl Iterator<Item = &LayerPlace> {
    let control = mechanism::control().about().id;
    let has = cost.places.iter().any(|place| place.place.text(MECHANISM) == Some(control));
    cost.places.iter().filter(move |place| !has || place.place.text(MECHANISM) == Some(control))
}

/// ``vxlan` beside veth, CPU time a message. `send` at 64 B: +1.9 us (95 % CI 1.5 to 2.3). At 4 KiB: ..``
pub fn sentence(cost: &LayerCost, words: &Words) -> String {
    let [layer, beside] = [&cost.layer, &cost.beside].map(|value| words.value(&cost.axis, value));
    let title =
        if cost.axis == PATH.id { String::new() } else { format!("{} ", capital(words.title(&cost.axis))) };
    let mut told = format!("{title}`{layer}` beside {beside}, CPU time a message.");
    let is_decided = |place: &&LayerPlace| place.verdict != Verdict::Undecided;
    let mut places: Vec<&LayerPlace> = cost.places.iter().collect();
    if places.len() > LISTED {
        let of_control: Vec<&LayerPlace> = of_control(cost).filter(is_decided).collect();
        let of_all = cost.places.iter().filter(is_decided);
        places = if of_control.is_empty() { of_all.collect() } else { of_control };
        places.truncate(LISTED);
    }
    let mut before = String::new();
    for place in &places {
        let name = words.way(&Transfer, &place.place, MECHANISM.id);
        let at = size(&place.place);
        let at = if name == before { format!("At {at}") } else { format!("`{name}` at {at}") };
        before = name;
        told += &format!(" {at}: {}.", with_interval(place));
    }
    if places.len() < cost.places.len() {
        let decided = cost.places.iter().filter(is_decided).count();
        told += &format!(" Decided at {decided} of {} places.", cost.places.len());
    }
    told
}

/// `adds 1.8 us`
pub fn change(added: &Estimate, verdict: Verdict) -> String {
    match verdict {
        Verdict::More => format!("adds {}", time(added.value)),
        Verdict::Less => format!("saves {}", time(-added.value)),
        Verdict::Same => "costs the same".into(),
        Verdict::Undecided => "is undecided".into(),
    }
}

/// `+1.9 us (95 % CI 1.5 to 2.3 us)`
fn with_interval(place: &LayerPlace) -> String {
    let level = (place.added.level * 100.0 + 1e-9).floor();
    let (low, high) = (signed(place.added.low), signed(place.added.high));
    match place.verdict {
        Verdict::Undecided => format!("undecided ({level} % CI {low} to {high})"),
        Verdict::Same => "the same".into(),
        _ => format!("{} ({level} % CI {low} to {high})", signed(place.added.value)),
    }
}

fn signed(ns: f64) -> String {
    let sign = if ns < 0.0 { "-" } else { "+" };
    format!("{sign}{}", time(ns.abs()))
}

fn time(ns: f64) -> String {
    Unit::Nanoseconds.format(rounded(ns))
}

fn size(place: &Point) -> String {
    place.int(MESSAGE_BYTES).map(|bytes| Unit::Bytes.format(bytes as f64)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::{LAYERS, answer};
    use syscost_analyze::synthetic::Synthetic;
    use syscost_analyze::whole::Analysis;

    /// Beside it msg_zerocopy may cost ten times as much.
    #[test]
    fn the_headline_names_the_mechanism_that_it_is_of() {
        let synthetic = Synthetic { twin_every: 0, threads: vec![1], ..Default::default() };
        let mut cases = synthetic.cases();
        for mut case in cases.clone() {
            case.point.set(PATH.id, Value::text("bridge"));
            case.index = cases.len();
            cases.push(case);
        }
        let run = synthetic.run_of(cases);
        let answers = Analysis::of(&run).answers;
        let layers = answers.iter().find(|answer| answer.question == LAYERS).unwrap();
        let said = answer(layers, &Words::of(&run)).headline;
        assert!(said.starts_with("A 64 B message by send takes "), "{said}");
        assert!(said.contains(" of CPU over veth: bridge "), "{said}");
    }
}
