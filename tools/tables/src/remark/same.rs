//! Rows that repeat: one row twice, or the figures of one row under the key of another.

use super::{Remark, RemarkKind};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use std::collections::BTreeMap;

/// Of a value and half a unit of its last digit: figures this exact do not meet by chance.
const EXACT: f64 = 100.0;
/// So many of them.
const FEWEST: usize = 2;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // What a tool wrote nobody copied: a limited rate is the same both ways.
    if table.single {
        return Vec::new();
    }
    let mut rows: BTreeMap<Vec<(TableColumn, u64)>, Vec<&PublishedRow>> = BTreeMap::new();
    for row in &table.rows {
        let figures: Vec<(TableColumn, u64)> =
            measured(row).map(|(column, figure)| (column, figure.value.to_bits())).collect();
        if figures.len() >= FEWEST {
            rows.entry(figures).or_default().push(row);
        }
    }
    let repeated: Vec<Vec<&PublishedRow>> = rows.into_values().filter(|rows| rows.len() > 1).collect();
    let (twice, copied): (Vec<_>, Vec<_>) =
        repeated.into_iter().partition(|rows| rows.iter().all(|row| row.key() == rows[0].key()));
    remark("row_twice", RemarkKind::Caution, "in full: a row that was copied is no repetition", twice)
        .into_iter()
        .chain(remark(
            "same_figures",
            RemarkKind::Contradiction,
            "in every measured figure, under different keys",
            copied,
        ))
        .collect()
}

fn measured(row: &PublishedRow) -> impl Iterator<Item = (TableColumn, PublishedFigure)> {
    use TableColumn::{Bytes, Elapsed, Messages, Predicted, Runs};
    let kept = |column: &TableColumn| {
        !column.is_place() && ![Bytes, Elapsed, Messages, Runs, Predicted].contains(column)
    };
    let exact = |figure: &PublishedFigure| figure.value > 0.0 && figure.value >= EXACT * figure.rounding;
    row.figures.iter().map(|(c, f)| (*c, *f)).filter(move |(column, figure)| kept(column) && exact(figure))
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
}
