//! What sockperf prints of a run. Source: sockperf(3), its client's summary.

use super::{ToolRows, several};
use crate::{PublishedRow, TableColumn::*};

/// With `--full-rtt`.
const WHOLE: &str = "avg-rtt=";

pub fn rows(text: &str) -> ToolRows {
    if !text.lines().any(|line| line.starts_with("sockperf:")) {
        return None;
    }
    let what = if text.contains(WHOLE) { "a whole" } else { "half a" };
    let runs = text.matches("sockperf: == version").count();
    Some(match runs {
        0 | 1 => row(text).map(|row| (vec![row], format!("sockperf: its latency is {what} round trip"))),
        _ => Err(several("sockperf", runs)),
    })
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
    let mut commands = text.lines().filter(|line| line.starts_with("sockperf:"));
    let figures = [
        (Latency, latency, 1e3),
        (MessageRate, rate, 1.0),
        // Its `MBps` are of 2^20 bytes, and its `Mbps` eight of them.
        (Throughput, after("BandWidth is").filter(|_| text.contains("MBps")), 8.0 * 1048576.0),
        (Elapsed, after("RunTime="), 1e9),
        (Messages, after("ReceivedMessages="), 1.0),
        (MessageBytes, commands.find_map(commanded_bytes), 1.0),
    ];
    let mut row = PublishedRow::of_tool(1, &[(Mechanism, "sockperf")]);
    row.set(figures.into_iter().filter_map(|(column, value, scale)| Some((column, value? * scale))));
    row.scatter.extend(after("std-dev=").map(|us| (Latency, us * 1e3)));
    Ok(row)
}
