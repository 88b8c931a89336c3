//! Latency that says no more than the throughput: it is threads divided by the message rate, row after row.
//!
//! By Little's law latency x rate is the number of messages in flight. Whoever divides the running time by the messages
//! gets the number of threads (or one), and so does who times each message while one is in flight. The figures alone
//! cannot tell these apart. Source: Little (1961).

use super::{Remark, RemarkKind};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use syscost_core::units::{Unit, significant};

/// How far from the whole number a product may lie, beside the printed rounding.
pub const SLACK: f64 = 0.03;
/// So many rows must have both figures, and this share of them must agree.
const FEWEST: usize = 3;
const MOST: f64 = 0.8;

/// Latencies of other factors must differ as much: one latency everywhere is a multiple of any rate.
const APART: f64 = 1.5;
/// So near to 1000, a factor may be that of two units.
const UNIT_OFF: f64 = 0.25;

/// A latency by the rate: messages in flight, alone or by the thread.
struct RateFormula<'r> {
    rows: &'r [(&'r PublishedRow, f64, f64)],
    by_thread: bool,
    /// Messages in flight.
    factor: f64,
}

impl<'r> RateFormula<'r> {
    fn in_flight(&self, row: &PublishedRow, in_flight: f64) -> f64 {
        if self.by_thread { in_flight / row.value(TableColumn::Threads).unwrap_or(1.0) } else { in_flight }
    }

    fn agreeing(&self) -> Vec<&'r PublishedRow> {
        let agrees = |(row, in_flight, slack): &&(&PublishedRow, f64, f64)| {
            (self.in_flight(row, *in_flight) / self.factor - 1.0).abs() <= *slack
        };
        self.rows.iter().filter(agrees).map(|(row, ..)| *row).collect()
    }

    /// Of the factor that half of the rows are above.
    fn of_median(mut self) -> Self {
        let mut all: Vec<f64> =
            self.rows.iter().map(|(row, in_flight, _)| self.in_flight(row, *in_flight)).collect();
        all.sort_by(f64::total_cmp);
        self.factor = all[all.len() / 2];
        self
    }
}

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    if !table.is_transfer() {
        return constant(table);
    }
    use TableColumn::{Latency, MessageRate, Throughput};
    // The table's own messages per second, before those that sizes give.
    let first = [MessageRate, Throughput].into_iter().find_map(|rate| of_rate(table, (Latency, rate)));
    first.map_or_else(|| constant(table), |told| vec![told])
}

fn of_rate(table: &PublishedTable, of: (TableColumn, TableColumn)) -> Option<Remark> {
    let rows: Vec<(&PublishedRow, f64, f64)> =
        table.rows.iter().filter_map(|row| in_flight(row, of)).collect();
    if rows.len() < FEWEST {
        return None;
    }
    let latencies = rows.iter().filter_map(|(row, ..)| row.value(of.0));
    let (least, most) = latencies.fold((f64::MAX, 0.0f64), |(a, b), of| (a.min(of), b.max(of)));
    let formula = |by_thread, factor| RateFormula { rows: &rows, by_thread, factor };
    // Where no column says threads, no sentence does.
    let ways: &[bool] = if table.has(TableColumn::Threads) { &[true, false] } else { &[false] };
    let exact = ways.iter().map(|by_thread| formula(*by_thread, 1.0));
    let others = ways.iter().map(|by_thread| formula(*by_thread, 1.0).of_median());
    let others = others.filter(|_| most >= APART * least && rows.len() > FEWEST);
    let fits = |of: &RateFormula| of.agreeing().len() as f64 >= MOST * rows.len() as f64;
    let one = if table.fields { "field" } else { "message" };
    let off = || ways.iter().find_map(|by_thread| unit_off(&formula(*by_thread, 1.0), one));
    exact.chain(others).find(fits).map(|formula| told(&formula, one)).or_else(off)
}

/// Some 1000 messages in flight in every row, more or less: few programs have so many.
fn unit_off(formula: &RateFormula, one: &str) -> Option<Remark> {
    let all = formula.rows.iter().map(|(row, in_flight, _)| formula.in_flight(row, *in_flight));
    let (least, most) = all.fold((f64::MAX, 0.0f64), |(a, b), of| (a.min(of), b.max(of)));
    let near = |factor: f64| (factor / 1e3 - 1.0).abs() < UNIT_OFF;
    let (by, each) = if formula.by_thread { (" x threads", " a thread") } else { ("", "") };
    (near(least) && near(most)).then(|| Remark {
        id: "latency_unit",
        kind: RemarkKind::Caution,
        text: format!(
            "In all {} rows latency is {least:.0} to {most:.0}{by} / {one}s per second. That is consistent with so many {one}s in flight{each}, or \
             with a latency or a rate that is 1000 times too high for one {one} in flight{each} (a unit?): the table cannot say which.",
            formula.rows.len()
        ),
        lines: formula.rows.iter().map(|(row, ..)| row.line).collect(),
    })
}

/// Sizes are those of messages, or of their fields.
fn told(formula: &RateFormula, one: &str) -> Remark {
    let agreeing = formula.agreeing();
    let threads = if formula.by_thread { "threads" } else { "1" };
    let digits = if formula.factor < 0.1 { 1e4 } else { 1e2 };
    let factor = significant((digits * formula.factor).round() / digits);
    let each = if formula.by_thread { " a thread" } else { "" };
    let (is, in_flight) = match factor.as_str() {
        "1" => (format!("{threads} / {one}s per second"), format!("one {one} in flight")),
        factor => {
            let by = if formula.by_thread { format!("{factor} x threads") } else { factor.to_string() };
            (format!("{by} / {one}s per second"), format!("{factor} {one}s in flight"))
        }
    };
    let in_flight = format!("{in_flight}{each}");
    // In ns below a heading of us, or in us below ms.
    let unit = if (formula.factor / 1e3 - 1.0).abs() < UNIT_OFF {
        format!(", or with a latency that is 1000 times too long for one {one} in flight{each} (a unit?)")
    } else {
        String::new()
    };
    Remark {
        id: "derived_latency",
        kind: RemarkKind::Caution,
        text: format!(
            "In {} of {} rows latency is {is}, within 3 % and the digits given. That is consistent with latency computed from the rate, or with {in_flight}{unit}: \
             the table cannot say which. It says no more than the throughput.",
            agreeing.len(),
            formula.rows.len()
        ),
        lines: agreeing.iter().map(|row| row.line).collect(),
    }
}

/// Latency x throughput that is one figure at sizes which are far apart.
fn constant(table: &PublishedTable) -> Vec<Remark> {
    let known = |row: &PublishedRow| {
        let (latency, rate) = (row.figure(TableColumn::Latency)?, row.figure(TableColumn::Throughput)?);
        let slack = latency.rounding / latency.value + rate.rounding / rate.value;
        Some((latency.value * rate.value * 1e-9, slack, row.count(TableColumn::MessageBytes)?, row.line))
    };
    let rows: Vec<(f64, f64, u64, usize)> = table
        .rows
        .iter()
        .filter_map(known)
        .filter(|(product, slack, ..)| *product > 0.0 && *slack < SLACK)
        .collect();
    let (Some(least), Some(most)) = (rows.iter().map(|r| r.2).min(), rows.iter().map(|r| r.2).max()) else {
        return Vec::new();
    };
    let (first, ..) = rows[0];
    let same =
        |(product, slack, ..): &(f64, f64, u64, usize)| (product / first - 1.0).abs() <= 2.0 * slack + 1e-6;
    if rows.len() < FEWEST + 1 || most < 4 * least.max(1) || !rows.iter().all(same) {
        return Vec::new();
    }
    vec![Remark {
        id: "derived_latency",
        kind: RemarkKind::Caution,
        text: format!(
            "Latency x throughput is {} in all {} rows, at sizes from {} to {}. That is consistent with latency computed \
             from the throughput, or with a fixed amount of data in flight: the table cannot say which.",
            Unit::Bytes.format(first / 8.0),
            rows.len(),
            super::size(least),
            super::size(most)
        ),
        lines: rows.iter().map(|row| row.3).collect(),
    }]
}

/// Messages in flight by Little's law, and the share by which rounding may have moved it.
pub fn in_flight(row: &PublishedRow, of: (TableColumn, TableColumn)) -> Option<(&PublishedRow, f64, f64)> {
    let (latency, rate) = (row.figure(of.0)?, row.figure(of.1)?);
    let bits = match of.1 {
        TableColumn::MessageRate => 1.0,
        _ => row.value(TableColumn::MessageBytes)? * 8.0,
    };
    let share = |f: &PublishedFigure| f.rounding / f.value;
    let in_flight = latency.value * 1e-9 * rate.value / bits;
    (in_flight.is_finite() && in_flight > 0.0)
        .then(|| (row, in_flight, SLACK + share(&latency) + share(&rate)))
}

#[cfg(test)]
mod tests {
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
