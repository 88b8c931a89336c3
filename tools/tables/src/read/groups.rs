//! Quantities above names: `depth,iops,,latency_us,` over `,one,two,one,two`. Each name has a row.

use super::layout::TableRecord;
use crate::{cells, naming, unit};
use std::collections::BTreeSet;

/// Where the columns of names begin, and how many each quantity has.
struct NamedGroups {
    keys: usize,
    each: usize,
}

impl NamedGroups {
    /// `None`: other headings.
    fn of(quantities: &[String], names: &[String]) -> Option<NamedGroups> {
        let keys = names.iter().take_while(|name| cells::is_empty(name)).count();
        let starts: Vec<usize> =
            (keys..quantities.len()).filter(|at| !cells::is_empty(&quantities[*at])).collect();
        let each = starts.get(1)?.checked_sub(keys)?;
        let own = names.get(keys..keys + each)?;
        let even = starts.iter().copied().eq((0..starts.len()).map(|group| keys + group * each));
        let again = names[keys..].chunks(each).all(|names| names == own);
        let number =
            |name: &String| unit::number(name, unit::DecimalMark::Point).is_some_and(|(.., of)| of.is_none());
        let named = own.iter().collect::<BTreeSet<_>>().len() == each
            && !own.iter().any(|name| cells::is_empty(name) || number(name));
        let measured = |at: &usize| {
            naming::column_of(&quantities[*at])
                .or_else(|| naming::unit_alone(&quantities[*at]))
                .is_some_and(|of| of.column.is_measure())
        };
        let whole = quantities.len() == names.len() && keys + starts.len() * each == names.len();
        let keyed = keys > 0 && !quantities[..keys].iter().any(cells::is_empty);
        (keyed && even && whole && again && named && each > 1 && starts.iter().any(measured))
            .then_some(NamedGroups { keys, each })
    }
}

/// Brings the table below a line into rows of one name each; was it one?
pub fn to_rows(all: &mut Vec<TableRecord>, at: usize) -> bool {
    let Some([quantities, names]) = all.get(at..at + 2) else { return false };
    let Some(NamedGroups { keys, each }) = NamedGroups::of(&quantities.cells, &names.cells) else {
        return false;
    };
    let (line, width) = (quantities.line, names.cells.len());
    let own: Vec<String> = names.cells[keys..keys + each].to_vec();
    let row = |line: usize, cells: &[String], name: usize, called: &str| {
        let figures = cells[keys..].iter().skip(name).step_by(each);
        let cells = cells[..keys].iter().cloned().chain([called.to_string()]).chain(figures.cloned());
        TableRecord { line, cells: cells.collect() }
    };
    let mut rows = vec![row(line, &quantities.cells, 0, "mechanism")];
    let end =
        all[at + 2..].iter().position(|record| record.cells.len() != width).map_or(all.len(), |n| at + 2 + n);
    for record in &all[at + 2..end] {
        rows.extend(
            own.iter().enumerate().map(|(name, called)| row(record.line, &record.cells, name, called)),
        );
    }
    all.splice(at..end, rows);
    true
}
