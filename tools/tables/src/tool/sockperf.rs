//! What sockperf prints of a run. Source: sockperf(3), its client's summary.

use super::{ToolRows, one_each};
use crate::{PublishedRow, TableColumn};

/// Begins what a run prints.
const BEGIN: &str = "sockperf: == version";
/// Its `MBps` are of so many bytes, and its `Mbps` eight of them.
const MEGA: f64 = 1048576.0;
/// With `--full-rtt`.
const WHOLE: &str = "avg-rtt=";

pub fn rows(text: &str) -> ToolRows {
    if !text.lines().any(|line| line.starts_with("sockperf:")) {
        return None;
    }
    let begins: Vec<usize> = text.match_indices(BEGIN).map(|(at, _)| at).collect();
    let runs: Vec<(usize, &str)> = match begins.len() {
        0 | 1 => vec![(1, text)],
        _ => {
            let ends = begins.iter().skip(1).copied().chain([text.len()]);
            begins
                .iter()
                .zip(ends)
                .map(|(from, to)| (text[..*from].lines().count() + 1, &text[*from..to]))
                .collect()
        }
    };
    let what = if text.contains(WHOLE) { "a whole" } else { "half a" };
    let all: Result<Vec<PublishedRow>, String> =
        runs.into_iter().map(|(line, text)| Ok(PublishedRow { line, ..row(text)? })).collect();
    let rows = all.and_then(|rows| one_each("sockperf", rows));
    Some(rows.map(|rows| (rows, format!("sockperf: its latency is {what} round trip"))))
}

/// `-m 64`, `--msg-size=64`, `using msg-size=14`
fn commanded_bytes(line: &str) -> Option<f64> {
    let mut words = line.split_whitespace();
    let option = words.find(|word| *word == "-m" || word.trim_start_matches('-').starts_with("msg-size"))?;
    let number = option.split_once('=').map_or_else(|| words.next(), |(_, number)| Some(number))?;
    number.trim_end_matches(['.', ',']).parse().ok()
}

fn row(text: &str) -> Result<PublishedRow, String> {
    // The last is that of the valid part of the run, without warm-up.
    let after = |mark: &str| {
        let rest = text.rsplit_once(mark)?.1.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].parse::<f64>().ok()
    };
    let latency = [WHOLE, "avg-latency=", "avg-lat=", "Latency is"].into_iter().find_map(after);
    let rate = after("Message Rate is");
    if latency.is_none() && rate.is_none() {
        return Err("sockperf: no summary (was it stopped?)".into());
    }
    let mut row = PublishedRow::of_one(
        "sockperf",
        "",
        [
            (TableColumn::Latency, latency.map(|us| us * 1e3)),
            (TableColumn::MessageRate, rate),
            (
                TableColumn::Throughput,
                after("BandWidth is").filter(|_| text.contains("MBps")).map(|mega| mega * 8.0 * MEGA),
            ),
            (TableColumn::Elapsed, after("RunTime=").map(|s| s * 1e9)),
            (TableColumn::Messages, after("ReceivedMessages=")),
            (
                TableColumn::MessageBytes,
                text.lines().filter(|line| line.starts_with("sockperf:")).find_map(commanded_bytes),
            ),
        ],
    );
    row.scatter.extend(after("std-dev=").map(|us| (TableColumn::Latency, us * 1e3)));
    Ok(row)
}
