//! One cell of a table: from its text to a figure in the base unit of its column.

use crate::dictionary::{is_word, words};
use crate::options::number_in;
use crate::unit::{self, UnitScale};
use crate::{PublishedFigure, PublishedRow, TableColumn};
use syscost_core::units::Unit as CoreUnit;

pub fn is_empty(text: &str) -> bool {
    let text = text.trim();
    text.chars().all(|c| matches!(c, '-' | '\u{2013}' | '\u{2014}'))
        || is_word("empty", &text.to_ascii_lowercase())
}

/// A cell of the mark: its figure, half a unit of its last digit, and its own unit.
pub fn number(text: &str, mark: char) -> Option<(f64, f64, Option<&str>)> {
    let value = spread_of(text).map_or(text, |(value, _)| value);
    unit::number(value.trim().trim_start_matches(['~', '≈']).trim_start(), mark)
}

/// `2.46 ± 0.05`
fn spread_of(text: &str) -> Option<(&str, &str)> {
    ["±", "+/-", "+-"].iter().find_map(|mark| text.split_once(mark))
}

/// A figure and, where the cell has one, its spread.
type CellRead = (PublishedFigure, Option<f64>);

pub fn figure(of: TableColumn, text: &str, told: Option<UnitScale>, mark: char) -> Result<CellRead, String> {
    let bad = |why: &str| format!("{:?} {why} ({})", text.trim(), of.title());
    let none = || format!("the unit of {:?} is none of a {}", text.trim(), of.title());
    let (value, rounding, own) = number(text, mark).ok_or_else(|| bad("is no number"))?;
    let spread = spread_of(text).and_then(|(_, spread)| unit::number(spread, mark));
    // `2.46 ± 0.05 us`: the unit is that of both.
    let own = own.or(spread.and_then(|(.., unit)| unit));
    let own = own.map(|own| own_unit(of, own, told).ok_or_else(none)).transpose()?;
    let plain = (!of.needs_unit()).then_some(1.0);
    let factor = own.or(told).map(|scale| scale.factor).or(plain).ok_or_else(|| bad("has no unit"))?;
    let figure = PublishedFigure { value: value * factor, rounding: rounding * factor };
    Ok((figure, spread.map(|(spread, ..)| spread * factor)))
}

/// `64K`, `2.5 Gbps`, `215M` below `bits/s`, `1.2M` cycles.
fn own_unit(column: TableColumn, text: &str, told: Option<UnitScale>) -> Option<UnitScale> {
    let parsed = unit::parse(text).ok();
    match column.unit() {
        _ if column.is_of_operations() => {
            parsed.filter(|unit| told.is_none_or(|told| told.base == unit.base))
        }
        CoreUnit::Count => {
            let one = UnitScale { base: CoreUnit::Count, factor: 1.0 };
            unit::count(text).or(is_word("things", &words(text).concat()).then_some(one))
        }
        base => parsed.filter(|unit| unit.base == base).or_else(|| {
            let many = unit::count(text).filter(|_| text.len() == 1 && base != CoreUnit::Bytes)?;
            told.map(|told| UnitScale { factor: told.factor * many.factor, ..told })
        }),
    }
}

/// What stands outside of cells and is true of a row: in the name of its file, or above its column.
pub fn tell(row: &mut PublishedRow, column: TableColumn, text: &str) -> Result<(), String> {
    if column.is_text() {
        row.texts.insert(column, text.trim().into());
    } else {
        let number = number_in(text).unwrap_or(text.into());
        row.figures.insert(column, figure(column, &number, None, '.')?.0);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cells_own_unit_beats_the_headings_and_none_is_refused_where_it_matters() {
        let gbps = unit::parse("Gbps").ok();
        let value = |text: &str, heading| {
            figure(TableColumn::Throughput, text, heading, '.').map(|(f, spread)| (f.value, spread))
        };
        assert_eq!(value("2.5", gbps), Ok((2.5e9, None)));
        assert_eq!(value("2.5 Mbit/s", gbps), Ok((2.5e6, None)));
        assert_eq!(value("2.5 ± 0.5", gbps), Ok((2.5e9, Some(0.5e9))));
        assert!(value("2.5", None).unwrap_err().contains("has no unit"));
        assert!(value("2.5 us", gbps).unwrap_err().contains("is none of a"));
        assert!(value("fast", gbps).unwrap_err().contains("is no number"));
        let of = |column, text: &str| figure(column, text, None, '.').map(|(f, _)| f.value);
        assert_eq!(of(TableColumn::MessageBytes, "64KB"), Ok(65536.0));
        assert_eq!(of(TableColumn::Threads, "4 threads"), Ok(4.0));
        assert_eq!(of(TableColumn::Cycles, "1.2M"), Ok(1.2e6));
        assert!(is_empty(" N/A ") && is_empty("<not supported>") && is_empty("---") && !is_empty("0"));
    }
}
