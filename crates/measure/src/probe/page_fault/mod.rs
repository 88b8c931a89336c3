//! `page_fault`: what the first touch of a page costs, by what the kernel has to do for it.
//!
//! Every touch is one fault or the round fails: the kernel's own counts decide. Pages are touched
//! in random order, and before a major fault the file's pages are dropped from the page cache and
//! looked up to be gone. Sources: lmbench lat_pagefault; mmap(2), madvise(2), posix_fadvise(2),
//! getrusage(2).

mod ground;

use super::batch::{self, BatchRecorder};
use super::file_read::{self, ReadWay};
use super::operation::{OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::{Needs, Task, Window, directory, memory_bandwidth, primitive, trap};
use anyhow::{Context, Result};
use ground::{Anonymous, FILE_BYTES, FileState, Ground, MappedFile, Toucher};
use std::fs::File;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::huge_pages;
use syscost_sys::mapping::{Mapping, Pages, page_bytes};

const ID: &str = "page_fault";
const FAULT: NameAxis = NameAxis::new("fault");

const ANONYMOUS_PAGES: usize = 1024;
const HUGE_PAGES: usize = 8;
/// The file whose random reads stand for those of a major fault.
const READ_BYTES: u64 = 64 << 20;

/// What a program pays that maps a file and reads it: not a fault, but a touch, of which most find their page mapped by an
/// earlier one.
const MAPPED_FILE: &str = "mapped_file";
const HUGE: &str = "huge_anonymous";
const MAJOR: &str = "major_file";

// Zeroing a huge page takes about a tenth of a millisecond, a disk up to ten.
const FAULTS: &[OperationRow] = &[
    OperationRow {
        told_as: Some("a minor page fault"),
        ..OperationRow::new("minor_anonymous", "minor, anonymous page", each_touch)
    },
    OperationRow { stretch: 5, ..OperationRow::new(HUGE, "minor, anonymous huge page", each_touch) },
    OperationRow::new("minor_file", "minor, private copy of a cached file's page", each_touch),
    OperationRow {
        published: Some((ID, "major mmap")),
        told_as: Some("a major page fault"),
        stretch: 10,
        ..OperationRow::new(MAJOR, "major, file on disk", each_touch)
    },
    OperationRow::new(MAPPED_FILE, "a touch of a mapped cached file, faults around it included", turns),
];

fn is_of_file(fault: &str) -> bool {
    fault.ends_with("_file")
}

/// The row of a kind of fault, as an input of other rows' predictions.
pub fn fault(kind: &'static str) -> RowRef {
    PAGE_FAULT.cost_of(kind)
}

/// The pages of a case, how far apart they are touched, and how many bytes there are.
fn ground(task: &Task) -> Result<(Box<dyn Ground>, usize, usize)> {
    match task.point.text(FAULT) {
        Some("minor_anonymous") => {
            let bytes = ANONYMOUS_PAGES * page_bytes();
            let memory = Mapping::anonymous(bytes, Pages::Base)?;
            Ok((Box::new(Anonymous { memory, huge_page_bytes: None }), bytes, page_bytes()))
        }
        Some(HUGE) => {
            let one = huge_pages::bytes_of_one().unwrap_or(2 << 20);
            // Mapped whole and looked up once, so that what is missing is said with its reason.
            let memory = huge_pages::map(HUGE_PAGES * one)?;
            let bytes = memory.len();
            Ok((Box::new(Anonymous { memory, huge_page_bytes: Some(one) }), bytes, one))
        }
        kind => {
            let path = task.files.first().context("no file to map")?;
            let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
            let state = match kind {
                Some(MAJOR) => FileState::Cold,
                Some(MAPPED_FILE) => FileState::ReadMapped,
                _ => FileState::Copied,
            };
            Ok((Box::new(MappedFile::new(file, state)?), FILE_BYTES as usize, page_bytes()))
        }
    }
}

/// What touches the pages of a round; the round has begun.
fn toucher<'g>(
    round: &mut PlayedRound<'_>,
    ground: &'g mut (Box<dyn Ground>, usize, usize),
) -> Result<Toucher<'g>> {
    let seed = round.task.token.bytes().fold(1, |seed: u64, byte| seed.wrapping_mul(257) ^ u64::from(byte));
    let (ground, bytes, step) = ground;
    let mut toucher = Toucher::new(ground.as_mut(), *bytes, *step, seed)?;
    toucher.start_over()?;
    round.ready()?;
    Ok(toucher)
}

/// Every touch timed for itself: each is a fault.
fn each_touch(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut ground = ground(round.task)?;
    let step = ground.2;
    let mut toucher = toucher(round, &mut ground)?;
    let windows = batch::operations(round.task, batch::clock_overhead_ns(), || toucher.touch())?;
    // The last turn has not come to its end, and counts as well.
    toucher.check()?;
    round.fact("touched_every_bytes", step.to_string());
    Ok(windows)
}

/// Whole turns over the pages: most touches of one are no fault, so that none can be timed for itself.
fn turns(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let mut ground = ground(round.task)?;
    let mut toucher = toucher(round, &mut ground)?;
    let task = round.task;
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

pub static PAGE_FAULT: SystemOperation = SystemOperation {
    id: ID,
    title: "page fault",
    method: "One thread touches fresh pages one by one in random order and times each touch; the kernel's counts of \
             minor or major faults must be those of the touches. A major fault reads from a file without readahead \
             whose pages were dropped from the page cache and looked up to be gone; a minor fault of a file writes to \
             a private mapping, because the kernel maps many pages at once where one is read. mapped_file is that: the time \
             of touching a whole mapped file, by page.",
    source: "lmbench lat_pagefault; getrusage(2), madvise(2), posix_fadvise(2), mincore(2)",
    roles: &["toucher"],
    variants: (FAULT, FAULTS),
    applies: |axis, point| axis != directory::ID.id || point.text(FAULT).is_some_and(is_of_file),
    axes,
    available: |point| match point.text(FAULT) {
        Some(fault) if is_of_file(fault) => directory::available(point),
        Some(HUGE) => huge_pages::available(),
        _ => Ok(()),
    },
    needs,
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        FAULT
            .names(|| PAGE_FAULT.names())
            .help("what the kernel has to do at the first touch of a page")
            .default_on(Names(&["minor_anonymous", HUGE, "minor_file", MAJOR])),
        directory::axis(),
    ]
}

fn needs(point: &Point) -> Needs {
    match FAULTS.iter().zip(0..).find(|(fault, _)| Some(fault.id) == point.text(FAULT)) {
        // A file for each kind: the pages of one are dropped, those of the other have to stay.
        Some((fault, number)) if is_of_file(fault.id) => Needs {
            memory_bytes: 2 * FILE_BYTES,
            ..Needs::files(vec![directory::file(point, FILE_BYTES, number)])
        },
        Some((fault, _)) if fault.id == HUGE => {
            Needs::memory((HUGE_PAGES * huge_pages::bytes_of_one().unwrap_or(2 << 20)) as u64)
        }
        _ => Needs::memory((ANONYMOUS_PAGES * page_bytes()) as u64),
    }
}

/// A small page: mapping the page of zeroes holds the exception and the walk, and growing a file in memory holds the page,
/// its accounting and its filling. A file's page has to be found too. Large ones are what fills them: zeroes or a disk.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let fault = point.text(FAULT)?;
    if fault.starts_with("minor") {
        inputs.row("zero_page", primitive::cost_of("zero_page"));
        inputs.row("fresh_page", primitive::cost_of("fresh_page"));
        if !is_of_file(fault) {
            return Some(inputs.software("zero_page + fresh_page"));
        }
        inputs.row("cached_byte", primitive::cost_of("cached_byte"));
        inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
        return Some(inputs.software("zero_page + fresh_page + cached_byte - kernel_entry"));
    }
    let filled = match fault {
        MAJOR => {
            let read = file_read::cost_of(ReadWay::Direct, true, READ_BYTES, directory::of(point));
            inputs.row("direct_read", read);
            "direct_read"
        }
        HUGE => {
            let bytes = huge_pages::bytes_of_one().unwrap_or(2 << 20);
            inputs.constant("page", bytes as f64, Unit::Bytes, "a huge page of this machine");
            // More than a core's own caches hold, and written without being read.
            let write = memory_bandwidth::rate("nt_write", memory_bandwidth::IN_MEMORY, 1);
            inputs.row("write_rate", write);
            "page / write_rate"
        }
        _ => return None,
    };
    let trap = inputs.row("trap", trap());
    let hardware = inputs.value(filled);
    Some(inputs.sum(&format!("trap + {filled}"), hardware, trap))
}
