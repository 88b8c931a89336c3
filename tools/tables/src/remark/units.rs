//! Figures without a unit: the question, with what each answer would mean.

use super::{Remark, RemarkKind, size};
use crate::unit;
use crate::{PublishedRow, PublishedTable, TableColumn};
use syscost_core::units::{Unit, significant};

const RATES: [&str; 5] = ["Gbit/s", "Mbit/s", "GB/s", "MB/s", "bit/s"];
const TIMES: [&str; 4] = ["ns", "us", "ms", "s"];
/// Of one thread: no core moves more, and nobody waits longer for a message.
const MOST_BITS: f64 = 8e11;
const SHORTEST_NS: f64 = 60.0;
const LONGEST_NS: f64 = 1e9;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let rates = question(table, TableColumn::BareThroughput, "Throughput", &RATES, |row, scale| {
        let rate = row.value(TableColumn::BareThroughput)? * scale;
        let bytes = row.value(TableColumn::MessageBytes)?;
        let each = rate / row.value(TableColumn::Threads).unwrap_or(1.0).max(1.0);
        let ns = bytes * 8e9 / each;
        Some((ns, each < MOST_BITS && (SHORTEST_NS..LONGEST_NS).contains(&ns)))
    });
    let times = question(table, TableColumn::BareLatency, "Latency", &TIMES, |row, scale| {
        let ns = row.value(TableColumn::BareLatency)? * scale;
        Some((ns, (SHORTEST_NS..LONGEST_NS).contains(&ns)))
    });
    rates.into_iter().chain(times).chain(operations(table)).collect()
}

/// What an operation took, in what nothing says.
fn operations(table: &PublishedTable) -> Option<Remark> {
    let bare = |row: &&PublishedRow| {
        row.figure(TableColumn::Measured).is_some() && row.text(TableColumn::Unit).is_none()
    };
    let rows = table.rows.iter().filter(bare).count();
    let text = format!(
        "What was measured has no unit in {}: give it in its heading, such as \"measured (ns)\".",
        syscost_core::units::count(rows, "row")
    );
    (rows > 0).then(|| Remark { id: "no_unit", kind: RemarkKind::Question, text, lines: Vec::new() })
}

fn question(
    table: &PublishedTable,
    column: TableColumn,
    name: &str,
    units: &[&str],
    message: impl Fn(&PublishedRow, f64) -> Option<(f64, bool)>,
) -> Option<Remark> {
    let rows: Vec<&PublishedRow> =
        table.rows.iter().filter(|row| row.value(column).is_some_and(|v| v > 0.0)).collect();
    let first = rows.first()?;
    let fits = |text: &&&str| {
        let scale = unit::parse(text).map_or(1.0, |unit| unit.factor);
        table.is_transfer() && rows.iter().all(|row| message(row, scale).is_some_and(|(_, fits)| fits))
    };
    let fitting: Vec<&&str> = units.iter().filter(fits).collect();
    let value = significant(first.value(column)?);
    let at = first.count(TableColumn::MessageBytes).map_or(String::new(), |n| format!(" at {}", size(n)));
    let each: Vec<String> = fitting
        .iter()
        .filter(|_| column == TableColumn::BareThroughput)
        .filter_map(|text| {
            let (ns, _) = message(first, unit::parse(text).ok()?.factor)?;
            Some(format!("{value} {text}{at} is a message every {}", Unit::Nanoseconds.format(ns)))
        })
        .collect();
    let which = if each.is_empty() { String::new() } else { format!(" {}.", each.join("; ")) };
    let example = fitting.first().map_or(units[0], |text| text);
    let text = format!(
        "{name} has no unit known here in {} rows.{which} Which is it? Say it with --unit {example}; until then only its rows are compared.",
        rows.len()
    );
    Some(Remark { id: "no_unit", kind: RemarkKind::Question, text, lines: Vec::new() })
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn a_unit_is_asked_for_with_what_each_would_mean() {
        let told = look(&table("mechanism,msg_size,threads,throughput\nA1,64,1,2.5\nA1,1024,1,9.0\n"));
        assert!(told[0].text.contains("2.5 Gbit/s at 64 B is a message every 205 ns"), "{}", told[0].text);
        assert!(told[0].text.contains("2.5 MB/s at 64 B is a message every 25.6 us"), "{}", told[0].text);
        assert!(told[0].text.contains("--unit Gbit/s") && told[0].kind == RemarkKind::Question);
        assert!(look(&table("mechanism,msg_size,throughput_gbps\nA1,64,2.5\n")).is_empty());
    }
}
