//! The JSON that iperf3 writes (`-J`): one run is a row, one for each direction. How it sends is not in it: `-Z` and
//! `-b` leave no sure trace. Source: iperf3(1), iperf_api.c.

use super::{ToolRows, number, text};
use crate::{PublishedRow, TableColumn::*};
use serde_json::Value;

pub fn rows(json: &Value) -> ToolRows {
    // `--json-stream` writes an event a line: start, intervals, end.
    let is = |line: &&Value, event: &str| text(line, "/event") == Some(event);
    let part = |event: &str| json.as_array()?.iter().find(|line| is(line, event))?.get("data");
    let parts = ["start", "end", "error"].map(|event| (event.to_string(), part(event).cloned()));
    let streamed: Value = parts.into_iter().filter_map(|(event, part)| Some((event, part?))).collect();
    let json = if json.is_array() { &streamed } else { json };
    json.get("start")?.get("test_start").or_else(|| json.get("error"))?;
    let udp = text(json, "/start/test_start/protocol").is_some_and(|p| p.eq_ignore_ascii_case("udp"));
    let lost = if udp { "; datagrams that were lost are not in it" } else { "" };
    let told = format!("iperf3: throughput is the receiver's where it is given, all streams together{lost}");
    Some(directions(json, udp).map(|rows| (rows, told)))
}

fn directions(json: &Value, udp: bool) -> Result<Vec<PublishedRow>, String> {
    if let Some(error) = text(json, "/error") {
        return Err(format!("iperf3 ended with an error: {error}"));
    }
    let end = json.get("end").ok_or("iperf3 was stopped before its end: no totals")?;
    let is_set = |option: &str| {
        let value = json.pointer(&format!("/start/test_start/{option}"));
        value.is_some_and(|value| *value == 1 || *value == true)
    };
    let back = ["sum_sent_bidir_reverse", "sum_received_bidir_reverse", "sum_bidir_reverse"];
    let both = is_set("bidir") || back.iter().any(|key| end.get(key).is_some());
    let reverse = if is_set("reverse") { "reverse" } else { "" };
    let first = if both { "bidirectional, to the server" } else { reverse };
    let forth = row(json, udp, ["sum_sent", "sum_received", "sum"], first);
    let back = both.then(|| row(json, udp, back, "bidirectional, to the client"));
    std::iter::once(forth).chain(back).collect()
}

fn row(json: &Value, udp: bool, keys: [&str; 3], way: &str) -> Result<PublishedRow, String> {
    let ([sent, received, sum], end) = (keys, &json["end"]);
    let moved = |key: &str| end.get(key).filter(|s| number(s, "/bits_per_second").is_some_and(|b| b > 0.0));
    let arrived = moved(received);
    let total = arrived.or_else(|| moved(sent)).or_else(|| end.get(sum)).or_else(|| end.get(sent));
    let total = total.ok_or("no totals")?;
    let datagrams = end.get(sum).or(arrived).filter(|_| udp);
    // Without the receiver's total, what was sent less what was lost.
    let lost = datagrams.filter(|_| arrived.is_none()).and_then(|of| number(of, "/lost_percent"));
    let share = 1.0 - lost.unwrap_or(0.0) / 100.0;
    let cpu = |side: &str| number(end, &format!("/cpu_utilization_percent/{side}"));
    let variant = [if udp { "UDP" } else { "" }, way].join(", ");
    let (title, variant) = (text(json, "/title").unwrap_or("iperf3"), variant.trim_matches([',', ' ']));
    let started = [("/blksize", MessageBytes, 1.0), ("/num_streams", Threads, 1.0)];
    let mut row = PublishedRow::of_tool(1, &[(Mechanism, title), (Variant, variant)])
        .read(Some(total), &[("/bits_per_second", Throughput, share), ("/seconds", Elapsed, 1e9)])
        .read(end.get(sent), &[("/retransmits", Retransmits, 1.0)])
        .read(datagrams, &[("/jitter_ms", Jitter, 1e6), ("/lost_percent", Loss, 1.0)])
        .read(json.pointer("/start/test_start"), &started);
    row.set(cpu("host_total").zip(cpu("remote_total")).map(|(own, other)| (CpuPercent, own + other)));
    Ok(row)
}
