//! What an engineer wants to know of a system first: a few figures, each with the cell it is from.
//!
//! The probes say which rows those are ([`syscost_measure::probe::row::Row::told_as`]); of a probe that names none the
//! first measured row is taken. Figures are told in groups of one magnitude, in plan order.

use crate::text::figures::{interval, rounded, times_within};
use crate::text::words::{count, figure};
use crate::{CardFigure, Statement};
use std::collections::BTreeSet;
use syscost_analyze::operations::Operation;
use syscost_analyze::operations::accuracy::{FACTOR, Fits};
use syscost_core::decide::Verdict;
use syscost_core::sample::{Better, Metric};
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;

/// Names of the groups: times by magnitude, then what is no time.
const GROUPS: &[(&str, f64)] =
    &[("Below a microsecond", 1e3), ("Microseconds", 1e6), ("Milliseconds and more", f64::INFINITY)];

/// The operations that a report opens with, in plan order.
fn told(operations: &[Operation]) -> Vec<(&Operation, String)> {
    let named: BTreeSet<&str> =
        operations.iter().filter(|o| o.row.told_as.is_some()).map(|o| o.probe).collect();
    let mut first = BTreeSet::new();
    let mut told = Vec::new();
    for operation in operations.iter().filter(|o| o.measured.is_some()) {
        match operation.row.told_as {
            Some(words) => told.push((operation, words.to_string())),
            None if named.contains(operation.probe) => {}
            None if operation.row.listed && first.insert(operation.probe) => {
                told.push((operation, operation.name()));
            }
            None => {}
        }
    }
    told
}

/// Items that belong to operations, by magnitude: the title of each group that has one, in the order of groups.
fn by_magnitude<T>(items: Vec<T>, operation: impl Fn(&T) -> &Operation) -> Vec<(&'static str, Vec<T>)> {
    let mut groups: Vec<(&str, Vec<T>)> = GROUPS.iter().map(|(title, _)| (*title, Vec::new())).collect();
    groups.push(("Rates and sizes", Vec::new()));
    for item in items {
        let time = operation(&item).measured.filter(|e| e.unit == Unit::Nanoseconds).map(|e| e.value);
        let within = |ns: f64| GROUPS.iter().position(|(_, below)| ns < *below);
        groups[time.and_then(within).unwrap_or(GROUPS.len())].1.push(item);
    }
    groups.retain(|(_, items)| !items.is_empty());
    groups
}

/// `< 0.0025 ns`: of a cost that the loop around it hides.
pub fn hidden(operation: &Operation) -> Option<String> {
    operation.unresolved.map(|least| format!("< {}", operation.metric.unit.format(rounded(least))))
}

/// One statement for each group that has a figure, and how many predictions held.
pub fn statements(operations: &[Operation], confidence: f64) -> Vec<Statement> {
    let said = groups(operations).into_iter().map(|group| group.said);
    said.chain(predictions(&Fits::of(operations, confidence))).collect()
}

/// Figures of one magnitude, and the sentence that has them all.
pub struct CostGroup {
    pub title: &'static str,
    pub figures: Vec<CardFigure>,
    pub said: Statement,
}

/// Each group that has a figure.
pub fn groups(operations: &[Operation]) -> Vec<CostGroup> {
    let groups = by_magnitude(told(operations), |(operation, _)| operation);
    groups.into_iter().filter_map(|(title, group)| cost_group(title, &group)).collect()
}

/// `send costs 1.6x less CPU time a message than msg_zerocopy at 64 KiB (95 % CI 1.5 to 1.7).`: the second over the first,
/// where that is the better one.
pub fn compared(
    metric: &Metric,
    (name, other): (&str, &str),
    ratio: &Estimate,
    verdict: Verdict,
    at: &str,
) -> String {
    let is_cost = metric.better == Better::Lower;
    let first_is_better = (ratio.value < 1.0) == is_cost;
    let (best, worst) = if first_is_better { (name, other) } else { (other, name) };
    let (factor, sure) = (times_within(ratio), interval(ratio));
    let (cost, more) = if is_cost { ("cost", "costs less") } else { ("move", "moves more") };
    match (verdict, is_cost) {
        (Verdict::Same, _) => {
            format!("{best} and {worst} {cost} the same {at} within 3 %: {factor} ({sure}).")
        }
        (Verdict::Undecided, _) => {
            format!("Undecided whether {best} {more} than {worst} {at}: {factor} ({sure}).")
        }
        (_, true) => format!("{best} costs {factor} less CPU a message than {worst} {at} ({sure})."),
        (_, false) => format!("{best} moves {factor} as much as {worst} {at} ({sure})."),
    }
}

/// `31 of 43 predictions were within 2x, 6 were not, 3 undecided, 3 unknown because an input is missing.` All count, so
/// that what is not known is no success.
pub fn predictions(fits: &Fits) -> Option<Statement> {
    let Fits { held, outside, undecided, unknown } = fits;
    let all = held.len() + outside.len() + undecided.len() + unknown;
    let mut parts = Vec::new();
    if !outside.is_empty() {
        parts.push(format!("{} were not", outside.len()));
    }
    if !undecided.is_empty() {
        parts.push(format!("{} undecided", undecided.len()));
    }
    if *unknown > 0 {
        parts.push(format!("{unknown} unknown because an input is missing"));
    }
    // A 0 before what nothing decides would read as failures.
    let text = if held.is_empty() && outside.is_empty() {
        format!("No prediction is decided: {}.", parts.join(", "))
    } else {
        parts.insert(0, format!("{} of {} were within {FACTOR}x", held.len(), count(all, "prediction")));
        parts.join(", ") + "."
    };
    // Those that miss, and where none does those that hold.
    let shown = [outside, held, undecided].into_iter().find(|cells| !cells.is_empty())?;
    Some(Statement { text, cells: shown.clone() })
}

fn cost_group(title: &'static str, group: &[(&Operation, String)]) -> Option<CostGroup> {
    let of = |(operation, name): &(&Operation, String)| {
        let measured = operation.measured?;
        let figure = hidden(operation).unwrap_or_else(|| figure(measured.value, measured.unit));
        Some(CardFigure { what: name.clone(), figure, cell: operation.cell() })
    };
    let figures = group.iter().map(of).collect::<Option<Vec<_>>>()?;
    let parts: Vec<String> = figures.iter().map(|of| format!("{} {}", of.what, of.figure)).collect();
    let cells = figures.iter().map(|of| of.cell.clone()).collect();
    let said = Statement { text: format!("{title}: {}.", parts.join("; ")), cells };
    (!figures.is_empty()).then_some(CostGroup { title, figures, said })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::CellRef;

    /// It was said that 0 of 52 were within 2x, of rows with one round.
    #[test]
    fn predictions_that_nothing_decides_are_no_failures() {
        let cells = |n: usize| vec![CellRef { case: 0, metric: "ns" }; n];
        let told = |[held, outside, undecided]: [usize; 3], unknown| {
            let (held, outside, undecided) = (cells(held), cells(outside), cells(undecided));
            predictions(&Fits { held, outside, undecided, unknown }).map(|statement| statement.text)
        };
        let open = "No prediction is decided: 22 undecided, 30 unknown because an input is missing.";
        assert_eq!(told([0, 0, 22], 30).as_deref(), Some(open));
        assert_eq!(
            told([0, 2, 1], 0).as_deref(),
            Some("0 of 3 predictions were within 2x, 2 were not, 1 undecided.")
        );
        assert_eq!(told([3, 0, 0], 0).as_deref(), Some("3 of 3 predictions were within 2x."));
    }
}
