//! The JSON of fio (`--output-format=json`). Jobs of one reporting group ran at the same time: they are summed.
//! Source: fio(1), "JSON output", "stonewall".

use super::{ToolRows, number};
use crate::unit::{self, DecimalMark};
use crate::{PublishedRow, TableColumn};
use serde_json::Value;
use std::collections::BTreeMap;

pub fn rows(json: &Value) -> ToolRows {
    json.get("fio version")?;
    let jobs: Vec<&Value> = json.get("jobs").and_then(Value::as_array).into_iter().flatten().collect();
    let mut groups: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for job in &jobs {
        groups.entry(job.get("groupid").and_then(Value::as_u64).unwrap_or(0)).or_default().push(job);
    }
    let waited = |job: &Value| {
        job.pointer("/job options/stonewall").is_some() || json.pointer("/global options/stonewall").is_some()
    };
    if groups.values().skip(1).any(|group| !waited(group[0])) {
        return Some(Err("fio: groups of jobs that may have run at the same time: separate them with stonewall, or run fio once for each".into()));
    }
    // A job that waits inside a group begins another case.
    if groups.values().any(|group| group.len() > 1 && group[1..].iter().any(|job| waited(job))) {
        return Some(Err("fio: jobs of one group that waited for each other: give each new_group".into()));
    }
    let rows: Vec<PublishedRow> = groups.values().flat_map(|group| of_group(json, group)).collect();
    if rows.is_empty() {
        return Some(Err("fio: no job with I/O".into()));
    }
    Some(Ok((rows, "fio: jobs that ran at the same time are summed, a row is a direction".into())))
}

fn of_group(json: &Value, group: &[&Value]) -> Vec<PublishedRow> {
    let option = |name: &str| {
        let of = |job: &Value| {
            [job.get("job options"), json.get("global options")]
                .into_iter()
                .flatten()
                .find_map(|o| Some(o.get(name)?.as_str()?.to_string()))
        };
        let first = of(group[0])?;
        group.iter().all(|job| of(job).as_ref() == Some(&first)).then_some(first)
    };
    let size = option("bs").and_then(|text| {
        let (value, _, of) = unit::number(&text, DecimalMark::Point)?;
        Some(value * of.map_or(Some(1.0), |of| unit::parse(of).ok().map(|unit| unit.factor))?)
    });
    let title = group[0].get("jobname").and_then(Value::as_str).unwrap_or("fio");
    let row = |way: &str| {
        let moved: Vec<&Value> = group
            .iter()
            .filter_map(|job| job.get(way))
            .filter(|of| number(of, "io_bytes").is_some_and(|bytes| bytes > 0.0))
            .collect();
        let sum = |key: &str| moved.iter().map(|of| number(of, key)).sum::<Option<f64>>();
        let longest = moved.iter().filter_map(|of| number(of, "runtime")).fold(0.0, f64::max);
        let jobs: f64 = group.iter().map(|_| 1.0).sum();
        // A mean over jobs is weighed by their operations.
        let latency = moved
            .iter()
            .map(|of| Some(of.pointer("/lat_ns/mean")?.as_f64()? * number(of, "total_ios").unwrap_or(1.0)))
            .sum::<Option<f64>>();
        let ios: f64 = moved.iter().map(|of| number(of, "total_ios").unwrap_or(1.0)).sum();
        (!moved.is_empty()).then(|| {
            PublishedRow::of_one(
                title,
                way,
                [
                    (TableColumn::Throughput, sum("bw_bytes").map(|bytes| bytes * 8.0)),
                    (TableColumn::MessageRate, sum("iops")),
                    (TableColumn::Bytes, sum("io_bytes")),
                    (TableColumn::Elapsed, Some(longest * 1e6)),
                    (TableColumn::Latency, latency.map(|latency| latency / ios)),
                    (TableColumn::MessageBytes, size),
                    (TableColumn::Threads, Some(jobs)),
                ],
            )
        })
    };
    ["read", "write", "trim"].into_iter().filter_map(row).collect()
}
