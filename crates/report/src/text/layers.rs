//! What does each layer between two network namespaces cost?

use super::figures::rounded;
use super::{QuestionText, each};
use crate::text::words::Words;
use syscost_analyze::finding::layers::{LayerCost, LayerPlace};
use syscost_analyze::finding::{Answer, Says};
use syscost_core::axis::Point;
use syscost_core::decide::Verdict;
use syscost_core::units::Unit;
use syscost_measure::mechanism;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES};

pub const TEXT: QuestionText = QuestionText {
    id: "layers",
    question: "What does each layer of a network between two namespaces cost?",
    headline,
    told: |answer, words| each(answer, words, |says, _| known(says).map(sentence)),
};

fn known(says: &Says) -> Option<&LayerCost> {
    if let Says::Layers(cost) = says { Some(cost) } else { None }
}

/// `A 64 B message by send takes 8.7 us of CPU over veth: bridge adds 0.41 us, vxlan adds 1.9 us, macvlan is undecided.`
fn headline(answer: &Answer, _: &Words) -> String {
    let all: Vec<&LayerCost> = answer.shown.iter().filter_map(|shown| known(&shown.says)).collect();
    let Some(last) = all.last() else { return String::new() };
    let firsts: Vec<(&str, &LayerPlace)> = all
        .iter()
        .filter(|cost| cost.beside == last.beside)
        .filter_map(|cost| Some((cost.layer.as_str(), of_control(cost).next()?)))
        .collect();
    let Some((_, first)) = firsts.first() else { return String::new() };
    let parts: Vec<String> =
        firsts.iter().map(|(layer, place)| format!("{layer} {}", change(place))).collect();
    let by = first.place.text(MECHANISM).map(|name| format!(" by {name}")).unwrap_or_default();
    format!(
        "A {} message{by} takes {} of CPU over {}: {}.",
        size(&first.place),
        time(first.without),
        last.beside,
        parts.join(", ")
    )
}

/// Places of the control, where it was measured.
fn of_control(cost: &LayerCost) -> impl Iterator<Item = &LayerPlace> {
    let control = mechanism::control().about().id;
    let has = cost.places.iter().any(|place| place.place.text(MECHANISM) == Some(control));
    cost.places.iter().filter(move |place| !has || place.place.text(MECHANISM) == Some(control))
}

/// ``vxlan` beside veth, CPU a message: `send` +1.9 us (95 % CI 1.5 to 2.3) at 64 B, ..``
fn sentence(cost: &LayerCost) -> String {
    let mut told = format!("`{}` beside {}, CPU time a message:", cost.layer, cost.beside);
    let mut before: Option<&str> = None;
    for place in &cost.places {
        let name = place.place.text(MECHANISM);
        let named = name.filter(|name| before != Some(name));
        let comma = if before.is_none() {
            ""
        } else if named.is_some() {
            ";"
        } else {
            ","
        };
        let named = named.map(|name| format!(" `{name}`")).unwrap_or_default();
        before = name;
        told += &format!("{comma}{named} {} at {}", with_interval(place), size(&place.place));
    }
    told + "."
}

fn change(place: &LayerPlace) -> String {
    match place.verdict {
        Verdict::More => format!("adds {}", time(place.added.value)),
        Verdict::Less => format!("saves {}", time(-place.added.value)),
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
    use crate::text::answer;
    use syscost_analyze::synthetic::Synthetic;
    use syscost_analyze::whole::Analysis;
    use syscost_core::axis::Value;
    use syscost_measure::probe::transfer::axes::PATH;

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
        let layers = answers.iter().find(|answer| answer.question == TEXT.id).unwrap();
        let said = answer(layers, &Words::of(&run)).headline;
        assert!(said.starts_with("A 64 B message by send takes "), "{said}");
        assert!(said.contains(" of CPU over veth: bridge "), "{said}");
    }
}
