//! Two lines of headings, names in one and quantities in the other: `,stock,,coop,` over `depth,iops,p99,iops,p99`. No name
//! has to be known: under each group of the upper line stand the same headings.

use super::heading::{TableHeading, is_number_alone, quantity};
use super::layout::TableRecord;
use crate::{ColumnMapping, TableColumn, cells, naming};
use std::collections::BTreeSet;

/// The columns of both lines.
struct GroupedHeadings {
    keys: Vec<String>,
    names: Vec<String>,
    quantities: Vec<String>,
    /// The names stand above the quantities.
    names_above: bool,
}

/// Makes a row for each name; `false`: other headings.
pub fn taken_apart(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> bool {
    let Some([groups, headings]) = all.get(at..at + 2) else { return false };
    let Some(grouped) = grouped(&groups.cells, &headings.cells, mapping) else { return false };
    let is_row = |record: &TableRecord| record.cells[1..].iter().any(|cell| cells::is_number(cell));
    let below = &all[at + 2..];
    let end = at + 2 + below.iter().position(|record| !is_row(record)).unwrap_or(below.len());
    if end == at + 2 {
        return false;
    }
    let heading = TableRecord { line: headings.line, cells: grouped.headings() };
    let rows: Vec<TableRecord> = all[at + 2..end].iter().flat_map(|record| grouped.rows(record)).collect();
    all.splice(at..end, std::iter::once(heading).chain(rows));
    true
}

fn grouped(groups: &[String], headings: &[String], mapping: &ColumnMapping) -> Option<GroupedHeadings> {
    let blank = String::new();
    let group = |at: usize| groups.get(at).unwrap_or(&blank);
    let width = headings.iter().rposition(|cell| !cells::is_empty(cell))? + 1;
    let headings = &headings[..width];
    let filled = |cell: &String| !cells::is_empty(cell);
    let first = (0..width).find(|at| filled(group(*at)) && filled(&headings[*at]))?;
    let keys: Vec<String> = (0..first)
        .map(|at| if filled(&headings[at]) { headings[at].clone() } else { group(at).clone() })
        .collect();
    let starts: Vec<usize> = (first..width).filter(|at| filled(group(*at))).collect();
    let ends = starts[1..].iter().copied().chain([width]);
    let below: Vec<&[String]> = starts.iter().zip(ends).map(|(from, end)| &headings[*from..end]).collect();
    let upper: Vec<String> = starts.iter().map(|at| group(*at).clone()).collect();
    let lower = below[0].to_vec();
    let distinct = |of: &[String]| of.iter().collect::<BTreeSet<_>>().len() == of.len();
    let alike = upper.len() > 1 && lower.len() > 1 && below.iter().all(|of| *of == lower);
    let numbers = upper.iter().chain(&lower).any(|cell| is_number_alone(cell));
    if keys.is_empty() || !alike || numbers || !distinct(&upper) || !distinct(&lower) {
        return None;
    }
    let known = |of: &[String]| of.iter().filter(|text| quantity(text)).count();
    let names_above = known(&lower) >= known(&upper);
    let (names, quantities) = if names_above { (upper, lower) } else { (lower, upper) };
    let placed = |text: &String| TableHeading::of(text, mapping).place.is_some();
    // Names that are known are read as they stand.
    (known(&quantities) > 0 && known(&names) == 0 && !names.iter().all(placed)).then_some(GroupedHeadings {
        keys,
        names,
        quantities,
        names_above,
    })
}

impl GroupedHeadings {
    fn headings(&self) -> Vec<String> {
        let is_name =
            |key: &String| naming::column_of(key).is_some_and(|named| named.column == TableColumn::Mechanism);
        let name = if self.keys.iter().any(is_name) { "variant" } else { "mechanism" };
        [self.keys.clone(), vec![name.to_string()], self.quantities.clone()].concat()
    }

    fn rows(&self, record: &TableRecord) -> Vec<TableRecord> {
        let blank = String::new();
        let cell = |at: usize| record.cells.get(at).unwrap_or(&blank).clone();
        let column = |name: usize, quantity: usize| {
            let inside = if self.names_above {
                name * self.quantities.len() + quantity
            } else {
                quantity * self.names.len() + name
            };
            self.keys.len() + inside
        };
        let row = |(name, text): (usize, &String)| {
            let keys = (0..self.keys.len()).map(cell);
            let figures: Vec<String> =
                (0..self.quantities.len()).map(|quantity| cell(column(name, quantity))).collect();
            let any = figures.iter().any(|figure| !cells::is_empty(figure));
            let cells = keys.chain([text.clone()]).chain(figures).collect();
            any.then_some(TableRecord { line: record.line, cells })
        };
        self.names.iter().enumerate().filter_map(row).collect()
    }
}
