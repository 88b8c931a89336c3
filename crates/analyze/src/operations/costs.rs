//! What an engineer wants to know of a system first: a few figures, each with the cell it is from.
//!
//! The probes say which rows those are ([`syscost_measure::probe::row::Row::told_as`]); of a probe that names none the
//! first measured row is taken. Figures are told in groups of one magnitude, in plan order.

use crate::Statement;
use crate::operations::Operation;
use crate::words;
use std::collections::BTreeSet;
use syscost_core::units::Unit;

/// Names of the groups: times by magnitude, then what is no time.
const GROUPS: &[(&str, f64)] =
    &[("Below a microsecond", 1e3), ("Microseconds", 1e6), ("Milliseconds and more", f64::INFINITY)];

/// The operations that a report opens with, in plan order.
pub fn told(operations: &[Operation]) -> Vec<(&Operation, String)> {
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
pub fn by_magnitude<T>(items: Vec<T>, operation: impl Fn(&T) -> &Operation) -> Vec<(&'static str, Vec<T>)> {
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

/// One statement for each group that has a figure.
pub fn verdict(operations: &[Operation]) -> Vec<Statement> {
    let groups = by_magnitude(told(operations), |(operation, _)| operation);
    groups.iter().filter_map(|(title, group)| statement(title, group.iter())).collect()
}

fn statement<'a>(title: &str, group: impl Iterator<Item = &'a (&'a Operation, String)>) -> Option<Statement> {
    let mut parts = Vec::new();
    let mut cells = Vec::new();
    for (operation, name) in group {
        let measured = operation.measured?;
        parts.push(format!("{name} {}", words::figure(measured.value, measured.unit)));
        cells.push(operation.cell());
    }
    let text = format!("{title}: {}.", parts.join("; "));
    (!cells.is_empty()).then_some(Statement { text, cells })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::operations::operations;
    use crate::synthetic::clocks;

    #[test]
    fn each_sentence_names_its_cells() {
        let run = clocks(6, None, 30.0);
        let mut all = operations(&run, &Cells::of(&run));
        for operation in &mut all {
            operation.row.told_as = None;
        }
        let said = verdict(&all);
        assert_eq!(said.len(), 1);
        assert!(said[0].text.starts_with("Below a microsecond: reading the time ("), "{said:?}");
        assert_eq!(said[0].cells, [all[0].cell()], "the first row, where a probe names none");
        all[2].row.told_as = Some("a look at the clock");
        all[2].measured.as_mut().unwrap().value = 5e4;
        let said = verdict(&all);
        assert_eq!(said.len(), 1, "only what is named, where a probe names some");
        assert_eq!(said[0].text, "Microseconds: a look at the clock 50 us.");
        assert_eq!(said[0].cells, [all[2].cell()]);
        assert!(verdict(&[]).is_empty());
    }
}
