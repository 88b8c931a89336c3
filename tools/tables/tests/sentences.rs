//! Every kind of remark over tables whose truth is known: plain measurements that deserve none, and the same with one
//! flaw that deserves it. Remarks count and compute, so none may be false, and each must see its flaw in every table.

use std::collections::BTreeSet;
use syscost_core::stats::random::Random;
use syscost_tables::remark::{self, RemarkKind, remarks};
use syscost_tables::{ColumnMapping, PublishedTable, read};

const TABLES: u64 = 10;
const HEADINGS: &str =
    "mechanism,size,threads,run,throughput_gbps,cycles,llc_misses,context_switches,total_bytes,seconds";

/// One run of one cell, as it was measured.
#[derive(Clone)]
struct MeasuredRow {
    mechanism: &'static str,
    size: f64,
    threads: f64,
    run: f64,
    gbps: f64,
    cycles: f64,
    misses: f64,
    switches: f64,
    bytes: f64,
    seconds: f64,
}

impl MeasuredRow {
    fn line(&self) -> String {
        let MeasuredRow { mechanism, size, threads, run, gbps, cycles, misses, switches, bytes, seconds } =
            self;
        format!(
            "{mechanism},{size},{threads},{run},{gbps:.3},{cycles:.0},{misses:.0},{switches:.0},{bytes:.0},{seconds:.2}\n"
        )
    }
}

/// Three ways, three sizes, three thread counts, three runs of each; everything scatters.
fn measured(seed: u64) -> Vec<MeasuredRow> {
    let mut random = Random::new(seed);
    let mut rows = Vec::new();
    for (way, mechanism) in ["two_copy", "one_copy", "zero_copy"].into_iter().enumerate() {
        for size in [64.0, 4096.0, 65536.0] {
            for threads in [1.0, 2.0, 4.0] {
                for run in 1..=3 {
                    let mut noise = |share: f64| (share * random.normal()).exp();
                    let ns = (500.0 + 300.0 * way as f64 + size * (0.3 - 0.08 * way as f64)) * noise(0.08);
                    let busy = f64::powf(threads, 0.8) * noise(0.03);
                    let seconds = 10.0 * noise(0.001);
                    let messages = seconds * 1e9 / ns * busy;
                    rows.push(MeasuredRow {
                        mechanism,
                        size,
                        threads,
                        run: f64::from(run),
                        gbps: messages * size * 8.0 / seconds / 1e9,
                        cycles: seconds * 3.1e9 * threads * noise(0.02),
                        misses: (2e5 + size * 30.0) * busy * noise(0.1),
                        switches: 1500.0 * threads * noise(0.1),
                        bytes: messages * size,
                        seconds,
                    });
                }
            }
        }
    }
    rows
}

fn table(text: &str) -> PublishedTable {
    read("t.csv", text, &ColumnMapping::default()).unwrap_or_else(|e| panic!("{e}: {text}"))
}

fn of_rows(rows: &[MeasuredRow]) -> PublishedTable {
    let lines: String = rows.iter().map(MeasuredRow::line).collect();
    table(&format!("{HEADINGS}\n{lines}"))
}

/// With this flaw in every row.
fn flawed(seed: u64, flaw: impl Fn(&mut MeasuredRow)) -> PublishedTable {
    let mut rows = measured(seed);
    rows.iter_mut().for_each(flaw);
    of_rows(&rows)
}

/// An operation: hardware, software, predicted, measured.
fn operations(seed: u64, row: impl Fn(f64) -> [f64; 4]) -> PublishedTable {
    let mut random = Random::new(seed);
    let mut line = |name: &str| {
        let ns = 1000.0 * random.normal().abs() + 100.0;
        let [hardware, software, predicted, measured] = row(ns);
        format!("{name},{hardware:.1},{software:.1},{predicted:.1},{measured:.1}\n")
    };
    let lines: String = ["getpid", "fork", "pipe"].map(&mut line).concat();
    table(&format!(
        "operation,base hardware (ns),software overhead (ns),predicted (ns),measured (ns)\n{lines}"
    ))
}

type FlawedTable = fn(u64) -> PublishedTable;

/// A remark, and a table that deserves it.
const FLAWS: &[(&str, FlawedTable)] = &[
    ("impossible", |seed| flawed(seed, |row| row.gbps *= 1e5)),
    ("impossible", |seed| flawed(seed, |row| row.switches = -row.switches)),
    ("not_its_totals", |seed| flawed(seed, |row| row.gbps *= 2.0)),
    ("formula", |seed| flawed(seed, |row| row.cycles = 5.0 * row.size + 1000.0 * row.threads)),
    ("formula", |seed| flawed(seed, |row| row.switches = 50.0 * row.threads)),
    ("formula", |seed| flawed(seed, |row| row.misses = 0.25 * row.cycles.round())),
    ("zero", |seed| flawed(seed, |row| row.cycles = 0.0)),
    ("cliff", |seed| {
        flawed(seed, |row| {
            if row.size > 1e4 {
                row.gbps *= 0.02
            }
        })
    }),
    ("falls_with_threads", |seed| {
        flawed(seed, |row| {
            if row.threads > 3.0 {
                row.gbps *= 0.3
            }
        })
    }),
    ("faster_than_threads", |seed| {
        flawed(seed, |row| {
            if row.threads > 3.0 {
                row.gbps *= 3.0
            }
        })
    }),
    ("same_figures", |seed| {
        let mut rows = measured(seed);
        let copied: Vec<MeasuredRow> = rows.iter().filter(|row| row.threads == 1.0).cloned().collect();
        for row in rows.iter_mut().filter(|row| row.threads == 2.0) {
            let of =
                |one: &&MeasuredRow| (one.mechanism, one.size, one.run) == (row.mechanism, row.size, row.run);
            let of = copied.iter().find(of).expect("one of each").clone();
            *row = MeasuredRow { threads: 2.0, ..of };
        }
        of_rows(&rows)
    }),
    ("same_counters", |seed| {
        let mut rows = measured(seed);
        let first = rows[0].mechanism;
        let counted: Vec<MeasuredRow> = rows.iter().filter(|row| row.mechanism == first).cloned().collect();
        for row in &mut rows {
            let of =
                |one: &&MeasuredRow| (one.size, one.threads, one.run) == (row.size, row.threads, row.run);
            let of = counted.iter().find(of).expect("one of each");
            (row.cycles, row.misses) = (of.cycles, of.misses);
        }
        of_rows(&rows)
    }),
    ("row_twice", |seed| of_rows(&[measured(seed), measured(seed)].concat())),
    ("no_replicates", |seed| {
        let rows: Vec<MeasuredRow> = measured(seed).into_iter().filter(|row| row.run == 1.0).collect();
        of_rows(&rows)
    }),
    ("no_unit", |seed| {
        let line =
            |row: &MeasuredRow| format!("{},{},{},{:.3}\n", row.mechanism, row.size, row.threads, row.gbps);
        let lines: String = measured(seed).iter().map(line).collect();
        table(&format!("mechanism,size,threads,throughput\n{lines}"))
    }),
    ("derived_latency", |seed| {
        let line = |row: &MeasuredRow| {
            let us = row.threads * row.size * 8.0 / row.gbps / 1e3;
            format!("{},{},{},{:.3},{us:.4}\n", row.mechanism, row.size, row.threads, row.gbps)
        };
        let lines: String = measured(seed).iter().map(line).collect();
        table(&format!("mechanism,size,threads,throughput_gbps,latency_us\n{lines}"))
    }),
    ("off_prediction", |seed| operations(seed, |ns| [ns * 0.1, ns * 0.2, ns * 0.3, ns])),
    ("better_than_hardware", |seed| operations(seed, |ns| [ns * 2.0, ns * 0.2, ns * 2.2, ns])),
    ("not_a_sum", |seed| operations(seed, |ns| [ns * 0.5, ns * 0.3, ns * 1.2, ns])),
];

fn ids(table: &PublishedTable) -> BTreeSet<&'static str> {
    remarks(table).iter().map(|remark| remark.id).collect()
}

#[test]
fn no_remark_is_made_of_plain_measurements_and_each_sees_its_flaw() {
    let wrong: Vec<String> = (0..TABLES)
        .flat_map(|seed| {
            let plain = remarks(&of_rows(&measured(seed)));
            let told = remarks(&operations(seed, |ns| [ns * 0.3, ns * 0.6, ns * 0.9, ns]));
            plain.into_iter().chain(told)
        })
        .filter(|remark| remark.kind != RemarkKind::Caution)
        .map(|remark| remark.text)
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let silent: Vec<String> = FLAWS
        .iter()
        .map(|(id, flawed)| (id, (0..TABLES).filter(|seed| !ids(&flawed(*seed)).contains(id)).count()))
        .filter(|(_, silent)| *silent > 0)
        .map(|(id, silent)| format!("{id}: silent in {silent} of {TABLES}"))
        .collect();
    assert!(silent.is_empty(), "{silent:#?}");
}

/// A look that is added needs a flaw here.
#[test]
fn every_look_at_a_table_is_walked() {
    let walked: Vec<PublishedTable> = FLAWS.iter().map(|(_, flawed)| flawed(1)).collect();
    let unseen = remark::ALL.iter().filter(|look| walked.iter().all(|table| look(table).is_empty())).count();
    assert_eq!(unseen, 0, "looks without a flawed table in FLAWS");
}
