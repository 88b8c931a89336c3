//! Counters of one way to send that stand under the name of another, too.

use super::{COUNTERS, Remark};
use crate::{PublishedFigure, PublishedRow, PublishedTable, RowKey, TableColumn, TableColumn::*, role};
use std::collections::BTreeMap;
use syscost_core::units::and;

/// Of a value and half a unit of its last digit: figures this exact do not meet by chance.
const EXACT: f64 = 100.0;
/// So many of them.
const FEWEST: usize = 2;
/// Sizes and thread counts at which a name's counters have to be those of another.
const FEWEST_PLACES: usize = 3;

fn is_exact(figure: &PublishedFigure) -> bool {
    figure.value > 0.0 && figure.value >= EXACT * figure.rounding
}

/// A name, and its rows by all else that tells them apart.
type NamedRows<'t> = (&'t str, BTreeMap<RowKey, &'t PublishedRow>);

/// Counters of one name that are those of another wherever both stand.
pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // What a tool wrote nobody copied.
    if table.tool {
        return Vec::new();
    }
    let mut names: BTreeMap<&str, BTreeMap<RowKey, &PublishedRow>> = BTreeMap::new();
    for row in &table.rows {
        let mut key = row.key();
        key.0.remove(&Mechanism);
        names.entry(row.text(Mechanism).unwrap_or_default()).or_default().insert(key, row);
    }
    let names: Vec<NamedRows> = names.into_iter().collect();
    let other_role = |one: &str, name: &str| role::of(one).is_none_or(|role| role::of(name) != Some(role));
    let first = |(at, name): (usize, &NamedRows)| {
        let mut known = names[..at].iter().filter(|one| other_role(one.0, name.0));
        known.find_map(|one| copied_counters(one, name))
    };
    names.iter().enumerate().filter_map(first).collect()
}

fn copied_counters((one, others): &NamedRows, (name, rows): &NamedRows) -> Option<Remark> {
    let shared: Vec<(&PublishedRow, &PublishedRow)> =
        rows.iter().filter_map(|(place, row)| Some((*others.get(place)?, *row))).collect();
    let exact = |row: &PublishedRow, column| row.figure(column).filter(is_exact).map(|figure| figure.value);
    let cases = |column: TableColumn| {
        let both = shared.iter().filter_map(|(one, row)| Some((exact(one, column)?, exact(row, column)?)));
        let same = both.clone().all(|(one, other)| one == other);
        Some((column.title(), both.count())).filter(|(_, many)| same && *many >= FEWEST_PLACES)
    };
    let (counters, cases): (Vec<String>, Vec<usize>) = COUNTERS.into_iter().filter_map(cases).unzip();
    let many = cases.iter().min().filter(|_| counters.len() >= FEWEST)?;
    let text = format!(
        "{name} has the {} of {one}, digit for digit, in {many} of {many} cases. No two runs count the same: they were copied, or \
         counted once for both.",
        and(&counters)
    );
    let lines = shared.iter().flat_map(|(one, row)| [one.line, row.line]).collect();
    Some(Remark::contradiction("same_counters", text, lines))
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn counters_of_another_name_are_told() {
        let ids = |other: u64| {
            let row = |name: &str, size: u64, more: u64| {
                let (cycles, misses) = (81_234_567 * size + more, 3_456 * size + more);
                format!("{name},{size},{}.{},{cycles},{misses}\n", size + more, name.len())
            };
            let rows = [64, 128, 256, 512].map(|size| row("A1", size, 1) + &row("A3 b", size, other));
            let text = format!("mechanism,size,throughput_gbps,cycles,cache_misses\n{}", rows.concat());
            look(&table(&text)).into_iter().map(|remark| (remark.id, remark.lines.len())).collect::<Vec<_>>()
        };
        assert_eq!(ids(1), [("same_counters", 8)]);
        assert!(ids(2).is_empty());
    }
}
