//! Figures that follow from others of the same row: cycles per byte where cycles, bytes or time are given.

use super::remark::totals;
use super::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};

impl PublishedTable {
    /// Fills in what the table has the parts of, and says so.
    pub(super) fn derive(&mut self) {
        if self.user_mode || self.has(TableColumn::CyclesPerByte) || !self.has(TableColumn::Cycles) {
            return;
        }
        let mut derived = 0;
        for row in &mut self.rows {
            if let Some(figure) = cycles_per_byte(row) {
                row.figures.insert(TableColumn::CyclesPerByte, figure);
                derived += 1;
            }
        }
        if derived > 0 {
            self.columns.push(TableColumn::CyclesPerByte);
            let bytes = if self.has(TableColumn::Bytes) { "total bytes" } else { "(throughput x duration)" };
            self.understood.push(format!("cycles per byte = cycles / {bytes}"));
        }
    }
}

fn cycles_per_byte(row: &PublishedRow) -> Option<PublishedFigure> {
    if totals::contradicted(row) {
        return None;
    }
    let cycles = row.figure(TableColumn::Cycles)?;
    let streamed = || {
        let rate = row.figure(TableColumn::Throughput)?;
        let seconds = row.value(TableColumn::Elapsed)? * 1e-9;
        Some((rate.value * seconds / 8.0, rate.rounding / rate.value))
    };
    let counted = row.figure(TableColumn::Bytes).map(|bytes| (bytes.value, bytes.rounding / bytes.value));
    let (bytes, share) = counted.or_else(streamed)?;
    let value = cycles.value / bytes;
    let rounding = value * (share + cycles.rounding / cycles.value);
    (value.is_finite() && value > 0.0).then_some(PublishedFigure { value, rounding })
}
