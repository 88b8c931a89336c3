//! What neper prints (`tcp_stream`, `tcp_rr`): `key=value` lines in lower case. Source: neper, README "Output format".

use super::{BadTable, PublishedRow, PublishedTable, TableColumn, naming};
use std::collections::BTreeMap;

type NeperKeys = BTreeMap<String, String>;

/// `None`: not of neper.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let runs = runs(text);
    let rows = runs.iter().map(|run| {
        let mut row = PublishedRow { line: run.line, ..row(&run.keys)? };
        if runs.iter().any(|other| other.file != run.file) {
            row.texts.insert(TableColumn::Variant, run.file.into());
        }
        Ok(row)
    });
    let said = vec!["neper: its flows are threads here".into()];
    let table = PublishedTable::of_messages(name, rows.collect(), said);
    (!runs.is_empty()).then_some(table)
}

struct NeperRun<'t> {
    /// Of its throughput, from 1.
    line: usize,
    /// What grep writes before a line: `test0.log:throughput=180165.51`.
    file: &'t str,
    keys: NeperKeys,
}

impl NeperRun<'_> {
    fn is_of_neper(&self) -> bool {
        let known = [
            "num_flows",
            "num_threads",
            "throughput",
            "throughput_units",
            "throughput_opt",
            "local_throughput",
            "num_transactions",
            "time_end",
        ];
        self.keys.contains_key("throughput")
            && known.iter().filter(|key| self.keys.contains_key(**key)).count() > 1
    }
}

/// A key that comes again begins the next run of its file.
fn runs(text: &str) -> Vec<NeperRun<'_>> {
    let mut all: Vec<NeperRun> = Vec::new();
    let mut latest: BTreeMap<&str, usize> = BTreeMap::new();
    for (at, line) in text.lines().enumerate() {
        let Some((key, value)) = line.split_once('=') else { continue };
        let (file, key) = key.trim().rsplit_once(':').unwrap_or(("", key.trim()));
        let known = latest.get(file).copied().filter(|run| !all[*run].keys.contains_key(key));
        let run = known.unwrap_or(all.len());
        if known.is_none() {
            latest.insert(file, run);
            all.push(NeperRun { line: at + 1, file, keys: NeperKeys::new() });
        }
        if key == "throughput" {
            all[run].line = at + 1;
        }
        all[run].keys.insert(key.into(), value.trim().into());
    }
    all.retain(NeperRun::is_of_neper);
    all
}

fn row(keys: &NeperKeys) -> Result<PublishedRow, String> {
    let number = |key: &str| keys.get(key).and_then(|text| text.parse::<f64>().ok());
    let value = number("throughput").ok_or("neper: throughput is no number")?;
    let rate = match keys.get("throughput_units") {
        Some(units) => {
            let (column, factor) = naming::rate(units)
                .ok_or_else(|| format!("neper: throughput_units {units:?} is no rate known here"))?;
            (column, Some(value * factor))
        }
        None if keys.contains_key("num_transactions") => (TableColumn::MessageRate, Some(value)),
        None => return Err("neper: throughput has no throughput_units".into()),
    };
    // A read of a stream may be a part of a buffer.
    let turns = number("num_transactions").filter(|_| rate.0 == TableColumn::MessageRate);
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
            (TableColumn::Messages, turns),
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
