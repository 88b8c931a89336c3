//! What became of what a receiver asked for: whether it was spared its copies, whether busy polling had
//! anything to poll; and which receivers deliver nothing.
//!
//! The share of bytes that were received without a copy is a cell of every case; a sentence is made where a
//! receiver asked for it and was refused some. Nothing is guessed: why is what the receiver itself says.

use crate::cells::Cells;
use crate::compare::study::HEADLINES;
use crate::words::{self, and, capital, count};
use crate::{CellRef, Statement};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::Name;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::{MECHANISM, PATH, RECEIVER};
use syscost_measure::receiver::{self, options};

/// The figure that stands for a case as a whole.
const HEADLINE: &str = HEADLINES[0];
const METRIC: &str = "uncopied_fraction";
/// Below it something was copied that need not have been: a few bytes at the ends of a stream are no finding.
const ALL: f64 = 0.99;
/// Up to it nothing worth a word was spared.
const NONE: f64 = 0.01;

/// The shares of bytes that were received without a copy, with their cases.
type ByMechanism = BTreeMap<String, Vec<(usize, f64)>>;

pub fn findings(run: &Run, cells: &Cells) -> Vec<Statement> {
    undelivered(run, cells).into_iter().chain(spared(run, cells)).chain(polled(run)).collect()
}

/// Receivers whose figures are bounds.
fn undelivered(run: &Run, cells: &Cells) -> Option<Statement> {
    let dropped = |case: &&Case| {
        let receive = case.point.text(RECEIVER).and_then(receiver::find);
        receive.is_some_and(|r| !r.delivers()) && cells.cell(case.index, HEADLINE).is_some()
    };
    let cases: Vec<&Case> = cases(run).filter(dropped).collect();
    let names: BTreeSet<&str> = cases.iter().filter_map(|case| case.point.text(RECEIVER)).collect();
    if names.is_empty() {
        return None;
    }
    let (one, names) = (names.len() == 1, names.into_iter().map(str::to_string).collect::<Vec<_>>());
    let text = format!(
        "{} {} not deliver what {} received: {} an upper bound for receivers that do, and no way to get data.",
        and(&names),
        if one { "does" } else { "do" },
        if one { "it" } else { "they" },
        if one { "it is" } else { "they are" },
    );
    Some(Statement { text, cells: refs(cases.into_iter()) })
}

fn refs<'r>(cases: impl Iterator<Item = &'r Case>) -> Vec<CellRef> {
    cases.map(|case| CellRef { case: case.index, metric: HEADLINE }).collect()
}

/// One sentence for each receiver and path: from which mechanisms it took how much without a copy.
fn spared(run: &Run, cells: &Cells) -> Vec<Statement> {
    let mut groups: BTreeMap<(String, String), ByMechanism> = BTreeMap::new();
    for case in cases(run) {
        let Some(cell) = cells.cell(case.index, METRIC) else { continue };
        let text = |axis| case.point.text(axis).unwrap_or_default().to_string();
        let group = groups.entry((text(RECEIVER), text(PATH))).or_default();
        group.entry(text(MECHANISM)).or_default().push((case.index, cell.estimate.value));
    }
    groups.iter().filter_map(|((receiver, path), found)| told(receiver, path, found)).collect()
}

fn told(receiver: &str, path: &str, by_mechanism: &ByMechanism) -> Option<Statement> {
    let why = receiver::find(receiver)?.copies_because()?;
    // Mechanisms with the same share are named together, the largest share first.
    let mut shares: BTreeMap<String, (f64, Vec<String>)> = BTreeMap::new();
    for (mechanism, found) in by_mechanism {
        let (low, high) = found
            .iter()
            .fold((f64::INFINITY, 0.0_f64), |(low, high), (_, share)| (low.min(*share), high.max(*share)));
        let share = if high <= NONE {
            "nothing".to_string()
        } else if low >= ALL {
            "all".to_string()
        } else if words::percent(low) == words::percent(high) {
            words::percent(low)
        } else {
            format!("{} to {}", words::percent(low), words::percent(high))
        };
        let (top, names) = shares.entry(share).or_insert((0.0, Vec::new()));
        *top = top.max(high);
        names.push(mechanism.clone());
    }
    let mut shares: Vec<(String, (f64, Vec<String>))> = shares.into_iter().collect();
    shares.sort_by(|a, b| b.1.0.total_cmp(&a.1.0));
    let parts: Vec<String> =
        shares.iter().map(|(share, (_, names))| format!("{share} from {}", and(names))).collect();
    let found = by_mechanism.values().flatten();
    let copied = found.clone().any(|(_, share)| *share < ALL);
    let why = if copied {
        format!(" {}; what helps: {}.", capital(&why.reason), why.remedy)
    } else {
        String::new()
    };
    let over = if path.is_empty() { String::new() } else { format!(" over {path}") };
    Some(Statement {
        text: format!(
            "Of the bytes that it received{over}, {receiver} took without a copy: {}.{why}",
            parts.join("; ")
        ),
        cells: found.map(|(case, _)| CellRef { case: *case, metric: METRIC }).collect(),
    })
}

/// Cases whose busy polling had nothing to poll.
fn polled(run: &Run) -> Option<Statement> {
    let queue = |case: &&Case| {
        run.record.settings.get(&case.index)?.get(&format!("receiver.{}", options::NAPI_ID)).cloned()
    };
    let asked: Vec<(&Case, Name)> = cases(run).filter_map(|case| Some((case, queue(&case)?))).collect();
    let idle: Vec<&Case> = asked.iter().filter(|(_, id)| id == "0").map(|(case, _)| *case).collect();
    if idle.is_empty() {
        return None;
    }
    let mut paths: Vec<String> =
        idle.iter().filter_map(|case| case.point.text(PATH)).map(str::to_string).collect();
    paths.sort_unstable();
    paths.dedup();
    let text = format!(
        "Busy polling had no effect at {} of {} that asked for it (over {}): no receive queue that can be polled (NAPI) is behind those \
         sockets.",
        idle.len(),
        count(asked.len(), "point"),
        and(&paths)
    );
    Some(Statement { text, cells: refs(idle.into_iter()) })
}

/// Cases that are not there to be compared with themselves.
fn cases(run: &Run) -> impl Iterator<Item = &Case> {
    run.record.plan.cases.iter().filter(|case| case.twin_of.is_none())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use syscost_core::axis::Value;

    /// The synthetic run, received by the receiver that asks for no copies, if there is one.
    fn run() -> (Run, &'static str) {
        let asks = receiver::ALL.iter().find(|r| r.copies_because().is_some()).expect("one asks");
        let mut run = Synthetic { rounds: 3, ..Default::default() }.run();
        for case in &mut run.record.plan.cases {
            case.point.set("receiver", Value::text(asks.about().id));
        }
        (run, asks.about().id)
    }

    fn spare(run: &mut Run, share: fn(&Case) -> f64) {
        let cases = run.record.plan.cases.clone();
        for sample in &mut run.samples {
            let uncopied = sample.bytes * share(&cases[sample.case]);
            sample.quantities.insert("receiver_uncopied_bytes".into(), Some(uncopied));
        }
    }

    fn found(run: &Run) -> Vec<Statement> {
        findings(run, &Cells::of(run))
    }

    #[test]
    fn what_was_spared_is_told_by_mechanism_and_why_not_more() {
        let (mut run, id) = run();
        assert_eq!(found(&run), [], "nothing was recorded");
        spare(&mut run, |case| match (case.point.text_at("mechanism"), case.point.int_at("message_bytes")) {
            (Some("send"), Some(64)) => 0.5,
            (Some("send"), _) => 0.75,
            (Some("sendmsg"), _) => 1.0,
            _ => 0.0,
        });
        let told = found(&run);
        let start = format!(
            "Of the bytes that it received over veth, {id} took without a copy: all from sendmsg; 50 % to 75 % from \
             send; nothing from pack_send. Only whole pages"
        );
        assert!(told.len() == 1 && told[0].text.starts_with(&start), "{told:?}");
        assert!(told[0].text.contains("high_order_alloc_disable"), "{told:?}");
        assert_eq!(told[0].cells.len(), 30);
        spare(&mut run, |_| 1.0);
        let told = found(&run);
        assert!(told[0].text.ends_with("all from pack_send, send and sendmsg."), "{told:?}");
    }

    #[test]
    fn a_receiver_that_asked_for_nothing_is_not_told_of() {
        let mut run = Synthetic { rounds: 3, ..Default::default() }.run();
        spare(&mut run, |_| 0.0);
        assert_eq!(found(&run), []);
    }

    #[test]
    fn a_receiver_that_delivers_nothing_is_a_bound() {
        let bound = receiver::ALL.iter().find(|r| !r.delivers()).expect("there is one").about().id;
        let mut run = Synthetic { rounds: 3, ..Default::default() }.run();
        assert_eq!(found(&run), [], "the others deliver");
        run.record.plan.cases[2].point.set("receiver", Value::text(bound));
        let told = found(&run);
        assert_eq!(
            told[0].text,
            format!(
                "{bound} does not deliver what it received: it is an upper bound for receivers that do, and no way to \
                 get data."
            )
        );
        assert_eq!(told[0].cells, [CellRef { case: 2, metric: HEADLINE }]);
    }

    #[test]
    fn polling_nothing_is_said() {
        let mut run = Synthetic { rounds: 3, ..Default::default() }.run();
        assert_eq!(polled(&run), None, "nobody asked");
        let key = format!("receiver.{}", options::NAPI_ID);
        run.record.settings.entry(0).or_default().set(&key, "8193".into());
        assert_eq!(polled(&run), None, "there was something");
        run.record.settings.entry(1).or_default().set(&key, "0".into());
        let told = polled(&run).expect("a finding");
        assert!(
            told.text.starts_with(
                "Busy polling had no effect at 1 of 2 points that asked for it (over veth): no "
            ),
            "{}",
            told.text
        );
        assert_eq!(told.cells, [CellRef { case: 1, metric: HEADLINE }]);
    }
}
