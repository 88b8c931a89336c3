//! The unit of a row of operations.

use super::heading::{HeadingPlace, TableHeading};
use crate::cells;
use crate::unit::{self, Dimension};
use crate::{PublishedRow, TableColumn};

/// Runs of an operation that stand side by side.
pub fn unit_of_runs(headings: &[TableHeading], place: &HeadingPlace, row: &mut PublishedRow) {
    let timed = |heading: &TableHeading| {
        heading.column == Some(TableColumn::Measured)
            && heading.place.as_ref() == Some(place)
            && heading.unit.is_some_and(|unit| unit.dimension == Dimension::Time)
    };
    if headings.iter().any(timed) {
        row.texts.insert(TableColumn::Unit, "ns".into());
    }
}

/// Times of operations are in ns, or in cycles, where all of a row have a unit; figures without one stay out of such a row.
pub fn one_unit(headings: &[TableHeading], cells: &[String], row: &mut PublishedRow) {
    let dimension = |heading: &TableHeading, cell: &String| {
        let own = unit::number(cells::plain(cell), unit::DecimalMark::Point).and_then(|(.., unit)| unit);
        let own = own.and_then(|text| unit::parse(text).ok().or(unit::cycles(text)));
        own.or(heading.unit).map(|unit| unit.dimension)
    };
    let of = headings.iter().zip(cells).filter_map(|(heading, cell)| {
        let column = heading.column.filter(|column| column.is_of_operations())?;
        row.figures.contains_key(&column).then(|| (column, dimension(heading, cell)))
    });
    let of: Vec<(TableColumn, Option<Dimension>)> = of.collect();
    let units = [
        (Dimension::Time, "ns"),
        (Dimension::Cycles, "cycles"),
        (Dimension::Rate, "bit/s"),
        (Dimension::Size, "bytes"),
        (Dimension::Calls, "/s"),
    ];
    let Some((kept, unit)) = units.into_iter().find(|(unit, _)| of.iter().any(|(_, of)| *of == Some(*unit)))
    else {
        return;
    };
    for (column, _) in of.into_iter().filter(|(_, of)| *of != Some(kept)) {
        row.figures.remove(&column);
    }
    row.texts.insert(TableColumn::Unit, unit.into());
}
