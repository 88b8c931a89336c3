//! What netperf's omni test says with `-o`/`-k` selectors: `KEY=VALUE` lines, or the same keys in a JSON object.
//! Source: netperf manual, "Omni Output Selectors".

use super::unit::{self, Dimension};
use super::{BadTable, PublishedRow, PublishedTable, TableColumn, naming};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

type Keys = BTreeMap<String, String>;

/// `None`: no such object.
pub fn from_json(name: &str, json: &Value) -> Option<Result<PublishedTable, BadTable>> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let keys = json.as_object()?.iter().map(|(key, value)| (key.to_uppercase(), text(value))).collect();
    table(name, &keys)
}

/// `None`: no such lines.
pub fn from_lines(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let pair = |line: &str| {
        let (key, value) = line.split_once('=')?;
        let plain = key.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
        (plain && !key.is_empty()).then(|| (key.to_string(), value.trim().to_string()))
    };
    table(name, &text.lines().filter_map(pair).collect())
}

fn table(name: &str, keys: &Keys) -> Option<Result<PublishedTable, BadTable>> {
    keys.get("THROUGHPUT").or_else(|| keys.get("TRANSACTION_RATE"))?;
    Some(PublishedTable::of_messages(name, row("", keys).map(|row| vec![row]), Vec::new()))
}

/// Tests below titles, each of the classic form or of `-o`. `None`: not of netperf.
pub fn from_classic(name: &str, text: &str) -> Option<Result<PublishedTable, BadTable>> {
    let lines: Vec<&str> = text.lines().collect();
    let is_title = |line: &str| line.contains(" TEST from ") || line.contains("TEST to ");
    // `-P 0` prints no title: the command is one.
    let titled = lines.iter().any(|line| is_title(line));
    let is_title = |line: &str| if titled { is_title(line) } else { commanded(line).is_some() };
    let titles: Vec<usize> = (0..lines.len()).filter(|at| is_title(lines[*at])).collect();
    let ends = titles.iter().copied().chain([lines.len()]);
    let test = |(from, to): (Option<&usize>, usize)| match (selected(from.copied(), &lines[..to]), from) {
        (Some(rows), _) => rows,
        (None, Some(from)) => classic(*from, &lines[*from..to]).map(|row| vec![row]),
        (None, None) => Ok(Vec::new()),
    };
    let begins = std::iter::once(None).chain(titles.iter().map(Some));
    let (read, other): (Vec<_>, Vec<_>) = begins.zip(ends).map(test).partition(Result::is_ok);
    let mut rows: Vec<PublishedRow> = read.into_iter().flatten().flatten().collect();
    let title = |row: &PublishedRow| {
        titles.partition_point(|at| *at < row.line).checked_sub(1).map(|last| lines[titles[last]])
    };
    // A title that a mail broke names none.
    if titles.iter().filter_map(|at| receiving_host(lines[*at])).collect::<BTreeSet<_>>().len() > 1 {
        for row in &mut rows {
            let test = row.text(TableColumn::Variant).unwrap_or_default();
            let host = title(row).and_then(receiving_host).unwrap_or("no host named");
            row.texts.insert(TableColumn::Variant, format!("{test} to {host}"));
        }
    }
    let left: Vec<String> = other.into_iter().filter_map(Result::err).collect();
    let rows = match left.first() {
        Some(why) if rows.is_empty() => Err(why.clone()),
        None if rows.is_empty() => return None,
        _ => Ok(rows),
    };
    let left = left.into_iter().map(|why| format!("a test is left out: {why}")).collect();
    Some(PublishedTable::of_messages(name, rows, left))
}

/// `TCP STREAM TEST from 0.0.0.0 port 0 AF_INET to far.example.org () port 0`
fn receiving_host(title: &str) -> Option<&str> {
    title.split_once(" to ")?.1.split_whitespace().next()
}

/// The headings of `-o`, and the keys of `-k`.
const HEADINGS: &[(&str, &str)] = &[
    ("Throughput", "THROUGHPUT"),
    ("Throughput Units", "THROUGHPUT_UNITS"),
    ("Transaction Rate Tran/s", "TRANSACTION_RATE"),
    ("Elapsed Time (sec)", "ELAPSED_TIME"),
    ("Local Send Size", "LOCAL_SEND_SIZE"),
    ("Request Size Bytes", "LOCAL_SEND_SIZE"),
    ("Mean Latency Microseconds", "MEAN_LATENCY"),
    ("50th Percentile Latency Microseconds", "P50_LATENCY"),
    ("Stddev Latency Microseconds", "STDDEV_LATENCY"),
    ("Local Transport Retransmissions", "LOCAL_TRANSPORT_RETRANS"),
    ("Local CPU Util %", "LOCAL_CPU_UTIL"),
    ("Local Service Demand", "LOCAL_SD"),
    ("Service Demand Units", "SD_UNITS"),
];

/// What `-o` prints below a title: headings, broken where a line is full, and a line of figures. `None`: none of it.
fn selected(title: Option<usize>, lines: &[&str]) -> Option<Result<Vec<PublishedRow>, String>> {
    let cells = |line: &str| line.split(',').map(|cell| cell.trim().to_string()).collect::<Vec<_>>();
    let is_figures =
        |line: &str| line.contains(',') && line.split(',').any(|cell| cell.trim().parse::<f64>().is_ok());
    let known = |cell: &str| HEADINGS.iter().any(|(text, _)| *text == cell.trim());
    let result = |cell: &String| ["Throughput Units", "Transaction Rate Tran/s"].contains(&cell.as_str());
    // Its headings, and the first line below them.
    let headings = |at: usize| {
        let end = at + lines[at..].iter().position(|line| is_figures(line))?;
        let headings = cells(&lines[at..end].join(" "));
        (headings.iter().any(result) && end > at).then_some((headings, end))
    };
    let begins = |at: &usize| lines[*at].contains(',') && lines[*at].split(',').any(known);
    let test = title.map_or("", |at| test_of(lines[at]));
    let mut rows = Vec::new();
    let mut end = 0;
    for at in (title.unwrap_or(0)..lines.len()).filter(begins) {
        let Some((headings, from)) = headings(at).filter(|(_, from)| at >= end && *from > at) else {
            continue;
        };
        end = from;
        // A line a test below one of headings: scripts put them so.
        while let Some(own) = lines.get(end).filter(|line| is_figures(line)).map(|line| cells(line)) {
            if own.len() != headings.len() {
                break;
            }
            let known = headings.iter().zip(own).filter_map(|(heading, cell)| {
                let (_, key) = HEADINGS.iter().find(|(text, _)| text == heading)?;
                Some((key.to_string(), cell))
            });
            end += 1;
            rows.push(row(test, &known.collect()).map(|row| PublishedRow { line: end, ..row }));
        }
    }
    (!rows.is_empty()).then(|| rows.into_iter().collect())
}

/// The test of `netperf -P 0 -H host -t TCP_RR`.
fn commanded(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace().skip_while(|word| word.rsplit('/').next() != Some("netperf"));
    words.next()?;
    let options: Vec<&str> = words.take_while(|word| *word != "--").collect();
    let told = options.windows(2).find(|pair| pair[0] == "-t").map(|pair| pair[1]);
    options.contains(&"-H").then(|| told.unwrap_or("TCP_STREAM"))
}

/// That of a title, or of a command.
fn test_of(title: &str) -> &str {
    let named = || title.split(" TEST").next().unwrap_or_default().trim_start_matches("MIGRATED ").trim();
    commanded(title).unwrap_or_else(named)
}

/// `at`: its first line, from 0.
fn classic(at: usize, lines: &[&str]) -> Result<PublishedRow, String> {
    let (command, test) = (commanded(lines[0]), test_of(lines[0]));
    // A command without `-f` gets the usual unit.
    let usual = command.is_some_and(|test| test.ends_with("STREAM")) && !lines[0].contains(" -f");
    let told = lines.iter().flat_map(|line| line.split_whitespace()).find(|word| word.starts_with("10^"));
    let form = ClassicForm {
        turns: test.to_uppercase().contains("REQUEST/RESPONSE") || test.ends_with("RR"),
        bits: told.and_then(|of| unit::parse(of).ok()).map(|of| of.factor).or(usual.then_some(1e6)),
        datagrams: test.starts_with("UDP"),
        of_both_ends: lines.iter().any(|line| line.contains("us/KB")),
    };
    let numbers = |line: &&str| {
        let all: Option<Vec<f64>> = line.split_whitespace().map(|word| word.parse().ok()).collect();
        all.filter(|all| !all.is_empty())
    };
    let first = lines.iter().position(|line| numbers(line).is_some_and(|all| all.len() > 3));
    let mut figures = first.and_then(|first| numbers(&lines[first])).unwrap_or_default();
    let below = first.and_then(|first| numbers(lines.get(first + 1)?)).unwrap_or_default();
    let read = form.row(&figures, &below).or_else(|| {
        // A mail breaks a long line.
        figures.extend(&below);
        form.row(&figures, &[])
    });
    let begun = |line: &&str| line.trim_start().starts_with(|c: char| c.is_ascii_digit());
    let read = read.ok_or_else(|| match lines[1..].iter().any(begun) {
        true => format!(
            "netperf {test}: this form is not read. Select keys: netperf ... -- -k THROUGHPUT,THROUGHPUT_UNITS"
        ),
        false => format!("netperf {test}: it has no line of figures"),
    })?;
    let read = read.into_iter().map(|(column, value)| (column, Some(value)));
    Ok(PublishedRow { line: at + 1, ..PublishedRow::of_one("netperf", test, read) })
}

/// What tells the lines of figures of the classic tests apart.
struct ClassicForm {
    turns: bool,
    /// What its throughput is of.
    bits: Option<f64>,
    datagrams: bool,
    /// `-c -C`, with microseconds a KB.
    of_both_ends: bool,
}

impl ClassicForm {
    fn row(&self, figures: &[f64], below: &[f64]) -> Option<Vec<(TableColumn, f64)>> {
        use TableColumn::{
            CpuPerByte, CpuPercent, Elapsed, Loss, MessageBytes, MessageRate, Messages, Throughput,
        };
        let transfer = |bytes: f64, seconds: f64, rate: f64| {
            self.bits
                .map(|bits| vec![(MessageBytes, bytes), (Elapsed, seconds * 1e9), (Throughput, rate * bits)])
        };
        let turns = |bytes: f64, seconds: f64, rate: f64| {
            vec![(MessageBytes, bytes), (Elapsed, seconds * 1e9), (MessageRate, rate)]
        };
        match (figures, below) {
            // The second line is what the receiver saw.
            ([_, bytes, _, sent, _, _, ..], [_, seconds, arrived, rate, ..])
                if self.datagrams && !self.turns && arrived <= sent && *sent > 0.0 =>
            {
                let counts = [(Messages, *arrived), (Loss, 100.0 * (1.0 - arrived / sent))];
                Some([transfer(*bytes, *seconds, *rate)?, counts.to_vec()].concat())
            }
            ([_, _, bytes, seconds, rate], _) => transfer(*bytes, *seconds, *rate),
            ([_, _, bytes, seconds, rate, cpu, _, demand, _], _) if self.of_both_ends => {
                let cost = [(CpuPercent, *cpu), (CpuPerByte, demand * 1e3 / 1024.0)];
                Some([transfer(*bytes, *seconds, *rate)?, cost.to_vec()].concat())
            }
            ([_, _, bytes, _, seconds, rate, cpu, _, _, _], _) if self.turns => {
                Some([turns(*bytes, *seconds, *rate), vec![(CpuPercent, *cpu)]].concat())
            }
            ([_, _, bytes, _, seconds, rate], _) if self.turns => Some(turns(*bytes, *seconds, *rate)),
            _ => None,
        }
    }
}

fn row(test: &str, keys: &Keys) -> Result<PublishedRow, String> {
    let number = |key: &str| keys.get(key).and_then(|text| text.trim().parse::<f64>().ok());
    let rate = match number("TRANSACTION_RATE").filter(|_| !keys.contains_key("THROUGHPUT")) {
        Some(rate) => (TableColumn::MessageRate, Some(rate)),
        None => throughput(keys, number("THROUGHPUT"))?,
    };
    let known = |key: &str, scale: f64| number(key).filter(|v| *v >= 0.0).map(|v| v * scale);
    // Of transactions it is a time of each.
    let per_byte = keys.get("SD_UNITS").and_then(|of| unit::parse(of).ok());
    let per_byte = per_byte.filter(|of| of.dimension == Dimension::TimePerByte);
    let demand = per_byte.and_then(|of| known("LOCAL_SD", of.factor));
    let direction = keys.get("DIRECTION").map_or(String::new(), |direction| format!(" {direction}"));
    Ok(PublishedRow::of_one(
        &format!("netperf{direction}"),
        test,
        [
            rate,
            (TableColumn::Elapsed, known("ELAPSED_TIME", 1e9)),
            (TableColumn::MessageBytes, known("LOCAL_SEND_SIZE", 1.0)),
            (TableColumn::Latency, known("MEAN_LATENCY", 1e3).or_else(|| known("P50_LATENCY", 1e3))),
            (TableColumn::Spread, known("STDDEV_LATENCY", 1e3)),
            (TableColumn::Retransmits, known("LOCAL_TRANSPORT_RETRANS", 1.0)),
            (TableColumn::CpuPercent, known("LOCAL_CPU_UTIL", 1.0)),
            (TableColumn::CpuPerByte, demand),
        ],
    ))
}

fn throughput(keys: &Keys, value: Option<f64>) -> Result<(TableColumn, Option<f64>), String> {
    let units = keys.get("THROUGHPUT_UNITS").ok_or(
        "THROUGHPUT has no THROUGHPUT_UNITS: select both (-k THROUGHPUT,THROUGHPUT_UNITS,...), since netperf has \
         several",
    )?;
    let value = value.ok_or("THROUGHPUT is no number")?;
    let (column, factor) =
        naming::rate(units).ok_or_else(|| format!("THROUGHPUT_UNITS {units:?} is no rate known here"))?;
    Ok((column, Some(value * factor)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_and_objects_are_the_same() {
        let lines =
            "THROUGHPUT=941.5\nTHROUGHPUT_UNITS=10^6bits/s\nELAPSED_TIME=10.0\nLOCAL_SEND_SIZE=16384\n";
        let table = from_lines("n", lines).unwrap().unwrap();
        assert_eq!(table.rows[0].value(TableColumn::Throughput), Some(941.5e6));
        assert_eq!(table.rows[0].count(TableColumn::MessageBytes), Some(16384));
        let json = serde_json::json!({"throughput": 941.5, "throughput_units": "10^6bits/s", "local_send_size": 16384});
        let object = from_json("n", &json).unwrap().unwrap();
        assert_eq!(
            object.rows[0].value(TableColumn::Throughput),
            table.rows[0].value(TableColumn::Throughput)
        );
        assert!(
            from_lines("n", "THROUGHPUT=1\n").unwrap().unwrap_err().to_string().contains("THROUGHPUT_UNITS")
        );
        let stream = "MIGRATED TCP STREAM TEST from 0.0.0.0 () port 0 AF_INET to localhost () port 0 AF_INET\nRecv   Send    Send\n\
                      bytes  bytes   bytes    secs.    10^6bits/sec\n\n131072  16384  16384    10.00    23456.78\n";
        let classic = from_classic("n", stream).unwrap().unwrap();
        assert_eq!(classic.rows[0].value(TableColumn::Throughput), Some(23456.78e6));
        let twice = from_classic("n", &stream.repeat(2)).unwrap().unwrap();
        assert_eq!(twice.rows.iter().map(|row| row.line).collect::<Vec<_>>(), [1, 6]);
        let plain = "$ netperf -P 0 -H h -l 10\n131072  16384  16384    10.00    23456.78\n$ netperf -P0 -H h -t TCP_RR\n16384  131072 1 1 10.00 23456.78\n16384 131072\n";
        let plain = from_classic("n", plain).unwrap().unwrap();
        assert_eq!(plain.rows[0].value(TableColumn::Throughput), Some(23456.78e6));
        assert_eq!(plain.rows[1].value(TableColumn::MessageRate), Some(23456.78));
        let udp = "UDP UNIDIRECTIONAL SEND TEST from 0.0.0.0\n1 2 3 4 5 6 7\n";
        assert!(
            from_classic("n", udp)
                .unwrap()
                .unwrap_err()
                .to_string()
                .contains("netperf UDP UNIDIRECTIONAL SEND")
        );
        assert!(from_lines("n", "a,b\n1,2\n").is_none());
    }
}
