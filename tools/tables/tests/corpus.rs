//! A corpus of tables as strangers write them, made here from figures that are known: each layout in each set of words,
//! units, separators and marks. Counted: read right, refused, read wrong, and sentences that the figures refute.

use std::collections::BTreeMap;
use syscost_measure::mechanism::{self, Class};
use syscost_tables::overtakes::{Overtake, overtakes, sentences};
use syscost_tables::remark::{Remark, RemarkKind, remarks};
use syscost_tables::{
    self as table, ColumnMapping, PublishedFigure, PublishedRow, PublishedTable, TableColumn,
};

const CLASSES: [Class; 3] = [Class::TwoCopy, Class::OneCopy, Class::ZeroCopy];
const SIZES: [u64; 4] = [64, 1024, 16384, 65536];
const THREADS: [u64; 3] = [1, 4, 8];

/// What a program measured in one cell.
#[derive(Clone, Copy)]
struct Truth {
    class: Class,
    size: u64,
    threads: u64,
    run: u64,
    gbps: f64,
    us: f64,
    cycles: u64,
    l1: u64,
    llc: u64,
    switches: u64,
}

/// CountingNoise of 10 %, the same in every run of the test.
struct CountingNoise(u64);

impl CountingNoise {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        0.95 + 0.1 * ((self.0 >> 33) as f64 / (1u64 << 31) as f64)
    }
}

fn truths(runs: u64) -> Vec<Truth> {
    let mut scatter = CountingNoise(7);
    let mut all = Vec::new();
    for (c, class) in CLASSES.into_iter().enumerate() {
        for size in SIZES {
            for threads in THREADS {
                for run in 1..=runs {
                    let per_message = 600.0 + 300.0 * c as f64 + size as f64 * (0.3 - 0.1 * c as f64);
                    let speedup = (threads as f64).powf(0.7);
                    let gbps = size as f64 * 8.0 * speedup / per_message * scatter.next();
                    let mut count = |of: f64| (of * speedup * scatter.next()) as u64;
                    all.push(Truth {
                        class,
                        size,
                        threads,
                        run,
                        gbps,
                        us: 20.0 + per_message / 500.0,
                        cycles: count(9.1e9),
                        l1: count(4.4e7 + size as f64 * 900.0),
                        llc: count(3.3e5 + size as f64 * 11.0),
                        switches: count(2.7e3),
                    });
                }
            }
        }
    }
    let mut scatter = CountingNoise(11);
    all.iter_mut().for_each(|truth| truth.us *= scatter.next());
    all
}

/// How somebody writes: words, units, marks.
#[derive(Clone)]
struct Hand {
    /// Headings of mechanism, size, threads, run, throughput, latency, cycles, L1, LLC, switches; empty: left out.
    headings: [&'static str; 10],
    /// What its throughput and latency are divided by, and their digits.
    rate: f64,
    time: f64,
    size: f64,
    count: f64,
    names: [&'static str; 3],
    separator: &'static str,
    comma: bool,
    runs: u64,
}

/// What stands in a column.
#[derive(Clone, Copy, PartialEq)]
enum Written {
    Mechanism,
    Size,
    Threads,
    Run,
    Rate,
    Time,
    Cycles,
    L1,
    Llc,
    Switches,
}

const WRITTEN: [Written; 10] = [
    Written::Mechanism,
    Written::Size,
    Written::Threads,
    Written::Run,
    Written::Rate,
    Written::Time,
    Written::Cycles,
    Written::L1,
    Written::Llc,
    Written::Switches,
];

impl Hand {
    fn cell(&self, truth: &Truth, what: Written) -> String {
        let text = match what {
            Written::Mechanism => {
                return self.names[CLASSES.iter().position(|c| *c == truth.class).expect("one of three")]
                    .to_string();
            }
            Written::Size => format!("{}", truth.size as f64 / self.size),
            Written::Threads => truth.threads.to_string(),
            Written::Run => truth.run.to_string(),
            Written::Rate => format!("{:.4}", truth.gbps / self.rate),
            Written::Time => format!("{:.3}", truth.us / self.time),
            Written::Cycles if self.count > 1.0 => format!("{:.3}", truth.cycles as f64 / self.count),
            Written::Cycles => truth.cycles.to_string(),
            Written::L1 => truth.l1.to_string(),
            Written::Llc => truth.llc.to_string(),
            Written::Switches => truth.switches.to_string(),
        };
        if self.comma { text.replace('.', ",") } else { text }
    }

    fn columns(&self) -> Vec<(Written, &'static str)> {
        WRITTEN.into_iter().zip(self.headings).filter(|(_, heading)| !heading.is_empty()).collect()
    }

    fn line(&self, cells: impl IntoIterator<Item = String>) -> String {
        let cells: Vec<String> = cells.into_iter().collect();
        if self.separator == "|" {
            format!("| {} |\n", cells.join(" | "))
        } else {
            format!("{}\n", cells.join(self.separator))
        }
    }

    fn long(&self, truths: &[Truth]) -> String {
        let columns = self.columns();
        let rule = if self.separator == "|" {
            self.line(columns.iter().map(|_| "---".into()))
        } else {
            String::new()
        };
        let rows: String =
            truths.iter().map(|t| self.line(columns.iter().map(|(what, _)| self.cell(t, *what)))).collect();
        self.line(columns.iter().map(|(_, heading)| heading.to_string())) + &rule + &rows
    }

    /// Names, sizes or threads as columns of one quantity, or of all; the others are rows.
    fn wide(&self, truths: &[Truth], along: Written, whole: bool) -> String {
        let keys: Vec<(Written, &str)> = self
            .columns()
            .into_iter()
            .filter(|(what, _)| {
                [Written::Mechanism, Written::Size, Written::Threads].contains(what) && *what != along
            })
            .collect();
        let figures: Vec<(Written, &str)> = self
            .columns()
            .into_iter()
            .filter(|(what, _)| {
                *what == Written::Rate || whole && [Written::Time, Written::Cycles].contains(what)
            })
            .collect();
        let place = |t: &Truth| match along {
            Written::Size => format!("{} B", t.size),
            Written::Threads => format!("{} threads", t.threads),
            _ => self.cell(t, along),
        };
        let mut places: Vec<String> = Vec::new();
        for truth in truths {
            if !places.contains(&place(truth)) {
                places.push(place(truth));
            }
        }
        let heads = places.iter().flat_map(|place| {
            figures
                .iter()
                .map(move |(_, heading)| if whole { format!("{place} {heading}") } else { place.clone() })
        });
        let title = if whole { String::new() } else { format!("{}\n", figures[0].1) };
        let mut text = title + &self.line(keys.iter().map(|(_, heading)| heading.to_string()).chain(heads));
        let mut seen: Vec<Vec<String>> = Vec::new();
        for truth in truths {
            let key: Vec<String> = keys.iter().map(|(what, _)| self.cell(truth, *what)).collect();
            if seen.contains(&key) {
                continue;
            }
            let of = truths
                .iter()
                .filter(|t| keys.iter().map(|(what, _)| self.cell(t, *what)).collect::<Vec<_>>() == key);
            let by_place: BTreeMap<String, &Truth> = of.map(|t| (place(t), t)).collect();
            let cells = places
                .iter()
                .flat_map(|place| figures.iter().map(|(what, _)| self.cell(by_place[place], *what)));
            text += &self.line(key.iter().cloned().chain(cells));
            seen.push(key);
        }
        text
    }

    /// A quantity and its value a line.
    fn tidy(&self, truths: &[Truth]) -> String {
        let (keys, figures): (Vec<_>, Vec<_>) = self.columns().into_iter().partition(|(what, _)| {
            [Written::Mechanism, Written::Size, Written::Threads, Written::Run].contains(what)
        });
        let head =
            keys.iter().map(|(_, heading)| heading.to_string()).chain(["metric".into(), "value".into()]);
        let mut text = self.line(head);
        for truth in truths {
            for (what, heading) in &figures {
                let key = keys.iter().map(|(what, _)| self.cell(truth, *what));
                text += &self.line(key.chain([heading.to_string(), self.cell(truth, *what)]));
            }
        }
        text
    }
}

fn hands() -> Vec<Hand> {
    let hand = |headings, rate, time, names, separator| Hand {
        headings,
        rate,
        time,
        size: 1.0,
        count: 1.0,
        names,
        separator,
        comma: false,
        runs: 1,
    };
    let copies = ["two_copy", "one_copy", "zero_copy"];
    let parts = ["A1", "A2", "A3"];
    #[rustfmt::skip]
    let all = vec![
        hand(["implementation", "msg_size", "threads", "", "throughput_gbps", "latency_us", "cycles", "l1_misses", "llc_misses", "context_switches"], 1.0, 1.0, copies, ","),
        hand(["Part", "MessageSize", "Threads", "", "Throughput(Gbps)", "AvgLatency(us)", "CPUCycles", "L1Misses", "LLCMisses", "CtxSwitches"], 1.0, 1.0, parts, ","),
        hand(["Impl", "Msg Size (bytes)", "Thread Count", "", "Throughput (Gbit/s)", "Latency (µs)", "cpu-cycles", "L1-dcache-load-misses", "LLC-load-misses", "context-switches"], 1.0, 1.0, ["Two-Copy", "One-Copy", "Zero-Copy"], ";"),
        hand(["mode", "size", "num_threads", "run", "throughput_mbps", "latency_us_avg", "cycles", "", "cache_misses_llc", "cs"], 1e-3, 1.0, ["TwoCopy", "OneCopy", "ZeroCopy"], ","),
        hand(["copy_type", "bytes", "clients", "", "tput_MB_s", "avg_latency_ns", "CPU Cycles (M)", "", "", "ctx_switches"], 8e-3, 1e-3, ["2-copy", "1-copy", "0-copy"], "\t"),
        hand(["server", "message_size_kb", "thread_count", "", "server_throughput_gbps", "median_latency_us", "total_cycles", "l1d_load_misses", "llc_load_misses", "ctxt"], 1.0, 1.0, ["a1_server", "a2_server", "a3_server"], ","),
        hand(["Type", "Size", "Thread", "", "Gbps", "us", "Cycles", "", "", "Switches"], 1.0, 1.0, ["A1 (two-copy)", "A2 (one-copy)", "A3 (zero-copy)"], "|"),
        hand(["Experiment", "Payload (B)", "Connections", "Iteration", "Goodput [Gbit/s]", "RTT [us]", "Instructions and cycles", "", "", ""], 1.0, 1.0, ["baseline", "scatter-gather", "MSG_ZEROCOPY"], ","),
        hand(["config_name", "field_size", "nthreads", "", "mean_throughput_gbps", "mean_latency_us", "cycles:u", "L1-dcache-load-misses:u", "LLC-load-misses:u", "context-switches:u"], 1.0, 1.0, copies, ","),
        hand(["variant", "msg", "thr", "trial", "Throughput GBps", "Latency ms", "cycles", "L1", "LLC", "cswitches"], 8.0, 1e3, parts, ";"),
    ];
    let mut hands = Vec::new();
    for (index, mut hand) in all.into_iter().enumerate() {
        hand.size = if hand.headings[1].contains("kb") { 1024.0 } else { 1.0 };
        hand.count = if hand.headings[6].contains("(M)") { 1e6 } else { 1.0 };
        hand.runs = if hand.headings[3].is_empty() { 1 } else { 3 };
        hand.comma = hand.separator == ";" && index > 5;
        hands.push(hand);
    }
    hands
}

/// Every table of the corpus: its name, text, the figures in it, and the columns that it has.
fn corpus() -> Vec<(String, String, Vec<Truth>, bool)> {
    let mut all = Vec::new();
    for (index, hand) in hands().into_iter().enumerate() {
        let truths = truths(hand.runs);
        let once: Vec<Truth> = truths.iter().filter(|t| t.run == 1).copied().collect();
        let mut add = |layout: &str, text: String, of: &[Truth], times: bool| {
            all.push((format!("hand {index}, {layout}"), text, of.to_vec(), times));
        };
        add("long", hand.long(&truths), &truths, true);
        add(
            "with a comment and notes",
            format!("# MT25000, 5 s a cell\n{}Note: on loopback\n", hand.long(&truths)),
            &truths,
            true,
        );
        let extra = |text: &str| -> String {
            let lines = text.lines().enumerate().map(|(n, line)| match n {
                0 => format!("timestamp{sep}{line}{sep}hostname\n", sep = hand.separator),
                _ => format!(
                    "2026-02-0{} 10:{:02}:{:02}{sep}{line}{sep}lab-pc\n",
                    1 + n / 3600,
                    n / 60,
                    n % 60,
                    sep = hand.separator
                ),
            });
            lines.collect()
        };
        if hand.separator != "|" {
            add("with columns of other things", extra(&hand.long(&truths)), &truths, true);
        }
        add("in reverse", hand.long(&truths.iter().rev().copied().collect::<Vec<_>>()), &truths, true);
        add("names as columns", hand.wide(&once, Written::Mechanism, false), &once, false);
        add("sizes as columns", hand.wide(&once, Written::Size, false), &once, false);
        add("threads as columns", hand.wide(&once, Written::Threads, false), &once, false);
        add("names and quantities as columns", hand.wide(&once, Written::Mechanism, true), &once, true);
        add("a quantity a line", hand.tidy(&truths), &truths, true);
        let mut fewer = hand.clone();
        fewer.headings[5..].fill("");
        add("throughput alone", fewer.long(&truths), &truths, false);
        let mut bare = hand.clone();
        (bare.headings[4], bare.headings[5], bare.rate, bare.time) = ("throughput", "latency", 1.0, 1.0);
        add("without units", bare.long(&truths), &truths, false);
    }
    all
}

/// The row of a cell, by role, size, threads and run.
fn row<'t>(table: &'t PublishedTable, truth: &Truth) -> Option<&'t PublishedRow> {
    let runs = table.has(TableColumn::Repetition);
    table.rows.iter().find(|row| {
        let role = row.text(TableColumn::Mechanism).and_then(|name| table.role(name));
        role == Some(truth.class)
            && row.count(TableColumn::MessageBytes) == Some(truth.size)
            && row.count(TableColumn::Threads) == Some(truth.threads)
            && (!runs || row.count(TableColumn::Repetition) == Some(truth.run))
    })
}

fn near(value: f64, truth: f64) -> bool {
    (value / truth - 1.0).abs() < 0.02
}

/// Every figure at its place, and no row that is none.
fn is_right(table: &PublishedTable, truths: &[Truth], times: bool) -> Result<(), String> {
    if table.rows.len() != truths.len() {
        return Err(format!("{} rows for {}", table.rows.len(), truths.len()));
    }
    for truth in truths {
        let at = format!("{:?} {} B {} threads", truth.class, truth.size, truth.threads);
        let row = row(table, truth).ok_or_else(|| format!("no row for {at}"))?;
        let rate =
            row.value(TableColumn::Throughput).or(row.value(TableColumn::BareThroughput).map(|v| v * 1e9));
        if !rate.is_some_and(|rate| near(rate, truth.gbps * 1e9)) {
            return Err(format!("throughput {rate:?} for {} at {at}", truth.gbps));
        }
        let latency = row.figure(TableColumn::Latency);
        let as_printed = |f: PublishedFigure| (f.value - truth.us * 1e3).abs() <= 1.001 * f.rounding;
        if times && !latency.is_some_and(|f| near(f.value, truth.us * 1e3) || as_printed(f)) {
            return Err(format!("latency {latency:?} for {} at {at}", truth.us));
        }
        if row.value(TableColumn::Cycles).is_some_and(|cycles| !near(cycles, truth.cycles as f64)) {
            return Err(format!("cycles at {at}"));
        }
    }
    Ok(())
}

/// Sentences that these figures refute, or that speak of what no table shows.
fn false_sentences(table: &PublishedTable, truths: &[Truth]) -> Vec<String> {
    let (remarks, overtakes) = (remarks(table), overtakes(table));
    let runs = truths.iter().map(|t| t.run).max().unwrap_or(1);
    let mut wrong: Vec<String> = Vec::new();
    for Remark { kind, id, text, .. } in &remarks {
        let accuses = *kind == RemarkKind::Contradiction || *id == "zero" || *id == "formula";
        let rows = *id == "no_replicates" && text.starts_with("One row") != (runs == 1);
        if accuses || rows {
            wrong.push(text.clone());
        }
    }
    wrong.extend(overtakes.iter().filter(|o| !holds(table, o, truths)).map(|o| format!("{o:?}")));
    let said =
        remarks.iter().map(|r| r.text.clone()).chain(sentences(&overtakes)).chain(table.understood.clone());
    // How a program sends no table says; the others are figures that none can be.
    let ways = mechanism::ALL.iter().map(|m| m.about().id).filter(|id| id.contains('_'));
    let words: Vec<&str> =
        ways.chain(["computed, not measured", "look for a", "every -", " -1", "inf ", "NaN"]).collect();
    wrong.extend(said.filter(|text| words.iter().any(|word| text.contains(word))));
    wrong
}

/// Do the figures say so, by the middle of their runs?
fn holds(table: &PublishedTable, overtake: &Overtake, truths: &[Truth]) -> bool {
    let middle = |name: &str, size: u64| {
        let class = table.role(name);
        let of = truths
            .iter()
            .filter(|t| Some(t.class) == class && t.size == size && Some(t.threads) == overtake.threads);
        let mut values: Vec<f64> = of.map(|t| t.gbps).collect();
        values.sort_by(f64::total_cmp);
        values.get((values.len().max(1) - 1) / 2).copied().unwrap_or(f64::NAN)
    };
    let throughput = [TableColumn::Throughput, TableColumn::BareThroughput].contains(&overtake.metric);
    !throughput
        || overtake.compared.iter().all(|size| {
            let (new, old) = (middle(&overtake.challenger, *size), middle(&overtake.incumbent, *size));
            let better = overtake.better_at.contains(size);
            overtake.equal_at.contains(size) || (new > old) == better
        })
}

#[test]
fn tables_of_strangers_are_read_right_and_nothing_false_is_said() {
    let corpus = corpus();
    let (mut right, mut refused, mut wrong, mut said) = (0, Vec::new(), Vec::new(), Vec::new());
    for (name, text, truths, times) in &corpus {
        let head = || text.lines().take(3).collect::<Vec<_>>().join(" / ");
        match table::read("results.csv", text, &ColumnMapping::default()) {
            Err(error) => refused.push(format!("{name}: {error}: {}", head())),
            Ok(table) => {
                match is_right(&table, truths, *times) {
                    Ok(()) => right += 1,
                    Err(why) => wrong.push(format!("{name}: {why}: {}", head())),
                }
                said.extend(
                    false_sentences(&table, truths)
                        .into_iter()
                        .map(|text| format!("{name}: {text}: {}", head())),
                );
            }
        }
    }
    let all = corpus.len();
    println!(
        "{all} tables: {right} right, {} refused, {} wrong, {} false sentences",
        refused.len(),
        wrong.len(),
        said.len()
    );
    let told = format!(
        "false:\n{}\nwrong:\n{}\nrefused:\n{}",
        said.join("\n"),
        wrong.join("\n"),
        refused.join("\n")
    );
    assert!(said.is_empty() && wrong.is_empty(), "{told}");
    assert!(right * 35 >= all * 32, "{right} of {all} are right; {told}");
}
