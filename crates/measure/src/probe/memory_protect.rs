//! `memory_protect`: changing what touched memory may be used for, by its size.
//!
//! Sources: mprotect(2); Ren et al. (SOSP 2019), LEBench.

use super::memory_map::{AREA_BYTES, area_axis, pages_of};
use super::prediction::{CostAccount, Inputs};
use super::row::{Drawing, Row};
use super::{
    Channel, Needs, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, batch, primitive,
};
use anyhow::{Context, Result, ensure};
use std::fs::File;
use syscost_core::axis::{Axis, Point};
use syscost_core::units::Unit;
use syscost_host::clock::monotonic_ns;
use syscost_sys::area::AnonymousArea;
use syscost_sys::process;

/// There and back.
const CALLS: f64 = 2.0;

pub struct MemoryProtect;

/// Touched memory, and what shows whether it may be written.
struct ProtectedArea {
    area: AnonymousArea,
    bytes: usize,
    zero: File,
}

impl ProtectedArea {
    fn of(bytes: usize) -> Result<ProtectedArea> {
        let zero = File::open("/dev/zero").context("cannot open /dev/zero")?;
        let mut area = AnonymousArea::map(bytes)?;
        area.touch();
        Ok(ProtectedArea { area, bytes, zero })
    }

    /// The time of one call; its first and last byte then take what they should.
    fn protect(&mut self, writable: bool) -> Result<u64> {
        let start = monotonic_ns();
        self.area.protect(writable)?;
        let ns = monotonic_ns() - start;
        for offset in [0, self.bytes - 1] {
            let takes = self.area.takes_a_byte(offset, &self.zero)?;
            ensure!(takes == writable, "byte {offset} may be written: {takes}; asked for: {writable}");
        }
        Ok(ns)
    }

    fn there_and_back(&mut self) -> Result<u64> {
        Ok(self.protect(false)? + self.protect(true)?)
    }
}

impl Probe for MemoryProtect {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "memory_protect",
            title: "protecting memory",
            method: "mprotect(2) of touched anonymous memory in base pages, to read-only and back; the cost is that of one call. \
                     After each call the kernel is asked to write to its first and last byte, which it has to refuse or do.",
            source: "mprotect(2); LEBench (SOSP 2019)",
            roles: &["owner"],
            operation: Some(&MemoryProtect),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![area_axis()]
    }

    fn needs(&self, point: &Point) -> Needs {
        Needs::memory(point.int(AREA_BYTES).unwrap_or(0))
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let bytes = task.point.int(AREA_BYTES).context("no size")? as usize;
        let mut facts = batch::settle_on_one_cpu();
        let off = process::without_huge_pages().is_ok();
        facts.insert("huge_pages".into(), if off { "off" } else { "as the system has them" }.into());
        let mut memory = ProtectedArea::of(bytes)?;
        channel.ready()?;
        // Each of the two calls has two readings of the clock around it.
        let overhead_ns = CALLS * batch::clock_overhead_ns();
        let mut windows = batch::operations(task, overhead_ns, || memory.there_and_back())?;
        windows.iter_mut().for_each(|window| window.of_each(CALLS));
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for MemoryProtect {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        Some(Row::listed(format!("mprotect, {}", Unit::Bytes.format(point.int(AREA_BYTES)? as f64))))
    }

    /// The area, and each page's entry with its share of the flush.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let area = inputs.row("area_change", primitive::cost_of("area_change"));
        let entry = inputs.row("table_entry", primitive::cost_of("table_entry"));
        let pages = pages_of(point.int(AREA_BYTES)?) as f64;
        let pages = inputs.constant("pages", pages, Unit::Count, "base pages of the area");
        let software = area.zip(entry).map(|(area, entry)| area + pages * entry);
        Some(inputs.sum("area_change + pages * table_entry", Some(0.0), software))
    }

    fn drawings(&self) -> Vec<Drawing> {
        vec![Drawing::of_cost("Protecting memory, by its size", AREA_BYTES.id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_protection_that_does_not_hold_is_an_error() {
        let mut memory = ProtectedArea::of(3 * 4096).unwrap();
        assert!(memory.there_and_back().is_ok());
        memory.area.protect(false).unwrap();
        assert!(!memory.area.takes_a_byte(0, &memory.zero).unwrap());
    }
}
