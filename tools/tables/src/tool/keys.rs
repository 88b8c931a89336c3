//! Tools that print `key=value`: netperf's omni test (`-k`, also as JSON) and neper, whose keys are in lower case. Sources:
//! netperf manual, "Omni Output Selectors"; neper, README, "Output format".

use super::{ToolRows, number, several, text};
use crate::dictionary::DICTIONARY;
use crate::{PublishedRow, TableColumn::*, unit};
use serde_json::{Map, Value};
use std::collections::BTreeSet;
use syscost_core::units::Unit as CoreUnit;

/// One of them beside its throughput shows that neper wrote it.
const OF_NEPER: [&str; 6] =
    ["NUM_FLOWS", "NUM_THREADS", "THROUGHPUT_UNITS", "THROUGHPUT_OPT", "NUM_TRANSACTIONS", "TIME_END"];

const SPREADS: [(&str, f64); 2] = [("/STDDEV_LATENCY", 1e3), ("/LATENCY_STDDEV", 1e9)];

/// The keys of a run in upper case, with the line of the first, from 1.
type KeyedRun = (usize, Map<String, Value>);

pub fn netperf_json(json: &Value) -> ToolRows {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let keys = json.as_object()?.iter().map(|(key, value)| (key.to_uppercase(), value_of(&text(value))));
    netperf_runs(vec![(1, keys.collect())])
}

pub fn netperf(text: &str) -> ToolRows {
    netperf_runs(runs(text, |c| c.is_ascii_uppercase()))
}

fn netperf_runs(mut runs: Vec<KeyedRun>) -> ToolRows {
    runs.retain(|(_, keys)| keys.contains_key("THROUGHPUT") || keys.contains_key("TRANSACTION_RATE"));
    rows("netperf", runs, "netperf: a set of keys is a result")
}

pub fn neper(text: &str) -> ToolRows {
    let mut runs = runs(text, |c| c.is_ascii_lowercase());
    let is_own = |keys: &Map<String, Value>| OF_NEPER.iter().any(|key| keys.contains_key(*key));
    runs.retain(|(_, keys)| keys.contains_key("THROUGHPUT") && is_own(keys));
    rows("neper", runs, "neper: its flows are threads here, all together")
}

/// A number that is not below zero, else the text.
fn value_of(text: &str) -> Value {
    let number = text.parse::<f64>().ok().filter(|value| *value >= 0.0);
    number.map_or_else(|| text.into(), Value::from)
}

/// A key that comes again begins the next run.
fn runs(text: &str, is_letter: fn(char) -> bool) -> Vec<KeyedRun> {
    let is_key = |key: &str| key.chars().all(|c| is_letter(c) || c.is_ascii_digit() || c == '_');
    let mut all: Vec<KeyedRun> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let cut = line.split_once('=').filter(|(key, _)| !key.is_empty() && is_key(key));
        let Some((key, value)) = cut.map(|(key, value)| (key.to_uppercase(), value_of(value.trim()))) else {
            continue;
        };
        match all.last_mut().filter(|(_, keys)| !keys.contains_key(&key)) {
            Some((_, keys)) => _ = keys.insert(key, value),
            None => all.push((at + 1, Map::from_iter([(key, value)]))),
        }
    }
    all
}

fn rows(tool: &str, runs: Vec<KeyedRun>, understood: &str) -> ToolRows {
    let rows = runs.iter().map(|(line, keys)| row(tool, *line, &Value::Object(keys.clone())));
    let one_each = |rows: Vec<PublishedRow>| {
        let cases: BTreeSet<_> = rows.iter().map(PublishedRow::key).collect();
        let each = cases.len() == rows.len();
        if each { Ok((rows, understood.into())) } else { Err(several(tool, rows.len())) }
    };
    (!runs.is_empty()).then(|| rows.collect::<Result<Vec<_>, _>>().and_then(one_each))
}

fn row(tool: &str, line: usize, keys: &Value) -> Result<PublishedRow, String> {
    let direction = text(keys, "/DIRECTION").unwrap_or_default();
    let row = PublishedRow::of_tool(line, &[(Mechanism, tool), (Variant, direction)]);
    let mut row = row.read(Some(keys), &DICTIONARY.keys);
    match (number(keys, "/THROUGHPUT"), text(keys, "/THROUGHPUT_UNITS")) {
        (Some(value), Some(told)) => {
            row.set([match unit::parse(told).map(|unit| (unit.base, unit.factor)) {
                Ok((CoreUnit::BitsPerSecond, factor)) => (Throughput, value * factor),
                Ok((CoreUnit::PerSecond, factor)) => (MessageRate, value * factor),
                _ => return Err(format!("{tool}: THROUGHPUT_UNITS {told:?} is no rate known here")),
            }])
        }
        // Without a unit, neper's is that of its transactions.
        (Some(value), None) if row.figure(Messages).is_some() => row.set([(MessageRate, value)]),
        (None, _) if row.figure(MessageRate).is_some() => {}
        (None, _) => return Err(format!("{tool}: THROUGHPUT is no number")),
        _ => {
            let why = "THROUGHPUT has no THROUGHPUT_UNITS: print both (netperf: -k THROUGHPUT,THROUGHPUT_UNITS,...)";
            return Err(format!("{tool}: {why}, since it has several"));
        }
    }
    // A read of a stream may be a part of a buffer.
    if row.figure(MessageRate).is_none() {
        row.figures.remove(&Messages);
    }
    let lasted = number(keys, "/TIME_END").zip(number(keys, "/TIME_START")).map(|(end, start)| end - start);
    row.set(lasted.filter(|_| row.figure(Elapsed).is_none()).map(|seconds| (Elapsed, seconds * 1e9)));
    let spreads = SPREADS.iter().filter_map(|(key, scale)| Some((Latency, number(keys, key)? * scale)));
    row.scatter.extend(spreads);
    Ok(row)
}
