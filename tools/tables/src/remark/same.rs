//! Rows that repeat: one row twice, or the figures of one row under the key of another.

use super::{COUNTERS, Remark, RemarkKind};
use crate::{PublishedFigure, PublishedRow, PublishedTable, RowKey, TableColumn};
use std::collections::{BTreeMap, BTreeSet};

/// Of a value and half a unit of its last digit: figures this exact do not meet by chance.
const EXACT: f64 = 100.0;
/// So many of them.
const FEWEST: usize = 2;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // What a tool wrote nobody copied: a limited rate is the same both ways.
    if table.tool {
        return Vec::new();
    }
    let mut rows: BTreeMap<Vec<(TableColumn, u64)>, Vec<&PublishedRow>> = BTreeMap::new();
    let constant = constant(table);
    for row in &table.rows {
        let telling = measured(row).filter(|(column, figure)| is_exact(figure) && !constant.contains(column));
        if telling.count() >= FEWEST {
            let figures = measured(row).map(|(column, figure)| (column, figure.value.to_bits()));
            rows.entry(figures.collect()).or_default().push(row);
        }
    }
    let repeated: Vec<Vec<&PublishedRow>> = rows.into_values().filter(|rows| rows.len() > 1).collect();
    let (twice, copied): (Vec<_>, Vec<_>) =
        repeated.into_iter().partition(|rows| rows.iter().all(|row| row.key() == rows[0].key()));
    let twice = if twice.is_empty() { twice } else { in_full(table) };
    let counters = same_counters(table);
    remark("row_twice", RemarkKind::Caution, "in full: a row that was copied is no repetition", twice)
        .into_iter()
        .chain(counters)
        .chain(remark(
            "same_figures",
            RemarkKind::Contradiction,
            "in every measured figure, under different keys",
            copied,
        ))
        .collect()
}

/// What is the same in every row shows nothing, unless all of them are: a rate may have been set.
fn constant(table: &PublishedTable) -> BTreeSet<TableColumn> {
    let mut values: BTreeMap<TableColumn, BTreeSet<u64>> = BTreeMap::new();
    for (column, figure) in table.rows.iter().flat_map(measured) {
        values.entry(column).or_default().insert(figure.value.to_bits());
    }
    let once = values.iter().filter(|(_, values)| values.len() == 1).map(|(column, _)| *column);
    let once: BTreeSet<TableColumn> = once.collect();
    if once.len() == values.len() { BTreeSet::new() } else { once }
}

/// All rows that come again with each of their figures, however few digits these have.
fn in_full(table: &PublishedTable) -> Vec<Vec<&PublishedRow>> {
    let mut rows: BTreeMap<_, Vec<&PublishedRow>> = BTreeMap::new();
    for row in &table.rows {
        let figures = row.figures.iter().map(|(column, figure)| (*column, figure.value.to_bits()));
        rows.entry((row.key(), figures.collect::<Vec<_>>())).or_default().push(row);
    }
    rows.into_values().filter(|rows| rows.len() > 1).collect()
}

fn measured(row: &PublishedRow) -> impl Iterator<Item = (TableColumn, PublishedFigure)> {
    use TableColumn::{Bytes, Elapsed, Messages, Predicted, Runs};
    let kept = |column: &TableColumn| {
        !column.is_place() && ![Bytes, Elapsed, Messages, Runs, Predicted].contains(column)
    };
    row.figures.iter().map(|(c, f)| (*c, *f)).filter(move |(column, _)| kept(column))
}

fn is_exact(figure: &PublishedFigure) -> bool {
    figure.value > 0.0 && figure.value >= EXACT * figure.rounding
}

/// Sizes and thread counts at which a name's counters have to be those of another.
const FEWEST_PLACES: usize = 3;

/// The rows of a name, by all else that tells them apart.
type NamedRows<'t> = BTreeMap<RowKey, &'t PublishedRow>;

/// Counters of one name that are those of another wherever both stand, beside other figures that differ.
fn same_counters(table: &PublishedTable) -> Vec<Remark> {
    let mut names: BTreeMap<&str, NamedRows> = BTreeMap::new();
    for row in &table.rows {
        let (mut texts, places) = row.key();
        texts.remove(&TableColumn::Mechanism);
        let name = row.text(TableColumn::Mechanism).unwrap_or_default();
        names.entry(name).or_default().insert((texts, places), row);
    }
    let names: Vec<(&str, NamedRows)> = names.into_iter().collect();
    let other_role =
        |one: &str, name: &str| table.role(one).is_none_or(|role| table.role(name) != Some(role));
    let first = |(at, (name, rows)): (usize, &(&str, NamedRows))| {
        let known = names[..at].iter().filter(|(one, _)| other_role(one, name));
        known.filter_map(|(one, others)| copied_counters((one, others), (name, rows))).next()
    };
    names.iter().enumerate().filter_map(first).collect()
}

fn copied_counters((one, others): (&str, &NamedRows), (name, rows): (&str, &NamedRows)) -> Option<Remark> {
    let shared: Vec<(&PublishedRow, &PublishedRow)> =
        rows.iter().filter_map(|(place, row)| Some((*others.get(place)?, *row))).collect();
    let exact = |row: &PublishedRow, column| {
        measured(row).find(|(known, figure)| *known == column && is_exact(figure))
    };
    let cases = |column: &TableColumn| {
        let both = shared.iter().filter_map(|(one, row)| Some((exact(one, *column)?, exact(row, *column)?)));
        let both: Vec<_> = both.collect();
        let same =
            both.len() >= FEWEST_PLACES && both.iter().all(|((_, one), (_, other))| one.value == other.value);
        same.then_some(both.len())
    };
    let copied: Vec<(String, usize)> =
        COUNTERS.iter().filter_map(|column| Some((column.title(), cases(column)?))).collect();
    let whole = shared.iter().all(|(one, row)| measured(one).eq(measured(row)));
    let many = copied.iter().map(|(_, many)| *many).min().filter(|_| copied.len() >= FEWEST && !whole)?;
    let counters: Vec<String> = copied.into_iter().map(|(title, _)| title).collect();
    let text = format!(
        "{name} has the {} of {one}, digit for digit, in {many} of {many} cases. No two runs count the same: they were copied, or \
         counted once for both.",
        syscost_core::units::and(&counters)
    );
    let lines = shared.iter().flat_map(|(one, row)| [one.line, row.line]).collect();
    Some(Remark { id: "same_counters", kind: RemarkKind::Contradiction, text, lines })
}

fn remark(id: &'static str, kind: RemarkKind, how: &str, groups: Vec<Vec<&PublishedRow>>) -> Option<Remark> {
    let lines: Vec<usize> = groups.iter().flatten().map(|row| row.line).collect();
    let text = format!("{} rows are the same as another {how}.", lines.len());
    (!lines.is_empty()).then_some(Remark { id, kind, text, lines })
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
