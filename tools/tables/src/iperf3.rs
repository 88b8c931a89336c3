//! The JSON that iperf3 writes (`-J`): one run is a row, one for each direction. How it sends is not in it: `-Z` and
//! `-b` leave no sure trace. Source: iperf3(1), iperf_api.c.

use super::{BadTable, PublishedRow, PublishedTable, TableColumn};
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

/// `None`: not of iperf3.
pub fn table(name: &str, json: &Value) -> Option<Result<PublishedTable, BadTable>> {
    let streamed = streamed(json);
    let json = streamed.as_ref().unwrap_or(json);
    let (start, end) = (json.get("start")?, json.get("end"));
    start.get("test_start").or_else(|| json.get("error"))?;
    let mut understood = vec!["the receiver's throughput, where iperf3 has it".to_string()];
    let run = Iperf3Run { json, start, end };
    if run.is_udp() {
        understood.push("UDP: datagrams that were lost are not in the throughput".into());
    }
    Some(PublishedTable::of_messages(name, run.rows(), understood))
}

struct Iperf3Run<'j> {
    json: &'j Value,
    start: &'j Value,
    end: Option<&'j Value>,
}

fn number(of: &Value, key: &str) -> Option<f64> {
    of.get(key).and_then(Value::as_f64)
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

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(json: Value) -> PublishedTable {
        table("i.json", &json).unwrap().unwrap()
    }

    #[test]
    fn a_run_is_a_row_and_an_error_is_told() {
        let table = read(json!({
            "start": {"test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 131072}},
            "end": {
                "sum_sent": {"seconds": 2.0, "bits_per_second": 9.0e9, "retransmits": 3},
                "sum_received": {"seconds": 2.01, "bits_per_second": 8.9e9},
                "cpu_utilization_percent": {"host_total": 60.0, "remote_total": 70.0},
            },
        }));
        let row = &table.rows[0];
        assert_eq!(row.value(TableColumn::Throughput), Some(8.9e9));
        assert_eq!(
            (row.count(TableColumn::Threads), row.count(TableColumn::MessageBytes)),
            (Some(2), Some(131072))
        );
        assert_eq!(
            (row.value(TableColumn::CpuPercent), row.value(TableColumn::Retransmits)),
            (Some(130.0), Some(3.0))
        );
        assert!(!table.understood.concat().contains("buffer"), "how it sends is not in its record");
        let failed = json!({"start": {}, "end": {}, "error": "unable to connect"});
        assert!(super::table("i", &failed).unwrap().unwrap_err().to_string().contains("unable to connect"));
        assert!(super::table("i", &json!({"THROUGHPUT": 1})).is_none());
    }

    #[test]
    fn datagrams_that_were_lost_are_no_throughput() {
        let start = json!({"test_start": {"protocol": "UDP", "num_streams": 1, "blksize": 1448}});
        let sum = json!({"seconds": 5.0, "bits_per_second": 1.0e9, "jitter_ms": 0.02, "lost_packets": 25, "packets": 100, "lost_percent": 25.0});
        let old = read(json!({"start": start, "end": {"sum": sum}}));
        let row = &old.rows[0];
        assert_eq!(
            (row.value(TableColumn::Throughput), row.value(TableColumn::Loss)),
            (Some(0.75e9), Some(25.0))
        );
        assert_eq!(
            (row.value(TableColumn::Jitter), row.text(TableColumn::Variant)),
            (Some(2e4), Some("UDP"))
        );
        let new = read(
            json!({"start": start, "end": {"sum": sum, "sum_received": {"seconds": 5.0, "bits_per_second": 0.7e9}}}),
        );
        assert_eq!(new.rows[0].value(TableColumn::Throughput), Some(0.7e9));
    }

    #[test]
    fn each_direction_is_a_row() {
        let sums = |rate: f64| json!({"seconds": 5.0, "bits_per_second": rate});
        let both = read(json!({
            "start": {"test_start": {"protocol": "TCP", "num_streams": 1, "blksize": 1024, "bidir": 1}},
            "end": {"sum_sent": sums(1e9), "sum_received": sums(0.9e9), "sum_sent_bidir_reverse": sums(3e9),
                    "sum_received_bidir_reverse": sums(2.9e9)},
        }));
        let rates: Vec<_> = both.rows.iter().map(|row| row.value(TableColumn::Throughput)).collect();
        assert_eq!(rates, [Some(0.9e9), Some(2.9e9)]);
        let reverse =
            read(json!({"start": {"test_start": {"reverse": 1}}, "end": {"sum_received": sums(1e9)}}));
        assert_eq!(reverse.rows[0].text(TableColumn::Variant), Some("reverse"));
    }
}
