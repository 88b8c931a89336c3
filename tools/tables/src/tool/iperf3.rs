//! The JSON that iperf3 writes (`-J`): one run is a row, one for each direction. How it sends is not in it: `-Z` and
//! `-b` leave no sure trace. Source: iperf3(1), iperf_api.c.

use super::{ToolRows, number};
use crate::{PublishedRow, TableColumn};
use serde_json::Value;

/// `--json-stream` writes an event a line: start, intervals, end.
fn streamed(json: &Value) -> Option<Value> {
    let of = |event: &str| {
        let is = |line: &&Value| line.get("event").and_then(Value::as_str) == Some(event);
        json.as_array()?.iter().find(is)?.get("data").cloned()
    };
    let parts = ["start", "end", "error"].map(|event| (event.to_string(), of(event)));
    of("start")?.get("test_start")?;
    Some(parts.into_iter().filter_map(|(event, data)| Some((event, data?))).collect())
}

pub fn rows(json: &Value) -> ToolRows {
    let streamed = streamed(json);
    let json = streamed.as_ref().unwrap_or(json);
    let (start, end) = (json.get("start")?, json.get("end"));
    start.get("test_start").or_else(|| json.get("error"))?;
    let run = Iperf3Run { json, start, end };
    let lost = if run.is_udp() { "; datagrams that were lost are not in it" } else { "" };
    let understood =
        format!("iperf3: throughput is the receiver's where it is given, all streams together{lost}");
    Some(run.rows().map(|rows| (rows, understood)))
}

struct Iperf3Run<'j> {
    json: &'j Value,
    start: &'j Value,
    end: Option<&'j Value>,
}

impl Iperf3Run<'_> {
    fn test(&self, key: &str) -> Option<&Value> {
        self.start.get("test_start")?.get(key)
    }

    fn is_udp(&self) -> bool {
        self.test("protocol").and_then(Value::as_str).is_some_and(|p| p.eq_ignore_ascii_case("udp"))
    }

    fn is_set(&self, key: &str) -> bool {
        self.test(key).is_some_and(|value| value.as_i64() == Some(1) || value.as_bool() == Some(true))
    }

    fn rows(&self) -> Result<Vec<PublishedRow>, String> {
        if let Some(error) = self.json.get("error").and_then(Value::as_str) {
            return Err(format!("iperf3 ended with an error: {error}"));
        }
        let end = self.end.ok_or("iperf3 was stopped before its end: no totals")?;
        let back = ["sum_sent_bidir_reverse", "sum_received_bidir_reverse", "sum_bidir_reverse"];
        let both = self.is_set("bidir") || back.iter().any(|key| end.get(key).is_some());
        let first = if both {
            "bidirectional, to the server"
        } else if self.is_set("reverse") {
            "reverse"
        } else {
            ""
        };
        let mut rows = vec![self.row(end, ["sum_sent", "sum_received", "sum"], first)?];
        if both {
            rows.push(self.row(end, back, "bidirectional, to the client")?);
        }
        Ok(rows)
    }

    fn row(&self, end: &Value, [sent, received, sum]: [&str; 3], way: &str) -> Result<PublishedRow, String> {
        let moved =
            |key: &str| end.get(key).filter(|s| number(s, "bits_per_second").is_some_and(|b| b > 0.0));
        let arrived = moved(received);
        let total = arrived
            .or_else(|| moved(sent))
            .or_else(|| end.get(sum))
            .or_else(|| end.get(sent))
            .ok_or("no totals")?;
        let datagrams = end.get(sum).filter(|_| self.is_udp()).or(arrived.filter(|_| self.is_udp()));
        let lost = datagrams.and_then(|of| number(of, "lost_percent"));
        // Without the receiver's total, what was sent less what was lost.
        let share = if arrived.is_none() { 1.0 - lost.unwrap_or(0.0) / 100.0 } else { 1.0 };
        let cpu = end.get("cpu_utilization_percent");
        let title = self.json.get("title").and_then(Value::as_str).unwrap_or("iperf3");
        let variant =
            [if self.is_udp() { "UDP" } else { "" }, way].into_iter().filter(|part| !part.is_empty());
        Ok(PublishedRow::of_one(
            title,
            &variant.collect::<Vec<_>>().join(", "),
            [
                (TableColumn::Throughput, number(total, "bits_per_second").map(|rate| rate * share)),
                (TableColumn::Elapsed, number(total, "seconds").map(|s| s * 1e9)),
                (TableColumn::Retransmits, end.get(sent).and_then(|s| number(s, "retransmits"))),
                (TableColumn::Jitter, datagrams.and_then(|of| number(of, "jitter_ms")).map(|ms| ms * 1e6)),
                (TableColumn::Loss, lost),
                (
                    TableColumn::CpuPercent,
                    cpu.and_then(|c| Some(number(c, "host_total")? + number(c, "remote_total")?)),
                ),
                (TableColumn::MessageBytes, self.test("blksize").and_then(Value::as_f64)),
                (TableColumn::Threads, self.test("num_streams").and_then(Value::as_f64)),
            ],
        ))
    }
}
