//! What iperf and iperf3 print without `-J`: the line of a run's end is a row, that of the receiver where there is one.
//! Source: iperf3(1), iperf(1).

use super::unit;
use super::{BadTable, PublishedRow, PublishedTable, TableColumn};
use std::collections::BTreeMap;
use syscost_core::units::count;

/// What `iperf -y C` writes: time, two addresses with ports, stream, interval, bytes and bit/s. `None`: another text.
pub fn from_separated(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let lines: Vec<SeparatedLine> = text.lines().filter_map(SeparatedLine::of).collect();
    if lines.is_empty() || lines.len() * 2 < text.lines().count() {
        return None;
    }
    // The sum of parallel streams has no number of its own.
    let summed = lines.iter().any(|line| line.stream == "-1");
    let end = lines.iter().map(|line| line.to).fold(0.0, f64::max);
    let whole = lines
        .iter()
        .filter(|line| line.from == 0.0 && line.to > 0.9 * end && (line.stream == "-1") == summed);
    let rows = whole.map(SeparatedLine::row).collect();
    let said = "iperf -y C: a line is a run".to_string();
    Some(PublishedTable::of_messages(name, Ok(rows), vec![said]))
}

struct SeparatedLine<'t> {
    stream: &'t str,
    from: f64,
    to: f64,
    bytes: f64,
    rate: f64,
}

impl SeparatedLine<'_> {
    fn of(line: &str) -> Option<SeparatedLine<'_>> {
        let [time, _, _, _, _, stream, interval, bytes, rate, ..] =
            line.trim().split(',').collect::<Vec<_>>()[..]
        else {
            return None;
        };
        let dated = time.len() >= 14 && time.bytes().take(14).all(|b| b.is_ascii_digit());
        let (from, to) = interval.split_once('-').filter(|_| dated)?;
        Some(SeparatedLine {
            stream,
            from: from.parse().ok()?,
            to: to.parse().ok()?,
            bytes: bytes.parse().ok()?,
            rate: rate.parse().ok()?,
        })
    }

    fn row(&self) -> PublishedRow {
        PublishedRow::of_one(
            "iperf",
            "",
            [
                (TableColumn::Throughput, Some(self.rate)),
                (TableColumn::Bytes, Some(self.bytes)),
                (TableColumn::Elapsed, Some((self.to - self.from) * 1e9)),
            ],
        )
    }
}

/// `None`: not of iperf.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let lines: Vec<ReportLine> = text.lines().filter_map(ReportLine::of).collect();
    // Of a part of an output there may be no banner.
    let filled = || text.lines().filter(|line| !line.trim().is_empty()).count();
    if lines.is_empty() || !text.contains("[ ID]") && lines.len() * 2 <= filled() {
        return None;
    }
    let mut said = vec!["the receiver's throughput, where iperf prints it".to_string()];
    let rows = if text.contains("(omitted)") {
        Err("iperf's text with \"(omitted)\" is not read: run iperf3 -J and give its JSON".to_string())
    } else {
        let mut runs = runs(text);
        for lines in &mut runs {
            if let Some(sums) = summed(lines) {
                *lines = sums;
                said.push("iperf printed no line of the whole run: its intervals are summed".into());
            }
        }
        said.dedup();
        let rows: Vec<PublishedRow> = runs.iter().flat_map(|lines| directions(lines)).collect();
        let unsummed = runs.iter().filter(|lines| !lines.is_empty() && directions(lines).is_empty()).count();
        if unsummed > 0 {
            said.push(format!("{} left out: {UNSUMMED}", count(unsummed, "run")));
        }
        if rows.is_empty() { Err(format!("iperf: {UNSUMMED}")) } else { Ok(rows) }
    };
    Some(PublishedTable::of_messages(name, rows, said))
}

const UNSUMMED: &str = "several streams and no line of their sum ([SUM]), as of a test in both directions or of a part of an output";

/// Of bytes a second, as of bytes, iperf's K is 1024.
fn scale(of: &str) -> Option<f64> {
    let factor = unit::parse(of).ok()?.factor;
    let Some(bytes) = of.strip_suffix("/sec").filter(|of| of.ends_with("Bytes")) else { return Some(factor) };
    Some(8.0 * unit::parse(bytes).ok()?.factor)
}

/// `[  5]   0.00-10.00  sec  10.9 GBytes  9.38 Gbits/sec    0   sender`
#[derive(Clone)]
struct ReportLine<'t> {
    /// In its file, from 1.
    at: usize,
    id: &'t str,
    /// `TX-C` where both ends send.
    role: &'t str,
    from: f64,
    to: f64,
    bytes: f64,
    rate: f64,
    rest: Vec<&'t str>,
}

impl ReportLine<'_> {
    fn of(line: &str) -> Option<ReportLine<'_>> {
        let (id, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
        let role = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let (role, rest) = role.unwrap_or(("", rest));
        let (interval, rest) = rest.split_once("sec ")?;
        let (from, to) = interval.split_once('-')?;
        let mut words = rest.split_whitespace();
        let mut figure = || {
            let value: f64 = words.next()?.parse().ok()?;
            Some(value * scale(words.next()?)?)
        };
        let (bytes, rate) = (figure()?, figure()?);
        let (from, to) = (from.trim().parse().ok()?, to.trim().parse().ok()?);
        Some(ReportLine { at: 1, id: id.trim(), role, from, to, bytes, rate, rest: words.collect() })
    }

    /// A number that comes again after its last line: the stream of another run.
    fn begins_again(&self, last: &ReportLine) -> bool {
        let same = (self.to, self.bytes) == (last.to, last.bytes);
        // The sender's line stands above the receiver's, and both below what was printed on the way.
        let other_end = self.says("receiver") && !last.says("receiver");
        let on_the_way =
            last.to < 0.9 * self.to || self.says("sender") && !last.says("receiver") && !last.says("sender");
        self.from == 0.0 && last.from == 0.0 && !same && !other_end && !on_the_way
    }

    fn says(&self, word: &str) -> bool {
        self.rest.contains(&word)
    }

    /// `0.012 ms  3/8500 (0.035%)`
    fn datagrams(&self) -> Option<(f64, f64)> {
        let at = self.rest.iter().position(|word| *word == "ms")?;
        let jitter: f64 = self.rest.get(at.checked_sub(1)?)?.parse().ok()?;
        let counts = self.rest.get(at + 1..)?.concat();
        let (lost, all) = counts.split('(').next()?.split_once('/')?;
        let (lost, all): (f64, f64) = (lost.parse().ok()?, all.parse().ok()?);
        (all > 0.0).then_some((jitter * 1e6, 100.0 * lost / all))
    }
}

/// The lines of each run of a file.
fn runs(text: &str) -> Vec<Vec<ReportLine<'_>>> {
    let mut reading = RunsReading { runs: vec![Vec::new()], ..RunsReading::default() };
    text.lines().enumerate().for_each(|(index, line)| reading.take(index + 1, line));
    reading.runs
}

/// The runs so far: a line belongs to the run in which its stream was connected.
#[derive(Default)]
struct RunsReading<'t> {
    runs: Vec<Vec<ReportLine<'t>>>,
    /// The run of each stream that was connected.
    connected: BTreeMap<&'t str, usize>,
    /// The ports of each: its own, and the other end's.
    ports: BTreeMap<&'t str, [&'t str; 2]>,
    role: &'static str,
    /// The next line is what the other end saw of the stream.
    of_server: bool,
}

impl<'t> RunsReading<'t> {
    fn take(&mut self, at: usize, line: &'t str) {
        // Of a page, each block is a run.
        let begins = ["Accepted connection", "```", "Server listening"];
        if line.contains("onnecting to ") || begins.iter().any(|words| line.starts_with(words)) {
            self.begin();
            self.connected.clear();
            self.ports.clear();
            self.role = "";
        }
        if line.starts_with("Reverse mode") {
            self.role = REVERSE;
        }
        if let Some((id, ports)) = connection(line) {
            // Streams of one run are all connected before any of them reports.
            if !self.last().is_empty() {
                self.begin();
                self.ports.clear();
            }
            self.connected.insert(id, self.runs.len() - 1);
            self.ports.insert(id, ports);
        }
        if let Some(report) = ReportLine::of(line) {
            self.report(ReportLine { at, ..report });
        }
        self.of_server |= line.ends_with("Server Report:");
    }

    fn report(&mut self, line: ReportLine<'t>) {
        let line = if line.role.is_empty() { ReportLine { role: self.role, ..line } } else { line };
        let of_server = std::mem::take(&mut self.of_server);
        if let Some(run) = self.connected.get(line.id) {
            let role = self.duplex(line.id).unwrap_or(line.role);
            self.runs[*run].push(ReportLine { role, ..line });
            return;
        }
        let of_stream = |known: &&ReportLine| (known.id, known.role) == (line.id, line.role);
        let last = self.last().iter().rev().find(of_stream);
        if !of_server && last.is_some_and(|last| line.begins_again(last)) {
            self.begin();
        }
        self.runs.last_mut().expect("never empty").push(line);
    }

    /// `iperf -d`: one stream goes to the port to which the other comes. Of two logs of one stream each is the other's end.
    fn duplex(&self, id: &str) -> Option<&'static str> {
        let [own, far] = self.ports.get(id)?;
        let mut others = self.ports.values().filter(|[other, remote]| !(other == far && remote == own));
        others.find_map(|[other, remote]| match () {
            () if remote == own => Some(RECEIVED),
            () if other == far => Some(SENT),
            () => None,
        })
    }

    fn last(&self) -> &[ReportLine<'t>] {
        self.runs.last().map_or(&[], Vec::as_slice)
    }

    fn begin(&mut self) {
        self.runs.push(Vec::new());
    }
}

/// `[  4] local 10.0.0.1 port 5001 connected with 10.0.0.2 port 45678`: its stream and the ports of both ends.
fn connection(line: &str) -> Option<(&str, [&str; 2])> {
    let (id, rest) = line.trim().strip_prefix('[')?.split_once(']')?;
    let (own, far) = rest.trim_start().strip_prefix("local ")?.split_once(" connected ")?;
    Some((id.trim(), [port(own), port(far)]))
}

fn port(end: &str) -> &str {
    end.split_once(" port ").and_then(|(_, of)| of.split_whitespace().next()).unwrap_or_default()
}

/// Of a run that was cut off: each stream's intervals as one line. `None`: a line says all of it.
fn summed<'t>(lines: &[ReportLine<'t>]) -> Option<Vec<ReportLine<'t>>> {
    let end = lines.iter().map(|line| line.to).fold(0.0, f64::max);
    if lines.iter().any(|line| line.from == 0.0 && line.to > 0.9 * end) {
        return None;
    }
    let mut all: Vec<ReportLine> = Vec::new();
    for line in lines.iter().filter(|line| line.to > line.from) {
        match all.iter_mut().find(|sum| (sum.id, sum.role) == (line.id, line.role)) {
            Some(sum) => (sum.to, sum.bytes) = (line.to, sum.bytes + line.bytes),
            None => all.push(ReportLine { rest: Vec::new(), ..line.clone() }),
        }
    }
    for sum in &mut all {
        // What stood before the first of them is lost: they begin when they do.
        (sum.from, sum.to) = (0.0, sum.to - sum.from);
        sum.rate = 8.0 * sum.bytes / sum.to;
    }
    Some(all).filter(|all| !all.is_empty())
}

/// The server sends.
const REVERSE: &str = "reverse";

const SENT: &str = "sent";
const RECEIVED: &str = "received";

/// A row for each way that data went, as the end that prints calls them.
const DIRECTIONS: [(&str, [&str; 2]); 6] = [
    ("", ["", ""]),
    (REVERSE, [REVERSE, REVERSE]),
    ("bidirectional, to the server", ["TX-C", "RX-S"]),
    ("bidirectional, to the client", ["RX-C", "TX-S"]),
    ("bidirectional, sent by the end that prints", [SENT, SENT]),
    ("bidirectional, received by the end that prints", [RECEIVED, RECEIVED]),
];

fn directions(lines: &[ReportLine]) -> Vec<PublishedRow> {
    let of = |(way, roles): &(&str, [&str; 2])| {
        let of: Vec<ReportLine> = lines.iter().filter(|line| roles.contains(&line.role)).cloned().collect();
        let mut row = row(&of)?;
        let known = row.text(TableColumn::Variant).unwrap_or_default();
        let variant: Vec<&str> = [known, way].into_iter().filter(|part| !part.is_empty()).collect();
        if !variant.is_empty() {
            row.texts.insert(TableColumn::Variant, variant.join(", "));
        }
        Some(row)
    };
    // A sum of two directions is of neither.
    let duplex = lines.iter().any(|line| [SENT, RECEIVED].contains(&line.role));
    DIRECTIONS.iter().filter(|(way, _)| !duplex || !way.is_empty()).filter_map(of).collect()
}

/// Of the lines from begin to end: the sum of the streams, of the receiver where it says so.
fn row(lines: &[ReportLine]) -> Option<PublishedRow> {
    let end = lines.iter().map(|line| line.to - line.from).fold(0.0, f64::max);
    // The two ends stop their clocks a moment apart.
    let whole: Vec<&ReportLine> =
        lines.iter().filter(|line| line.from == 0.0 && line.to > 0.9 * end && line.to > 0.0).collect();
    let labelled = whole.iter().any(|line| line.says("receiver") || line.says("sender"));
    let of = |word: &str| -> Vec<&ReportLine> {
        let of: Vec<&ReportLine> =
            whole.iter().filter(|line| line.says(word) || !labelled).copied().collect();
        let sums: Vec<&ReportLine> = of.iter().filter(|line| line.id == "SUM").copied().collect();
        if sums.is_empty() { of } else { sums }
    };
    let received = if of("receiver").is_empty() { of("sender") } else { of("receiver") };
    let total = *received.last()?;
    let mut streams: Vec<&str> = whole.iter().map(|line| line.id).filter(|id| *id != "SUM").collect();
    streams.sort_unstable();
    streams.dedup();
    // Several streams without their sum: an end that was cut off.
    if streams.len() > 1 && total.id != "SUM" {
        return None;
    }
    let retransmits =
        of("sender").last().filter(|_| labelled).and_then(|line| line.rest.first()?.parse().ok());
    let datagrams = total.datagrams();
    let row = PublishedRow::of_one(
        if labelled { "iperf3" } else { "iperf" },
        if datagrams.is_some() { "UDP" } else { "" },
        [
            (TableColumn::Throughput, Some(total.rate)),
            (TableColumn::Bytes, Some(total.bytes)),
            (TableColumn::Elapsed, Some((total.to - total.from) * 1e9)),
            (TableColumn::Retransmits, retransmits.filter(|_| datagrams.is_none())),
            (TableColumn::Jitter, datagrams.map(|(jitter, _)| jitter)),
            (TableColumn::Loss, datagrams.map(|(_, lost)| lost)),
            (TableColumn::Threads, Some(streams.len().max(1) as f64)),
        ],
    );
    Some(PublishedRow { line: total.at, ..row })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(text: &str) -> Vec<PublishedRow> {
        from_lines("i.txt", text).unwrap().unwrap().rows
    }

    #[test]
    fn separated_runs_are_rows() {
        let line = |id: &str, rate: u64| {
            format!("20260201101500,10.0.0.1,45678,10.0.0.2,5001,{id},0.0-10.0,11718885376,{rate}\n")
        };
        let read = |text: &str| from_separated("i.csv", text).unwrap().unwrap().rows;
        assert_eq!(read(&(line("3", 9) + &line("3", 8))).len(), 2);
        let sum = read(&(line("3", 9) + &line("4", 8) + &line("-1", 17)));
        assert_eq!((sum.len(), sum[0].value(TableColumn::Throughput)), (1, Some(17.0)));
        assert!(from_separated("t", "a,b\n1,2\n").is_none());
    }

    #[test]
    fn the_end_of_each_run_is_a_row() {
        let run = |gbits: f64| {
            format!(
                "Connecting to host h, port 5201\n[ ID] Interval  Transfer  Bitrate  Retr  Cwnd\n\
                 [  5]   0.00-1.00   sec  4.50 GBytes  38.7 Gbits/sec    0   1.25 MBytes\n\
                 [  5]   1.00-2.00   sec  4.60 GBytes  39.5 Gbits/sec    2   1.25 MBytes\n\
                 [  5]   0.00-2.00   sec  9.10 GBytes  39.1 Gbits/sec    2             sender\n\
                 [  5]   0.00-2.04   sec  9.10 GBytes  {gbits} Gbits/sec                  receiver\n"
            )
        };
        let two = rows(&(run(38.3) + &run(30.0)));
        let rates: Vec<_> = two.iter().map(|row| row.value(TableColumn::Throughput)).collect();
        assert_eq!(rates, [Some(38.3e9), Some(30e9)]);
        assert_eq!(two[0].value(TableColumn::Retransmits), Some(2.0));
        let old =
            "[ ID] Interval       Transfer     Bandwidth\n[  3]  0.0-10.0 sec  10.9 GBytes  9.38 Gbits/sec\n";
        assert_eq!(rows(old)[0].text(TableColumn::Mechanism), Some("iperf"));
        let udp = "[ ID] Interval  Transfer  Bitrate  Jitter  Lost/Total Datagrams\n\
                   [  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.000 ms  0/906 (0%)  sender\n\
                   [  5]   0.00-10.00  sec  1.25 MBytes  1.05 Mbits/sec  0.012 ms  9/900 (1%)  receiver\n";
        let datagrams = &rows(udp)[0];
        assert_eq!(
            (datagrams.value(TableColumn::Jitter), datagrams.value(TableColumn::Loss)),
            (Some(0.012 * 1e6), Some(1.0))
        );
        let sums = "[ ID] Interval Transfer Bitrate\n[  5] 0.00-2.00 sec 1 GBytes 4 Gbits/sec receiver\n\
                    [  7] 0.00-2.00 sec 1 GBytes 4 Gbits/sec receiver\n[SUM] 0.00-2.00 sec 2 GBytes 8 Gbits/sec receiver\n";
        let sum = &rows(sums)[0];
        assert_eq!(
            (sum.value(TableColumn::Throughput), sum.count(TableColumn::Threads)),
            (Some(8e9), Some(2))
        );
        let unsummed = sums.lines().take(3).collect::<Vec<_>>().join("\n");
        let why = from_lines("i.txt", &unsummed).unwrap().unwrap_err().to_string();
        assert!(why.contains("no line of their sum"), "{why}");
        let bytes = rows(&old.replace("9.38 Gbits/sec", "1.09 GBytes/sec"));
        assert_eq!(bytes[0].value(TableColumn::Throughput), Some(8.0 * 1.09 * f64::from(1 << 30)));
        let reverse = rows(&format!("Connecting to host h\nReverse mode, remote host h is sending\n{udp}"));
        assert_eq!((reverse.len(), reverse[0].text(TableColumn::Variant)), (1, Some("UDP, reverse")));
        let both = rows(
            "[ ID][Role] Interval Transfer Bitrate Retr\n[  5][TX-C]   0.00-2.00   sec  2 GBytes  8 Gbits/sec  0  sender\n\
             [  5][TX-C]   0.00-2.00   sec  2 GBytes  7 Gbits/sec  receiver\n\
             [  7][RX-C]   0.00-2.00   sec  1 GBytes  4 Gbits/sec  0  sender\n\
             [  7][RX-C]   0.00-2.00   sec  1 GBytes  3 Gbits/sec  receiver\n",
        );
        let ways: Vec<_> = both
            .iter()
            .map(|row| (row.text(TableColumn::Variant), row.value(TableColumn::Throughput)))
            .collect();
        let ways_are = [("server", 7e9), ("client", 3e9)];
        for ((way, rate), known) in ways.into_iter().zip(ways_are) {
            assert_eq!((way.is_some_and(|way| way.ends_with(known.0)), rate), (true, Some(known.1)));
        }
    }
}
