//! `memory_latency`: what a load costs when the one before it has to end first, by the size of the
//! memory that is read.
//!
//! It only walks a chain and checks where it ends: the levels are found by the report. Huge pages
//! are asked for or refused, and what the memory really got is read back in each round.

pub mod levels;
mod order;

use super::batch::batches_of;
use super::blocks;
use super::operation::{PlayedRound, SystemOperation};
use super::row::{Drawing, Row, Shape};
use super::working_set::{self, ID as WORKING_SET};
use super::{Figures, Needs, OtherWay, Task, Timing, Window};
use anyhow::{Context, Result, ensure};
use order::ChaseOrder;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::clock::monotonic_ns;
use syscost_host::files::Root;
use syscost_host::{Unavailable, allowance, huge_pages};
use syscost_sys::chase::{self, Chain};
use syscost_sys::mapping::{Mapping, Pages, page_bytes};

const ID: &str = "memory_latency";
const HUGE_PAGES: NameAxis = NameAxis::new("huge_pages");

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const SMALLEST: u64 = 4 * KIB;
/// Two sizes for each doubling up to here, one above: setting up large ones takes long.
const FINE_UP_TO: u64 = 64 * MIB;
const LARGEST: u64 = 512 * MIB;
/// Sizes that stand for the levels of most machines of today: rows of the table.
const LISTED: [u64; 4] = [16 * KIB, 512 * KIB, 8 * MIB, 256 * MIB];
const QUICK: [u64; 6] = [4 * KIB, 16 * KIB, 128 * KIB, 512 * KIB, 8 * MIB, 64 * MIB];

/// Loads from memory differ from one another: a batch of few would make its low quantile a matter
/// of luck.
const FEWEST_LOADS: u64 = 1024;
/// Once through the largest of today's last caches takes less.
const LONGEST_WARMING_NS: u64 = 100_000_000;

/// 4 KiB to 512 MiB, or as much as a quarter of the memory there is to give.
fn sizes() -> Vec<Value> {
    let most = allowance::for_default_sizes().map_or(LARGEST, |bytes| bytes / 4);
    let octaves = std::iter::successors(Some(SMALLEST), |size| Some(size * 2));
    octaves
        .take_while(|size| *size <= LARGEST)
        .flat_map(|size| [Some(size), (size < FINE_UP_TO).then_some(size / 2 * 3)])
        .flatten()
        .filter(|size| *size <= most.max(MIB))
        .map(Value::Int)
        .collect()
}

fn quick_sizes() -> Vec<Value> {
    sizes().into_iter().filter(|size| size.as_int().is_some_and(|n| QUICK.contains(&n))).collect()
}

fn working_set(point: &Point) -> u64 {
    point.int(WORKING_SET).unwrap_or(SMALLEST)
}

/// The unit in which memory moves, as the processor says.
fn line_bytes() -> usize {
    let said = Root::here().number("sys/devices/system/cpu/cpu0/cache/index0/coherency_line_size");
    said.and_then(|bytes| usize::try_from(bytes).ok())
        .filter(|bytes| bytes.is_power_of_two() && (16..=1024).contains(bytes))
        .unwrap_or(64)
}

/// The memory of a case, and how much of it is in huge pages, where the kernel tells.
fn memory_of(bytes: usize, huge_wanted: bool) -> Result<(Mapping, Option<u64>)> {
    if huge_wanted {
        let memory = huge_pages::map(bytes)?;
        let huge = huge_pages::huge_bytes_of(&memory);
        return Ok((memory, huge));
    }
    let mapped = Mapping::anonymous(bytes, Pages::Base);
    let mut memory = mapped.with_context(|| format!("no memory for a working set of {bytes} bytes"))?;
    memory.populate();
    let huge = huge_pages::huge_bytes_of(&memory);
    ensure!(huge.is_none_or(|huge| huge == 0), "the kernel put huge pages where none were wanted");
    Ok((memory, huge))
}

/// A chain in random order, and where it should stand after so many loads.
struct Course {
    chain: Chain,
    order: ChaseOrder,
    lines: usize,
    loads: u64,
}

impl Course {
    fn lay(memory: Mapping, bytes: usize, line_bytes: usize, seed: u64) -> Course {
        let lines = (bytes / line_bytes).max(1);
        let order = ChaseOrder::new(lines, seed);
        let chain = Chain::lay(memory, lines, line_bytes, |line| order.next(line));
        Course { chain, order, lines, loads: 0 }
    }

    fn walk(&mut self, loads: u64) {
        self.chain.walk(loads);
        self.loads += loads;
    }

    /// Once through the set: what a cache will hold has to be in it, and a window is shorter than the first time through is.
    /// No longer than pays where no cache holds it.
    fn warm(&mut self) {
        let (lines, start) = (self.lines as u64, monotonic_ns());
        while self.loads < lines && monotonic_ns() - start < LONGEST_WARMING_NS {
            self.walk(FEWEST_LOADS.min(lines - self.loads));
        }
    }

    /// Every load was made: the walk stands where arithmetic says.
    fn check(&self) -> Result<()> {
        let steps = (self.loads % self.lines as u64) as usize;
        let expected = self.order.line_at(self.order.place_of(0) + steps);
        let found = self.chain.line();
        ensure!(
            found == expected,
            "after {} loads the chain stands at line {found}, not {expected}",
            self.loads
        );
        Ok(())
    }

    fn windows(&mut self, task: &Task) -> Vec<Window> {
        batches_of(FEWEST_LOADS, task, |loads| self.walk(loads), chase::walk_without_loads)
    }
}

/// Windows of a chase through so much memory; what is known of its pages is a fact of the round.
pub fn chase(round: &mut PlayedRound<'_>, bytes: u64, huge: bool) -> Result<Vec<Window>> {
    let line_bytes = line_bytes();
    let (memory, huge_bytes) = memory_of(bytes as usize, huge)?;
    round.fact("line_bytes", line_bytes.to_string());
    round.fact("huge_page_bytes", huge_bytes.map_or("unknown".to_string(), |bytes| bytes.to_string()));
    let mut course = Course::lay(memory, bytes as usize, line_bytes, blocks::seed(round.task));
    course.warm();
    round.ready()?;
    let windows = course.windows(round.task);
    course.check()?;
    // Pages can be split or joined under our feet; the figure must be of what it says.
    let now = huge_pages::huge_bytes_of(course.chain.memory());
    ensure!(
        now.is_none() || now == huge_bytes,
        "the kernel changed the size of the pages while they were read"
    );
    Ok(windows)
}

/// How a round of a chase through so much memory spends its time.
pub fn timing_of(bytes: u64, base: Timing) -> Timing {
    // Fewer batches fit into a window where each takes a fifth of a millisecond.
    base.stretched(if bytes > 16 * MIB { 2 } else { 1 })
}

pub static MEMORY_LATENCY: SystemOperation = SystemOperation {
    id: ID,
    title: "memory latency",
    method: "One thread follows a chain of pointers, one in each cache line, in a random order that is one \
             cycle through the whole working set, so that each load waits for the one before it. The cost is \
             the 5 % quantile over batches of at least 1024 loads, less the bare loop, after once through the set (or a tenth of a \
             second of it, where that takes longer); the order is fresh in \
             each round, and address translation is part of the cost.",
    source: "Drepper, What every programmer should know about memory (2007), 3.3.2; lmbench lat_mem_rd; multichase",
    roles: &["reader"],
    axes,
    available,
    needs,
    figures: Figures::of_batches,
    timing: Some(|point, base| timing_of(working_set(point), base)),
    measure: Some(|round| chase(round, working_set(round.point()), round.point().on(HUGE_PAGES))),
    row: Some(row),
    predict: Some(|point, mut inputs| {
        let load = levels::between(working_set(point), &mut inputs);
        Some(inputs.sum(levels::FORMULA, load, Some(0.0)))
    }),
    drawings: &[Drawing::of(
        "Latency of dependent loads in random order",
        "cost",
        Shape { along: WORKING_SET.id, log_y: true, levels: true },
    )],
    other_ways: &[OtherWay {
        axis: HUGE_PAGES.id,
        from: "off",
        to: "on",
        how: "huge pages (madvise(MADV_HUGEPAGE), or transparent_hugepage=always)",
    }],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        working_set::axis(4 * KIB, sizes, quick_sizes),
        HUGE_PAGES
            .switch()
            .flag("huge-pages", "huge pages")
            .help("put transparent huge pages behind the memory, or keep them away")
            .default_on(Names(&["off", "on"]))
            .quick_on(Names(&["off"])),
    ]
}

fn available(point: &Point) -> Result<(), Unavailable> {
    if point.on(HUGE_PAGES) { huge_pages::available() } else { Ok(()) }
}

fn needs(point: &Point) -> Needs {
    let unit = match huge_pages::bytes_of_one().filter(|_| point.on(HUGE_PAGES)) {
        Some(bytes) => bytes,
        None => page_bytes(),
    };
    Needs::memory(working_set(point).next_multiple_of(unit as u64))
}

fn row(point: &Point) -> Option<Row> {
    let bytes = working_set(point);
    let pages = if point.on(HUGE_PAGES) { "huge pages" } else { "base pages" };
    let label = format!("{}, {pages}", Unit::Bytes.format(bytes as f64));
    let row = if LISTED.contains(&bytes) { Row::listed(label) } else { Row::drawn(label) };
    let telling = LISTED.last() == Some(&bytes) && !point.on(HUGE_PAGES);
    Some(if telling { row.told_as("a load from memory (random order, base pages)") } else { row })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_walk_is_counted_and_checked() {
        let mut course =
            Course::lay(Mapping::anonymous(96 * KIB as usize, Pages::Base).unwrap(), 96 * 1024, 64, 7);
        course.walk(10_001);
        course.check().unwrap();
        course.chain.walk(1);
        assert!(course.check().is_err(), "one load more than was counted");
    }

    /// A cache that is to hold the set has seen all of it before anything is timed.
    #[test]
    fn every_line_is_loaded_once_before_the_first_window() {
        let mut course =
            Course::lay(Mapping::anonymous(MIB as usize, Pages::Base).unwrap(), MIB as usize, 64, 7);
        course.warm();
        assert_eq!(course.loads, MIB / 64);
        course.check().unwrap();
        assert_eq!(course.chain.line(), 0, "it stands where it began");
    }
}
