//! `process_create`: making a child and waiting for its end, by how it is made and how much memory
//! its parent has.
//!
//! fork copies the page tables of everything resident, so the resident size is an axis and the
//! sizes that the kernel reports are recorded: no fork is timed with a resident set that nobody
//! states. Huge pages are turned off for that memory, because they would hide the page tables.
//! Sources: McVoy and Staelin, "lmbench" (1996), lat_proc; fork(2), vfork(2), posix_spawn(3).

use super::operation::{OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::{Drawing, Row};
use super::{Needs, OtherWay, Window, memory_latency, page_fault, primitive, trap};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::ffi::CStr;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_host::files::Root;
use syscost_sys::child;
use syscost_sys::mapping::{self, Mapping, Pages};

/// Own anonymous memory of this program, about: relocated tables of its 16 MB, heap, stacks.
const OWN_BYTES: u64 = 640 << 10;

const RESIDENT_BYTES: IntAxis = IntAxis::new("resident_bytes");
const HOW: NameAxis = NameAxis::new("how");

/// The program that is executed: what lmbench-like tools take, small and without output.
const PROGRAM: &CStr = c"/bin/true";
/// Of a child that executes nothing.
const STATUS: i32 = 7;
const STACK_BYTES: usize = 64 << 10;
/// A child's copy of the page tables takes less than this part of the memory that they map.
const TABLES_SHARE: u64 = 100;

const WAYS: &[OperationRow] = &[
    OperationRow::new("fork", "fork, exit, wait", |round| {
        measure(round, STATUS, |_| child::fork_exit_wait(STATUS))
    }),
    OperationRow::new("vfork", "vfork, exit, wait", |round| {
        measure(round, STATUS, |stack| child::vfork_exit_wait(stack, STATUS))
    }),
    OperationRow::new("posix_spawn", "posix_spawn of /bin/true, wait", |round| {
        measure(round, 0, |_| child::spawn_wait(PROGRAM))
    }),
    OperationRow::new("fork_exec", "fork, exec of /bin/true, wait", |round| {
        measure(round, 0, |_| child::fork_exec_wait(PROGRAM))
    }),
];

/// The row of making a child in this way with this much touched memory, as an input of other rows'
/// predictions.
pub fn by(how: &'static str, resident_bytes: u64) -> RowRef {
    RowRef::cost(
        PROCESS_CREATE.id,
        [(HOW.id, Value::text(how)), (RESIDENT_BYTES.id, Value::Int(resident_bytes))],
    )
}

fn page_bytes() -> u64 {
    mapping::page_bytes() as u64
}

/// A line of this process's smaps_rollup.
fn of_this_process(line: &str) -> Option<u64> {
    let rollup = Root::here().text("proc/self/smaps_rollup")?;
    let kib = rollup.lines().find_map(|one| one.strip_prefix(line)?.trim().strip_suffix(" kB"))?;
    Some(kib.parse::<u64>().ok()? * 1024)
}

/// What the kernel says of this process's memory now. Pages of files count as resident, but a fork
/// does not copy their entries.
fn resident_facts() -> BTreeMap<String, String> {
    let root = Root::here();
    let statm = root.text("proc/self/statm").unwrap_or_default();
    let bytes =
        |field: usize| statm.split_whitespace().nth(field)?.parse::<u64>().ok().map(|n| n * page_bytes());
    let known = |bytes: Option<u64>| bytes.map_or("not known".to_string(), |bytes| bytes.to_string());
    BTreeMap::from(
        [
            ("resident_set_bytes", bytes(1)),
            ("resident_of_files_bytes", bytes(2)),
            ("anonymous_huge_bytes", of_this_process("AnonHugePages:")),
        ]
        .map(|(id, bytes)| (id.to_string(), known(bytes))),
    )
}

pub static PROCESS_CREATE: SystemOperation = SystemOperation {
    id: "process_create",
    title: "process creation",
    method: "The time from before the call until the wait for the child returns, one child at a time; the \
             child exits at once, or executes /bin/true. The parent's anonymous memory is as large as stated, its \
             own included, in base pages; its resident set is recorded as the kernel reports it.",
    source: "McVoy and Staelin, lmbench (1996), lat_proc; fork(2), clone(2), posix_spawn(3)",
    roles: &["parent"],
    variants: (HOW, WAYS),
    axes,
    available,
    needs,
    // From 30 us to 2 ms each: enough of the slowest for a median.
    timing: Some(|_, base| base.stretched(6)),
    row: Some(row),
    predict: Some(predict),
    drawings: &[Drawing::of_cost("Making a process, by the memory of its parent", "resident_bytes")],
    other_ways: &[
        OtherWay { axis: HOW.id, from: "fork", to: "vfork", how: "vfork(2), for exec or exit only" },
        OtherWay { axis: HOW.id, from: "fork_exec", to: "posix_spawn", how: "posix_spawn(3)" },
    ],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        HOW.names(|| PROCESS_CREATE.names()).help("how the child is made").quick_on(Names(&["fork"])),
        RESIDENT_BYTES
            .bytes(4096, 1 << 40)
            .flag("resident", "resident memory")
            .help("anonymous memory of the parent, its own (about 0.6 MiB) included")
            .default_on(Ints(&[1 << 20, 100 << 20]))
            .quick_on(Ints(&[1 << 20])),
    ]
}

fn available(point: &Point) -> Result<(), Unavailable> {
    let path = PROGRAM.to_str().unwrap_or_default();
    let executes = ["posix_spawn", "fork_exec"].map(Some).contains(&point.text(HOW));
    if executes && !std::path::Path::new(path).exists() {
        return Err(Unavailable {
            reason: format!("there is no {path} to execute"),
            remedy: "install coreutils, or busybox with its links".into(),
        });
    }
    Ok(())
}

fn needs(point: &Point) -> Needs {
    let resident = point.int(RESIDENT_BYTES).unwrap_or(0);
    Needs::memory(resident + resident / TABLES_SHARE)
}

/// Children that are made in this way, one after another, beside the memory of the case.
fn measure(
    round: &mut PlayedRound<'_>,
    expected: i32,
    make: impl Fn(&mut [u8]) -> std::io::Result<i32>,
) -> Result<Vec<Window>> {
    let resident_bytes = round.point().int(RESIDENT_BYTES).context("no resident size")?;
    // A fork copies the entries of the program's own pages too. Beside them, 1 MiB cost 162 us; an independent program of
    // 16 KB 146 us.
    let own_bytes = of_this_process("Anonymous:").unwrap_or(0);
    let memory = Mapping::anonymous(resident_bytes.saturating_sub(own_bytes).max(1) as usize, Pages::Base);
    let mut memory = memory.context("cannot get the memory")?;
    memory.populate();
    let mut stack = vec![0u8; STACK_BYTES];
    round.facts.extend(resident_facts());
    let windows = round.operations(|| {
        let start = monotonic_ns();
        let status = make(&mut stack);
        let ns = monotonic_ns() - start;
        let status = status.context("a child could not be made")?;
        ensure!(status == expected, "a child ended with {status}, not {expected}");
        Ok(ns)
    })?;
    // It was there all the time: nothing took it back.
    drop(memory);
    Ok(windows)
}

fn row(point: &Point) -> Option<Row> {
    let how = PROCESS_CREATE.variant(point)?;
    let resident_bytes = point.int(RESIDENT_BYTES)?;
    let row = Row::listed(format!("{}; {} resident", how.label, Unit::Bytes.format(resident_bytes as f64)));
    if how.id != "fork" || resident_bytes != 1 << 20 {
        return Some(row);
    }
    Some(row.as_published("process_create", how.id).told_as("fork, exit and wait (1 MiB resident)"))
}

fn predict(point: &Point, inputs: Inputs<'_>) -> Option<PredictedCost> {
    let resident_bytes = point.int(RESIDENT_BYTES)?;
    match point.text(HOW)? {
        "fork" => Some(predict_fork(resident_bytes, inputs)),
        "vfork" => Some(predict_vfork(inputs)),
        "posix_spawn" => Some(predict_program(by("vfork", resident_bytes), inputs)),
        _ => Some(predict_program(by("fork", resident_bytes), inputs)),
    }
}

/// A task, which here has tables of files and signals of its own, and a wait that collects it.
fn predict_vfork(mut inputs: Inputs<'_>) -> PredictedCost {
    inputs.row("task", primitive::cost_of("task"));
    inputs.row("trap", trap());
    inputs.software("task + trap")
}

/// Fork of a process without memory beside its own, and each page's entry copied, write-protected and dropped.
fn predict_fork(resident_bytes: u64, mut inputs: Inputs<'_>) -> PredictedCost {
    inputs.row("fork_base", primitive::cost_of("fork_base"));
    inputs.row("fork_page", primitive::cost_of("fork_page"));
    // What the program has of its own is in fork_base.
    let pages = (resident_bytes.saturating_sub(OWN_BYTES) / page_bytes()) as f64;
    let source = "the memory in base pages, less 640 KiB of the program's own, estimated";
    inputs.constant("pages", pages, Unit::Count, source);
    // struct page on 64-bit machines: include/linux/mm_types.h.
    let descriptor_bytes = 64.0;
    let touches = "each page's count goes up when its entry is copied, and down when it is dropped: copy_present_ptes, \
                   zap_present_ptes";
    inputs.constant("touches", 2.0, Unit::Count, touches);
    // fork_page is of so few pages that a private cache holds their descriptors.
    // A machine that tells no caches: its descriptors count as cached.
    let source = "a load of a working set of 64 bytes a page, between those of the levels above";
    let bytes = (pages * descriptor_bytes) as u64;
    inputs.derived("load", Unit::Nanoseconds, source, |inputs| {
        memory_latency::levels::between(bytes, inputs).unwrap_or(0.0)
    });
    inputs.software("fork_base + pages * (fork_page + touches * load)")
}

/// The child, and a dynamically linked program that it becomes.
fn predict_program(made: RowRef, mut inputs: Inputs<'_>) -> PredictedCost {
    inputs.row("child", made);
    inputs.constant(
        "faults",
        200.0,
        Unit::Count,
        "pages of the program, its loader and C library, estimated",
    );
    inputs.row("fault", page_fault::fault("minor_file"));
    inputs.software("child + faults * fault")
}
