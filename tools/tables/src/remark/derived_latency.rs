//! Latency that says no more than the throughput: it is threads divided by the message rate, row after row.
//!
//! By Little's law latency x rate is the number of messages in flight. Whoever divides the running time by the messages
//! gets the number of threads (or one), and so does who times each message while one is in flight. The figures alone
//! cannot tell these apart. Source: Little (1961).

use super::{Remark, RemarkKind, extent};
use crate::{PublishedRow, PublishedTable, TableColumn, TableColumn::*};
use syscost_core::stats::median;
use syscost_core::units::{Unit as CoreUnit, significant};

/// How far from the whole number a product may lie, beside the printed rounding.
pub const SLACK: f64 = 0.03;
/// So many rows must have both figures, and this share of them must agree.
const FEWEST: usize = 3;
const MOST: f64 = 0.8;
/// Latencies of other factors must differ as much: one latency everywhere is a multiple of any rate.
const APART: f64 = 1.5;
/// So near to 1000, a factor may be that of two units.
const UNIT_OFF: f64 = 0.25;

/// The line of a row, its messages in flight, and the share by which rounding may have moved them.
type InFlight = (usize, f64, f64);

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // The table's own messages per second, before those that sizes give.
    let mut rates = [MessageRate, Throughput].into_iter().filter(|_| table.is_transfer());
    rates.find_map(|rate| of_rate(table, rate)).or_else(|| constant(table)).into_iter().collect()
}

fn of_rate(table: &PublishedTable, rate: TableColumn) -> Option<Remark> {
    let rows = table.rows.iter().filter_map(|row| Some((row, in_flight(row, rate)?)));
    let rows: Vec<(&PublishedRow, (f64, f64))> = rows.collect();
    if rows.len() < FEWEST {
        return None;
    }
    let one = if table.fields { "field" } else { "message" };
    let of = |by_thread: bool| -> Vec<InFlight> {
        let threads = |row: &PublishedRow| if by_thread { row.value(Threads).unwrap_or(1.0) } else { 1.0 };
        rows.iter().map(|(row, (known, slack))| (row.line, known / threads(row), *slack)).collect()
    };
    // Where no column says threads, no sentence does.
    let ways = [true, false].into_iter().filter(|by_thread| !by_thread || table.has(Threads));
    let ways: Vec<(bool, Vec<InFlight>)> = ways.map(|by_thread| (by_thread, of(by_thread))).collect();
    let (least, most) = extent(rows.iter().filter_map(|(row, _)| row.value(Latency)));
    let middle = |rows: &[InFlight]| median(&rows.iter().map(|(_, known, _)| *known).collect::<Vec<_>>());
    let others = ways.iter().filter(|_| most >= APART * least && rows.len() > FEWEST);
    let others = others.filter_map(|(by_thread, rows)| Some((*by_thread, rows, middle(rows)?)));
    let mut all = ways.iter().map(|(by_thread, rows)| (*by_thread, rows, 1.0)).chain(others);
    let fitting = all.find_map(|(by_thread, rows, factor)| {
        let agrees = |(_, known, slack): &&InFlight| (known / factor - 1.0).abs() <= *slack;
        let lines: Vec<usize> = rows.iter().filter(agrees).map(|row| row.0).collect();
        let most = lines.len() as f64 >= MOST * rows.len() as f64;
        most.then(|| told(by_thread, factor, lines, rows.len(), one)).flatten()
    });
    fitting.or_else(|| ways.iter().find_map(|(by_thread, rows)| unit_off(rows, *by_thread, one)))
}

/// Some 1000 messages in flight in every row, more or less: few programs have so many.
fn unit_off(rows: &[InFlight], by_thread: bool, one: &str) -> Option<Remark> {
    let (least, most) = extent(rows.iter().map(|(_, known, _)| *known));
    let (by, each) = if by_thread { (" x threads", " a thread") } else { ("", "") };
    let text = format!(
        "In all {} rows latency is {least:.0} to {most:.0}{by} / {one}s per second. That is consistent with so many {one}s in flight{each}, or \
         with a latency or a rate that is 1000 times too high for one {one} in flight{each} (a unit?): the table cannot say which.",
        rows.len()
    );
    let lines = rows.iter().map(|(line, ..)| *line).collect();
    Remark::of(RemarkKind::Caution, "latency_unit", text, lines).filter(|_| is_unit(least) && is_unit(most))
}

fn is_unit(factor: f64) -> bool {
    (factor / 1e3 - 1.0).abs() < UNIT_OFF
}

/// Sizes are those of messages, or of their fields.
fn told(by_thread: bool, factor: f64, lines: Vec<usize>, of: usize, one: &str) -> Option<Remark> {
    let digits = if factor < 0.1 { 1e4 } else { 1e2 };
    let text = significant((digits * factor).round() / digits);
    let each = if by_thread { " a thread" } else { "" };
    let in_flight = if text == "1" { format!("one {one}") } else { format!("{text} {one}s") };
    let times = Some(text.as_str()).filter(|times| *times != "1" || !by_thread);
    let is = times.into_iter().chain(by_thread.then_some("threads")).collect::<Vec<_>>().join(" x ");
    // In ns below a heading of us, or in us below ms.
    let unit =
        format!(", or with a latency that is 1000 times too long for one {one} in flight{each} (a unit?)");
    let unit = if is_unit(factor) { unit } else { String::new() };
    let text = format!(
        "In {} of {of} rows latency is {is} / {one}s per second, within 3 % and the digits given. That is consistent with latency computed \
         from the rate, or with {in_flight} in flight{each}{unit}: the table cannot say which. It says no more than the throughput.",
        lines.len()
    );
    Remark::of(RemarkKind::Caution, "derived_latency", text, lines)
}

/// Latency x throughput that is one figure at sizes which are far apart.
fn constant(table: &PublishedTable) -> Option<Remark> {
    let known = |row: &PublishedRow| {
        let (latency, rate) = (row.figure(Latency)?, row.figure(Throughput)?);
        let (product, slack) = (latency.value * rate.value * 1e-9, latency.share() + rate.share());
        let size = row.count(MessageBytes).filter(|_| product > 0.0 && slack < SLACK)?;
        Some((product, slack, size, row.line))
    };
    let rows: Vec<(f64, f64, u64, usize)> = table.rows.iter().filter_map(known).collect();
    let sizes = || rows.iter().map(|row| row.2);
    let (least, most, (first, ..)) = (sizes().min()?, sizes().max()?, rows[0]);
    let same = rows.iter().all(|(product, slack, ..)| (product / first - 1.0).abs() <= 2.0 * slack + 1e-6);
    let text = format!(
        "Latency x throughput is {} in all {} rows, at sizes from {} to {}. That is consistent with latency computed \
         from the throughput, or with a fixed amount of data in flight: the table cannot say which.",
        CoreUnit::Bytes.format(first / 8.0),
        rows.len(),
        super::size(least),
        super::size(most)
    );
    let remark =
        Remark::of(RemarkKind::Caution, "derived_latency", text, rows.iter().map(|row| row.3).collect());
    remark.filter(|_| rows.len() > FEWEST && most >= 4 * least.max(1) && same)
}

/// Messages in flight by Little's law, and the share by which rounding may have moved it.
pub fn in_flight(row: &PublishedRow, of: TableColumn) -> Option<(f64, f64)> {
    let (latency, rate) = (row.figure(Latency)?, row.figure(of)?);
    let bits = if of == MessageRate { 1.0 } else { row.value(MessageBytes)? * 8.0 };
    let in_flight = latency.value * 1e-9 * rate.value / bits;
    let known = in_flight.is_finite() && in_flight > 0.0;
    known.then(|| (in_flight, SLACK + latency.share() + rate.share()))
}

#[cfg(test)]
mod tests {
    use super::super::RemarkKind;
    use super::super::table;
    use super::*;

    #[test]
    fn a_divided_latency_is_found_and_a_measured_one_is_left_alone() {
        let rows = |latency: fn(f64) -> f64| {
            let row =
                |gbps: f64| format!("A1,1024,4,{gbps:.3},{:.3}\n", latency(1024.0 * 8.0 / gbps / 1000.0));
            let text: String = [2.0, 4.5, 8.58, 12.25].map(row).concat();
            table(&format!("mechanism,message_bytes,threads,throughput_gbps,latency_us\n{text}"))
        };
        let told = look(&rows(|per_message_us| 4.0 * per_message_us));
        assert!(told[0].text.contains("In 4 of 4 rows latency is threads / messages per second"), "{told:?}");
        assert_eq!(told[0].lines, [2, 3, 4, 5]);
        assert!(look(&rows(|us| us))[0].text.contains("latency is 1 / messages"));
        assert!(look(&rows(|us| 8.0 * us))[0].text.contains("2 x threads / messages per second"));
        assert!(look(&rows(|us| 30.0 + us)).is_empty());
        let rates = table(
            "mechanism,message_bytes,threads,msgs_per_sec,latency_us\nA1,64,2,400000,20.0\nA1,1024,2,350877,22.8\n\
             A1,65536,2,51282,156.0\nA2,64,2,421052,19.0\n",
        );
        assert!(look(&rates)[0].text.contains("4 x threads / messages per second"), "{:?}", look(&rates));
        assert!(
            told[0].kind == RemarkKind::Caution && told[0].text.contains("cannot say which"),
            "no accusation"
        );
        let over = table(
            "mechanism,message_bytes,threads,throughput_gbps,latency_us\nA1,64,1,2.000,4.000\nA1,256,1,2.500,3.200\n\
             A1,1024,1,4.000,2.000\nA1,4096,1,5.000,1.600\n",
        );
        assert!(
            look(&over)[0].text.contains("in all 4 rows, at sizes from 64 B to 4 KiB"),
            "{:?}",
            look(&over)
        );
    }
}
