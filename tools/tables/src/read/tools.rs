//! What other tools print, alone or several on a page: each is recognised by its own words, and what stands below
//! different headings is named by these.

use super::heading::HeadingPlace;
use super::sections::{self, PageSection};
use super::{beside, perf, perf_program, sockperf, titles};
use crate::{
    BadTable, ColumnMapping, PublishedRow, PublishedTable, TableColumn, bench, fio, iperf_text, iperf3,
    lmbench, neper, netperf,
};
use serde_json::Value;
use std::collections::BTreeSet;

type Read = Result<PublishedTable, BadTable>;
type TextOfTool = fn(&str, &str) -> Option<Read>;

/// What other tools print, each recognised by its own words. What stands above the counts of perf is its command's.
// One a line, whatever fits: two changes that add one each then meet without a conflict.
#[rustfmt::skip]
const TOOLS: &[(&str, TextOfTool)] = &[
    ("perf stat", perf::from_lines),
    ("a tool in JSON", from_documents),
    ("netperf", netperf::from_lines),
    ("netperf", netperf::from_classic),
    ("sockperf", sockperf::from_lines),
    ("neper", neper::from_lines),
    ("lmbench", lmbench::from_lines),
    ("iperf", iperf_text::from_lines),
    ("iperf", iperf_text::from_separated),
    ("benchmarks", bench::from_lines),
];

/// Texts of tools that are known and not read: words of theirs, and what to give instead.
#[rustfmt::skip]
const REFUSED: &[(&[&str], &str)] = &[
    (&["old ns/op", "new ns/op", "delta"], "benchcmp's comparison holds no runs: give the output of go test -bench that it compared"),
    (&["old MB/s", "new MB/s", "speedup"], "benchcmp's comparison holds no runs: give the output of go test -bench that it compared"),
    (&["old time/op", "delta"], "benchstat's comparison holds no runs: give the output of go test -bench that it compared"),
    (&["sec/op", "vs base"], "benchstat's comparison holds no runs: give the output of go test -bench that it compared"),
    (&["bytes from", "icmp_seq="], "ping times echoes of the kernel: no test of syscost applies to them"),
    (&["SendMethod", "ReceiveMethod", "Interval(usec)"], "latte's output is not read: put its figures into a CSV"),
    (&["ALL STATS", "Ops/sec", "Hits/sec"], "memtier's requests are no messages of one size: no test of syscost applies"),
    (&["# Overhead", "Shared Object"], "perf report's shares are a profile and no table of results"),
    (&["fio-", "groupid="], "fio's text is not read: run fio --output-format=json"),
    (&["sysbench ", "Threads fairness:"], "sysbench's events are no messages: no test of syscost applies"),
    (&["Latency", "Req/Sec", "Requests/sec:"], "wrk's requests are no messages of one size: no test of syscost applies"),
];

/// Why a text of a known tool is not read.
pub fn refused(text: &str) -> impl Iterator<Item = &'static str> {
    let is = move |words: &[&str]| words.iter().all(|word| text.contains(word));
    REFUSED.iter().filter(move |(words, _)| is(words)).map(|(_, instead)| *instead)
}

/// What the tools of a text print.
#[derive(Default)]
struct Printed {
    tables: Vec<(&'static str, PublishedTable)>,
    refused: Vec<BadTable>,
}

impl Printed {
    fn of(name: &str, text: &str) -> Printed {
        let mut printed = Printed::default();
        let mut known: Vec<&str> = Vec::new();
        for (tool, read) in TOOLS {
            // What stands above the counts of perf is its command's, and perf reads it.
            if known.contains(tool) || known.contains(&TOOLS[0].0) {
                continue;
            }
            if let Some(read) = read(name, text) {
                known.push(tool);
                match read {
                    Ok(table) => printed.tables.push((tool, table)),
                    Err(why) => printed.refused.push(why),
                }
            }
        }
        printed
    }

    fn figures(&self) -> usize {
        self.tables.iter().flat_map(|(_, table)| &table.rows).map(|row| row.figures.len()).sum()
    }

    /// No tool printed anything in it.
    fn is_silent(&self) -> bool {
        self.tables.is_empty() && self.refused.is_empty()
    }

    fn is_empty(&self) -> bool {
        self.tables.is_empty()
    }
}

/// `None`: no text of a tool.
pub fn table(name: &str, text: &str) -> Option<Read> {
    let mut whole = Printed::of(name, text);
    if whole.is_empty() {
        return whole.refused.into_iter().next().map(Err);
    }
    let parts = sections::sections(text);
    let apart: Vec<Printed> = parts.iter().map(|part| Printed::of(name, part.text)).collect();
    let several = apart.iter().filter(|printed| !printed.is_empty()).count() > 1
        && apart.iter().map(Printed::figures).sum::<usize>() >= whole.figures();
    if several {
        whole = Printed::default();
        for (part, mut printed) in parts.iter().zip(apart) {
            let rows = printed.tables.iter_mut().flat_map(|(_, table)| &mut table.rows);
            rows.for_each(|row| row.line += part.line);
            whole.tables.extend(printed.tables);
            whole.refused.extend(printed.refused);
        }
    }
    let left = whole.refused.into_iter().map(|why| match why {
        BadTable::Whole { message, .. } | BadTable::At { message, .. } => message,
    });
    let mut left: Vec<String> = left.chain(refused(text).map(str::to_string)).collect();
    left.dedup();
    // perf reads what its program printed.
    let of_perf = whole.tables.iter().any(|(tool, _)| *tool == TOOLS[0].0);
    let is_of_tool = |part: &str| of_perf || !Printed::of(name, part).is_silent();
    let beside = perf_program::left_out(&beside::lines(text, is_of_tool), "beside the output of tools ");
    let mut table = together(whole.tables);
    if several {
        place(&mut table, &parts);
        entitle(&mut table, &parts);
    }
    name_by_commands(&mut table, text);
    table.understood.extend(beside);
    table.understood.extend(left.into_iter().map(|why| format!("a part is left out: {why}")));
    Some(Ok(table))
}

/// Tools that are told in their command what to measure.
const COMMANDS: [&str; 4] = ["iperf3", "iperf", "netperf", "sockperf"];

/// Options that name an end.
const HOSTS: [&str; 6] = ["-c", "-s", "-H", "-L", "-B", "-i"];

/// Rows of one case below different commands are no runs of it: the options in which these differ are a part of the name.
fn name_by_commands(table: &mut PublishedTable, text: &str) {
    let is_command = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let is = |at: usize| COMMANDS.contains(&words[at].trim_start_matches("./"));
        // Without options it stands behind a prompt.
        let prompted =
            |at: usize| at > 0 && words[at - 1].ends_with(['$', '#', '>']) && at + 1 == words.len();
        let told = |at: usize| words.get(at + 1).is_some_and(|next| next.starts_with('-'));
        (0..words.len().min(4)).any(|at| is(at) && (told(at) || prompted(at)))
    };
    let commands: Vec<(usize, &str)> =
        text.lines().enumerate().filter(|(_, line)| is_command(line)).collect();
    let words = |(_, line): &(usize, &'_ str)| line.split_whitespace().map(str::to_string).collect();
    let in_all: BTreeSet<String> =
        commands.iter().map(words).reduce(|all: BTreeSet<String>, own| &all & &own).unwrap_or_default();
    let own = |(_, line): &(usize, &str)| {
        let mut options = Vec::new();
        let mut kept = false;
        for word in line.split_whitespace() {
            // Which host it is, the headings say.
            kept = if word.starts_with('-') { !HOSTS.contains(&word) } else { kept };
            if kept && !in_all.contains(word) {
                options.push(word);
            }
        }
        options.join(" ")
    };
    let names: Vec<String> = commands.iter().map(own).collect();
    let of = |line: usize| match commands.partition_point(|(index, _)| *index < line) {
        0 => "",
        after => names[after - 1].as_str(),
    };
    if table.differs_below(of) {
        table.entitle(of);
        table.understood.push("the options of commands above rows are a part of the name".into());
    }
}

/// The tools whose output stands in a text.
pub fn named(name: &str, text: &str) -> Vec<&'static str> {
    Printed::of(name, text).tables.into_iter().map(|(tool, _)| tool).collect()
}

/// What the headings above rows say of them, the nearest first.
fn place(table: &mut PublishedTable, parts: &[PageSection]) {
    let said = |part: &PageSection| -> Vec<HeadingPlace> {
        let titles = part.titles.iter().rev();
        titles.filter_map(|title| Some(titles::of(title, &ColumnMapping::default())?.place)).collect()
    };
    let said: Vec<Vec<HeadingPlace>> = parts.iter().map(said).collect();
    for row in &mut table.rows {
        said[sections::part_of(parts, row.line)].iter().for_each(|place| place.fill(row));
    }
    let mut columns: BTreeSet<TableColumn> =
        table.rows.iter().flat_map(|row| row.figures.keys().copied()).collect();
    columns.retain(|column| column.is_place() && !table.has(*column));
    table.columns.extend(columns);
}

/// Where two parts have figures of one name, size and thread count, their headings are names.
fn entitle(table: &mut PublishedTable, parts: &[PageSection]) {
    let part = |row: &PublishedRow| sections::part_of(parts, row.line);
    if !table.differs_below(|line| sections::part_of(parts, line)) {
        return;
    }
    let name = |row: &PublishedRow| row.text(TableColumn::Mechanism).unwrap_or_default().to_string();
    let says = table.rows.iter().map(name).collect::<BTreeSet<_>>().len() > 1;
    let used: BTreeSet<usize> = table.rows.iter().map(part).collect();
    let titles: Vec<Vec<&str>> = parts.iter().map(|part| part.titles.clone()).collect();
    let ways = titles.iter().enumerate().map(|(at, titles)| match used.contains(&at) {
        true => way(titles),
        false => Some(String::new()),
    });
    let names = ways.collect::<Option<Vec<String>>>().unwrap_or_else(|| sections::told_apart(&titles));
    for row in &mut table.rows {
        let title = &names[part(row)];
        let own = if says { format!("{title}, {}", name(row)) } else { title.clone() };
        row.texts.insert(TableColumn::Mechanism, own);
    }
}

/// The way to send that the nearest heading names.
fn way(titles: &[&str]) -> Option<String> {
    titles.iter().rev().find_map(|title| titles::of(title, &ColumnMapping::default())?.place.mechanism)
}

/// The rows of all; operations and transfers are no one table, and transfers are what tests of syscost apply to.
fn together(mut tables: Vec<(&'static str, PublishedTable)>) -> PublishedTable {
    tables.sort_by_key(|(_, table)| table.has(TableColumn::Operation));
    let mut tables = tables.into_iter();
    let mut all = tables.next().map(|(_, table)| table).unwrap_or_default();
    for (tool, table) in tables {
        if table.has(TableColumn::Operation) == all.has(TableColumn::Operation) {
            all.take_in(table);
        } else {
            let rows = syscost_core::units::count(table.rows.len(), "result");
            all.understood.push(format!("a part is left out: the output of {tool} ({rows})"));
        }
    }
    all
}

/// The JSON below a banner or warnings, that of several runs one below the other, and the line of what is broken.
pub fn documents(text: &str) -> Option<(Vec<Value>, Option<usize>)> {
    let (mut all, mut broken) = (Vec::new(), None);
    let (mut at, mut read) = (0, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        if at >= read && line.starts_with('{') {
            let mut documents = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
            match documents.next() {
                Some(Ok(json)) => {
                    read = at + documents.byte_offset();
                    all.push(json);
                }
                _ if all.is_empty() => return None,
                _ if text[at + 1..].trim_start().starts_with('"') => broken = broken.or(Some(index + 1)),
                _ => {}
            }
        }
        at += line.len();
    }
    (!all.is_empty()).then_some((all, broken))
}

fn from_documents(name: &str, text: &str) -> Option<Read> {
    let (documents, broken) = documents(text)?;
    // `perf stat -j` writes an object a count.
    let json = Value::Array(documents);
    let read = of_json(name, &json).or_else(|| {
        let all: Option<Vec<Read>> = json.as_array()?.iter().map(|json| of_json(name, json)).collect();
        let all: Result<Vec<PublishedTable>, BadTable> = all?.into_iter().collect();
        Some(all.map(|all| together(all.into_iter().map(|table| ("JSON", table)).collect())))
    })?;
    Some(read.map(|mut table| {
        if text.contains("fio: terminating on signal") {
            table.understood.push("fio was stopped by a signal: its figures are of a shorter run".into());
        }
        table.understood.extend(broken.map(|line| format!("broken JSON is left out (line {line})")));
        table
    }))
}

pub fn of_json(name: &str, json: &Value) -> Option<Read> {
    type JsonOfTool = fn(&str, &Value) -> Option<Read>;
    let tools: [JsonOfTool; 5] =
        [iperf3::table, fio::table, netperf::from_json, perf::from_json, bench::from_json];
    tools.iter().find_map(|tool| tool(name, json))
}
