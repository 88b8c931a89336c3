//! Predicted beside measured, of operating-system tables: what is off by more than a factor of two, what is
//! better than its own hardware, and sums that do not add up.

use super::{Remark, RemarkKind, place};
use crate::unit;
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn::*};
use syscost_core::units::{Unit as CoreUnit, significant};

const FACTOR: f64 = 2.0;
/// A sum may miss by rounding, and by what authors round themselves.
const SUM_SLACK: f64 = 0.05;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    if !table.has(Measured) {
        return Vec::new();
    }
    let better = table.rows.iter().filter_map(|row| better_than_hardware(table, row));
    off(table).into_iter().chain(better).chain(sums(table)).collect()
}

fn off(table: &PublishedTable) -> Option<Remark> {
    let ratio = |row| {
        let (measured, predicted) = (PublishedRow::value(row, Measured)?, row.value(Predicted)?);
        (measured > 0.0 && predicted > 0.0).then(|| (row, measured / predicted))
    };
    let known: Vec<(&PublishedRow, f64)> = table.rows.iter().filter_map(ratio).collect();
    let distance = |(_, ratio): &(&PublishedRow, f64)| ratio.ln().abs();
    let mut off: Vec<_> = known.iter().filter(|row| distance(row) > FACTOR.ln()).collect();
    off.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let far = |(row, ratio): &&(&PublishedRow, f64)| {
        let side = if *ratio > 1.0 { "above" } else { "below" };
        format!("{} {}x {side}", place(table, row), significant(ratio.max(1.0 / ratio)))
    };
    let told = off.iter().map(far).collect::<Vec<_>>().join("; ");
    let (many, of) = (off.len(), known.len());
    let text = format!("{many} of {of} measurements are more than 2x from their prediction: {told}.");
    let lines = off.iter().map(|(row, _)| row.line).collect();
    Remark::of(RemarkKind::Unexpected, "off_prediction", text, lines)
}

fn better_than_hardware(table: &PublishedTable, row: &PublishedRow) -> Option<Remark> {
    let (hardware, measured) = (row.figure(BaseHardware)?, row.figure(Measured)?);
    let unit = row.text(Unit)?;
    let base = unit::parse(unit).or_else(|_| unit::parse(unit.split('/').next().unwrap_or(unit))).ok()?.base;
    let better = match base {
        CoreUnit::BitsPerSecond => measured.low() > hardware.high(),
        CoreUnit::Nanoseconds => measured.high() < hardware.low(),
        _ => return None,
    };
    let said = |figure: PublishedFigure| Measured.format(figure.value, Some(unit));
    let (place, measured, alone) = (place(table, row), said(measured), said(hardware));
    let text = format!("{place} was measured at {measured}: better than its hardware alone ({alone}).");
    let remark = Remark::of(RemarkKind::Contradiction, "better_than_hardware", text, vec![row.line]);
    remark.filter(|_| hardware.value > 0.0 && better)
}

fn sums(table: &PublishedTable) -> Option<Remark> {
    let is_none = |row: &PublishedRow| {
        let (hardware, software) = (row.value(BaseHardware)?, row.value(SoftwareOverhead)?);
        let predicted = row.value(Predicted)?;
        let near = |sum: f64| (sum - predicted).abs() <= SUM_SLACK * predicted.abs();
        Some(!near(hardware + software) && !near(hardware - software))
    };
    let rows: Vec<&PublishedRow> = table.rows.iter().filter(|row| is_none(row) == Some(true)).collect();
    let told = rows.iter().map(|row| place(table, row)).collect::<Vec<_>>().join(", ");
    let text = format!(
        "Predicted is neither the sum nor the difference of base hardware and software overhead for {told}."
    );
    let lines = rows.iter().map(|row| row.line).collect();
    Remark::of(RemarkKind::Contradiction, "not_a_sum", text, lines)
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn what_is_off_too_good_or_no_sum() {
        let table = table(
            "operation,unit,base_hardware,software_overhead,predicted,measured\n\
             a,us,1,1,2,2.5\nb,us,1,1,2,9\nc,us,5.0,1,6,4.0\nd,Mb/s,400,0,400,900\ne,us,1,1,5,5\n",
        );
        let told = look(&table);
        let ids: Vec<(&str, &[usize])> = told.iter().map(|r| (r.id, &r.lines[..])).collect();
        assert_eq!(
            ids,
            [
                ("off_prediction", &[3, 5][..]),
                ("better_than_hardware", &[4]),
                ("better_than_hardware", &[5]),
                ("not_a_sum", &[6])
            ]
        );
    }
}
