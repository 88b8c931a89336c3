//! The machine-readable forms of perf stat: `-x` with any separator, and `-j`. A file is one case, and `--name` says which.
//! Source: perf-stat(1), "CSV FORMAT".

use super::{ToolRows, number, text};
use crate::dictionary;
use crate::remark::COUNTERS;
use crate::{PublishedRow, TableColumn, TableColumn::*};
use serde_json::Value;
use std::collections::BTreeSet;

/// What perf counts in.
const UNITS: &[&str] = &["", "msec", "ns", "Joules", "MiB", "Bytes", "C"];
/// A line alone may be one of another table.
const FEWEST: usize = 2;
/// Less of the time on a counter is an estimate.
const WHOLE: f64 = 99.0;

/// An event, its count (`None`: not counted), the share of the time that it was on the counter, and how far runs lie apart.
struct PerfCount {
    event: String,
    value: Option<f64>,
    running: f64,
    variance: Option<f64>,
}

/// What is refused of both forms.
const PARTS: &str = "perf stat: counts of intervals or of single CPUs are not read: leave -I and -A away";

pub fn json(json: &Value) -> ToolRows {
    let all = json.as_array()?;
    let count = |of: &Value| {
        Some(PerfCount {
            event: text(of, "/event")?.into(),
            value: text(of, "/counter-value")?.trim().parse().ok(),
            running: number(of, "/pcnt-running").unwrap_or(100.0),
            variance: number(of, "/variance"),
        })
    };
    let counts: Vec<PerfCount> = all.iter().filter_map(count).collect();
    let parts = ["interval", "cpu", "core", "socket"];
    if !counts.is_empty() && all.iter().any(|of| parts.iter().any(|part| of.get(part).is_some())) {
        return Some(Err(PARTS.into()));
    }
    (counts.len() >= FEWEST).then(|| case(counts))
}

pub fn separated(text: &str) -> ToolRows {
    let of =
        |separator| -> Vec<PerfCount> { text.lines().filter_map(|line| counted(line, separator)).collect() };
    let separators = [',', ';', '\t', '|'];
    let counts = separators.into_iter().map(of).max_by_key(Vec::len)?;
    let known = |count: &PerfCount| column(&count.event).is_some();
    // A time stamp, a CPU or a socket stands before the count.
    let part = |line: &&str| {
        let behind = |mark: &char| counted(line.split_once(*mark)?.1, *mark);
        separators.iter().filter_map(behind).any(|count| known(&count))
    };
    if counts.is_empty() && text.lines().filter(part).count() >= FEWEST {
        return Some(Err(PARTS.into()));
    }
    (counts.len() >= FEWEST && counts.iter().any(known)).then(|| case(counts))
}

/// `1234567,,cycles,5000000,100.00,3.2,GHz`: count, unit, event, time, share.
fn counted(text: &str, separator: char) -> Option<PerfCount> {
    let mut fields: Vec<&str> = text.split(separator).map(str::trim).collect();
    // Of several runs (`-r`), how far they lie apart.
    let variance = fields.get(3).and_then(|field| field.strip_suffix('%')?.parse().ok());
    if variance.is_some() {
        fields.remove(3);
    }
    let [value, unit, event, _, running, ..] = fields[..] else { return None };
    let known = (value.starts_with("<not") || value.parse::<f64>().is_ok()) && UNITS.contains(&unit);
    let running = running.parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share))?;
    let named = event.starts_with(char::is_alphabetic) && !event.contains(' ');
    let (event, value) = (event.to_string(), value.parse().ok());
    (known && named).then_some(PerfCount { event, value, running, variance })
}

/// Of an event that counts user mode and the kernel on every core.
fn column(event: &str) -> Option<TableColumn> {
    let of = dictionary::heading(event, false).ok().filter(|_| !event.contains(['/', ':']))?;
    COUNTERS.contains(&of.column).then_some(of.column)
}

fn case(counts: Vec<PerfCount>) -> Result<(Vec<PublishedRow>, String), String> {
    let events: BTreeSet<&str> = counts.iter().map(|count| count.event.as_str()).collect();
    if events.len() < counts.len() {
        return Err("perf stat: an event is counted twice in this file: write a file a run (-o FILE)".into());
    }
    let mut row = PublishedRow::of_tool(1, &[(Mechanism, "perf stat")]);
    let mut told = vec!["perf stat: a file is a case".to_string()];
    let mut left = Vec::new();
    for PerfCount { event, value, running, variance } in &counts {
        let known = if event == "duration_time" { Some(Elapsed) } else { column(event) };
        match (known, *value) {
            (Some(column), Some(value)) => {
                row.set([(column, value)]);
                row.scatter.extend(variance.map(|share| (column, value * share / 100.0)));
                if *running < WHOLE {
                    told.push(format!("{event} was on a counter for {running:.0} % of the time: estimated"));
                }
            }
            (Some(_), None) => told.push(format!("{event} was not counted")),
            (None, _) => left.push(event.as_str()),
        }
    }
    let left = left.join(", ");
    if row.figures.is_empty() {
        return Err(format!("perf stat: no count that is known here ({left})"));
    }
    if !left.is_empty() {
        told.push(format!("not read: {left} (of a part of the cores or modes, or not known)"));
    }
    Ok((vec![row], told.join("; ")))
}
