//! `file_name`: calls about the names of files, and fsync: looked up by the depth of the path, opened, made, renamed, written out.
//!
//! Everything happens in a directory of this probe's own, which goes with it. Sources: stat(2), openat(2), rename(2),
//! unlink(2), fsync(2), path_resolution(7), cachestat(2); McVoy and Staelin, "lmbench" (1996), lat_syscall and lat_fs.

use super::named_file::{FILE_BYTES, MADE, NamedFile};
use super::prediction::{CostAccount, Inputs};
use super::row::Row;
use super::{
    AxisRules, Channel, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Timing, Window,
    batch, directory, primitive,
};
use anyhow::{Context, Result, bail, ensure};
use rustix::fs::{AtFlags, Mode, OFlags, openat, renameat, statat, unlinkat};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::hint::black_box;
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

const NAME: &CStr = c"file";
const OTHER_NAME: &CStr = c"other";

pub struct FileName;

/// Facts of a round.
type NameFacts = BTreeMap<String, String>;

struct FileCall {
    id: &'static str,
    label: &'static str,
    measure: fn(&Task, &NamedFile, &mut NameFacts) -> Result<Vec<Window>>,
    theory: NameTheory,
    /// Windows are so many times longer where one call takes long.
    stretch: u64,
}

/// What a call should cost.
#[derive(Clone, Copy)]
enum NameTheory {
    /// Its path looked up, and so many instructions.
    LookedUp(f64),
    /// The path looked up once more than a descriptor is made and closed.
    Opened,
    /// What the file system writes down is in no primitive.
    Unknown,
}

const CALLS: &[FileCall] = &[
    FileCall { id: STAT, label: "stat", measure: stat, theory: NameTheory::LookedUp(150.0), stretch: 1 },
    FileCall {
        id: "open_close",
        label: "open and close",
        measure: open_close,
        theory: NameTheory::Opened,
        stretch: 1,
    },
    FileCall {
        id: "create_unlink",
        label: "create, close and unlink",
        measure: create_unlink,
        theory: NameTheory::Unknown,
        stretch: 3,
    },
    FileCall {
        id: "rename",
        label: "rename within a directory",
        measure: rename,
        theory: NameTheory::Unknown,
        stretch: 3,
    },
    FileCall {
        id: "fsync",
        label: "fsync of a changed page",
        measure: fsync,
        theory: NameTheory::Unknown,
        stretch: 4,
    },
];

fn find(point: &Point) -> Option<&'static FileCall> {
    CALLS.iter().find(|call| Some(call.id) == point.text(FILE_CALL))
}

/// Batches of a call that says whether it did its work.
fn checked(task: &Task, what: &str, mut call: impl FnMut() -> bool) -> Result<Vec<Window>> {
    let mut wrong = 0u64;
    let body = |n| (0..n).for_each(|_| wrong += u64::from(!call()));
    let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
    ensure!(wrong == 0, "{wrong} calls of {what} did not find the file");
    Ok(windows)
}

fn stat(task: &Task, file: &NamedFile, _: &mut NameFacts) -> Result<Vec<Window>> {
    checked(task, STAT, || {
        statat(&file.top, &*file.path, AtFlags::empty()).is_ok_and(|found| found.st_size == FILE_BYTES as i64)
    })
}

fn open_close(task: &Task, file: &NamedFile, _: &mut NameFacts) -> Result<Vec<Window>> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    checked(task, "open", || openat(&file.top, &*file.path, flags, Mode::empty()).is_ok())
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
fn create_unlink(task: &Task, file: &NamedFile, _: &mut NameFacts) -> Result<Vec<Window>> {
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
    batch::operations(task, batch::clock_overhead_ns(), || {
        timed(|| {
            drop(openat(&file.top, OTHER_NAME, flags, MADE)?);
            unlinkat(&file.top, OTHER_NAME, AtFlags::empty())
        })
    })
}

fn rename(task: &Task, file: &NamedFile, _: &mut NameFacts) -> Result<Vec<Window>> {
    let (mut from, mut to) = (NAME, OTHER_NAME);
    batch::operations(task, batch::clock_overhead_ns(), || {
        let ns = timed(|| renameat(&file.top, from, &file.top, to))?;
        ensure!(file.has(to) && !file.has(from), "a file that was renamed has its old name");
        (from, to) = (to, from);
        Ok(ns)
    })
}

/// A page changed, and written out. Where the kernel tells, it has to know of the change before, and of none after.
fn fsync(task: &Task, file: &NamedFile, facts: &mut NameFacts) -> Result<Vec<Window>> {
    let mut content = [0u8; FILE_BYTES];
    let mut told = true;
    let windows = batch::operations(task, batch::clock_overhead_ns(), || {
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
    facts.insert("unwritten_pages".into(), said.into());
    Ok(windows)
}

impl Probe for FileName {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "file_name",
            title: "names of files",
            method: "Calls on a file in a directory of the probe's own, with everything in the caches: stat by the number of names in \
                     its path, open, create and unlink, rename, and fsync after a page was changed. A look-up has to find the \
                     file's size; a new name must not be there before and has to be there after; the kernel may know of no unwritten page after fsync.",
            source: "stat(2), openat(2), rename(2), unlink(2), fsync(2), cachestat(2); lmbench lat_syscall, lat_fs",
            roles: &["caller"],
            operation: Some(&FileName),
            axis_rules: Some(&FileName),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            FILE_CALL
                .names(|| CALLS.iter().map(|call| call.id).collect())
                .flag("file-call", "call")
                .help("what is done to a file"),
            DEPTH
                .count(1, 1000)
                .flag("depth", "depth")
                .help("names in the path that is looked up")
                .default_on(Ints(&[1, 4, 16]))
                .quick_on(Ints(&[1, 16])),
            directory::axis(),
        ]
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        directory::available(point)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        let stretch = find(point).map_or(1, |call| call.stretch);
        Timing { window_ns: base.window_ns * stretch, ..base }
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let call = find(&task.point).with_context(|| format!("no call at {}", task.point))?;
        let mut facts = batch::settle_on_one_cpu();
        let file = NamedFile::below(directory::of(&task.point), task.point.int(DEPTH).unwrap_or(1))?;
        channel.ready()?;
        let windows = (call.measure)(task, &file, &mut facts)?;
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl AxisRules for FileName {
    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis != DEPTH.id || point.text(FILE_CALL) == Some(STAT)
    }
}

impl OsOperation for FileName {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let call = find(point)?;
        Some(Row::listed(match point.int(DEPTH) {
            Some(1) => format!("{}, a name", call.label),
            Some(depth) => format!("{}, a path of {depth} names", call.label),
            None => call.label.to_string(),
        }))
    }

    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let theory = find(point)?.theory;
        if matches!(theory, NameTheory::Unknown) {
            return None;
        }
        let root = inputs.row("root_name", primitive::cost_of("root_name"));
        let each = inputs.row("each_name", primitive::cost_of("each_name"));
        let names = point.int(DEPTH).unwrap_or(1) as f64;
        let names = inputs.constant("names", names, Unit::Count, "in the path");
        let looked_up = root.zip(each).map(|(root, each)| root + names * each);
        let NameTheory::LookedUp(instructions) = theory else {
            let descriptor = inputs.row("descriptor", primitive::cost_of("descriptor"));
            let entry = inputs.row("kernel_entry", primitive::cost_of("kernel_entry"));
            let software =
                looked_up.zip(descriptor).zip(entry).map(|((found, made), entry)| found + made - entry);
            return Some(inputs.sum(
                "root_name + names * each_name + descriptor - kernel_entry",
                Some(0.0),
                software,
            ));
        };
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        let per_cycle =
            inputs.constant("instructions_per_cycle", 2.0, Unit::Ratio, "cache-hot kernel code; 1 to 3");
        let rest = "instructions: the attributes collected and copied out: fs/stat.c, estimated";
        let rest = inputs.constant("rest", instructions, Unit::Count, rest);
        let software = looked_up.zip(hertz).map(|(found, hertz)| found + rest / per_cycle * 1e9 / hertz);
        let formula = "root_name + names * each_name + rest / instructions_per_cycle / frequency";
        Some(inputs.sum(formula, Some(0.0), software))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_call_does_its_work_or_says_why_not() {
        let folder = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
        let task = Task::of(Point::default(), Timing { warmup_ns: 0, window_ns: 100_000, windows: 2 });
        for (call, depth) in CALLS.iter().zip([16, 1, 1, 1, 1]) {
            let mut facts = NameFacts::new();
            let Ok(file) = NamedFile::below(folder.path().to_str().unwrap(), depth) else {
                return eprintln!("skipped: no cleaner can be started from a test");
            };
            match (call.measure)(&task, &file, &mut facts) {
                Ok(windows) => assert_eq!(windows.len(), 2, "{}", call.id),
                Err(why) => assert!(why.is::<Unavailable>(), "{}: {why}", call.id),
            }
        }
    }
}
