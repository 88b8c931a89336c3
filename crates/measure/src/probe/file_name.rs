//! `file_name`: calls about the names of files, and fsync: looked up by the depth of the path, opened, made, renamed, written out.
//!
//! Everything happens in a directory of this probe's own, which goes with it. Sources: stat(2), openat(2), rename(2),
//! unlink(2), fsync(2), path_resolution(7), cachestat(2); McVoy and Staelin, "lmbench" (1996), lat_syscall and lat_fs.

use super::named_file::{FILE_BYTES, MADE, NamedFile};
use super::operation::{OS_MORE_SUITE, OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::row::Row;
use super::{Window, directory, primitive};
use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, statat, unlinkat};
use std::ffi::CStr;
use std::os::unix::fs::FileExt;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_host::clock::monotonic_ns;
use syscost_sys::page_cache::unwritten_pages;

const FILE_CALL: NameAxis = NameAxis::new("file_call");
const DEPTH: IntAxis = IntAxis::new("path_depth");
const STAT: &str = "stat";
const OPEN_CLOSE: &str = "open_close";

const NAME: &CStr = c"file";
const OTHER_NAME: &CStr = c"other";

const CALLS: &[OperationRow] = &[
    OperationRow::new(STAT, "stat", stat),
    OperationRow::new(OPEN_CLOSE, "open and close", open_close),
    OperationRow {
        stretch: 3,
        ..OperationRow::new("create_unlink", "create, close and unlink", create_unlink)
    },
    OperationRow { stretch: 3, ..OperationRow::new("rename", "rename within a directory", rename) },
    OperationRow { stretch: 4, ..OperationRow::new("fsync", "fsync of a changed page", fsync) },
];

const NOT_FOUND: &str = "a call did not find the file";

/// The file of a round, at a path as long as the case says.
fn named(round: &PlayedRound<'_>) -> Result<NamedFile> {
    NamedFile::below(directory::of(round.point()), round.point().int(DEPTH).unwrap_or(1))
}

fn stat(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let file = named(round)?;
    round.checked(NOT_FOUND, || {
        statat(&file.top, &*file.path, AtFlags::empty()).is_ok_and(|found| found.st_size == FILE_BYTES as i64)
    })
}

fn open_close(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let file = named(round)?;
    round.checked(NOT_FOUND, || openat(&file.top, &*file.path, flags, Mode::empty()).is_ok())
}

/// The time of what has to succeed.
fn timed(work: impl FnOnce() -> rustix::io::Result<()>) -> Result<u64> {
    let start = monotonic_ns();
    let done = work();
    let ns = monotonic_ns() - start;
    done.context("the file system refuses")?;
    Ok(ns)
}

/// The name may not be there before, and has to be there to be taken away: the calls check each other.
fn create_unlink(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    let file = named(round)?;
    round.operations(|| {
        timed(|| {
            drop(openat(&file.top, OTHER_NAME, flags, MADE)?);
            unlinkat(&file.top, OTHER_NAME, AtFlags::empty())
        })
    })
}

fn rename(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let (mut from, mut to) = (NAME, OTHER_NAME);
    let file = named(round)?;
    round.operations(|| {
        let ns = timed(|| renameat(&file.top, from, &file.top, to))?;
        ensure!(file.has(to) && !file.has(from), "a file that was renamed has its old name");
        (from, to) = (to, from);
        Ok(ns)
    })
}

/// A page changed, and written out. Where the kernel tells, it has to know of the change before, and of none after.
fn fsync(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let file = named(round)?;
    let mut content = [0u8; FILE_BYTES];
    let mut told = true;
    let windows = round.operations(|| {
        content[0] = content[0].wrapping_add(1);
        file.file.write_all_at(&content, 0).context("cannot write")?;
        told &= unwritten_pages(&file.file).is_some_and(|pages| pages > 0);
        let ns = timed(|| rustix::fs::fsync(&file.file))?;
        if told && unwritten_pages(&file.file).is_some_and(|pages| pages > 0) {
            bail!(Unavailable {
                reason: "the file system keeps what was written out in memory (fsync changes nothing)".into(),
                remedy: "name a directory on a disk's own file system with --dir".into(),
            });
        }
        Ok(ns)
    })?;
    let said = if told { "looked up: none left" } else { "not told by this kernel or file system" };
    round.fact("unwritten_pages", said);
    Ok(windows)
}

pub static FILE_NAME: SystemOperation = SystemOperation {
    id: "file_name",
    title: "names of files",
    method: "Calls on a file in a directory of the probe's own, with everything in the caches: stat by the number of names in \
             its path, open, create and unlink, rename, and fsync after a page was changed. A look-up has to find the \
             file's size; a new name must not be there before and has to be there after; the kernel may know of no unwritten page after fsync.",
    source: "stat(2), openat(2), rename(2), unlink(2), fsync(2), cachestat(2); lmbench lat_syscall, lat_fs",
    suite: OS_MORE_SUITE,
    variants: (FILE_CALL, CALLS),
    applies: |axis, point| axis != DEPTH.id || point.text(FILE_CALL) == Some(STAT),
    axes,
    available: directory::available,
    row: Some(row),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        FILE_CALL.names(|| FILE_NAME.names()).flag("file-call", "call").help("what is done to a file"),
        DEPTH
            .count(1, 1000)
            .flag("depth", "depth")
            .help("names in the path that is looked up")
            .default_on(Ints(&[1, 4, 16]))
            .quick_on(Ints(&[1, 16])),
        directory::axis(),
    ]
}

fn row(point: &Point) -> Option<Row> {
    let call = FILE_NAME.variant(point)?;
    Some(Row::listed(match point.int(DEPTH) {
        Some(1) => format!("{}, a name", call.label),
        Some(depth) => format!("{}, a path of {depth} names", call.label),
        None => call.label.to_string(),
    }))
}

/// What the file system writes down is in no primitive: of a look-up alone is it known what it costs, and of a descriptor.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let call = point.text(FILE_CALL)?;
    if ![STAT, OPEN_CLOSE].contains(&call) {
        return None;
    }
    inputs.row("root_name", primitive::cost_of("root_name"));
    inputs.row("each_name", primitive::cost_of("each_name"));
    inputs.constant("names", point.int(DEPTH).unwrap_or(1) as f64, Unit::Count, "in the path");
    if call == OPEN_CLOSE {
        inputs.row("descriptor", primitive::cost_of("descriptor"));
        inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
        return Some(inputs.software("root_name + names * each_name + descriptor - kernel_entry"));
    }
    inputs.fact("frequency", "core_hertz", Unit::Hertz);
    inputs.constant("instructions_per_cycle", 2.0, Unit::Ratio, "cache-hot kernel code; 1 to 3");
    let rest = "instructions: the attributes collected and copied out: fs/stat.c, estimated";
    inputs.constant("rest", 150.0, Unit::Count, rest);
    Some(inputs.software("root_name + names * each_name + rest / instructions_per_cycle / frequency"))
}
