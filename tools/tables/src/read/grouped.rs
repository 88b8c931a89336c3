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

/// Makes a row for each name; what was done. `None`: other headings.
pub fn taken_apart(all: &mut Vec<TableRecord>, at: usize, mapping: &ColumnMapping) -> Option<&'static str> {
    let [first, second] = all.get(at..at + 2)? else { return None };
    let in_two = grouped(&first.cells, &second.cells, mapping)
        .map(|of| (of, 2, "headings are two lines: a row for each name and line"));
    let in_one = || {
        let of = joined(&first.cells, mapping)?;
        Some((of, 1, "a heading is a name and a quantity: a row for each name and line"))
    };
    let (grouped, lines, told) = in_two.or_else(in_one)?;
    let is_row = |record: &TableRecord| record.cells[1..].iter().any(|cell| cells::is_number(cell));
    let below = &all[at + lines..];
    let end = at + lines + below.iter().position(|record| !is_row(record)).unwrap_or(below.len());
    if end == at + lines {
        return None;
    }
    let heading = TableRecord { line: all[at + lines - 1].line, cells: grouped.headings() };
    let rows: Vec<TableRecord> =
        all[at + lines..end].iter().flat_map(|record| grouped.rows(record)).collect();
    all.splice(at..end, std::iter::once(heading).chain(rows));
    Some(told)
}

/// `stock_iops,stock_p99_us,coop_iops,coop_p99_us`: what would stand in two lines.
fn joined(headings: &[String], mapping: &ColumnMapping) -> Option<GroupedHeadings> {
    let unknown = |text: &String| !is_number_alone(text) && !TableHeading::of(text, mapping).is_understood();
    let parts_by = |behind: bool| -> Option<(usize, Vec<[String; 2]>)> {
        let part = |text: &String| name_and_quantity(text, behind).filter(|_| unknown(text));
        let first = headings.iter().position(|text| part(text).is_some()).filter(|first| *first > 0)?;
        Some((first, headings[first..].iter().map(part).collect::<Option<_>>()?))
    };
    let (first, parts) = parts_by(true).or_else(|| parts_by(false))?;
    let blank = || std::iter::repeat_n(String::new(), first);
    // What stands above is what neighbours share.
    let upper = usize::from(parts.windows(2).any(|pair| pair[0][1] == pair[1][1]));
    let begins = |at: usize| at == 0 || parts[at - 1][upper] != parts[at][upper];
    let above = (0..parts.len()).map(|at| if begins(at) { parts[at][upper].clone() } else { String::new() });
    let below = headings[..first].iter().cloned().chain(parts.iter().map(|of| of[1 - upper].clone()));
    grouped(&blank().chain(above).collect::<Vec<_>>(), &below.collect::<Vec<_>>(), mapping)
}

/// The longest end, or beginning, of a heading that is a quantity, and the name.
fn name_and_quantity(text: &str, behind: bool) -> Option<[String; 2]> {
    let cuts = text.char_indices().filter(|(at, c)| *at > 0 && matches!(c, '_' | ' ' | '-'));
    let cuts = cuts.map(|(at, _)| [&text[..at], text[at + 1..].trim()]);
    let said = |[name, of]: [&str; 2]| match of {
        // `50_lat_us` begins with a part of the name.
        _ if !of.starts_with(char::is_alphabetic) => None,
        _ if quantity(of) => Some([name.to_string(), of.to_string()]),
        // Beside a name it is no word of another meaning.
        _ if naming::RATES.contains(&of) => Some([name.into(), "throughput".into()]),
        _ => None,
    };
    if behind {
        cuts.filter_map(said).next()
    } else {
        cuts.filter_map(|[of, name]| said([name, of])).next_back()
    }
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
