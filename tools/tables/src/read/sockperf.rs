//! What sockperf prints of a run. Source: sockperf(3), its client's summary.

use super::titles;
use crate::{BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn};

/// `None`: not of sockperf.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    text.lines().any(|line| line.starts_with("sockperf:")).then(|| {
        let what = if text.contains(WHOLE) { "a whole" } else { "half a" };
        let half = format!("sockperf's latency is {what} round trip");
        let rows: Result<Vec<PublishedRow>, String> = runs(text).into_iter().map(row_of).collect();
        let timed =
            |rows: &Vec<PublishedRow>| rows.iter().any(|row| row.value(TableColumn::Latency).is_some());
        let said = if rows.as_ref().is_ok_and(timed) { vec![half] } else { Vec::new() };
        PublishedTable::of_messages(name, rows, said)
    })
}

/// Its `MBps` are of so many bytes, and its `Mbps` eight of them.
const MEGA: f64 = 1048576.0;

/// With `--full-rtt`.
const WHOLE: &str = "avg-rtt=";

/// Begins what a run prints.
const BEGIN: &str = "sockperf: == version";

/// What each run of a loop printed, and what a line above it says: `### msg_size=64`.
fn runs(text: &str) -> Vec<(&str, &str)> {
    let begins: Vec<usize> = text.match_indices(BEGIN).map(|(at, _)| at).collect();
    if begins.len() < 2 {
        return vec![("", text)];
    }
    let ends = begins.iter().skip(1).copied().chain([text.len()]);
    let above = |at: usize| text[..at].trim_end().lines().next_back().unwrap_or_default();
    begins.iter().zip(ends).map(|(from, to)| (above(*from), &text[*from..to])).collect()
}

/// `sockperf ping-pong -i 10.0.0.1 -m 64`, `using msg-size=14`
fn commanded_bytes(line: &str) -> Option<u64> {
    let mut words = line.split_whitespace();
    let mut named = false;
    let option = words.find(|word| {
        named |= word.rsplit('/').next() == Some("sockperf");
        named && *word == "-m" || word.trim_start_matches('-').starts_with("msg-size")
    })?;
    let number = option.split_once('=').map_or_else(|| words.next(), |(_, number)| Some(number))?;
    number.trim_end_matches(['.', ',']).parse().ok()
}

fn row_of((above, text): (&str, &str)) -> Result<PublishedRow, String> {
    let mut row = row(text)?;
    let commanded = [above].into_iter().chain(text.lines()).find_map(commanded_bytes);
    row.set(commanded.map(|bytes| (TableColumn::MessageBytes, bytes as f64)));
    // The seconds of a command (`-t 120`) are no threads.
    let title = Some(above).filter(|above| !above.contains("sockperf"));
    let title = title.and_then(|above| titles::of(above, &ColumnMapping::default()));
    let place = title.map(|title| title.place).unwrap_or_default();
    row.set(place.numbers());
    Ok(row)
}

fn row(text: &str) -> Result<PublishedRow, String> {
    // The last is that of the valid part of the run, without warm-up.
    let after = |mark: &str| {
        let rest = text.rsplit_once(mark)?.1.trim_start();
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        rest[..end].parse::<f64>().ok()
    };
    let latency = after(WHOLE)
        .or_else(|| after("avg-latency="))
        .or_else(|| after("avg-lat="))
        .or_else(|| after("Latency is"));
    let rate = after("Message Rate is");
    let bandwidth = after("BandWidth is").filter(|_| text.contains("MBps"));
    if latency.is_none() && rate.is_none() {
        return Err("sockperf: no summary (was it stopped?)".into());
    }
    Ok(PublishedRow::of_one(
        "sockperf",
        "",
        [
            (TableColumn::Latency, latency.map(|us| us * 1e3)),
            (TableColumn::Spread, after("std-dev=").map(|us| us * 1e3)),
            (TableColumn::MessageRate, rate),
            (TableColumn::Throughput, bandwidth.map(|mega| mega * 8.0 * MEGA)),
            (TableColumn::Elapsed, after("RunTime=").map(|s| s * 1e9)),
            (TableColumn::Messages, after("ReceivedMessages=")),
        ],
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_valid_part_of_a_run() {
        let text = "sockperf: == version #3.10 ==\nsockperf: [Total Run] RunTime=1.000 sec; SentMessages=100; ReceivedMessages=99\n\
                    sockperf: [Valid Duration] RunTime=0.550 sec; SentMessages=55; ReceivedMessages=55\n\
                    sockperf: ====> avg-latency=5.123 (std-dev=1.25)\nsockperf: Summary: Latency is 5.123 usec\n";
        let row = from_lines("s", text).unwrap().unwrap().rows.remove(0);
        assert_eq!(
            (row.value(TableColumn::Latency), row.value(TableColumn::Spread)),
            (Some(5123.0), Some(1250.0))
        );
        assert_eq!(
            (row.count(TableColumn::Messages), row.value(TableColumn::Elapsed)),
            (Some(55), Some(0.55e9))
        );
        for option in ["--msg-size=64", "--msg-size 64", "-m 64"] {
            let table = from_lines("s", &format!("$ ./sockperf pp -i h {option}\n{text}")).unwrap().unwrap();
            assert_eq!(table.rows[0].count(TableColumn::MessageBytes), Some(64), "{option}");
        }
        let whole = from_lines(
            "s",
            &format!("--mps=5000 --msg-size=1024 --full-rtt\n{}", text.replace("latency=", "rtt=")),
        );
        let whole = whole.unwrap().unwrap();
        assert_eq!(whole.rows[0].value(TableColumn::Latency), Some(5123.0));
        assert_eq!(
            (whole.rows[0].count(TableColumn::MessageBytes), whole.understood[0].contains("a whole")),
            (Some(1024), true)
        );
        let stopped = from_lines("s", "sockperf: == version #3.10 ==\n").unwrap();
        assert!(stopped.unwrap_err().to_string().contains("sockperf: no summary"));
    }
}
