//! One cell of a table: from its text to a figure in the base unit of its column.

use super::unit::{self, Dimension, UnitScale};
use super::vocabulary;
use super::{ColumnMapping, PublishedFigure, TableColumn};

/// Cells that say "nothing here".
const EMPTY: &[&str] = &["", "-", "--", "n/a", "na", "nan", "null", "none", "?"];

pub fn is_empty(text: &str) -> bool {
    EMPTY.contains(&text.trim().to_ascii_lowercase().as_str())
}

/// What the numbers of a column measure, and may they stand without a unit? Sizes are bytes then. `None`: nothing
/// that has a unit of its own.
fn dimension(column: TableColumn) -> Option<(Dimension, bool)> {
    match column {
        TableColumn::Throughput => Some((Dimension::Rate, false)),
        TableColumn::Latency | TableColumn::Elapsed => Some((Dimension::Time, false)),
        TableColumn::MessageBytes => Some((Dimension::Size, true)),
        TableColumn::CpuPercent => Some((Dimension::Percent, true)),
        _ => None,
    }
}

/// Reads a figure. `heading` is the unit that the heading names.
pub fn figure(
    column: TableColumn,
    text: &str,
    heading: Option<UnitScale>,
) -> Result<PublishedFigure, String> {
    let (value, rounding, own) =
        unit::number(text).ok_or_else(|| format!("{:?} is no number ({})", text.trim(), column.title()))?;
    let known = |u| unit::parse(u).map_err(|why| format!("{u:?} of {:?} {why}", text.trim()));
    let own = own.map(known).transpose()?;
    let wanted = dimension(column);
    let Some(scale) = own.or(heading) else {
        return if wanted.is_none_or(|(_, plain)| plain) {
            Ok(PublishedFigure { value, rounding })
        } else {
            Err(format!(
                "the {} {:?} has no unit: write it into the heading (as in \"Throughput (Gbit/s)\") or into a \
                 mapping file",
                column.title(),
                text.trim()
            ))
        };
    };
    // Rates and sizes of other columns (a bandwidth among operations) keep the unit of their row.
    if wanted.is_some_and(|(wanted, _)| wanted != scale.dimension) {
        return Err(format!("the unit of {:?} does not measure a {}", text.trim(), column.title()));
    }
    let factor = if wanted.is_some() { scale.factor } else { 1.0 };
    Ok(PublishedFigure { value: value * factor, rounding: rounding * factor })
}

/// The mechanism that a table means, by the mapping's word first.
pub fn mechanism(text: &str, mapping: &ColumnMapping) -> Option<&'static str> {
    mapping.mechanism(text).or_else(|| vocabulary::mechanism(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cells_own_unit_beats_the_headings_and_none_is_refused_where_it_matters() {
        let gbps = unit::parse("Gbps").unwrap();
        let value = |text: &str, heading| figure(TableColumn::Throughput, text, heading).map(|f| f.value);
        assert_eq!(value("2.5", Some(gbps)), Ok(2.5e9));
        assert_eq!(value("2.5 Mbit/s", Some(gbps)), Ok(2.5e6));
        assert!(value("2.5", None).unwrap_err().contains("has no unit"));
        assert!(value("2.5 us", Some(gbps)).unwrap_err().contains("does not measure"));
        assert!(value("fast", Some(gbps)).unwrap_err().contains("no number"));
        assert_eq!(figure(TableColumn::MessageBytes, "64KB", None).map(|f| f.value), Ok(65536.0));
        assert_eq!(figure(TableColumn::Threads, "4", None).map(|f| f.value), Ok(4.0));
        assert!(is_empty(" N/A ") && !is_empty("0"));
    }
}
