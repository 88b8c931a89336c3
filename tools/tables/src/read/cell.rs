//! One cell of a table: from its text to a figure in the base unit of its column.

use crate::unit::{self, DecimalMark, Dimension, UnitScale};
use crate::{PublishedFigure, TableColumn};

/// Cells that say "nothing here"; those in brackets are perf's, `#` begins what spreadsheets write.
#[rustfmt::skip]
const EMPTY: &[&str] = &[
    "", "n/a", "na", "nan", "null", "none", "nil", "?", "x", "inf", "error", "err", "fail", "failed", "timeout", "crash", "crashed", "not measured",
    "not supported", "<not supported>", "<not counted>", "not available", "unknown", "tbd", "#div/0!", "#n/a", "#value!", "#ref!",
];

pub fn is_empty(text: &str) -> bool {
    let text = text.trim();
    text.chars().all(|c| matches!(c, '-' | '\u{2013}' | '\u{2014}'))
        || EMPTY.contains(&text.to_ascii_lowercase().as_str())
}

/// A cell of the mark: its figure, and its spread where it has one: `2.46 ± 0.05`.
pub fn number(text: &str, mark: DecimalMark) -> Option<(f64, f64, Option<&str>)> {
    unit::number(value_of(text), mark)
}

fn value_of(text: &str) -> &str {
    let value = spread_of(text).map_or(text, |(value, _)| value);
    value.trim().trim_start_matches(['~', '≈']).trim_start()
}

fn spread_of(text: &str) -> Option<(&str, &str)> {
    text.split_once('±').or_else(|| text.split_once("+/-")).or_else(|| text.split_once("+-"))
}

/// What the numbers of a column measure, and may they stand without a unit? Sizes are bytes then. `None`: nothing that has a
/// unit of its own.
pub fn dimension(column: TableColumn) -> Option<(Dimension, bool)> {
    match column {
        TableColumn::Throughput => Some((Dimension::Rate, false)),
        TableColumn::Latency | TableColumn::Elapsed | TableColumn::CpuTime | TableColumn::Jitter => {
            Some((Dimension::Time, false))
        }
        TableColumn::MessageBytes | TableColumn::Bytes => Some((Dimension::Size, true)),
        TableColumn::CpuPercent | TableColumn::Loss => Some((Dimension::Percent, true)),
        TableColumn::MessageRate => Some((Dimension::Calls, true)),
        _ => None,
    }
}

/// A figure and, where the cell has one, its spread.
pub fn figure(
    column: TableColumn,
    text: &str,
    told: Option<UnitScale>,
    mark: DecimalMark,
) -> Result<(PublishedFigure, Option<f64>), String> {
    let title = column.title();
    let (value, rounding, own) =
        number(text, mark).ok_or_else(|| format!("{:?} is no number ({title})", text.trim()))?;
    let spread = spread_of(text).and_then(|(_, spread)| unit::number(spread, mark));
    // `2.46 ± 0.05 us`: the unit is that of both.
    let own = own.or(spread.and_then(|(.., of)| of));
    let scale = match own {
        None => told,
        Some(of) => Some(
            own_unit(column, of, told)
                .ok_or_else(|| format!("the unit of {:?} is none of a {title}", text.trim()))?,
        ),
    };
    let wanted = dimension(column);
    let scale = match scale {
        Some(scale) => scale,
        None if wanted.is_none_or(|(_, plain)| plain) => {
            UnitScale { dimension: Dimension::Count, factor: 1.0 }
        }
        None => return Err(format!("{:?} has no unit ({title})", text.trim())),
    };
    let figure = PublishedFigure { value: value * scale.factor, rounding: rounding * scale.factor };
    Ok((figure, spread.map(|(spread, ..)| spread * scale.factor)))
}

/// `64K`, `2.5 Gbps`, `215M` below `bits/s`, `1.2M` cycles.
fn own_unit(column: TableColumn, text: &str, told: Option<UnitScale>) -> Option<UnitScale> {
    let wanted = dimension(column).map(|(dimension, _)| dimension);
    let parsed = unit::parse(text).ok();
    match wanted {
        Some(wanted) => parsed.filter(|unit| unit.dimension == wanted).or_else(|| {
            let many = unit::count(text).ok().filter(|_| text.len() == 1 && wanted != Dimension::Size)?;
            told.map(|told| UnitScale { factor: told.factor * many.factor, ..told })
        }),
        None if column.is_of_operations() => {
            parsed.filter(|unit| told.is_none_or(|told| told.dimension == unit.dimension))
        }
        None => {
            let word = crate::dictionary::words(text).concat();
            let plain = ["thread", "cycle", "msg", "client", "worker", "connection", "x", "time"]
                .contains(&word.as_str());
            unit::count(text).ok().or(plain.then_some(UnitScale { dimension: Dimension::Count, factor: 1.0 }))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cells_own_unit_beats_the_headings_and_none_is_refused_where_it_matters() {
        let gbps = unit::parse("Gbps").ok();
        let value = |text: &str, heading| {
            figure(TableColumn::Throughput, text, heading, DecimalMark::Point)
                .map(|(f, spread)| (f.value, spread))
        };
        assert_eq!(value("2.5", gbps), Ok((2.5e9, None)));
        assert_eq!(value("2.5 Mbit/s", gbps), Ok((2.5e6, None)));
        assert_eq!(value("2.5 ± 0.5", gbps), Ok((2.5e9, Some(0.5e9))));
        assert!(value("2.5", None).unwrap_err().contains("has no unit"));
        assert!(value("2.5 us", gbps).unwrap_err().contains("is none of a"));
        assert!(value("fast", gbps).unwrap_err().contains("is no number"));
        let of = |column, text: &str| figure(column, text, None, DecimalMark::Point).map(|(f, _)| f.value);
        assert_eq!(of(TableColumn::MessageBytes, "64KB"), Ok(65536.0));
        assert_eq!(of(TableColumn::Threads, "4 threads"), Ok(4.0));
        assert_eq!(of(TableColumn::Cycles, "1.2M"), Ok(1.2e6));
        assert!(is_empty(" N/A ") && is_empty("<not supported>") && is_empty("---") && !is_empty("0"));
    }
}
