//! Tools that print `key=value`: netperf's omni test (`-k`, also as JSON) and neper. Sources: netperf manual, "Omni Output
//! Selectors"; neper, README, "Output format".

use super::{ToolRows, number, one_each, text};
use crate::unit::{self, Dimension};
use crate::{PublishedRow, TableColumn, TableColumn::*};
use serde_json::{Map, Value};

pub fn netperf_json(json: &Value) -> ToolRows {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let keys = json.as_object()?.iter().map(|(key, value)| (key.to_uppercase(), value_of(&text(value))));
    let keys = Value::Object(keys.collect());
    is_of_netperf(&keys).then(|| netperf_row(&keys).map(|row| (vec![row], String::from("netperf's keys"))))
}

pub fn netperf(text: &str) -> ToolRows {
    let runs = runs(text, |c| c.is_ascii_uppercase(), is_of_netperf);
    read("netperf", runs, netperf_row, "netperf: a set of keys is a result")
}

pub fn neper(text: &str) -> ToolRows {
    let known =
        ["num_flows", "num_threads", "throughput_units", "throughput_opt", "num_transactions", "time_end"];
    let is_of_neper =
        |keys: &Value| keys.get("throughput").is_some() && known.iter().any(|key| keys.get(key).is_some());
    let runs = runs(text, |c| c.is_ascii_lowercase(), is_of_neper);
    read("neper", runs, neper_row, "neper: its flows are threads here, all together")
}

fn is_of_netperf(keys: &Value) -> bool {
    keys.get("THROUGHPUT").or(keys.get("TRANSACTION_RATE")).is_some()
}

fn read(
    tool: &str,
    runs: Vec<(usize, Value)>,
    row: fn(&Value) -> Result<PublishedRow, String>,
    understood: &str,
) -> ToolRows {
    let rows: Result<Vec<PublishedRow>, String> =
        runs.iter().map(|(line, keys)| Ok(PublishedRow { line: *line, ..row(keys)? })).collect();
    let rows = rows.and_then(|rows| one_each(tool, rows)).map(|rows| (rows, understood.into()));
    (!runs.is_empty()).then_some(rows)
}

/// A number that is not below zero, else the text.
fn value_of(text: &str) -> Value {
    let number = text.parse::<f64>().ok().filter(|value| *value >= 0.0);
    number.map_or_else(|| text.into(), Value::from)
}

/// A key that comes again begins the next run. With the line of the first key, from 1.
fn runs(text: &str, is_letter: fn(&char) -> bool, is_whole: impl Fn(&Value) -> bool) -> Vec<(usize, Value)> {
    let is_key =
        |key: &str| !key.is_empty() && key.chars().all(|c| is_letter(&c) || c.is_ascii_digit() || c == '_');
    let mut all: Vec<(usize, Map<String, Value>)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once('=').filter(|(key, _)| is_key(key)) else { continue };
        if all.last().is_none_or(|(_, keys)| keys.contains_key(key)) {
            all.push((at + 1, Map::new()));
        }
        all.last_mut().expect("just begun").1.insert(key.into(), value_of(value.trim()));
    }
    let all = all.into_iter().map(|(line, keys)| (line, Value::Object(keys)));
    all.filter(|(_, keys)| is_whole(keys)).collect()
}

/// A throughput of bits or of transactions, by its unit.
fn rate(tool: &str, key: &str, units: &str, value: f64) -> Result<(TableColumn, f64), String> {
    let unit = unit::parse(units).map_err(|_| format!("{tool}: {key} {units:?} is no rate known here"))?;
    let column = match unit.dimension {
        Dimension::Rate => Throughput,
        Dimension::Calls => MessageRate,
        _ => return Err(format!("{tool}: {key} {units:?} is no rate")),
    };
    Ok((column, value * unit.factor))
}

fn netperf_row(keys: &Value) -> Result<PublishedRow, String> {
    let rate = match (number(keys, "/THROUGHPUT"), number(keys, "/TRANSACTION_RATE")) {
        (Some(value), _) => {
            let units = text(keys, "/THROUGHPUT_UNITS").ok_or(
                "netperf: THROUGHPUT has no THROUGHPUT_UNITS: select both (-k THROUGHPUT,THROUGHPUT_UNITS,...), since it has several",
            )?;
            rate("netperf", "THROUGHPUT_UNITS", units, value)?
        }
        (None, Some(value)) => (MessageRate, value),
        (None, None) => return Err("netperf: THROUGHPUT is no number".into()),
    };
    let figures = [
        ("/ELAPSED_TIME", Elapsed, 1e9),
        ("/REQUEST_SIZE", MessageBytes, 1.0),
        ("/LOCAL_SEND_SIZE", MessageBytes, 1.0),
        ("/MEAN_LATENCY", Latency, 1e3),
        ("/LOCAL_TRANSPORT_RETRANS", Retransmits, 1.0),
        ("/LOCAL_CPU_UTIL", CpuPercent, 1.0),
    ];
    let row = PublishedRow::of_tool("netperf", text(keys, "/DIRECTION").unwrap_or_default());
    let mut row = row.read(Some(keys), &figures);
    row.set([rate]);
    row.scatter.extend(number(keys, "/STDDEV_LATENCY").map(|spread| (Latency, spread * 1e3)));
    Ok(row)
}

fn neper_row(keys: &Value) -> Result<PublishedRow, String> {
    let value = number(keys, "/throughput").ok_or("neper: throughput is no number")?;
    let turns = number(keys, "/num_transactions");
    let rate = match text(keys, "/throughput_units") {
        Some(units) => rate("neper", "throughput_units", units, value)?,
        None if keys.get("num_transactions").is_some() => (MessageRate, value),
        None => return Err("neper: throughput has no throughput_units".into()),
    };
    let figures = [
        ("/num_threads", Threads, 1.0),
        ("/num_flows", Threads, 1.0),
        ("/request_size", MessageBytes, 1.0),
        ("/buffer_size", MessageBytes, 1.0),
        ("/latency_mean", Latency, 1e9),
    ];
    let mut row = PublishedRow::of_tool("neper", "").read(Some(keys), &figures);
    row.set([rate]);
    let lasted = || Some(number(keys, "/time_end")? - number(keys, "/time_start")?);
    row.set(number(keys, "/test_length").or_else(lasted).map(|s| (Elapsed, s * 1e9)));
    // A read of a stream may be a part of a buffer.
    row.set(turns.filter(|_| rate.0 == MessageRate).map(|turns| (Messages, turns)));
    row.scatter.extend(number(keys, "/latency_stddev").map(|spread| (Latency, spread * 1e9)));
    Ok(row)
}
