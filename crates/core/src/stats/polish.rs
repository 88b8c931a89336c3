//! Median polish of an incomplete table: value = all + row + column + rest.
//!
//! Medians leave a slow row in its row: the columns that it meets keep their level. Source: Tukey, "Exploratory data
//! analysis", 1977, chapter 11.

use super::median;

/// Rounds of sweeping; a table of a few thousand cells settles in ten.
const MOST_SWEEPS: usize = 50;
const SETTLED: f64 = 1e-9;

/// A value of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TableCell {
    pub row: usize,
    pub column: usize,
    pub value: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Polished {
    pub all: f64,
    /// `None`: no cell.
    pub rows: Vec<Option<f64>>,
    pub columns: Vec<Option<f64>>,
    /// What is left of each cell, in their order.
    pub rest: Vec<f64>,
}

pub fn median_polish(cells: &[TableCell], rows: usize, columns: usize) -> Polished {
    let by_row = members(cells, rows, |cell| cell.row);
    let by_column = members(cells, columns, |cell| cell.column);
    let mut rest: Vec<f64> = cells.iter().map(|cell| cell.value).collect();
    let mut polished =
        Polished { all: 0.0, rows: none(&by_row), columns: none(&by_column), rest: Vec::new() };
    for _ in 0..MOST_SWEEPS {
        let moved = sweep(&by_row, &mut polished.rows, &mut rest).max(sweep(
            &by_column,
            &mut polished.columns,
            &mut rest,
        ));
        for effects in [&mut polished.rows, &mut polished.columns] {
            polished.all += centre(effects);
        }
        if moved < SETTLED {
            break;
        }
    }
    polished.rest = rest;
    polished
}

fn members(cells: &[TableCell], lines: usize, of: fn(&TableCell) -> usize) -> Vec<Vec<usize>> {
    let mut lists = vec![Vec::new(); lines];
    for (at, cell) in cells.iter().enumerate() {
        lists[of(cell)].push(at);
    }
    lists
}

fn none(lines: &[Vec<usize>]) -> Vec<Option<f64>> {
    lines.iter().map(|cells| (!cells.is_empty()).then_some(0.0)).collect()
}

/// Moves the median of each line from what is left into its effect: the largest move.
fn sweep(lines: &[Vec<usize>], effects: &mut [Option<f64>], rest: &mut [f64]) -> f64 {
    let mut largest = 0.0f64;
    for (cells, effect) in lines.iter().zip(effects) {
        let left: Vec<f64> = cells.iter().map(|at| rest[*at]).collect();
        let Some(middle) = median(&left) else { continue };
        cells.iter().for_each(|at| rest[*at] -= middle);
        *effect = effect.map(|value| value + middle);
        largest = largest.max(middle.abs());
    }
    largest
}

/// Makes the median of the effects zero: what it was.
fn centre(effects: &mut [Option<f64>]) -> f64 {
    let known: Vec<f64> = effects.iter().flatten().copied().collect();
    let middle = median(&known).unwrap_or(0.0);
    effects.iter_mut().flatten().for_each(|value| *value -= middle);
    middle
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(value: impl Fn(usize, usize) -> f64) -> Vec<TableCell> {
        let pairs = (0..5).flat_map(|row| (0..5).map(move |column| (row, column)));
        let apart = pairs.filter(|(row, column)| row != column);
        apart.map(|(row, column)| TableCell { row, column, value: value(row, column) }).collect()
    }

    #[test]
    fn a_slow_row_keeps_its_slowness() {
        let cells = table(|row, _| if row == 3 { 2.5 } else { 1.0 });
        let polished = median_polish(&cells, 5, 6);
        assert!((polished.rows[3].unwrap() - 1.5).abs() < 1e-9, "{polished:?}");
        assert!(polished.columns.iter().flatten().all(|effect| effect.abs() < 1e-9), "{polished:?}");
        assert_eq!((polished.all, polished.columns[5]), (1.0, None));
    }

    #[test]
    fn the_parts_add_up_to_each_value() {
        let cells = table(|row, column| (row * 7 % 5) as f64 + (column * column % 7) as f64 / 3.0);
        let polished = median_polish(&cells, 5, 5);
        for (cell, rest) in cells.iter().zip(&polished.rest) {
            let sum = polished.all
                + polished.rows[cell.row].unwrap()
                + polished.columns[cell.column].unwrap()
                + rest;
            assert!((sum - cell.value).abs() < 1e-9);
        }
    }

    #[test]
    fn a_pair_that_is_slow_by_itself_stays_in_the_rest() {
        let cells = table(|row, column| if (row, column) == (1, 2) { 9.0 } else { 0.0 });
        let polished = median_polish(&cells, 5, 5);
        assert!(polished.rows.iter().chain(&polished.columns).flatten().all(|effect| effect.abs() < 1e-9));
        assert_eq!(polished.rest.iter().filter(|rest| **rest > 8.0).count(), 1);
    }

    #[test]
    fn an_empty_table_has_no_effects() {
        let polished = median_polish(&[], 2, 0);
        assert_eq!(polished, Polished { all: 0.0, rows: vec![None; 2], columns: vec![], rest: vec![] });
    }
}
