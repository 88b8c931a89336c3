//! Throughput that does not follow from the table's own totals, bytes or messages of a size over the duration, or from
//! its own message rate.

use super::{Remark, RemarkKind, place};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn::*};
use syscost_core::units::{Unit as CoreUnit, significant};

/// A duration may hold setup and teardown beside the transfer.
const SLACK: f64 = 0.25;
/// How near a factor has to be to one that explains it.
const CLOSE: f64 = 0.15;
/// Messages that were begun and not ended.
const PARTIAL: f64 = 0.05;
/// Bytes of a packet's headers, which may be counted, too.
const HEADERS: f64 = 128.0;

/// Where so many rows hold to a few per cent, their duration holds nothing beside the transfer.
const MOST: f64 = 0.8;
const NEAR: f64 = 0.03;
const TIGHT: f64 = 0.1;

/// A row whose throughput may be another than its own figures give.
struct WrongTotal<'t> {
    row: &'t PublishedRow,
    /// What the table says.
    said: f64,
    /// That over what they give.
    ratio: f64,
    rounding: f64,
}

impl<'t> WrongTotal<'t> {
    /// A figure against what the others give, of which so much may be rounding.
    fn of(row: &'t PublishedRow, said: PublishedFigure, other: f64, rounding: f64) -> Option<WrongTotal<'t>> {
        let (ratio, rounding) = (said.value / other, said.share() + rounding);
        let known = ratio.is_finite() && ratio > 0.0;
        known.then_some(WrongTotal { row, said: said.value, ratio, rounding })
    }

    fn distance(&self) -> f64 {
        self.ratio.ln().abs()
    }

    /// Is it no farther off than this, beside rounding?
    fn holds(&self, slack: f64) -> bool {
        self.distance() < (1.0 + slack + self.rounding).ln()
    }
}

/// What is said, what it has to be, how the reader is told what it would be, and why they may differ.
type TotalsWords = [&'static str; 4];
const TOTALS: TotalsWords = [
    "Throughput is",
    "total bytes over duration",
    "its totals give",
    "What is counted over that duration does not go with that throughput.",
];
const OTHER: &str = "One of the three is not what its heading says.";
const RATES: TotalsWords = ["Throughput is", "message rate times message size", "its messages give", OTHER];
const MESSAGES: TotalsWords = ["Total bytes are", "messages times message size", "its messages give", OTHER];

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let of = |of_row: fn(&PublishedRow) -> Option<WrongTotal>, words| {
        told(table, table.rows.iter().filter_map(of_row).collect(), words)
    };
    let rates = || table.is_transfer().then(|| of(of_rates, RATES)).flatten();
    of(of_totals, TOTALS).or_else(rates).into_iter().chain(of(of_messages, MESSAGES)).collect()
}

fn told(table: &PublishedTable, mut wrong: Vec<WrongTotal>, words: TotalsWords) -> Option<Remark> {
    let [said, what, give, other] = words;
    let (all, near) = (wrong.len(), wrong.iter().filter(|row| row.holds(NEAR)).count());
    let (unit, slack) = match words {
        MESSAGES => (CoreUnit::Bytes, PARTIAL),
        TOTALS if near as f64 >= MOST * all as f64 => (CoreUnit::BitsPerSecond, TIGHT),
        _ => (CoreUnit::BitsPerSecond, SLACK),
    };
    wrong.retain(|row| !row.holds(slack));
    wrong.sort_by(|a, b| b.distance().total_cmp(&a.distance()));
    let worst = wrong.first()?;
    // Is the throughput of each row that of one of its threads?
    let of_each = wrong.iter().all(|WrongTotal { row, ratio, .. }| {
        row.value(Threads).is_some_and(|threads| threads > 1.0 && (ratio * threads - 1.0).abs() < SLACK)
    });
    let off = |row: &WrongTotal, by: f64| (row.distance() - by.ln()).abs() < CLOSE;
    let off_by = |factors: &[f64]| wrong.iter().all(|row| factors.iter().any(|by| off(row, *by)));
    let why = match (of_each, off_by(&[1e3, 1e6, 1e9]), off_by(&[8.0])) {
        (true, ..) => "Times the threads, they agree.",
        (_, true, _) => "They are a power of 1000 apart: a unit?",
        (.., true) => "They are a factor of 8 apart: bytes for bits, or the size of one of eight fields?",
        _ => other,
    };
    let text = format!(
        "{said} not {what} (within {:.0} %) in {} of {all} rows, by up to {}x: {} says {}, {give} {}. {why}",
        100.0 * slack,
        wrong.len(),
        significant(worst.distance().exp()),
        place(table, worst.row),
        unit.format(worst.said),
        unit.format(worst.said / worst.ratio)
    );
    let mut lines: Vec<usize> = wrong.iter().map(|wrong| wrong.row.line).collect();
    lines.sort_unstable();
    Remark::of(RemarkKind::Contradiction, "not_its_totals", text, lines)
}

/// Do the totals of a row contradict its throughput?
pub fn contradicted(row: &PublishedRow) -> bool {
    of_totals(row).is_some_and(|row| !row.holds(SLACK))
}

fn of_totals(row: &PublishedRow) -> Option<WrongTotal<'_>> {
    let seconds = row.figure(Elapsed)?;
    let messages = || Some((row.figure(Messages)?, row.value(MessageBytes)?));
    let (count, bytes) = row.figure(Bytes).map(|bytes| (bytes, 1.0)).or_else(messages)?;
    let totals = count.value * bytes * 8.0 / (seconds.value * 1e-9);
    WrongTotal::of(row, row.figure(Throughput)?, totals, seconds.share() + count.share())
}

fn of_messages(row: &PublishedRow) -> Option<WrongTotal<'_>> {
    let (count, size, bytes) = (row.figure(Messages)?, row.value(MessageBytes)?, row.figure(Bytes)?);
    let framed = (0.0..=HEADERS).contains(&(bytes.value / count.value - size));
    let of = WrongTotal::of(row, bytes, count.value * size, count.share());
    of.filter(|wrong| wrong.holds(PARTIAL) || !framed)
}

/// A message and its answer may both be counted.
fn of_rates(row: &PublishedRow) -> Option<WrongTotal<'_>> {
    let rate = row.figure(MessageRate)?;
    let one_way = rate.value * row.value(MessageBytes)? * 8.0;
    let of = |bits| WrongTotal::of(row, row.figure(Throughput)?, bits, rate.share());
    of(2.0 * one_way).filter(|both| both.holds(SLACK)).or_else(|| of(one_way))
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
        let row = |n: u64, gbps: f64| format!("A1,{},1,{gbps:.3},{},10.000\n", 64 * n, n * 1_250_000_000);
        let rows: String = (1..10).map(|n| row(n, n as f64)).collect();
        let tight = told(&(rows + &row(10, 11.6)));
        assert!(tight[0].contains("(within 10 %) in 1 of 10 rows, by up to 1.16x"), "{tight:?}");
        let one = told("A1,1024,4,2,5000000000,5\nA1,4096,2,4,5000000000,5\n");
        assert!(one[0].contains("Times the threads, they agree."), "{one:?}");
    }

    #[test]
    fn messages_that_are_not_the_bytes() {
        let told = |rows: &str| {
            let table = table(&format!("mechanism,size,threads,total_bytes,total_msgs\n{rows}"));
            remarks(&table).into_iter().map(|r| r.text).collect::<Vec<_>>()
        };
        let framed = told("A1,64,1,653566848,10211982\nA2,128,1,3313600000,21800000\n");
        assert!(framed.iter().all(|text| !text.contains("messages times")), "headers: {framed:?}");
        let fewer = told("A1,16384,2,46309212160,2826490\nA2,16384,2,32960000000,2826466\n");
        assert!(
            fewer[0].contains("messages times message size (within 5 %) in 1 of 2 rows, by up to 1.41x"),
            "{fewer:?}"
        );
    }

    #[test]
    fn a_message_rate_that_is_another() {
        let told = |rows: &str| {
            let table =
                table(&format!("mechanism,message_size,threads,msgs_per_sec,throughput_gbps\n{rows}"));
            remarks(&table)
                .into_iter()
                .filter(|r| r.id == "not_its_totals")
                .map(|r| r.text)
                .collect::<Vec<_>>()
        };
        assert!(told("A1,1024,1,900000,7.3728\nA2,1024,1,1000000,8.19\n").is_empty());
        assert!(told("A1,1024,1,900000,14.7456\n").is_empty(), "both ways");
        let eighth = told("A1,1024,1,900000,0.9216\nA2,1024,1,1000000,1.024\n");
        assert!(eighth[0].contains("in 2 of 2 rows, by up to 8x"), "{eighth:?}");
        assert!(eighth[0].contains("bytes for bits"), "{eighth:?}");
    }
}
