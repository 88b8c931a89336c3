//! The table of every operation on one printed page: base hardware, software overhead, prediction and measurement
//! side by side, each row in a unit that suits it.

use crate::page::{A4, Face, INK, MUTED, PdfPage, RULE, width};
use syscost_analyze::operations::Operation;
use syscost_core::units::{Unit, significant};
use syscost_report::Anchor;

const MARGIN: f64 = 36.0;
const HEAD: f64 = 74.0;
/// Rows are as high as the page allows, up to this.
const TALLEST_ROW: f64 = 15.0;
/// Right ends of the columns of numbers, and where the texts begin.
const VARIANT: f64 = 150.0;
const UNIT: f64 = 318.0;
const ENDS: [f64; 5] = [388.0, 436.0, 476.0, 533.0, 559.0];
const HEADINGS: [&str; 5] = ["hardware", "software", "predicted", "measured", "ratio"];

/// What a row of the page says.
struct PageRow {
    operation: String,
    variant: String,
    unit: &'static str,
    numbers: [String; 5],
}

pub fn pdf(listed: &[&Operation], title: &str, about: &str) -> Vec<u8> {
    let rows: Vec<PageRow> = listed.iter().map(|operation| row(operation)).collect();
    let mut page = PdfPage::a4();
    page.text((MARGIN, 36.0), title, 12.0, Anchor::Start, Face::Bold, INK);
    page.text(
        (MARGIN, 50.0),
        &fitted(about, 7.0, A4.0 - 2.0 * MARGIN),
        7.0,
        Anchor::Start,
        Face::Plain,
        MUTED,
    );
    let height = ((A4.1 - HEAD - MARGIN) / rows.len().max(1) as f64).min(TALLEST_ROW);
    let size = (height * 0.8).min(8.5);
    headings(&mut page, size.max(6.5));
    let mut above = "";
    for (index, row) in rows.iter().enumerate() {
        let bottom = HEAD + height * (index + 1) as f64;
        let begins = row.operation != above;
        if begins {
            let top = bottom - height;
            page.line(&[(MARGIN, top), (A4.0 - MARGIN, top)], RULE, 0.5);
        }
        draw(&mut page, row, begins, bottom - 0.25 * height, size);
        above = &row.operation;
    }
    page.pdf(title)
}

fn headings(page: &mut PdfPage, size: f64) {
    let at = HEAD - 5.0;
    for (x, text) in [(MARGIN, "operation"), (VARIANT, "variant"), (UNIT, "unit")] {
        page.text((x, at), text, size, Anchor::Start, Face::Bold, INK);
    }
    for (x, text) in ENDS.into_iter().zip(HEADINGS) {
        page.text((x, at), text, size, Anchor::End, Face::Bold, INK);
    }
}

fn draw(page: &mut PdfPage, row: &PageRow, begins: bool, at: f64, size: f64) {
    if begins {
        let text = fitted(&row.operation, size, VARIANT - MARGIN - 4.0);
        page.text((MARGIN, at), &text, size, Anchor::Start, Face::Bold, INK);
    }
    let variant = fitted(&row.variant, size, UNIT - VARIANT - 4.0);
    page.text((VARIANT, at), &variant, size, Anchor::Start, Face::Plain, INK);
    page.text((UNIT, at), row.unit, size, Anchor::Start, Face::Plain, MUTED);
    for (x, text) in ENDS.into_iter().zip(&row.numbers) {
        page.text((x, at), text, size, Anchor::End, Face::Plain, INK);
    }
}

fn row(o: &Operation) -> PageRow {
    let account = o.prediction.as_ref().map(|p| &p.account);
    let measured = o.measured.map_or(0.0, |e| e.value);
    let (scale, unit) = scale(o.metric.unit, measured);
    let shown = |value: Option<f64>| value.map_or("-".into(), |v| significant(v / scale));
    let interval = o.measured.map(|e| (e.high - e.low) / 2.0 / e.value).filter(|share| share.is_finite());
    let interval = interval.map_or(String::new(), |share| format!(" ±{:.0} %", 100.0 * share));
    PageRow {
        operation: o.title.to_string(),
        variant: o.row.label.clone(),
        unit,
        numbers: [
            shown(account.and_then(|a| a.base_hardware)),
            shown(account.and_then(|a| a.software_overhead)),
            shown(o.predicted()),
            format!("{}{interval}", shown(o.measured.map(|e| e.value))),
            o.ratio.map_or("-".into(), |ratio| format!("{}x", significant(ratio.value))),
        ],
    }
}

/// The step of the unit in which the measured value is at least one.
fn scale(unit: Unit, value: f64) -> (f64, &'static str) {
    let steps: &[(f64, &str)] = match unit {
        Unit::Nanoseconds => &[(1e6, "ms"), (1e3, "us"), (1.0, "ns")],
        Unit::BytesPerSecond => &[(1e9, "GB/s"), (1e6, "MB/s"), (1.0, "B/s")],
        Unit::BitsPerSecond => &[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1.0, "bit/s")],
        other => return (1.0, other.symbol()),
    };
    steps.iter().find(|(step, _)| value >= *step).or(steps.last()).copied().unwrap_or((1.0, ""))
}

/// As much of a text as there is room for.
fn fitted(text: &str, size: f64, room: f64) -> String {
    let mut text = text.to_string();
    if width(&text, size, Face::Bold) <= room {
        return text;
    }
    while !text.is_empty() && width(&format!("{text}.."), size, Face::Bold) > room {
        text.pop();
    }
    format!("{}..", text.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_in_the_unit_of_its_measurement_and_text_fits() {
        assert_eq!(scale(Unit::Nanoseconds, 12_500.0), (1e3, "us"));
        assert_eq!(scale(Unit::Nanoseconds, 0.2), (1.0, "ns"));
        assert_eq!(scale(Unit::BytesPerSecond, 3e10), (1e9, "GB/s"));
        let short = fitted("processes, wake-up on another core, by eventfd", 6.0, 60.0);
        assert!(short.ends_with("..") && width(&short, 6.0, Face::Bold) <= 60.0, "{short}");
        assert_eq!(fitted("rdtsc", 6.0, 60.0), "rdtsc");
    }
}
