//! The cells of a table: what its rows say of one name, variant, size and number of threads.

use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn, TableColumn::*, grouped};
use std::collections::BTreeMap;

/// Rows of one place that lie further apart are no repetitions of one measurement.
const APART: f64 = 3.0;

/// Name and variant, empty where a table says none; message size and threads.
pub type CellPlace<'t> = (&'t str, &'t str, Option<u64>, Option<u64>);

/// The figure of a place, which is the median of its rows.
#[derive(Clone, Copy)]
pub struct RowsCell<'t> {
    pub figure: PublishedFigure,
    /// How far it scatters, where the table says it or its rows show it.
    pub scatter: Option<f64>,
    /// The table says it.
    pub told: bool,
    /// Its row in the middle, of an even number the lower one.
    pub row: &'t PublishedRow,
    pub rows: usize,
}

/// The cells of a figure.
pub type RowCells<'t> = BTreeMap<CellPlace<'t>, RowsCell<'t>>;

/// The cells with a figure above zero: nothing was measured where there is none.
pub fn cells(table: &PublishedTable, column: TableColumn) -> RowCells<'_> {
    let place = |row| {
        let [name, variant] =
            [Mechanism, Variant].map(|column| PublishedRow::text(row, column).unwrap_or_default());
        let figure = row.figure(column).filter(|figure| figure.value > 0.0)?;
        Some(((name, variant, row.count(MessageBytes), row.count(Threads)), (figure, row)))
    };
    let rows = grouped(table.rows.iter().filter_map(place));
    let cell = |(place, rows): (_, Vec<_>)| Some((place, RowsCell::of(rows, column)?));
    rows.into_iter().filter_map(cell).collect()
}

impl<'t> RowsCell<'t> {
    fn of(mut rows: Vec<(PublishedFigure, &'t PublishedRow)>, column: TableColumn) -> Option<RowsCell<'t>> {
        rows.sort_by(|a, b| a.0.value.total_cmp(&b.0.value));
        let (lower, upper) = (rows[(rows.len() - 1) / 2], rows[rows.len() / 2].0);
        let (least, most) = (rows[0].0.value, rows[rows.len() - 1].0.value);
        let said = rows.iter().filter_map(|(_, row)| row.scatter.get(&column)).copied().reduce(f64::max);
        let seen = (rows.len() > 1).then_some((most - least) / 2.0);
        let (value, rounding) = ((lower.0.value + upper.value) / 2.0, lower.0.rounding.max(upper.rounding));
        (most <= APART * least).then_some(RowsCell {
            figure: PublishedFigure { value, rounding },
            scatter: said.into_iter().chain(seen).reduce(f64::max),
            told: said.is_some(),
            row: lower.1,
            rows: rows.len(),
        })
    }
}
