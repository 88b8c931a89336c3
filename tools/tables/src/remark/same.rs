//! Rows that repeat: one row twice, or the figures of one row under the key of another.

use super::{COUNTERS, Remark, RemarkKind};
use crate::TableColumn::{self, *};
use crate::{PublishedFigure, PublishedRow, PublishedTable, RowKey, grouped, role};
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::and;

/// Of a value and half a unit of its last digit: figures this exact do not meet by chance.
const EXACT: f64 = 100.0;
/// So many of them.
const FEWEST: usize = 2;
/// Sizes and thread counts at which a name's counters have to be those of another.
const FEWEST_PLACES: usize = 3;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // What a tool wrote nobody copied: a limited rate is the same both ways.
    if table.tool {
        return Vec::new();
    }
    let constant = constant(table);
    let telling = |row: &&PublishedRow| {
        let exact = measured(row).filter(|(column, figure)| is_exact(figure) && !constant.contains(column));
        exact.count() >= FEWEST
    };
    let figures = |row: &'_ PublishedRow| measured(row).map(bits).collect::<Vec<_>>();
    let repeated = repeated(table.rows.iter().filter(telling).map(|row| (figures(row), row)));
    let (twice, copied): (Vec<_>, Vec<_>) =
        repeated.into_iter().partition(|rows| rows.iter().all(|row| row.key() == rows[0].key()));
    // All rows that come again with each of their figures, however few digits these have.
    let whole = |row: &'_ PublishedRow| {
        (row.key(), row.figures.iter().map(|(c, f)| bits((*c, *f))).collect::<Vec<_>>())
    };
    let all = || self::repeated(table.rows.iter().map(|row| (whole(row), row)));
    let twice = if twice.is_empty() { twice } else { all() };
    let lines = |groups: Vec<Vec<&PublishedRow>>| groups.iter().flatten().map(|row| row.line).collect();
    let (twice, copied): (Vec<usize>, Vec<usize>) = (lines(twice), lines(copied));
    let told = |lines: &[usize], how| format!("{} rows are the same as another {how}.", lines.len());
    let text = told(&twice, "in full: a row that was copied is no repetition");
    let row_twice = Remark::of(RemarkKind::Caution, "row_twice", text, twice);
    let text = told(&copied, "in every measured figure, under different keys");
    let same_figures = Remark::of(RemarkKind::Contradiction, "same_figures", text, copied);
    row_twice.into_iter().chain(same_counters(table)).chain(same_figures).collect()
}

/// Rows of one key, where there are several.
fn repeated<'t, K: Ord>(rows: impl Iterator<Item = (K, &'t PublishedRow)>) -> Vec<Vec<&'t PublishedRow>> {
    grouped(rows).into_values().filter(|rows| rows.len() > 1).collect()
}

fn bits((column, figure): (TableColumn, PublishedFigure)) -> (TableColumn, u64) {
    (column, figure.value.to_bits())
}

/// What is the same in every row shows nothing, unless all of them are: a rate may have been set.
fn constant(table: &PublishedTable) -> BTreeSet<TableColumn> {
    let mut values = grouped(table.rows.iter().flat_map(measured).map(bits));
    let all = values.len();
    values.retain(|_, values| values.iter().all(|value| *value == values[0]));
    if values.len() == all { BTreeSet::new() } else { values.into_keys().collect() }
}

fn measured(row: &PublishedRow) -> impl Iterator<Item = (TableColumn, PublishedFigure)> {
    let kept = |column: TableColumn| {
        !column.is_place() && ![Bytes, Elapsed, Messages, Runs, Predicted].contains(&column)
    };
    row.figures.iter().map(|(c, f)| (*c, *f)).filter(move |(column, _)| kept(*column))
}

fn is_exact(figure: &PublishedFigure) -> bool {
    figure.value > 0.0 && figure.value >= EXACT * figure.rounding
}

/// A name, and its rows by all else that tells them apart.
type NamedRows<'t> = (String, BTreeMap<RowKey, &'t PublishedRow>);

/// Counters of one name that are those of another wherever both stand, beside other figures that differ.
fn same_counters(table: &PublishedTable) -> Vec<Remark> {
    let names = grouped(table.rows.iter().map(|row| {
        let mut key = row.key();
        (key.0.remove(&Mechanism).unwrap_or_default(), (key, row))
    }));
    let names = names.into_iter();
    let names: Vec<NamedRows> = names.map(|(name, rows)| (name, rows.into_iter().collect())).collect();
    let other_role = |one: &str, name: &str| role::of(one).is_none_or(|role| role::of(name) != Some(role));
    let first = |(at, name): (usize, &NamedRows)| {
        let mut known = names[..at].iter().filter(|one| other_role(&one.0, &name.0));
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
    let whole = shared.iter().all(|(one, row)| measured(one).eq(measured(row)));
    let many = cases.iter().min().filter(|_| counters.len() >= FEWEST && !whole)?;
    let text = format!(
        "{name} has the {} of {one}, digit for digit, in {many} of {many} cases. No two runs count the same: they were copied, or \
         counted once for both.",
        and(&counters)
    );
    let lines = shared.iter().flat_map(|(one, row)| [one.line, row.line]).collect();
    Remark::of(RemarkKind::Contradiction, "same_counters", text, lines)
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn copied_rows_are_told_and_close_ones_are_not() {
        let ids = |rows: &str| {
            let told = look(&table(&format!("mechanism,size,threads,throughput_gbps,cycles\n{rows}")));
            told.into_iter().map(|remark| (remark.id, remark.lines)).collect::<Vec<_>>()
        };
        assert_eq!(ids("A1,64,1,2.512,81234567\nA2,64,1,2.512,81234567\n"), [("same_figures", vec![2, 3])]);
        assert_eq!(ids("A1,64,1,2.512,81234567\nA1,64,1,2.512,81234567\n"), [("row_twice", vec![2, 3])]);
        assert!(ids("A1,64,1,2.512,81234567\nA2,64,1,2.512,81234568\n").is_empty());
        assert!(ids("A1,64,1,2.5,12\nA2,64,1,2.5,12\n").is_empty(), "few digits meet by chance");
    }

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
