//! One cell of a table: from its text to a figure in the base unit of its column.

use super::mapping::NameMeaning;
use super::naming;
use super::unit::{self, DecimalMark, Dimension, NoUnit, UnitScale};
use super::{ColumnMapping, PublishedFigure, PublishedRow, TableColumn};

/// Cells that say "nothing here"; those in brackets are perf's, `#` begins what spreadsheets write.
#[rustfmt::skip]
const EMPTY: &[&str] = &[
    "", "n/a", "na", "nan", "null", "none", "nil", "?", "x", "inf", "error", "err", "fail", "failed", "timeout", "crash", "crashed",
    "not measured", "not supported", "<not supported>", "<not counted>", "not available", "#div/0!", "#n/a", "#value!", "#ref!",
];

pub fn is_empty(text: impl AsRef<str>) -> bool {
    let text = text.as_ref().trim();
    text.chars().all(|c| matches!(c, '-' | ':' | '+' | '=' | '\u{2013}' | '\u{2014}'))
        || EMPTY.contains(&text.to_ascii_lowercase().as_str())
}

/// Of a run that came to no end.
#[rustfmt::skip]
const FAILED: &[&str] = &["fail", "failed", "failure", "error", "timeout", "timed out", "crash", "crashed", "aborted", "killed"];

pub fn has_failed(text: &str) -> bool {
    FAILED.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// Why a cell's text is no figure.
pub fn no_figure(text: &str) -> &'static str {
    match unit::number(plain(text), DecimalMark::Point) {
        Some((.., Some(unit))) if unit.starts_with(['-', '\u{2013}']) => "is a range",
        Some((.., Some(unit))) if unit.starts_with(['/', ';', '|']) => {
            "holds several figures, and nothing says what each is"
        }
        Some((.., Some(_))) => "has a unit that is not read here",
        _ => "is no number",
    }
}

/// Left empty, as merged cells are: what says "none" is a value.
pub fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// How the cells of one file are read.
pub struct CellReading<'m> {
    pub decimal: DecimalMark,
    pub mapping: &'m ColumnMapping,
}

impl CellReading<'_> {
    pub fn is_number(&self, text: &str) -> bool {
        unit::number(plain(text), self.decimal).is_some()
    }

    /// A number of this column, with a unit that is known here or none. A machine's memory is nothing measured.
    pub fn is_figure_of(&self, column: TableColumn, text: &str) -> bool {
        let size = |text: &str| unit::parse(text).is_ok_and(|unit| unit.dimension == Dimension::Size);
        let of_size =
            || unit::number(plain(text), self.decimal).is_some_and(|(.., unit)| unit.is_some_and(size));
        self.is_figure(text) && !(column == TableColumn::Measured && of_size())
    }

    fn is_figure(&self, text: &str) -> bool {
        let known = |text: &str| unit::parse(text) != Err(NoUnit::Unknown) || unit::count(text).is_ok();
        unit::number(plain(text), self.decimal).is_some_and(|(.., unit)| unit.is_none_or(known))
    }

    /// Puts a cell into its row; `heading` is the unit that the heading names.
    pub fn fill(
        &self,
        row: &mut PublishedRow,
        column: TableColumn,
        text: &str,
        heading: Option<UnitScale>,
    ) -> Result<(), String> {
        if column == TableColumn::Mechanism {
            row.texts.insert(column, mechanism(text, self.mapping));
        } else if column == TableColumn::Variant {
            let variant = row.texts.entry(column).or_default();
            *variant += &format!("{}{text}", if variant.is_empty() { "" } else { ", " });
        } else if column.is_text() {
            row.texts.insert(column, text.to_string());
        } else {
            row.figures.insert(column, self.figure(column, plain(text), heading)?);
            let number = |text: &str| unit::number(text, self.decimal).map(|(value, ..)| value);
            let range = || {
                let (low, high) = ranged(text)?.1.split_once(['-', ';', ','])?;
                Some(number(high)? - number(low)?)
            };
            if let Some(spread) = estimate(text).1.and_then(number).or_else(range) {
                row.figures.insert(TableColumn::Spread, PublishedFigure::exact(spread));
            }
        }
        Ok(())
    }

    fn figure(
        &self,
        column: TableColumn,
        text: &str,
        heading: Option<UnitScale>,
    ) -> Result<PublishedFigure, String> {
        let given = match (column, dimension(column)) {
            // Runs are timed in seconds: perf, time and sleep give them so.
            (TableColumn::Elapsed, _) => Some(UnitScale { dimension: Dimension::Time, factor: 1e9 }),
            (_, Some((dimension, _))) => self.mapping.unit(dimension),
            _ => None,
        };
        figure(column, text, heading.or(given), self.decimal)
    }
}

/// `2.46 ± 0.05`: a value, and its spread.
fn estimate(text: &str) -> (&str, Option<&str>) {
    let cut = text.split_once('±').or_else(|| text.split_once("+/-")).or_else(|| text.split_once("+-"));
    cut.map_or((text, None), |(value, spread)| (value.trim(), Some(spread.trim())))
}

/// `9.1 ± 0.2 ns` is `9.1 ns ± 0.2`: the unit is that of both.
pub fn unit_of_both(text: &str) -> Option<String> {
    let (value, spread) = estimate(text);
    let number =
        |text: &str| unit::number(text, DecimalMark::Point).map(|(.., unit)| unit.map(str::to_string));
    let unit = number(spread?)??;
    number(value)?.is_none().then(|| {
        format!("{value} {unit} ± {}", spread.unwrap_or_default().trim_end_matches(unit.as_str()).trim())
    })
}

/// `17.9 [17.0, 18.8]`: a value, and the ends of its range.
fn ranged(text: &str) -> Option<(&str, &str)> {
    let (value, range) = text.trim().strip_suffix(']')?.split_once('[')?;
    Some((value.trim(), range)).filter(|(value, _)| !value.is_empty())
}

/// The value of a cell: `~3.2`, `2.46 ± 0.05`, `2.46 (0.05)`.
pub fn plain(text: &str) -> &str {
    let text = ranged(text).map_or(text, |(value, _)| value);
    let value = estimate(text).0.trim_start_matches(['~', '≈', ' ']);
    match value.split_once('(') {
        Some((value, rest)) if rest.ends_with(')') && !value.trim().is_empty() => value.trim(),
        _ => value,
    }
}

/// A figure, with its unit or without.
pub fn is_number(text: &str) -> bool {
    unit::number(plain(text), DecimalMark::Point).is_some()
}

/// `4.0 ms (9966999 cycles)`: a number that [`plain`] leaves away.
pub fn has_more(text: &str) -> bool {
    let more = text.strip_prefix(plain(text)).and_then(|rest| rest.trim_start().strip_prefix('('));
    more.is_some_and(|more| more.bytes().any(|c| c.is_ascii_digit()))
}

/// What the numbers of a column measure, and may they stand without a unit? Sizes are bytes then. `None`: nothing
/// that has a unit of its own.
fn dimension(column: TableColumn) -> Option<(Dimension, bool)> {
    match column {
        TableColumn::Throughput => Some((Dimension::Rate, false)),
        TableColumn::Latency | TableColumn::Elapsed | TableColumn::CpuTime | TableColumn::Jitter => {
            Some((Dimension::Time, false))
        }
        TableColumn::MessageBytes | TableColumn::Bytes => Some((Dimension::Size, true)),
        TableColumn::CpuPerByte => Some((Dimension::TimePerByte, false)),
        TableColumn::CpuPercent => Some((Dimension::Percent, true)),
        TableColumn::MessageRate => Some((Dimension::Calls, true)),
        _ => None,
    }
}

/// Reads a figure; `told` is its unit where the cell has none.
fn figure(
    column: TableColumn,
    text: &str,
    told: Option<UnitScale>,
    decimal: DecimalMark,
) -> Result<PublishedFigure, String> {
    let (value, rounding, own) = unit::number(text, decimal)
        .ok_or_else(|| format!("{:?} is no number ({})", text.trim(), column.title()))?;
    // `215M` under `bits/s`
    let prefix = |u: &str| {
        let told = told.filter(|_| u.len() == 1)?;
        unit::count(u).ok().map(|many| UnitScale { factor: told.factor * many.factor, ..told })
    };
    let known = |u| {
        let known = naming::unit_for(column, u).or_else(|why| prefix(u).ok_or(why));
        known.map_err(|why| match unit::parse(u) {
            Ok(_) => no_measure(text, column),
            Err(_) => format!("{u:?} of {:?} {why}", text.trim()),
        })
    };
    let own = own.map(known).transpose()?;
    let wanted = dimension(column);
    let Some(scale) = own.or(told) else {
        return if wanted.is_none_or(|(_, plain)| plain) {
            Ok(PublishedFigure { value, rounding })
        } else {
            Err(format!(
                "the {} {:?} has no unit: give --unit Gbit/s (or us, ...), write it into the heading, as in \
                 \"Throughput (Gbit/s)\", or into a mapping file",
                column.title(),
                text.trim()
            ))
        };
    };
    if wanted.is_some_and(|(wanted, _)| wanted != scale.dimension) {
        return Err(no_measure(text, column));
    }
    Ok(PublishedFigure { value: value * scale.factor, rounding: rounding * scale.factor })
}

fn no_measure(text: &str, column: TableColumn) -> String {
    format!("the unit of {:?} does not measure a {}", text.trim(), column.title())
}

/// A way to send as the table calls it, or as its reader says.
pub fn mechanism(text: &str, mapping: &ColumnMapping) -> String {
    match mapping.mechanism(text) {
        Some(NameMeaning::Mechanism(id)) => id.into(),
        _ => text.trim().to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cells_own_unit_beats_the_headings_and_none_is_refused_where_it_matters() {
        let gbps = unit::parse("Gbps").unwrap();
        let value = |text: &str, heading| {
            figure(TableColumn::Throughput, text, heading, DecimalMark::Point).map(|f| f.value)
        };
        assert_eq!(value("2.5", Some(gbps)), Ok(2.5e9));
        assert_eq!(value("2.5 Mbit/s", Some(gbps)), Ok(2.5e6));
        assert!(value("2.5", None).unwrap_err().contains("has no unit"));
        assert!(value("2.5 us", Some(gbps)).unwrap_err().contains("does not measure"));
        assert!(value("fast", Some(gbps)).unwrap_err().contains("no number"));
        assert_eq!(
            figure(TableColumn::MessageBytes, "64KB", None, DecimalMark::Point).map(|f| f.value),
            Ok(65536.0)
        );
        assert_eq!(figure(TableColumn::Threads, "4", None, DecimalMark::Point).map(|f| f.value), Ok(4.0));
        assert!(is_empty(" N/A ") && is_empty("<not supported>") && is_empty("---") && !is_empty("0"));
        assert_eq!(figure(TableColumn::Cycles, "1.2M", None, DecimalMark::Point).map(|f| f.value), Ok(1.2e6));
        assert_eq!((plain("~3.2"), plain("2.46 (0.05)"), plain("2.46 ± 0.05")), ("3.2", "2.46", "2.46"));
        assert_eq!(estimate("2.46 ± 0.05"), ("2.46", Some("0.05")));
        assert_eq!((plain("17.9 [17.0, 18.8]"), ranged("[1, 2]")), ("17.9", None));
    }
}
