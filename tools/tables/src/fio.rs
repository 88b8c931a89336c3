//! The JSON of fio (`--output-format=json`): a row for each job and direction. Source: fio(1), "JSON output".

use super::{BadTable, PublishedRow, PublishedTable, TableColumn, unit};
use serde_json::Value;

/// `None`: not of fio.
pub fn table(name: &str, json: &Value) -> Option<Result<PublishedTable, BadTable>> {
    json.get("fio version")?;
    let jobs = json.get("jobs").and_then(Value::as_array);
    let rows: Vec<PublishedRow> = jobs.into_iter().flatten().flat_map(|job| rows(json, job)).collect();
    let rows = if rows.is_empty() { Err("fio: no job with I/O".to_string()) } else { Ok(rows) };
    Some(PublishedTable::of_one(name, rows, vec!["fio: a row is a job and a direction".into()]))
}

fn rows(json: &Value, job: &Value) -> Vec<PublishedRow> {
    let number = |of: &Value, path: &str| of.pointer(path).and_then(Value::as_f64);
    let size = [job.get("job options"), json.get("global options")]
        .into_iter()
        .flatten()
        .find_map(|o| o.get("bs")?.as_str());
    let size = size.and_then(|text| {
        let (value, _, of) = unit::number(text, unit::DecimalMark::Point)?;
        Some(value * of.map_or(Some(1.0), |of| unit::parse(of).ok().map(|unit| unit.factor))?)
    });
    let title = job.get("jobname").and_then(Value::as_str).unwrap_or("fio");
    let moved =
        |way: &&str| job.get(way).is_some_and(|of| number(of, "/io_bytes").is_some_and(|bytes| bytes > 0.0));
    let row = |way: &str| {
        let of = &job[way];
        PublishedRow::of_one(
            title,
            way,
            [
                (TableColumn::Throughput, number(of, "/bw_bytes").map(|bytes| bytes * 8.0)),
                (TableColumn::MessageRate, number(of, "/iops")),
                (TableColumn::Bytes, number(of, "/io_bytes")),
                (TableColumn::Elapsed, number(of, "/runtime").map(|ms| ms * 1e6)),
                (TableColumn::Latency, number(of, "/lat_ns/mean")),
                (TableColumn::Spread, number(of, "/lat_ns/stddev")),
                (TableColumn::MessageBytes, size),
            ],
        )
    };
    ["read", "write", "trim"].iter().filter(|way| moved(way)).map(|way| row(way)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_has_a_row_for_each_direction_that_moved() {
        let json = serde_json::json!({"fio version": "fio-3.36", "jobs": [{"jobname": "seq", "job options": {"bs": "4k"},
            "read": {"io_bytes": 4096000, "bw_bytes": 8192000, "iops": 2000.0, "runtime": 500, "lat_ns": {"mean": 480000.0, "stddev": 1000.0}},
            "write": {"io_bytes": 0}}]});
        let table = table("f", &json).unwrap().unwrap();
        assert_eq!((table.rows.len(), table.is_transfer()), (1, false), "a disk is no socket");
        let row = &table.rows[0];
        assert_eq!(
            (row.count(TableColumn::MessageBytes), row.value(TableColumn::Latency)),
            (Some(4096), Some(480000.0))
        );
        assert_eq!(row.value(TableColumn::Throughput), Some(8192000.0 * 8.0));
        assert!(super::table("f", &serde_json::json!({"jobs": []})).is_none());
    }
}
