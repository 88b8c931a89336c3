//! Latency that was not measured: it equals threads divided by the message rate, row after row.
//!
//! By Little's law latency x rate is the number of messages in flight. In a test that streams, whoever
//! divides the running time by the messages gets exactly the number of threads (or one): a restatement of
//! throughput. Source: Little (1961); METHOD of this project: latency is its own experiment.

use super::{Remark, RemarkKind};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn};

/// How far from the whole number a product may lie, beside the printed rounding.
const SLACK: f64 = 0.03;
/// So many rows must have both figures, and this share of them must agree.
const FEWEST: usize = 3;
const MOST: f64 = 0.8;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
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
                kind: RemarkKind::Contradiction,
                text: format!(
                    "Latency was computed, not measured: in {} of {} rows it is {formula}. It repeats the throughput. \
                     `syscost run latency` measures it.",
                    agreeing.len(),
                    rows.len()
                ),
                lines: agreeing.iter().map(|(row, _, _)| row.line).collect(),
            }];
        }
    }
    Vec::new()
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
        assert!(told[0].text.contains("in 4 of 4 rows it is threads / messages per second"), "{told:?}");
        assert_eq!(told[0].lines, [2, 3, 4, 5]);
        assert!(look(&rows(|us| us))[0].text.contains("it is 1 / messages"));
        assert!(look(&rows(|us| 30.0 + us)).is_empty());
    }
}
