//! Figures that no machine can give: more than memory can move, less than a system call, shares over the whole.
//!
//! The bounds are generous: what is beyond them is beyond any machine of today.

use super::{COUNTERS, Remark, RemarkKind, derived_latency, place};
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn, role};
use std::collections::BTreeMap;
use syscost_core::units::{Unit, significant};

/// No core copies more than this through a socket: 100 GB/s is beyond the fastest core's copy in its caches.
const BITS_PER_THREAD: f64 = 8e11;
/// Entry to the kernel, socket lock and copy take longer than this on every processor.
const SHORTEST_SEND_NS: f64 = 60.0;
/// No core runs faster.
const MOST_HERTZ: f64 = 7e9;
const LEAST_CYCLES: f64 = 1e-3;
const MOST_CYCLES: f64 = 1e6;
const MOST_CYCLES_A_MESSAGE: f64 = 1e9;

/// Why a row cannot be, and by how much it is beyond the bound.
struct Impossible {
    kind: &'static str,
    why: String,
    by: f64,
}

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let mut kinds: BTreeMap<&str, Vec<(&PublishedRow, Impossible)>> = BTreeMap::new();
    // The names of all rows answer this: asked for each row it takes the square of them.
    let transfer = table.is_transfer();
    for row in &table.rows {
        for found in impossible(row, table, transfer) {
            kinds.entry(found.kind).or_default().push((row, found));
        }
    }
    kinds.into_values().map(|rows| remark(table, rows)).collect()
}

/// The worst row says it for all of its kind.
fn remark(table: &PublishedTable, rows: Vec<(&PublishedRow, Impossible)>) -> Remark {
    let of = table.rows.len();
    let (worst, found) = rows.iter().max_by(|a, b| a.1.by.total_cmp(&b.1.by)).expect("a kind has a row");
    let many =
        if rows.len() > 1 { format!("In {} of {of} rows, most in ", rows.len()) } else { "In ".to_string() };
    let text = format!("{many}{}: {}.", place(table, worst), found.why);
    let lines = rows.iter().map(|(row, _)| row.line).collect();
    Remark { id: "impossible", kind: RemarkKind::Contradiction, text, lines }
}

/// Amounts of something; a column that is not known may be a difference.
const AMOUNTS: [TableColumn; 9] = {
    use TableColumn::*;
    [MessageBytes, Threads, Throughput, Latency, Bytes, Messages, MessageRate, Elapsed, CpuTime]
};

fn negative(row: &PublishedRow) -> Option<Impossible> {
    let column = AMOUNTS
        .into_iter()
        .chain(COUNTERS)
        .find(|column| row.value(*column).is_some_and(|value| value < 0.0))?;
    Some(Impossible {
        kind: "negative",
        why: format!("{} below zero", column.title()),
        by: -row.value(column)?,
    })
}

/// All that is wrong with a row; one below zero has no other figures.
fn impossible(row: &PublishedRow, table: &PublishedTable, transfer: bool) -> Vec<Impossible> {
    match negative(row) {
        Some(negative) => vec![negative],
        None if !transfer => Vec::new(),
        None => {
            let short = through_kernel(row, table).then(|| too_short(row)).flatten();
            let all = [too_fast(row, table), short, beyond_a_processor(row)];
            // A connection is no CPU: how many served it, nobody says.
            let of_cpus = [too_many_cycles, too_much_time].into_iter().filter(|_| table.parallel.is_none());
            all.into_iter().flatten().chain(of_cpus.filter_map(|of| of(row))).collect()
        }
    }
}

/// How far clocks of threads and of the run may be apart.
const CLOCKS: f64 = 1.05;

/// Threads on both ends cannot run for longer than the run lasts, each.
fn too_much_time(row: &PublishedRow) -> Option<Impossible> {
    let (cpu, elapsed) = (row.figure(TableColumn::CpuTime)?, row.figure(TableColumn::Elapsed)?);
    let threads = row.count(TableColumn::Threads)?.max(1);
    let by = cpu.low() / (CLOCKS * 2.0 * threads as f64 * elapsed.high());
    let time = |figure: PublishedFigure| Unit::Nanoseconds.format(figure.value);
    (elapsed.value > 0.0 && by > 1.0).then(|| Impossible {
        kind: "time",
        why: format!(
            "a CPU time of {} in {} is more than {} on each end can use: other programs are counted, or a figure is not \
             what its heading says",
            time(cpu),
            time(elapsed),
            syscost_core::units::count(threads as usize, "thread")
        ),
        by,
    })
}

/// Do its messages make system calls, by the row's name or by context switches? Rings in shared memory make none, also
/// where they stand beside sockets.
fn through_kernel(row: &PublishedRow, table: &PublishedTable) -> bool {
    let known = |name: &str| table.role(name).is_some() || role::is_transport(name);
    table.has(TableColumn::ContextSwitches) || row.text(TableColumn::Mechanism).is_some_and(known)
}

/// Of a table that says how many threads there were: else the figure of each is not known.
fn too_fast(row: &PublishedRow, table: &PublishedTable) -> Option<Impossible> {
    let rate = row.figure(TableColumn::Throughput)?.low();
    let threads = row.value(TableColumn::Threads)?.max(1.0);
    let each = rate / threads;
    if each > BITS_PER_THREAD {
        let why = format!("{} a thread is more than a core can copy", Unit::BitsPerSecond.format(each));
        return Some(Impossible { kind: "bandwidth", why, by: each / BITS_PER_THREAD });
    }
    // One call at least for a message, unless several are packed into one: then the size is that of the pack.
    let message_ns = row.value(TableColumn::MessageBytes).filter(|bytes| *bytes > 0.0)? * 8e9 / each;
    let calls = !table.fields && through_kernel(row, table);
    (calls && message_ns > 0.0 && message_ns < SHORTEST_SEND_NS).then(|| Impossible {
        kind: "message",
        why: format!(
            "a message every {} a thread. No send call is that short: several messages share a call, or a figure is not \
             what its heading says",
            Unit::Nanoseconds.format(message_ns)
        ),
        by: SHORTEST_SEND_NS / message_ns,
    })
}

/// What no processor can do whatever it sends, by the byte alone: a core moves 64 bytes a cycle at most, and pages by
/// reference some thousands; and nothing takes a fifth of a second a message, or so long a byte.
fn beyond_a_processor(row: &PublishedRow) -> Option<Impossible> {
    let figure = row.figure(TableColumn::CyclesPerByte)?;
    let each = row.value(TableColumn::MessageBytes).map_or(0.0, |size| figure.low() * size);
    let by = [LEAST_CYCLES / figure.high(), figure.low() / MOST_CYCLES, each / MOST_CYCLES_A_MESSAGE];
    let by = by.into_iter().filter(|by| figure.value > 0.0 && *by > 1.0).fold(0.0, f64::max);
    (by > 0.0).then(|| Impossible {
        kind: "cycles_per_byte",
        why: format!(
            "{} cycles per byte are none of a processor: another unit, or another count",
            significant(figure.value)
        ),
        by,
    })
}

fn too_many_cycles(row: &PublishedRow) -> Option<Impossible> {
    let (each, rate) = (row.figure(TableColumn::CyclesPerByte)?, row.figure(TableColumn::Throughput)?);
    let cycles = each.low() * rate.low() / 8.0;
    // Sender and receiver may both be counted; without a column of threads, nobody says how many.
    let threads = row.value(TableColumn::Threads)?.max(1.0) * 2.0;
    (cycles > threads * MOST_HERTZ).then(|| Impossible {
        kind: "cycles",
        why: format!(
            "its cycles per byte times its bytes per second are {} for {threads} threads, sender's and receiver's",
            Unit::Hertz.format(each.value * rate.value / 8.0)
        ),
        by: cycles / (threads * MOST_HERTZ),
    })
}

fn too_short(row: &PublishedRow) -> Option<Impossible> {
    let latency = row.figure(TableColumn::Latency)?;
    // Time by message, as the rate has it, is none of a call: several may share one.
    let in_flight = |rate| derived_latency::in_flight(row, (TableColumn::Latency, rate));
    let in_flight = in_flight(TableColumn::MessageRate).or_else(|| in_flight(TableColumn::Throughput));
    let threads = row.value(TableColumn::Threads).unwrap_or(1.0);
    let near = |(_, in_flight, rounding): (_, f64, f64), of: f64| {
        (in_flight / of - 1.0).abs() < derived_latency::SLACK + rounding
    };
    if in_flight.is_some_and(|known| near(known, 1.0) || near(known, threads)) {
        return None;
    }
    (latency.value > 0.0 && latency.high() < SHORTEST_SEND_NS).then(|| Impossible {
        kind: "latency",
        why: format!(
            "a latency of {} is less than one send call takes: it is no time of one message",
            Unit::Nanoseconds.format(latency.value)
        ),
        by: SHORTEST_SEND_NS / latency.value,
    })
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn a_table_of_memory_is_left_alone() {
        let rows: String = (10..24).map(|n| format!("{},64,{}\n", 1u64 << n, 1.2 + f64::from(n))).collect();
        for heading in
            ["size,stride,latency_ns", "array_size_bytes,stride,latency_ns", "bytes,threads,access_time_ns"]
        {
            assert!(look(&table(&format!("{heading}\n{rows}"))).is_empty(), "{heading}");
        }
    }

    #[test]
    fn only_what_no_machine_can_do() {
        let told = |row: &str| {
            let text = format!("mechanism,size,threads,throughput_gbps,latency_us,cycles_per_byte\n{row}\n");
            look(&table(&text)).pop().map_or(String::new(), |r| r.text)
        };
        assert!(told("A1,1M,1,2000,1000,0.1").contains("more than a core can copy"));
        assert!(told("A1,64,1,60,1000,0.1").contains("No send call is that short"));
        assert!(told("A1,64K,1,10,0.01,0.1").contains("latency of 10 ns"));
        assert!(told("A1,64K,1,100,10,40").contains("cycles per byte"));
        assert!(told("A1,64K,1,-1,10,40").contains("below zero"));
        assert_eq!(told("A1,256,8,59.9814,0.03,0.4"), "", "34 ns in the digits given");
        let timed = |row: &str| {
            let text = format!("mechanism,buf_bytes,threads,elapsed_s,cpu_time_s,gbps\n{row}\n");
            look(&table(&text)).pop().map_or(String::new(), |r| r.text)
        };
        assert!(timed("A1,4096,1,10,42.5,17").contains("42.5 s in 10 s is more than 1 thread on each end"));
        assert_eq!(timed("A1,4096,2,10,39.5,17"), "", "two on each end");
        assert_eq!(told("A1,64K,4,286.4,10,0.4"), "");
        assert_eq!(told("A1,64,1,0.001,1000,0.1"), "", "a rate within its rounding is no rate");
    }
}
