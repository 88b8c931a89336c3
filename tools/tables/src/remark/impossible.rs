//! Figures that no machine can give: more than memory can move, less than a system call, shares over the whole.
//!
//! The bounds are generous: what is beyond them is beyond any machine of today.

use super::{COUNTERS, Remark, RemarkKind, derived_latency, place, rate};
use crate::{PublishedRow, PublishedTable, TableColumn, TableColumn::*, grouped, role};
use syscost_core::units::{Unit as CoreUnit, count, significant};

/// No core copies more than this through a socket: 100 GB/s is beyond the fastest core's copy in its caches.
const BITS_PER_THREAD: f64 = 8e11;
/// Entry to the kernel, socket lock and copy take longer than this on every processor.
const SHORTEST_SEND_NS: f64 = 60.0;
/// No core runs faster.
const MOST_HERTZ: f64 = 7e9;
const LEAST_CYCLES: f64 = 1e-3;
const MOST_CYCLES: f64 = 1e6;
const MOST_CYCLES_A_MESSAGE: f64 = 1e9;
/// How far clocks of threads and of the run may be apart.
const CLOCKS: f64 = 1.05;

/// Amounts of something; a column that is not known may be a difference.
const AMOUNTS: [TableColumn; 9] =
    [MessageBytes, Threads, Throughput, Latency, Bytes, Messages, MessageRate, Elapsed, CpuTime];

/// How many times a row is beyond a bound, up to 1 within it, and why it cannot be.
type Beyond = (f64, String);

/// A bound, by its name, and what is beyond it.
type Bound = (&'static str, fn(&PublishedRow, &PublishedTable) -> Option<Beyond>);

const BOUNDS: [Bound; 6] = [
    ("bandwidth", too_fast),
    ("cycles", too_many_cycles),
    ("cycles_per_byte", beyond_a_processor),
    ("latency", too_short),
    ("message", too_many_calls),
    ("time", too_much_time),
];

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    // The names of all rows answer this: asked for each row it takes the square of them.
    let transfer = table.is_transfer();
    let beyond = |row: &'_ PublishedRow| -> Vec<(&str, Beyond)> {
        let bounds = BOUNDS.iter().filter(|_| transfer);
        let beyond = bounds.filter_map(|(kind, beyond)| Some((*kind, beyond(row, table)?)));
        // One below zero has no other figures.
        let below = |below| vec![("negative", below)];
        negative(row).map_or_else(|| beyond.filter(|(_, (by, _))| *by > 1.0).collect(), below)
    };
    let of_row = |row| beyond(row).into_iter().map(move |(kind, beyond)| (kind, (row, beyond)));
    let kinds = grouped(table.rows.iter().flat_map(of_row));
    kinds.into_values().filter_map(|rows| remark(table, rows)).collect()
}

/// The worst row says it for all of its kind.
fn remark(table: &PublishedTable, rows: Vec<(&PublishedRow, Beyond)>) -> Option<Remark> {
    let (worst, (_, why)) = rows.iter().max_by(|a, b| a.1.0.total_cmp(&b.1.0))?;
    let (many, of) = (rows.len(), table.rows.len());
    let most = if many > 1 { format!("In {many} of {of} rows, most in ") } else { "In ".to_string() };
    let text = format!("{most}{}: {why}.", place(table, worst));
    Remark::of(RemarkKind::Contradiction, "impossible", text, rows.iter().map(|(row, _)| row.line).collect())
}

fn negative(row: &PublishedRow) -> Option<Beyond> {
    let below = |column: TableColumn| Some((column, row.value(column).filter(|value| *value < 0.0)?));
    let (column, value) = AMOUNTS.into_iter().chain(COUNTERS).find_map(below)?;
    Some((-value, format!("{} below zero", column.title())))
}

/// Threads on both ends cannot run for longer than the run lasts, each. A connection is no CPU: how many served it, nobody
/// says.
fn too_much_time(row: &PublishedRow, table: &PublishedTable) -> Option<Beyond> {
    let (cpu, elapsed) = (row.figure(CpuTime)?, row.figure(Elapsed).filter(|time| time.value > 0.0)?);
    let threads = row.count(Threads).filter(|_| table.parallel.is_none())?.max(1);
    let [used, lasted] = [cpu.value, elapsed.value].map(|ns| CoreUnit::Nanoseconds.format(ns));
    let why = format!(
        "a CPU time of {used} in {lasted} is more than {} on each end can use: other programs are counted, or a figure is not \
         what its heading says",
        count(threads as usize, "thread")
    );
    Some((cpu.low() / (CLOCKS * 2.0 * threads as f64 * elapsed.high()), why))
}

/// Do its messages make system calls, by the row's name or by context switches? Rings in shared memory make none, also
/// where they stand beside sockets.
fn through_kernel(row: &PublishedRow, table: &PublishedTable) -> bool {
    let known = |name: &str| role::of(name).is_some() || role::is_transport(name);
    table.has(ContextSwitches) || row.text(Mechanism).is_some_and(known)
}

/// Bit/s of a thread, of a table that says how many there were: else the figure of each is not known.
fn rate_of_each(row: &PublishedRow) -> Option<f64> {
    Some(row.figure(Throughput)?.low() / row.value(Threads)?.max(1.0))
}

fn too_fast(row: &PublishedRow, _: &PublishedTable) -> Option<Beyond> {
    let each = rate_of_each(row)?;
    Some((each / BITS_PER_THREAD, format!("{} a thread is more than a core can copy", rate(each))))
}

/// One call at least for a message, unless several are packed into one: then the size is that of the pack.
fn too_many_calls(row: &PublishedRow, table: &PublishedTable) -> Option<Beyond> {
    let each = rate_of_each(row).filter(|each| *each <= BITS_PER_THREAD)?;
    let message_ns = row.value(MessageBytes).filter(|bytes| *bytes > 0.0)? * 8e9 / each;
    let why = format!(
        "a message every {} a thread. No send call is that short: several messages share a call, or a figure is not \
         what its heading says",
        CoreUnit::Nanoseconds.format(message_ns)
    );
    let known = message_ns > 0.0 && !table.fields && through_kernel(row, table);
    known.then_some((SHORTEST_SEND_NS / message_ns, why))
}

/// What no processor can do whatever it sends, by the byte alone: a core moves 64 bytes a cycle at most, and pages by
/// reference some thousands; and nothing takes a fifth of a second a message, or so long a byte.
fn beyond_a_processor(row: &PublishedRow, _: &PublishedTable) -> Option<Beyond> {
    let figure = row.figure(CyclesPerByte).filter(|figure| figure.value > 0.0)?;
    let each = row.value(MessageBytes).map_or(0.0, |size| figure.low() * size);
    let by = [LEAST_CYCLES / figure.high(), figure.low() / MOST_CYCLES, each / MOST_CYCLES_A_MESSAGE];
    let cycles = significant(figure.value);
    let why = format!("{cycles} cycles per byte are none of a processor: another unit, or another count");
    Some((by.into_iter().fold(0.0, f64::max), why))
}

/// Sender and receiver may both be counted; without a column of threads, nobody says how many, nor of connections.
fn too_many_cycles(row: &PublishedRow, table: &PublishedTable) -> Option<Beyond> {
    let (each, rate) = (row.figure(CyclesPerByte)?, row.figure(Throughput)?);
    let threads = row.value(Threads).filter(|_| table.parallel.is_none())?.max(1.0) * 2.0;
    let clock = CoreUnit::Hertz.format(each.value * rate.value / 8.0);
    let both = format!("{threads} threads, sender's and receiver's");
    let why = format!("its cycles per byte times its bytes per second are {clock} for {both}");
    Some((each.low() * rate.low() / 8.0 / (threads * MOST_HERTZ), why))
}

fn too_short(row: &PublishedRow, table: &PublishedTable) -> Option<Beyond> {
    let latency = row.figure(Latency).filter(|f| f.value > 0.0 && f.high() < SHORTEST_SEND_NS)?;
    // Time by message, as the rate has it, is none of a call: several may share one.
    let in_flight =
        [MessageRate, Throughput].into_iter().find_map(|rate| derived_latency::in_flight(row, rate));
    let threads = row.value(Threads).unwrap_or(1.0);
    let near = |(in_flight, slack): (f64, f64)| {
        [1.0, threads].iter().any(|of| (in_flight / of - 1.0).abs() < derived_latency::SLACK + slack)
    };
    let why = format!(
        "a latency of {} is less than one send call takes: it is no time of one message",
        CoreUnit::Nanoseconds.format(latency.value)
    );
    let known = through_kernel(row, table) && !in_flight.is_some_and(near);
    known.then_some((SHORTEST_SEND_NS / latency.value, why))
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
