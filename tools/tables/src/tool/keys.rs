//! Tools that print `key=value`: netperf's omni test (`-k`, also as JSON) and neper. Sources: netperf manual, "Omni Output
//! Selectors"; neper, README, "Output format".

use super::{ToolRows, one_each};
use crate::unit::{self, Dimension};
use crate::{PublishedRow, TableColumn};
use serde_json::Value;
use std::collections::BTreeMap;

type Keys = BTreeMap<String, String>;

pub fn netperf_json(json: &Value) -> ToolRows {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let keys: Keys = json.as_object()?.iter().map(|(key, value)| (key.to_uppercase(), text(value))).collect();
    is_of_netperf(&keys).then(|| netperf_row(&keys).map(|row| (vec![row], String::from("netperf's keys"))))
}

pub fn netperf(text: &str) -> ToolRows {
    let upper = |key: &str| key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    read("netperf", &runs(text, &upper, &is_of_netperf), netperf_row, "netperf: a set of keys is a result")
}

pub fn neper(text: &str) -> ToolRows {
    let lower = |key: &str| key.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_');
    let is_of_neper = |keys: &Keys| {
        let known = [
            "num_flows",
            "num_threads",
            "throughput_units",
            "throughput_opt",
            "num_transactions",
            "time_end",
        ];
        keys.contains_key("throughput") && known.iter().any(|key| keys.contains_key(*key))
    };
    read(
        "neper",
        &runs(text, &lower, &is_of_neper),
        neper_row,
        "neper: its flows are threads here, all together",
    )
}

fn is_of_netperf(keys: &Keys) -> bool {
    keys.contains_key("THROUGHPUT") || keys.contains_key("TRANSACTION_RATE")
}

fn read(
    tool: &str,
    runs: &[(usize, Keys)],
    row: fn(&Keys) -> Result<PublishedRow, String>,
    understood: &str,
) -> ToolRows {
    if runs.is_empty() {
        return None;
    }
    let rows: Result<Vec<PublishedRow>, String> =
        runs.iter().map(|(line, keys)| Ok(PublishedRow { line: *line, ..row(keys)? })).collect();
    Some(rows.and_then(|rows| one_each(tool, rows)).map(|rows| (rows, understood.into())))
}

/// A key that comes again begins the next run. With the line of the first key, from 1.
fn runs(text: &str, is_key: &dyn Fn(&str) -> bool, is_whole: &dyn Fn(&Keys) -> bool) -> Vec<(usize, Keys)> {
    let mut all: Vec<(usize, Keys)> = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once('=').filter(|(key, _)| !key.is_empty() && is_key(key))
        else {
            continue;
        };
        if all.last().is_none_or(|(_, keys)| keys.contains_key(key)) {
            all.push((at + 1, Keys::new()));
        }
        all.last_mut().expect("just begun").1.insert(key.into(), value.trim().into());
    }
    all.retain(|(_, keys)| is_whole(keys));
    all
}

fn number(keys: &Keys, key: &str) -> Option<f64> {
    keys.get(key).and_then(|text| text.parse::<f64>().ok()).filter(|value| *value >= 0.0)
}

/// A throughput of bits or of transactions, by its unit.
fn rate(tool: &str, key: &str, units: &str, value: f64) -> Result<(TableColumn, Option<f64>), String> {
    let unit = unit::parse(units).map_err(|_| format!("{tool}: {key} {units:?} is no rate known here"))?;
    let column = match unit.dimension {
        Dimension::Rate => TableColumn::Throughput,
        Dimension::Calls => TableColumn::MessageRate,
        _ => return Err(format!("{tool}: {key} {units:?} is no rate")),
    };
    Ok((column, Some(value * unit.factor)))
}

fn netperf_row(keys: &Keys) -> Result<PublishedRow, String> {
    let of = |key: &str, scale: f64| number(keys, key).map(|value| value * scale);
    let rate = match (of("THROUGHPUT", 1.0), of("TRANSACTION_RATE", 1.0)) {
        (Some(value), _) => {
            let units = keys.get("THROUGHPUT_UNITS").ok_or(
                "netperf: THROUGHPUT has no THROUGHPUT_UNITS: select both (-k THROUGHPUT,THROUGHPUT_UNITS,...), since it has several",
            )?;
            rate("netperf", "THROUGHPUT_UNITS", units, value)?
        }
        (None, Some(value)) => (TableColumn::MessageRate, Some(value)),
        (None, None) => return Err("netperf: THROUGHPUT is no number".into()),
    };
    let direction = keys.get("DIRECTION").map_or("", String::as_str);
    let mut row = PublishedRow::of_one(
        "netperf",
        direction,
        [
            rate,
            (TableColumn::Elapsed, of("ELAPSED_TIME", 1e9)),
            (TableColumn::MessageBytes, of("LOCAL_SEND_SIZE", 1.0).or_else(|| of("REQUEST_SIZE", 1.0))),
            (TableColumn::Latency, of("MEAN_LATENCY", 1e3)),
            (TableColumn::Retransmits, of("LOCAL_TRANSPORT_RETRANS", 1.0)),
            (TableColumn::CpuPercent, of("LOCAL_CPU_UTIL", 1.0)),
        ],
    );
    row.scatter.extend(of("STDDEV_LATENCY", 1e3).map(|spread| (TableColumn::Latency, spread)));
    Ok(row)
}

fn neper_row(keys: &Keys) -> Result<PublishedRow, String> {
    let of = |key: &str, scale: f64| number(keys, key).map(|value| value * scale);
    let value = of("throughput", 1.0).ok_or("neper: throughput is no number")?;
    let rate = match keys.get("throughput_units") {
        Some(units) => rate("neper", "throughput_units", units, value)?,
        None if keys.contains_key("num_transactions") => (TableColumn::MessageRate, Some(value)),
        None => return Err("neper: throughput has no throughput_units".into()),
    };
    // A read of a stream may be a part of a buffer.
    let turns = of("num_transactions", 1.0).filter(|_| rate.0 == TableColumn::MessageRate);
    let seconds = of("test_length", 1.0).or_else(|| Some(of("time_end", 1.0)? - of("time_start", 1.0)?));
    let mut row = PublishedRow::of_one(
        "neper",
        "",
        [
            rate,
            (TableColumn::Threads, of("num_flows", 1.0).or_else(|| of("num_threads", 1.0))),
            (TableColumn::MessageBytes, of("buffer_size", 1.0).or_else(|| of("request_size", 1.0))),
            (TableColumn::Elapsed, seconds.map(|s| s * 1e9)),
            (TableColumn::Messages, turns),
            (TableColumn::Latency, of("latency_mean", 1e9)),
        ],
    );
    row.scatter.extend(of("latency_stddev", 1e9).map(|spread| (TableColumn::Latency, spread)));
    Ok(row)
}
