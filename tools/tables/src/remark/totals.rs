//! Throughput that does not follow from the table's own totals: bytes, or messages of a size, over the duration.

use super::{Remark, RemarkKind, place};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use syscost_core::units::{Unit, significant};

/// A duration may hold setup and teardown beside the transfer.
const SLACK: f64 = 0.25;

/// A row whose throughput is not its totals over its duration.
struct WrongTotal<'t> {
    row: &'t PublishedRow,
    /// Throughput over what the totals give.
    ratio: f64,
    threads: f64,
}

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let known: Vec<(WrongTotal, bool)> = table.rows.iter().filter_map(held).collect();
    let all = known.len();
    let mut wrong: Vec<WrongTotal> =
        known.into_iter().filter(|(_, holds)| !holds).map(|(row, _)| row).collect();
    let distance = |row: &WrongTotal| row.ratio.ln().abs();
    wrong.sort_by(|a, b| distance(b).total_cmp(&distance(a)));
    let Some(worst) = wrong.first() else { return Vec::new() };
    let rate = worst.row.value(TableColumn::Throughput).unwrap_or(0.0);
    let each = |row: &WrongTotal| row.threads > 1.0 && (row.ratio * row.threads - 1.0).abs() < SLACK;
    let unit = |row: &WrongTotal| {
        [1e3, 1e6, 1e9].iter().any(|scale| (distance(row) - f64::ln(*scale)).abs() < SLACK)
    };
    let why = if wrong.iter().all(each) {
        "Times the threads, they agree."
    } else if wrong.iter().all(unit) {
        "They are a power of 1000 apart: a unit?"
    } else {
        "What is counted over that duration does not go with that throughput."
    };
    let text = format!(
        "Throughput is not total bytes over duration in {} of {all} rows, by up to {}x: {} says {}, its totals give {}. \
         {why}",
        wrong.len(),
        significant(distance(worst).exp()),
        place(worst.row),
        Unit::BitsPerSecond.format(rate),
        Unit::BitsPerSecond.format(rate / worst.ratio)
    );
    let mut lines: Vec<usize> = wrong.iter().map(|wrong| wrong.row.line).collect();
    lines.sort_unstable();
    vec![Remark { id: "not_its_totals", kind: RemarkKind::Contradiction, text, lines }]
}

/// Do the totals of a row contradict its throughput?
pub fn contradicted(row: &PublishedRow) -> bool {
    held(row).is_some_and(|(_, holds)| !holds)
}

/// Of a row that has all three: how far apart they are, and whether rounding explains it.
fn held(row: &PublishedRow) -> Option<(WrongTotal<'_>, bool)> {
    let rate = row.figure(TableColumn::Throughput)?;
    let seconds = row.figure(TableColumn::Elapsed)?;
    let messages = || Some((row.figure(TableColumn::Messages)?, row.value(TableColumn::MessageBytes)?));
    let (count, bytes) = row.figure(TableColumn::Bytes).map(|bytes| (bytes, 1.0)).or_else(messages)?;
    let totals = count.value * bytes * 8.0 / (seconds.value * 1e-9);
    let share = |figure: PublishedFigure| figure.rounding / figure.value;
    let slack = 1.0 + SLACK + share(rate) + share(seconds) + share(count);
    let ratio = rate.value / totals;
    let threads = row.value(TableColumn::Threads).unwrap_or(1.0);
    (ratio.is_finite() && ratio > 0.0)
        .then(|| (WrongTotal { row, ratio, threads }, ratio < slack && ratio > 1.0 / slack))
}

#[cfg(test)]
mod tests {
    use super::super::{remarks, table};

    fn told(rows: &str) -> Vec<String> {
        let table =
            table(&format!("mechanism,size,threads,throughput_gbps,total_bytes,time_elapsed_sec\n{rows}"));
        remarks(&table).into_iter().filter(|r| r.id == "not_its_totals").map(|r| r.text).collect()
    }

    #[test]
    fn totals_that_hold_and_totals_that_do_not() {
        assert!(told("A1,512,1,12.867482,48253067264,30.0013\n").is_empty());
        let short = told("A1,256,1,1.35414,1280000,6.009126\nA1,512,1,12.867482,48253067264,30.0013\n");
        assert!(short[0].contains("in 1 of 2 rows, by up to 795x"), "{short:?}");
        assert!(short[0].contains("says 1.35 Gbit/s, its totals give 1.7 Mbit/s"), "{short:?}");
        let one = told("A1,1024,4,2,5000000000,5\nA1,4096,2,4,5000000000,5\n");
        assert!(one[0].contains("Times the threads, they agree."), "{one:?}");
    }
}
