//! The JSON of fio (`--output-format=json`). Jobs of one reporting group ran at the same time: they are summed.
//! Source: fio(1), "JSON output", "stonewall".

use super::{ToolRows, number, text};
use crate::{PublishedRow, TableColumn::*, grouped, unit};
use serde_json::Value;

pub fn rows(json: &Value) -> ToolRows {
    json.get("fio version")?;
    let jobs = json.get("jobs").and_then(Value::as_array).into_iter().flatten();
    let group = |job: &Value| job.get("groupid").and_then(Value::as_u64).unwrap_or(0);
    let groups = grouped(jobs.map(|job| (group(job), job)));
    let waited = |job: &&Value| {
        job.pointer("/job options/stonewall").or(json.pointer("/global options/stonewall")).is_some()
    };
    if groups.values().skip(1).any(|group| !waited(&group[0])) {
        return Some(Err("fio: groups of jobs that may have run at the same time: separate them with stonewall, or run fio once for each".into()));
    }
    // A job that waits inside a group begins another case.
    if groups.values().any(|group| group[1..].iter().any(waited)) {
        return Some(Err("fio: jobs of one group that waited for each other: give each new_group".into()));
    }
    let ways = |group: &Vec<&Value>| ["read", "write", "trim"].map(|way| of_group(json, group, way));
    let rows: Vec<PublishedRow> = groups.values().flat_map(ways).flatten().collect();
    if rows.is_empty() {
        return Some(Err("fio: no job with I/O".into()));
    }
    Some(Ok((rows, "fio: jobs that ran at the same time are summed, a row is a direction".into())))
}

/// What the jobs of a group moved one way.
fn of_group(json: &Value, group: &[&Value], way: &str) -> Option<PublishedRow> {
    let size =
        |job: &&Value| text(job, "/job options/bs").or(text(json, "/global options/bs")).map(String::from);
    let alike = size(&group[0]).filter(|first| group.iter().all(|job| size(job).as_ref() == Some(first)));
    let bytes = alike.and_then(|text| {
        let (value, _, of) = unit::number(&text, '.')?;
        Some(value * of.map_or(Some(1.0), |of| unit::parse(of).ok().map(|unit| unit.factor))?)
    });
    let moved = group.iter().filter_map(|job| job.get(way));
    let moved: Vec<&Value> = moved.filter(|of| number(of, "/io_bytes").is_some_and(|n| n > 0.0)).collect();
    let sum = |path: &str| moved.iter().map(|of| number(of, path)).sum::<Option<f64>>();
    let longest = moved.iter().filter_map(|of| number(of, "/runtime")).fold(0.0, f64::max);
    // A mean over jobs is weighed by their operations.
    let ios = |of: &&Value| number(of, "/total_ios").unwrap_or(1.0);
    let weighed = moved.iter().map(|of| Some(number(of, "/lat_ns/mean")? * ios(of))).sum::<Option<f64>>();
    let mut row =
        PublishedRow::of_tool(1, &[(Mechanism, text(group[0], "/jobname").unwrap_or("fio")), (Variant, way)]);
    let figures = [
        (Throughput, sum("/bw_bytes").map(|bytes| bytes * 8.0)),
        (MessageRate, sum("/iops")),
        (Bytes, sum("/io_bytes")),
        (Elapsed, Some(longest * 1e6)),
        (Latency, weighed.map(|latency| latency / moved.iter().map(ios).sum::<f64>())),
        (MessageBytes, bytes),
        (Threads, Some(group.len() as f64)),
    ];
    row.set(figures.into_iter().filter_map(|(column, value)| Some((column, value?))));
    (!moved.is_empty()).then_some(row)
}
