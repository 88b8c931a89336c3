//! `page_fault`: what the first touch of a page costs, by what the kernel has to do for it.
//!
//! Every touch is one fault or the round fails: the kernel's own counts decide. Pages are touched
//! in random order, and before a major fault the file's pages are dropped from the page cache and
//! looked up to be gone. Sources: lmbench lat_pagefault; mmap(2), madvise(2), posix_fadvise(2),
//! getrusage(2).

mod ground;

use super::batch::{self, BatchRecorder, settle_on_one_cpu};
use super::file_read::{self, ReadWay};
use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{
    AxisRules, Channel, Needs, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, Window, directory,
    memory_bandwidth, primitive, system_call,
};
use anyhow::{Context, Result, anyhow};
use ground::{Anonymous, Cached, Cold, FILE_BYTES, Ground, ReadMapped, Toucher};
use std::fs::File;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point, Value};
use syscost_core::units::Unit;
use syscost_host::{Unavailable, huge_pages};
use syscost_sys::mapping::{Mapping, Pages, page_bytes};

pub struct PageFault;

const ID: &str = "page_fault";
const FAULT: NameAxis = NameAxis::new("fault");

const ANONYMOUS_PAGES: usize = 1024;
const HUGE_PAGES: usize = 8;
/// The file whose random reads stand for those of a major fault.
const READ_BYTES: u64 = 64 << 20;

/// One kind of fault.
struct FaultKind {
    id: &'static str,
    label: &'static str,
    of_file: bool,
    published: Option<&'static str>,
}

const fn minor(id: &'static str, label: &'static str, of_file: bool) -> FaultKind {
    FaultKind { id, label, of_file, published: None }
}

/// What a program pays that maps a file and reads it: not a fault, but a touch, of which most find their page mapped by an
/// earlier one.
const MAPPED_FILE: &str = "mapped_file";

const FAULTS: &[FaultKind] = &[
    minor("minor_anonymous", "minor, anonymous page", false),
    minor("huge_anonymous", "minor, anonymous huge page", false),
    minor("minor_file", "minor, private copy of a cached file's page", true),
    FaultKind { published: Some("major mmap"), ..minor("major_file", "major, file on disk", true) },
    minor(MAPPED_FILE, "a touch of a mapped cached file, faults around it included", true),
];

fn find(point: &Point) -> Option<&'static FaultKind> {
    FAULTS.iter().find(|f| Some(f.id) == point.text(FAULT))
}

/// The row of a kind of fault, as an input of other rows' predictions.
pub fn fault(kind: &'static str) -> RowRef {
    RowRef { probe: ID, coordinates: vec![(FAULT.id, Value::text(kind))], metric: "cost" }
}

/// The pages of a case, how far apart they are touched, and how many bytes there are.
fn ground(fault: &FaultKind, task: &Task) -> Result<(Box<dyn Ground>, usize, usize)> {
    match fault.id {
        "minor_anonymous" => {
            let bytes = ANONYMOUS_PAGES * page_bytes();
            let memory = Mapping::anonymous(bytes, Pages::Base)?;
            Ok((Box::new(Anonymous { memory, huge_page_bytes: None }), bytes, page_bytes()))
        }
        "huge_anonymous" => {
            let one = huge_pages::bytes_of_one().unwrap_or(2 << 20);
            // Mapped whole and looked up once, so that what is missing is said with its reason.
            let memory = huge_pages::map(HUGE_PAGES * one)?;
            let bytes = memory.len();
            Ok((Box::new(Anonymous { memory, huge_page_bytes: Some(one) }), bytes, one))
        }
        kind => {
            let path = task.files.first().ok_or_else(|| anyhow!("no file to map"))?;
            let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
            let ground: Box<dyn Ground> = match kind {
                "major_file" => Box::new(Cold::new(file)),
                MAPPED_FILE => Box::new(ReadMapped::new(file)?),
                _ => Box::new(Cached::new(file)?),
            };
            Ok((ground, FILE_BYTES as usize, page_bytes()))
        }
    }
}

/// Whole turns over the pages: most touches of one are no fault, so that none can be timed for itself.
fn turns(task: &Task, toucher: &mut Toucher<'_>) -> Result<Vec<Window>> {
    toucher.turn()?;
    let mut windows = Vec::new();
    for _ in 0..task.timing.windows {
        let mut recorder = BatchRecorder::start();
        let mut pages = 0;
        while recorder.is_empty() || recorder.elapsed_ns() < task.timing.window_ns {
            let (ns, touches) = toucher.turn()?;
            recorder.record(ns as f64, touches as u64);
            pages = touches;
        }
        windows.push(recorder.window(task, pages as f64, Some(batch::clock_overhead_ns() / pages as f64)));
    }
    Ok(windows)
}

impl Probe for PageFault {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: ID,
            title: "page fault",
            method: "One thread touches fresh pages one by one in random order and times each touch; the kernel's counts of \
                     minor or major faults must be those of the touches. A major fault reads from a file without readahead \
                     whose pages were dropped from the page cache and looked up to be gone; a minor fault of a file writes to \
                     a private mapping, because the kernel maps many pages at once where one is read. mapped_file is that: the time \
                     of touching a whole mapped file, by page.",
            source: "lmbench lat_pagefault; getrusage(2), madvise(2), posix_fadvise(2), mincore(2)",
            roles: &["toucher"],
            operation: Some(&PageFault),
            axis_rules: Some(&PageFault),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            FAULT
                .names(|| FAULTS.iter().map(|f| f.id).collect())
                .help("what the kernel has to do at the first touch of a page")
                .default_on(Names(&["minor_anonymous", "huge_anonymous", "minor_file", "major_file"])),
            directory::axis(),
        ]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        match find(point) {
            Some(fault) if fault.of_file => directory::available(point),
            Some(fault) if fault.id == "huge_anonymous" => huge_pages::available(),
            _ => Ok(()),
        }
    }

    fn needs(&self, point: &Point) -> Needs {
        match FAULTS.iter().zip(0..).find(|(fault, _)| Some(fault.id) == point.text(FAULT)) {
            // A file for each kind: the pages of one are dropped, those of the other have to stay.
            Some((fault, number)) if fault.of_file => Needs {
                memory_bytes: 2 * FILE_BYTES,
                ..Needs::files(vec![directory::file(point, FILE_BYTES, number)])
            },
            Some((fault, _)) if fault.id == "huge_anonymous" => {
                Needs::memory((HUGE_PAGES * huge_pages::bytes_of_one().unwrap_or(2 << 20)) as u64)
            }
            _ => Needs::memory((ANONYMOUS_PAGES * page_bytes()) as u64),
        }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let fault = find(&task.point).ok_or_else(|| anyhow!("no fault at {}", task.point))?;
        let mut facts = settle_on_one_cpu();
        let (mut ground, bytes, step) = ground(fault, task)?;
        let seed = task.token.bytes().fold(1, |seed: u64, byte| seed.wrapping_mul(257) ^ u64::from(byte));
        let mut toucher = Toucher::new(ground.as_mut(), bytes, step, seed)?;
        toucher.start_over()?;
        channel.ready()?;
        if fault.id == MAPPED_FILE {
            return Ok(RoleReport { windows: turns(task, &mut toucher)?, facts, ..RoleReport::default() });
        }
        let windows = batch::operations(task, batch::clock_overhead_ns(), || toucher.touch())?;
        // The last turn has not come to its end, and counts as well.
        toucher.check()?;
        facts.insert("touched_every_bytes".into(), step.to_string());
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        // Zeroing a huge page takes about a tenth of a millisecond, a disk up to ten.
        let factor = match find(point).map(|fault| fault.id) {
            Some("major_file") => 10,
            Some("huge_anonymous") => 5,
            _ => 1,
        };
        Timing { window_ns: base.window_ns.saturating_mul(factor), ..base }
    }
}

impl AxisRules for PageFault {
    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis != directory::ID.id || find(point).is_some_and(|fault| fault.of_file)
    }
}

impl OsOperation for PageFault {
    fn row(&self, point: &Point) -> Option<Row> {
        let fault = find(point)?;
        let row = match fault.id {
            "minor_anonymous" => Row::listed(fault.label).told_as("a minor page fault"),
            "major_file" => Row::listed(fault.label).told_as("a major page fault"),
            _ => Row::listed(fault.label),
        };
        Some(match fault.published {
            Some(variant) => row.as_published("page_fault", variant),
            None => row,
        })
    }

    /// A small page: mapping the page of zeroes holds the exception and the walk, and growing a file in memory holds the page,
    /// its accounting and its filling. A file's page has to be found too. Large ones are what fills them: zeroes or a disk.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let fault = find(point)?;
        if fault.id == MAPPED_FILE {
            return None;
        }
        if fault.id.starts_with("minor") {
            return Some(predict_minor(fault, inputs));
        }
        let trap = inputs.row("trap", system_call::cost_of("getppid"));
        let (formula, filled) = if fault.id == "major_file" {
            let read = file_read::cost_of(ReadWay::Direct, true, READ_BYTES, directory::of(point));
            ("trap + direct_read", inputs.row("direct_read", read))
        } else {
            let bytes = huge_pages::bytes_of_one().map_or(2 << 20, |bytes| bytes as u64);
            let page = inputs.constant("page", bytes as f64, Unit::Bytes, "a huge page of this machine");
            // More than a core's own caches hold, and written without being read.
            let write = memory_bandwidth::rate("nt_write", memory_bandwidth::IN_MEMORY, 1);
            let rate = inputs.row("write_rate", write);
            ("trap + page / write_rate", rate.map(|rate| page * 1e9 / rate))
        };
        Some(inputs.sum(formula, filled, trap))
    }
}

fn predict_minor(fault: &FaultKind, mut inputs: Inputs<'_>) -> CostAccount {
    let mapped = inputs.row("zero_page", primitive::cost_of("zero_page"));
    let page = inputs.row("fresh_page", primitive::cost_of("fresh_page"));
    let software = mapped.zip(page).map(|(mapped, page)| mapped + page);
    if !fault.of_file {
        return inputs.sum("zero_page + fresh_page", Some(0.0), software);
    }
    let cached = inputs.row("cached_byte", primitive::cost_of("cached_byte"));
    let entry = inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
    let found = cached.zip(entry).map(|(cached, entry)| cached - entry);
    let software = software.zip(found).map(|(software, found)| software + found);
    inputs.sum("zero_page + fresh_page + cached_byte - kernel_entry", Some(0.0), software)
}
