//! What neper prints (`tcp_stream`, `tcp_rr`): `key=value` lines in lower case. Source: neper, README "Output format".

use super::unit::{self, Dimension};
use super::{BadTable, PublishedRow, PublishedTable, TableColumn, naming};
use std::collections::BTreeMap;

/// `None`: not of neper.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let pair = |line: &'_ str| {
        let (key, value) = line.split_once('=')?;
        Some((key.trim().to_string(), value.trim().to_string()))
    };
    let keys: BTreeMap<String, String> = text.lines().filter_map(pair).collect();
    let known = ["num_flows", "num_threads", "throughput", "num_transactions", "time_end"];
    if !keys.contains_key("throughput") || known.iter().filter(|key| keys.contains_key(**key)).count() < 2 {
        return None;
    }
    let table = PublishedTable::of_one(
        name,
        row(&keys).map(|row| vec![row]),
        vec!["neper: its flows are threads here".into()],
    );
    Some(table.map(|table| PublishedTable { messages: true, ..table }))
}

fn row(keys: &BTreeMap<String, String>) -> Result<PublishedRow, String> {
    let number = |key: &str| keys.get(key).and_then(|text| text.parse::<f64>().ok());
    let value = number("throughput").ok_or("neper: throughput is no number")?;
    let rate = match keys.get("throughput_units") {
        Some(units) => {
            let scale =
                unit::parse(units).ok().filter(|u| matches!(u.dimension, Dimension::Rate | Dimension::Calls));
            let column = naming::measured(scale);
            let (column, scale) = column
                .zip(scale)
                .ok_or_else(|| format!("neper: throughput_units {units:?} is no rate known here"))?;
            (column, Some(value * scale.factor))
        }
        None if keys.contains_key("num_transactions") => (TableColumn::MessageRate, Some(value)),
        None => return Err("neper: throughput has no throughput_units".into()),
    };
    let size = number("buffer_size").or_else(|| number("request_size"));
    let seconds = number("test_length").or_else(|| Some(number("time_end")? - number("time_start")?));
    Ok(PublishedRow::of_one(
        "neper",
        "",
        [
            rate,
            (TableColumn::Threads, number("num_flows").or_else(|| number("num_threads"))),
            (TableColumn::MessageBytes, size),
            (TableColumn::Elapsed, seconds.map(|s| s * 1e9)),
            (TableColumn::Messages, number("num_transactions")),
            (TableColumn::Latency, number("latency_mean").map(|s| s * 1e9)),
            (TableColumn::Spread, number("latency_stddev").map(|s| s * 1e9)),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_and_transactions() {
        let stream =
            "num_threads=2\nnum_flows=4\nthroughput=15234.5\nthroughput_units=Mbit/s\nbuffer_size=16384\n";
        let row = from_lines("n", stream).unwrap().unwrap().rows.remove(0);
        assert_eq!(
            (row.value(TableColumn::Throughput), row.count(TableColumn::Threads)),
            (Some(15234.5e6), Some(4))
        );
        let rr = "num_transactions=1000\nthroughput=50000.0\nlatency_mean=0.00002\n";
        let row = from_lines("n", rr).unwrap().unwrap().rows.remove(0);
        assert_eq!(
            (row.value(TableColumn::MessageRate), row.value(TableColumn::Throughput)),
            (Some(50000.0), None)
        );
        assert_eq!(row.value(TableColumn::Latency).map(f64::round), Some(20000.0));
        assert!(from_lines("n", "a=1\nb=2\n").is_none());
    }
}
