//! Latency that says no more than the throughput: it is threads divided by the message rate, row after row.
//!
//! By Little's law latency x rate is the number of messages in flight. Whoever divides the running time by the messages
//! gets the number of threads (or one), and so does who times each message while one is in flight. The figures alone
//! cannot tell these apart. Source: Little (1961).

use super::{Remark, RemarkKind};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};
use syscost_core::units::Unit;

/// How far from the whole number a product may lie, beside the printed rounding.
const SLACK: f64 = 0.03;
/// So many rows must have both figures, and this share of them must agree.
const FEWEST: usize = 3;
const MOST: f64 = 0.8;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    if !table.is_transfer() || table.fields {
        return constant(table);
    }
    let rows: Vec<(&PublishedRow, f64, f64)> = table.rows.iter().filter_map(in_flight).collect();
    if rows.len() < FEWEST {
        return Vec::new();
    }
    type Guess = (fn(f64) -> f64, &'static str);
    let guesses: [Guess; 4] = [
        (|threads| threads, "threads / messages per second"),
        (|_| 1.0, "1 / messages per second"),
        (|threads| 2.0 * threads, "2 x threads / messages per second"),
        (|threads| 0.5 * threads, "half of threads / messages per second"),
    ];
    for (guess, formula) in guesses {
        let agrees = |(row, in_flight, slack): &&(&PublishedRow, f64, f64)| {
            let wanted = guess(row.value(TableColumn::Threads).unwrap_or(1.0));
            (in_flight / wanted - 1.0).abs() <= *slack
        };
        let agreeing: Vec<&(&PublishedRow, f64, f64)> = rows.iter().filter(agrees).collect();
        if agreeing.len() as f64 >= MOST * rows.len() as f64 {
            return vec![Remark {
                id: "derived_latency",
                kind: RemarkKind::Caution,
                text: format!(
                    "In {} of {} rows latency is {formula}. That is consistent with latency computed from the rate, or with \
                     one message in flight: the table cannot say which. It says no more than the throughput.",
                    agreeing.len(),
                    rows.len()
                ),
                lines: agreeing.iter().map(|(row, _, _)| row.line).collect(),
            }];
        }
    }
    constant(table)
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
fn in_flight(row: &PublishedRow) -> Option<(&PublishedRow, f64, f64)> {
    let (latency, rate) = (row.figure(TableColumn::Latency)?, row.figure(TableColumn::Throughput)?);
    let bits = row.value(TableColumn::MessageBytes)? * 8.0;
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
        assert!(look(&rows(|us| 30.0 + us)).is_empty());
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
