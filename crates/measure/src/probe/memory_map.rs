//! `memory_map`: mapping anonymous memory and unmapping it, by its size and by whether it is touched between.
//!
//! Huge pages are off: with them a size says nothing about the number of faults. Sources: mmap(2), munmap(2);
//! McVoy and Staelin, "lmbench" (1996), lat_mmap; Ren et al., "An analysis of performance evolution of Linux's core
//! operations" (SOSP 2019), LEBench.

use super::operation::{OS_MORE_SUITE, PlayedRound, SystemOperation, whole_pages};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::{Drawing, Row};
use super::{Needs, Window, page_fault, primitive};
use anyhow::{Context, Result, ensure};
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::{monotonic_ns, thread_usage};
use syscost_sys::area::{AnonymousArea, is_mapped};
use syscost_sys::mapping::page_bytes;
use syscost_sys::process;

const AREA_BYTES: IntAxis = IntAxis::new("area_bytes");
const TOUCHED: NameAxis = NameAxis::new("touched");

const ID: &str = "memory_map";
/// The smallest area: what every other is held against.
const LEAST_BYTES: u64 = 4096;

/// Base pages of an area.
fn pages_of(area_bytes: u64) -> u64 {
    area_bytes.div_ceil(page_bytes() as u64)
}

/// The row of mapping and unmapping so much memory, as an input of other rows' predictions.
fn untouched(area_bytes: u64) -> RowRef {
    RowRef::cost(ID, [(TOUCHED.id, Value::text("off")), (AREA_BYTES.id, Value::Int(area_bytes))])
}

/// Maps, touches where asked, and unmaps; the time of the three.
fn one(bytes: usize, touched: bool) -> Result<u64> {
    let start = monotonic_ns();
    let mut area = AnonymousArea::map(bytes)?;
    if touched {
        area.touch();
    }
    area.unmap()?;
    Ok(monotonic_ns() - start)
}

/// The same, with every touch counted by the kernel as a fault.
fn one_of_faults(bytes: usize) -> Result<u64> {
    let before = thread_usage()?;
    let ns = one(bytes, true)?;
    let faults = thread_usage()?.since(before).minor_faults;
    let pages = pages_of(bytes as u64);
    if faults >= pages {
        return Ok(ns);
    }
    Err(Unavailable {
        reason: format!("{pages} fresh pages were touched with {faults} page faults"),
        remedy: "a kernel that counts page faults and lets a process turn huge pages off".into(),
    }
    .into())
}

/// Is memory there from mmap to munmap, and only then? Some other thread may map something at the place at once, so
/// one turn of several has to show it.
fn does_its_work(bytes: usize) -> Result<()> {
    for _ in 0..100 {
        let area = AnonymousArea::map(bytes)?;
        let (first, last) = (area.address(), area.address() + bytes - 1);
        ensure!(is_mapped(first) && is_mapped(last), "mmap returned, and nothing is mapped");
        area.unmap()?;
        if !is_mapped(first) && !is_mapped(last) {
            return Ok(());
        }
    }
    anyhow::bail!("munmap returned, and the memory is still mapped")
}

pub static MEMORY_MAP: SystemOperation = SystemOperation {
    id: ID,
    title: "mapping memory",
    method: "The time of one mmap(2) and one munmap(2) of private anonymous memory, and of a byte written to each of its \
             base pages between them where it is touched. Before the windows, mincore(2) says that memory is there \
             until it is unmapped; each touched page has to be a page fault by the kernel's count.",
    source: "mmap(2), munmap(2), mincore(2); lmbench lat_mmap; LEBench (SOSP 2019)",
    roles: &["mapper"],
    suite: OS_MORE_SUITE,
    axes,
    available: |point| whole_pages(point, AREA_BYTES, "--area"),
    needs,
    // Some ten milliseconds each where many pages are touched.
    timing: Some(|point, base| base.stretched(if point.on(TOUCHED) { 4 } else { 1 })),
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    drawings: &[Drawing::of_cost("Mapping and unmapping memory, by its size", AREA_BYTES.id)],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        TOUCHED.switch().help("write to every page before it is unmapped").default_on(Names(&["off", "on"])),
        AREA_BYTES
            .bytes(LEAST_BYTES, 1 << 40)
            .flag("area", "area")
            .help("size of the mapped memory")
            .default_on(Ints(&[LEAST_BYTES, 64 << 10, 1 << 20, 16 << 20, 64 << 20]))
            .quick_on(Ints(&[LEAST_BYTES, 1 << 20])),
    ]
}

fn needs(point: &Point) -> Needs {
    Needs::memory(if point.on(TOUCHED) { point.int(AREA_BYTES).unwrap_or(0) } else { 0 })
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let bytes = round.point().int(AREA_BYTES).context("no size")? as usize;
    let touched = round.point().on(TOUCHED);
    let off = process::without_huge_pages().is_ok();
    round.fact("huge_pages", if off { "off" } else { "as the system has them" });
    does_its_work(bytes)?;
    round.operations(|| if touched { one_of_faults(bytes) } else { one(bytes, false) })
}

fn row(point: &Point) -> Option<Row> {
    let size = Unit::Bytes.format(point.int(AREA_BYTES)? as f64);
    let between = if point.on(TOUCHED) { "every page touched" } else { "untouched" };
    Some(Row::listed(format!("mmap and munmap, {size}, {between}")))
}

/// Of memory that nobody touches there is nothing but its description, whatever its size. A touched page is a
/// fault, and is given back.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let bytes = point.int(AREA_BYTES)?;
    if !point.on(TOUCHED) && bytes == LEAST_BYTES {
        return None;
    }
    inputs.row("map", untouched(LEAST_BYTES));
    if !point.on(TOUCHED) {
        return Some(inputs.software("map"));
    }
    inputs.constant("pages", pages_of(bytes) as f64, Unit::Count, "base pages of the area");
    inputs.row("fault", page_fault::fault("minor_anonymous"));
    inputs.row("freed_page", primitive::cost_of("freed_page"));
    Some(inputs.software("map + pages * (fault + freed_page)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use crate::probe::Probe;

    #[test]
    fn memory_is_there_until_it_is_unmapped_and_touches_are_faults() {
        let bytes = 16 * page_bytes();
        does_its_work(bytes).unwrap();
        assert!(one(bytes, false).is_ok());
        match one_of_faults(bytes) {
            Ok(_) => {}
            Err(why) => assert!(why.is::<Unavailable>(), "{why}"),
        }
    }

    #[test]
    fn a_touched_area_costs_a_fault_for_each_page_and_an_untouched_one_nothing_for_its_size() {
        let known = Costs::of(&[(ID, 1000.0), ("page_fault", 400.0), ("primitive", 100.0)]);
        let predicted = |touched: &str, bytes: u64| {
            let mut point = Point::default();
            point.set(TOUCHED.id, Value::text(touched));
            point.set(AREA_BYTES.id, Value::Int(bytes));
            MEMORY_MAP.predict(&point, Inputs::new(&known)).map(|cost| cost.predicted.unwrap())
        };
        assert_eq!(predicted("off", LEAST_BYTES), None);
        assert_eq!(predicted("off", 64 << 20), Some(1000.0));
        let pages = pages_of(1 << 20) as f64;
        assert_eq!(predicted("on", 1 << 20), Some(1000.0 + pages * 500.0));
    }
}
