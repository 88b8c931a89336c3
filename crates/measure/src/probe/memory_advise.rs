//! `memory_advise`: madvise(2) of anonymous memory, by the advice and the size of the memory.
//!
//! Huge pages are off, as for `memory_map`. What advice did is looked up after each call, outside of what is timed.
//! Sources: madvise(2), mincore(2), proc_pid_smaps(5).

use super::memory_map::{AREA_BYTES, area_axis, pages_of};
use super::prediction::{CostAccount, Inputs};
use super::row::{Drawing, Row};
use super::{
    Channel, Needs, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, batch, primitive,
};
use anyhow::{Context, Result, ensure};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_host::files::Root;
use syscost_sys::area::{AnonymousArea, AreaAdvice};
use syscost_sys::mapping::page_bytes;
use syscost_sys::process;

const ADVICE: NameAxis = NameAxis::new("advice");

/// Of the advice that is followed later: pages by which the kernel's account has to change.
const NOTED_PAGES: usize = 256;

pub struct MemoryAdvise;

struct AdviceKind {
    id: &'static str,
    label: &'static str,
    advice: AreaAdvice,
    /// Are pages there before the call, and after it? `None`: the kernel may do either.
    before: bool,
    after: Option<bool>,
}

const KINDS: &[AdviceKind] = &[
    AdviceKind {
        id: "dont_need",
        label: "DONTNEED",
        advice: AreaAdvice::DontNeed,
        before: true,
        after: Some(false),
    },
    AdviceKind { id: "free", label: "FREE", advice: AreaAdvice::Free, before: true, after: None },
    AdviceKind {
        id: "populate_write",
        label: "POPULATE_WRITE",
        advice: AreaAdvice::PopulateWrite,
        before: false,
        after: Some(true),
    },
];

fn find(point: &Point) -> Option<&'static AdviceKind> {
    KINDS.iter().find(|kind| Some(kind.id) == point.text(ADVICE))
}

/// Brings the memory into the state that the advice is about, gives it, and looks at what came of it; the time of the call.
fn advise(kind: &AdviceKind, area: &mut AnonymousArea, pages: usize) -> Result<u64> {
    if kind.before {
        area.touch();
    } else {
        area.advise(AreaAdvice::DontNeed)?;
    }
    let start = monotonic_ns();
    let given = area.advise(kind.advice);
    let ns = monotonic_ns() - start;
    given.map_err(|error| refused(kind, &error))?;
    if let Some(after) = kind.after {
        let resident = area.resident_pages()?;
        ensure!(
            resident == if after { pages } else { 0 },
            "{resident} of {pages} pages are there: {}",
            kind.id
        );
    }
    Ok(ns)
}

fn refused(kind: &AdviceKind, error: &std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("this kernel takes no such advice ({}: {error})", kind.id),
        remedy: "Linux 5.14 or newer, and memory enough".into(),
    }
}

/// Memory of this process alone that nobody would have to write down, by the kernel's account, where it gives one.
fn clean_bytes() -> Option<u64> {
    let rollup = Root::here().text("proc/self/smaps_rollup")?;
    let line = rollup.lines().find_map(|line| line.strip_prefix("Private_Clean:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// Of advice that the kernel follows when it likes: has it taken note? Pages that may be taken are clean, or gone. Tried
/// on as many pages as stand out of what else the process does.
fn is_noted(kind: &AdviceKind) -> Result<()> {
    if kind.after.is_some() {
        return Ok(());
    }
    let mut area = AnonymousArea::map(NOTED_PAGES * page_bytes())?;
    area.touch();
    let before = clean_bytes();
    area.advise(kind.advice).map_err(|error| refused(kind, &error))?;
    let enough = (NOTED_PAGES / 2 * page_bytes()) as u64;
    let noted = clean_bytes().zip(before).is_none_or(|(now, before)| now > before + enough);
    ensure!(noted || area.resident_pages()? < NOTED_PAGES / 2, "the kernel took no note of the advice");
    Ok(())
}

impl Probe for MemoryAdvise {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "memory_advise",
            title: "madvise",
            method: "The time of one madvise(2) of private anonymous memory in base pages, all of them touched before or none. After \
                     each call mincore(2) has to find every page or none; of advice that is followed later, the kernel's account \
                     of clean pages has to grow.",
            source: "madvise(2), mincore(2), proc_pid_smaps(5)",
            roles: &["adviser"],
            operation: Some(&MemoryAdvise),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            ADVICE.names(|| KINDS.iter().map(|kind| kind.id).collect()).help("what the kernel is told"),
            area_axis().default_on(Ints(&[4096, 1 << 20, 16 << 20])).quick_on(Ints(&[1 << 20])),
        ]
    }

    fn needs(&self, point: &Point) -> Needs {
        Needs::memory(point.int(AREA_BYTES).unwrap_or(0))
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        // Pages are touched between the calls.
        Timing { window_ns: base.window_ns * 3, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let kind = find(&task.point).with_context(|| format!("no advice at {}", task.point))?;
        let bytes = task.point.int(AREA_BYTES).context("no size")?;
        let mut facts = batch::settle_on_one_cpu();
        let off = process::without_huge_pages().is_ok();
        facts.insert("huge_pages".into(), if off { "off" } else { "as the system has them" }.into());
        let mut area = AnonymousArea::map(bytes as usize)?;
        let pages = pages_of(bytes) as usize;
        is_noted(kind)?;
        channel.ready()?;
        let windows = batch::operations(task, batch::clock_overhead_ns(), || advise(kind, &mut area, pages))?;
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for MemoryAdvise {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let size = Unit::Bytes.format(point.int(AREA_BYTES)? as f64);
        find(point).map(|kind| Row::listed(format!("{}, {size}", kind.label)))
    }

    /// The area found, as where it is changed. A page put there is a fault without its exception; one given back has its
    /// entry changed and leaves the kernel's account. Of a page that may be taken later only the entry changes.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let kind = find(point)?;
        let pages = pages_of(point.int(AREA_BYTES)?) as f64;
        let pages = inputs.constant("pages", pages, Unit::Count, "base pages of the area");
        let mut part = |id: &'static str| inputs.row(id, primitive::cost_of(id));
        let call = part("area_change");
        let (formula, page) = match kind.advice {
            AreaAdvice::PopulateWrite => {
                let (mapped, fresh, entry) = (part("zero_page"), part("fresh_page"), part("kernel_entry"));
                let page =
                    mapped.zip(fresh).zip(entry).map(|((mapped, fresh), entry)| mapped + fresh - entry);
                ("area_change + pages * (zero_page + fresh_page - kernel_entry)", page)
            }
            AreaAdvice::DontNeed => {
                let (entry, freed) = (part("table_entry"), part("freed_page"));
                let page = entry.zip(freed).map(|(entry, freed)| entry + freed);
                ("area_change + pages * (table_entry + freed_page)", page)
            }
            AreaAdvice::Free => ("area_change + pages * table_entry", part("table_entry")),
        };
        let software = call.zip(page).map(|(call, page)| call + pages * page);
        Some(inputs.sum(formula, Some(0.0), software))
    }

    fn drawings(&self) -> Vec<Drawing> {
        vec![Drawing::of_cost("Advice about memory, by its size", AREA_BYTES.id)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_does_what_it_says_or_is_unavailable() {
        for kind in KINDS {
            let mut area = AnonymousArea::map(16 * page_bytes()).unwrap();
            let done = is_noted(kind).and_then(|()| advise(kind, &mut area, 16));
            assert!(done.is_ok() || done.is_err_and(|why| why.is::<Unavailable>()), "{}", kind.id);
        }
    }

    /// The trap: advice that changes nothing is fast.
    #[test]
    fn advice_that_takes_no_page_is_an_error() {
        let idle = AdviceKind { advice: AreaAdvice::Free, ..KINDS[0] };
        let mut area = AnonymousArea::map(16 * page_bytes()).unwrap();
        let error = advise(&idle, &mut area, 16).unwrap_err().to_string();
        assert!(error.contains("pages are there"), "{error}");
    }
}
