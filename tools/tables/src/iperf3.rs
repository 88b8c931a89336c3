//! The JSON that iperf3 writes (`-J`): one run is one row. Source: iperf3(1), iperf_api.c.

use super::{BadTable, PublishedRow, PublishedTable, TableColumn};
use serde_json::Value;

/// `None`: not of iperf3.
pub fn table(name: &str, json: &Value) -> Option<Result<PublishedTable, BadTable>> {
    let (start, end) = (json.get("start")?, json.get("end"));
    start.get("test_start").or_else(|| json.get("error"))?;
    let understood = "iperf3 sends one contiguous buffer; its figure is the receiver's where it has one";
    Some(PublishedTable::of_one(name, row(json, start, end), vec![understood.into()]))
}

fn row(json: &Value, start: &Value, end: Option<&Value>) -> Result<PublishedRow, String> {
    if let Some(error) = json.get("error").and_then(Value::as_str) {
        return Err(format!("iperf3 ended with an error: {error}"));
    }
    let end = end.ok_or("iperf3 was stopped before its end: no totals")?;
    let number = |of: &Value, key: &str| of.get(key).and_then(Value::as_f64);
    let received = end.get("sum_received").filter(|s| number(s, "bits_per_second").is_some_and(|b| b > 0.0));
    let sum = received.or_else(|| end.get("sum_sent")).or_else(|| end.get("sum")).ok_or("no totals")?;
    let cpu = end.get("cpu_utilization_percent");
    let test = |key| start.get("test_start").and_then(|test| number(test, key));
    let title = json.get("title").and_then(Value::as_str).unwrap_or("iperf3");
    Ok(PublishedRow::of_one(
        title,
        [
            (TableColumn::Throughput, number(sum, "bits_per_second")),
            (TableColumn::Elapsed, number(sum, "seconds").map(|s| s * 1e9)),
            (TableColumn::Retransmits, end.get("sum_sent").and_then(|s| number(s, "retransmits"))),
            (
                TableColumn::CpuPercent,
                cpu.and_then(|c| Some(number(c, "host_total")? + number(c, "remote_total")?)),
            ),
            (TableColumn::MessageBytes, test("blksize")),
            (TableColumn::Threads, test("num_streams")),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_a_row_and_an_error_is_told() {
        let json = serde_json::json!({
            "start": {"test_start": {"protocol": "TCP", "num_streams": 2, "blksize": 131072}},
            "end": {
                "sum_sent": {"seconds": 2.0, "bits_per_second": 9.0e9, "retransmits": 3},
                "sum_received": {"seconds": 2.01, "bits_per_second": 8.9e9},
                "cpu_utilization_percent": {"host_total": 60.0, "remote_total": 70.0},
            },
        });
        let table = table("i.json", &json).unwrap().unwrap();
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
        let failed = serde_json::json!({"start": {}, "end": {}, "error": "unable to connect"});
        assert!(super::table("i", &failed).unwrap().unwrap_err().to_string().contains("unable to connect"));
        assert!(super::table("i", &serde_json::json!({"THROUGHPUT": 1})).is_none());
    }
}
