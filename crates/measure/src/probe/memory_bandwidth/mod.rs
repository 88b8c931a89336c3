//! `memory_bandwidth`: how fast memory is read, written and copied, by size and number of threads.
//!
//! Every size is that of one thread's working set; a copy uses half of it to read from and half to
//! write to. Bandwidth counts payload: the bytes that a copy copies count once (STREAM counts them
//! twice, once read and once written). Sources: McCalpin, STREAM; lmbench bw_mem.

mod words;

use super::guide::{AMD_19H, Guide, INTEL_SKYLAKE};
use super::operation::{PlayedRound, SystemOperation};
use super::passes;
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::{Drawing, Row, Shape};
use super::streaming::threads;
use super::transfer::axes::THREADS;
use super::working_set::{self, ID as WORKING_SET};
use super::{Needs, Prices, Window, meter};
use anyhow::{Context, Result};
use std::io;
use syscost_core::axis::DefaultValues::{Names, Of};
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::topology::{self, Topology};
use syscost_host::{Unavailable, allowance};
use syscost_sys::optional::PINNING;
use syscost_sys::stream::Loops;
use words::{BLOCK, MovedWords};

/// Bytes a cycle in vectors of 32: two loads or one store, and what comes from the second cache.
const LOADED: &[(Guide, f64)] = &[(AMD_19H, 64.0), (INTEL_SKYLAKE, 64.0)];
const STORED: &[(Guide, f64)] = &[(AMD_19H, 32.0), (INTEL_SKYLAKE, 32.0)];
const FILLED: &[(Guide, f64)] = &[(AMD_19H, 32.0), (INTEL_SKYLAKE, 64.0)];

/// What holds a working set.
enum Served {
    First,
    Second,
    /// Caches that cores share, or memory: no guide says how fast lines come from there.
    Beyond,
}

/// `None`: the caches are unknown.
fn served(bytes: u64, inputs: &mut Inputs<'_>) -> Option<Served> {
    let mut holds = |name: &str, id: &str| inputs.fact(name, id, Unit::Bytes);
    let (first, second) = (holds("l1", "cache_l1d_bytes")?, holds("l2", "cache_l2_bytes")?);
    Some(match bytes as f64 {
        bytes if bytes <= first => Served::First,
        bytes if bytes <= second => Served::Second,
        _ => Served::Beyond,
    })
}

const ID: &str = "memory_bandwidth";
const OPERATION: NameAxis = NameAxis::new("operation");

const CACHED: [u64; 3] = [16 << 10, 256 << 10, 4 << 20];
/// More than the third-level caches that one core can fill hold; filling more takes long.
pub const IN_MEMORY: u64 = 128 << 20;
/// One way of moving data.
struct MemoryOperation {
    id: &'static str,
    label: &'static str,
    published: Option<&'static str>,
    /// Lines that a core waits for, for each line of payload: a store reads its line first. What it writes back later takes
    /// a way of its own.
    fills: f64,
}

const OPERATIONS: &[MemoryOperation] = &[
    MemoryOperation { id: "read", label: "read", published: Some("memory_read_bandwidth"), fills: 1.0 },
    MemoryOperation { id: "write", label: "write", published: Some("memory_write_bandwidth"), fills: 1.0 },
    MemoryOperation { id: "copy", label: "copy", published: None, fills: 2.0 },
    MemoryOperation { id: "nt_write", label: "write past the caches", published: None, fills: 1.0 },
];

fn operation(point: &Point) -> Option<&'static MemoryOperation> {
    OPERATIONS.iter().find(|o| Some(o.id) == point.text(OPERATION))
}

/// The row of an operation, as an input of other rows' predictions.
pub fn rate(operation: &'static str, bytes: u64, threads: u64) -> RowRef {
    let coordinates = vec![
        (OPERATION.id, Value::text(operation)),
        (WORKING_SET.id, Value::Int(bytes)),
        (THREADS.id, Value::Int(threads)),
    ];
    RowRef { probe: ID, coordinates, metric: "bandwidth" }
}

/// The row of copying from a working set at least so large, or the largest.
pub fn copied_from(bytes: u64) -> RowRef {
    let set = CACHED.into_iter().skip(1).find(|set| bytes <= *set).unwrap_or_else(in_memory);
    rate("copy", set, 1)
}

fn here() -> Vec<Value> {
    let past_caches = Loops::here().has_stores_past_caches();
    let has = |o: &&MemoryOperation| o.id != "nt_write" || past_caches;
    OPERATIONS.iter().filter(has).map(|o| Value::text(o.id)).collect()
}

/// The largest size of which every CPU can have one within a quarter of the free memory.
fn in_memory() -> u64 {
    let most = allowance::for_default_sizes().map_or(IN_MEMORY, |bytes| bytes / 4 / allowance::cpus() as u64);
    std::iter::successors(Some(IN_MEMORY), |size| Some(size / 2))
        .find(|size| *size <= most || *size <= 8 << 20)
        .unwrap_or(8 << 20)
}

fn sizes() -> Vec<Value> {
    CACHED.into_iter().chain([in_memory()]).map(Value::Int).collect()
}

fn thread_counts() -> Vec<Value> {
    let mut counts = vec![1, allowance::cpus() as u64];
    counts.dedup();
    counts.into_iter().map(Value::Int).collect()
}

fn coordinates(point: &Point) -> (u64, u64) {
    (point.int(WORKING_SET).unwrap_or(BLOCK as u64), point.int(THREADS).unwrap_or(1))
}

/// A CPU for each thread, cores before their siblings and each in turn; none where pinning is refused.
fn seats(threads: u64) -> Vec<Option<usize>> {
    if PINNING.tried(topology::may_pin().map_err(|why| io::Error::other(why.reason))).is_none() {
        return vec![None; threads as usize];
    }
    let topology = Topology::read();
    let mut cpus: Vec<_> = topology.cpus().iter().collect();
    cpus.sort_by_key(|cpu| (cpu.sibling, !cpu.fast, cpu.node, cpu.id));
    (0..threads as usize).map(|i| cpus.get(i.checked_rem(cpus.len())?).map(|cpu| cpu.id)).collect()
}

pub static MEMORY_BANDWIDTH: SystemOperation = SystemOperation {
    id: ID,
    title: "memory bandwidth",
    method: "Each thread, pinned to a CPU of its own, goes through a working set of its own from end to end; \
             the threads begin together and their rates are added. Payload is counted once (a copy of n bytes is \
             n bytes, half of its working set), every byte is checked; base pages.",
    source: "McCalpin, STREAM: sustainable memory bandwidth in high performance computers; lmbench bw_mem",
    roles: &["mover"],
    prices: Some(Prices::Copies { row: |bytes| rate("copy", bytes, 1) }),
    settled: false,
    axes,
    available,
    needs,
    figures: || {
        passes::figures("payload by time, all threads together; the bytes that a copy copies count once")
    },
    // More threads than CPUs take turns of milliseconds.
    timing: Some(|point, base| {
        let turns = coordinates(point).1.div_ceil(allowance::cpus() as u64);
        base.stretched(turns * turns)
    }),
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    drawings: &[
        Drawing {
            includes: |point| point.int(THREADS) == Some(1),
            ..Drawing::of(
                "Memory bandwidth by working set",
                "bandwidth",
                Shape { along: WORKING_SET.id, log_y: true, levels: false },
            )
        },
        Drawing::of(
            "Memory bandwidth by threads",
            "bandwidth",
            Shape { along: THREADS.id, log_y: false, levels: false },
        ),
    ],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        OPERATION
            .names(|| OPERATIONS.iter().map(|o| o.id).collect())
            .help("what is done with the memory; nt_write stores without reading lines into a cache")
            .default_on(Of(here))
            .quick_on(Names(&["read", "write", "copy"])),
        working_set::axis(2 * BLOCK as u64, sizes, || vec![Value::Int(CACHED[0]), Value::Int(in_memory())]),
        THREADS
            .count(1, 1024)
            .help("threads that work at the same time, each with memory of its own")
            .default_on(Of(thread_counts)),
    ]
}

fn available(point: &Point) -> Result<(), Unavailable> {
    if point.text(OPERATION) != Some("nt_write") || Loops::here().has_stores_past_caches() {
        return Ok(());
    }
    Err(Unavailable {
        reason: format!("no streaming store is known here for {}", std::env::consts::ARCH),
        remedy: "none: measure write instead".into(),
    })
}

fn needs(point: &Point) -> Needs {
    let (bytes, threads) = coordinates(point);
    Needs::memory(bytes.saturating_add(2 * 4096).saturating_mul(threads))
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let seats = seats(coordinates(round.point()).1);
    let operation =
        operation(round.point()).with_context(|| format!("no operation at {}", round.point()))?.id;
    let bytes = coordinates(round.point()).0 as usize;
    let task = round.task;
    let timed = threads::together(&seats, round.channel, |_| {
        let mut words = MovedWords::prepare(bytes, operation)?;
        Ok(Box::new(move || words.measure(&Loops::here(), operation, task)))
    })?;
    let cpus: Vec<String> = seats.iter().flatten().map(usize::to_string).collect();
    round.fact("cpus", cpus.join(","));
    round.fact("loops", Loops::here().name);
    Ok(meter::join(timed.into_iter().map(|timed| timed.windows).collect()))
}

fn row(point: &Point) -> Option<Row> {
    let operation = operation(point)?;
    let (bytes, threads) = coordinates(point);
    let size = Unit::Bytes.format(bytes as f64);
    let label = match threads {
        1 => format!("{}, {size}", operation.label),
        n => format!("{}, {size}, {n} threads", operation.label),
    };
    // Rows are also made elsewhere, from the record: nothing here may look at this machine.
    let whole = bytes > CACHED[CACHED.len() - 1];
    let row = if threads == 1 || whole { Row::listed(label) } else { Row::drawn(label) };
    Some(match operation.published.filter(|_| threads == 1 && whole) {
        Some(published) if operation.id == "read" => {
            row.as_published(published, "").told_as("reading memory with one thread")
        }
        Some(published) => row.as_published(published, ""),
        None => row,
    })
}

fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let operation = operation(point)?;
    let (bytes, threads) = coordinates(point);
    // What is written past the caches goes to memory, of whatever size.
    let (level, set) = match operation.id {
        "nt_write" => (Some(Served::Beyond), in_memory()),
        _ => (served(bytes, &mut inputs), bytes),
    };
    inputs.constant("threads", threads as f64, Unit::Count, "this case");
    inputs.fact("frequency", "core_hertz", Unit::Hertz);
    if !matches!(level, Some(Served::First) | None) {
        let says = "lines that the core waits for, for each line of payload: a store reads its line";
        inputs.constant("fills", operation.fills, Unit::Count, says);
    }
    let formula = match level {
        Some(Served::First) => {
            let figures = if operation.id == "read" { LOADED } else { STORED };
            inputs.guided("moved_per_cycle", Unit::Bytes, figures);
            "threads * moved_per_cycle * frequency"
        }
        Some(Served::Second) => {
            inputs.guided("filled_per_cycle", Unit::Bytes, FILLED);
            "threads * filled_per_cycle * frequency / fills"
        }
        // No document says how fast lines come from there: what one thread reads does.
        Some(Served::Beyond) if operation.id != "read" || threads > 1 => {
            inputs.row("read_rate", rate("read", set, 1));
            "threads * read_rate / fills"
        }
        Some(Served::Beyond) | None => {
            let formula = "threads * what the cache that holds the working set gives";
            return Some(inputs.predicted(formula, None, None, None));
        }
    };
    let rate = inputs.value(formula).map(|bytes_per_ns| bytes_per_ns * 1e9);
    Some(inputs.predicted(formula, rate, None, rate))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::probe::prediction::{Input, Known};
    use crate::probe::{Channel, Probe, Task, Timing};
    use anyhow::anyhow;

    struct Ready(Result<(), &'static str>);

    impl Channel for Ready {
        fn offer(&mut self, _: serde_json::Value) -> Result<()> {
            Ok(())
        }
        fn ready(&mut self) -> Result<()> {
            self.0.map_err(|why| anyhow!(why))
        }
    }

    fn task(operation: &'static str, bytes: u64, threads: u64) -> Task {
        let mut point = Point::default();
        for (axis, value) in rate(operation, bytes, threads).coordinates {
            point.set(axis, value);
        }
        Task {
            probe: ID.into(),
            role: "mover".into(),
            ..Task::of(point, Timing { warmup_ns: 0, window_ns: 200_000, windows: 2 })
        }
    }

    #[test]
    fn every_operation_moves_what_it_says_and_is_checked() {
        for operation in here() {
            let Some(id) = OPERATIONS.iter().map(|o| o.id).find(|id| operation.as_text() == Some(id)) else {
                panic!("{operation} is no operation");
            };
            let report = MEMORY_BANDWIDTH.play(&task(id, 32 << 10, 2), &mut Ready(Ok(()))).unwrap();
            assert_eq!(report.windows.len(), 2);
            let payload = if id == "copy" { 16384.0 } else { 32768.0 };
            for window in &report.windows {
                assert_eq!(window.bytes, window.ops * payload, "{id}");
            }
        }
    }

    #[test]
    fn a_round_that_does_not_start_ends_all_threads() {
        let error = MEMORY_BANDWIDTH.play(&task("read", 4096, 3), &mut Ready(Err("no start"))).unwrap_err();
        assert!(error.to_string().contains("start"), "{error}");
    }

    #[test]
    fn threads_take_a_cpu_each_before_any_takes_two() {
        let seats = seats(Topology::read().cpus().len() as u64);
        let distinct: std::collections::BTreeSet<_> = seats.iter().collect();
        assert_eq!(distinct.len(), seats.len(), "{seats:?}");
    }

    /// Caches of 32 KiB and 1 MiB; the core runs at one cycle a nanosecond.
    struct Core(&'static str);

    impl Known for Core {
        fn fact(&self, id: &str) -> Option<Input> {
            let facts = [
                ("cache_l1d_bytes", 32768.0, Unit::Bytes),
                ("cache_l2_bytes", 1048576.0, Unit::Bytes),
                ("core_hertz", 1e9, Unit::Hertz),
            ];
            let (_, value, unit) = *facts.iter().find(|fact| fact.0 == id)?;
            Some(Input::new(id, value, unit, "a test"))
        }
        fn says(&self, _: &str) -> Option<String> {
            Some(self.0.into())
        }
        fn row(&self, _: &RowRef) -> Option<Input> {
            Some(Input::new("", 1e9, Unit::BytesPerSecond, "a test"))
        }
    }

    #[test]
    fn a_core_is_predicted_by_its_own_guide_and_memory_without_one() {
        let predicted = |processor, operation, bytes| {
            let point = task(operation, bytes, 1).point;
            MEMORY_BANDWIDTH.predict(&point, Inputs::new(&Core(processor))).and_then(|cost| cost.predicted)
        };
        let zen = "AuthenticAMD family 25 model 17";
        assert_eq!(predicted(zen, "read", 16384), Some(64e9));
        assert_eq!(predicted(zen, "copy", 16384), Some(32e9));
        assert_eq!(predicted(zen, "copy", 262144), Some(16e9));
        for other in ["GenuineIntel family 6 model 173", "implementer 0x41 part 0xd40"] {
            let [first, second, beyond] =
                [16384, 262144, 4 << 20].map(|bytes| predicted(other, "copy", bytes));
            assert_eq!((first, second, beyond), (None, None, Some(5e8)), "{other}");
        }
    }
}
