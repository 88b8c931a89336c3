//! `page_fault`: what the first touch of a page costs, by what the kernel has to do for it.
//!
//! Every touch is one fault or the round fails: the kernel's own counts decide. Pages are touched
//! in random order, and before a major fault the file's pages are dropped from the page cache and
//! looked up to be gone. Sources: lmbench lat_pagefault; mmap(2), madvise(2), posix_fadvise(2),
//! getrusage(2).

use super::batch::{self, settle_on_one_cpu};
use super::file_read::{self, Way};
use super::prediction::{Account, Inputs, RowRef};
use super::row::Row;
use super::{
    About, Probe, RoleReport, Stage, Task, Timing, cost, directory, memory_bandwidth, samples_of_one_role,
    system_call,
};
use crate::axis::{Axis, Kind, Point, Value};
use crate::host::clock::{ThreadUsage, monotonic_ns, thread_usage};
use crate::host::scratch::ScratchFile;
use crate::host::{Unavailable, huge_pages};
use crate::sample::{Metric, Quantity, Sample};
use crate::stats::random::Random;
use crate::sys::mapping::{FileMapping, Mapping, Pages, page_bytes};
use crate::sys::page_cache::{Advice, advise, cached_bytes};
use crate::units::Unit;
use anyhow::{Context, Result, anyhow, bail};
use std::fs::File;
use std::hint::black_box;

pub struct PageFault;

const ID: &str = "page_fault";
const FAULT: &str = "fault";

const ANONYMOUS_PAGES: usize = 1024;
const HUGE_PAGES: usize = 8;
const FILE_BYTES: u64 = 8 << 20;
/// Pages that were given back are given out again: they are still in a cache of this size.
const CACHED_BYTES: u64 = 4 << 20;
/// The file whose random reads stand for those of a major fault.
const READ_BYTES: u64 = 64 << 20;
/// Dropping pages may have to wait for others to let go of them.
const DROP_TRIES: usize = 5;

/// One kind of fault.
struct Fault {
    id: &'static str,
    label: &'static str,
    of_file: bool,
    published: Option<&'static str>,
}

const FAULTS: &[Fault] = &[
    Fault { id: "minor_anonymous", label: "minor, anonymous page", of_file: false, published: None },
    Fault { id: "huge_anonymous", label: "minor, anonymous huge page", of_file: false, published: None },
    Fault {
        id: "minor_file",
        label: "minor, private copy of a cached file's page",
        of_file: true,
        published: None,
    },
    Fault { id: "major_file", label: "major, file on disk", of_file: true, published: Some("major mmap") },
];

fn find(point: &Point) -> Option<&'static Fault> {
    FAULTS.iter().find(|f| Some(f.id) == point.text(FAULT))
}

fn all() -> Vec<Value> {
    FAULTS.iter().map(|f| Value::text(f.id)).collect()
}

/// The row of a kind of fault, as an input of other rows' predictions.
pub fn fault(kind: &'static str) -> RowRef {
    RowRef { probe: ID, coordinates: vec![(FAULT, Value::text(kind))], metric: "cost" }
}

/// Pages that can be made to fault, all of them, again and again.
trait Ground {
    /// Makes every page fault at its next touch.
    fn clear(&mut self) -> Result<()>;

    /// Touches one page.
    fn touch(&mut self, offset: usize);

    /// Faults of the right kind among those of a thread.
    fn faults(&self, usage: ThreadUsage) -> u64;
}

struct Anonymous(Mapping);

impl Ground for Anonymous {
    fn clear(&mut self) -> Result<()> {
        self.0.discard().context("the kernel takes no pages back")
    }

    fn touch(&mut self, offset: usize) {
        self.0.touch(offset);
    }

    fn faults(&self, usage: ThreadUsage) -> u64 {
        usage.minor_faults
    }
}

/// A file whose pages are dropped from the page cache: each touch reads one from the disk.
struct Cold {
    file: File,
    mapping: Option<FileMapping>,
}

impl Cold {
    /// Drops the file's pages, and looks whether they are gone.
    fn chill(&mut self) -> Result<()> {
        // Pages that somebody has mapped are not dropped.
        self.mapping = None;
        for _ in 0..DROP_TRIES {
            advise(&self.file, Advice::DontNeed).context("posix_fadvise")?;
            if cached_bytes(&self.file, FILE_BYTES)? == 0 {
                return Ok(());
            }
            self.file.sync_all()?;
        }
        Err(Unavailable {
            reason:
                "the file's pages stay in memory when they are dropped from the page cache (a file system in \
                     memory, or other users of the file)"
                    .into(),
            remedy: "name a directory on a disk with --dir".into(),
        }
        .into())
    }
}

impl Ground for Cold {
    fn clear(&mut self) -> Result<()> {
        self.chill()?;
        let mapping = FileMapping::of(&self.file, FILE_BYTES as usize).context("cannot map the file")?;
        mapping.expect_random_access()?;
        self.mapping = Some(mapping);
        Ok(())
    }

    fn touch(&mut self, offset: usize) {
        if let Some(mapping) = &self.mapping {
            black_box(mapping.read(offset));
        }
    }

    fn faults(&self, usage: ThreadUsage) -> u64 {
        usage.major_faults
    }
}

/// A file in the page cache, of which each touched page becomes a private copy. (A page that is
/// only read is no measure of a fault: the kernel maps its neighbours, or the whole of a large
/// folio, at once.)
struct Cached {
    file: File,
    mapping: Option<FileMapping>,
}

impl Ground for Cached {
    fn clear(&mut self) -> Result<()> {
        // The copies of the turn before go first.
        self.mapping = None;
        let mapping =
            FileMapping::private_of(&self.file, FILE_BYTES as usize).context("cannot map the file")?;
        let cached = cached_bytes(&self.file, FILE_BYTES)?;
        if cached < FILE_BYTES {
            bail!("only {cached} of the file's {FILE_BYTES} bytes are in the page cache");
        }
        self.mapping = Some(mapping);
        Ok(())
    }

    fn touch(&mut self, offset: usize) {
        if let Some(mapping) = &mut self.mapping {
            mapping.touch(offset);
        }
    }

    fn faults(&self, usage: ThreadUsage) -> u64 {
        usage.minor_faults
    }
}

/// Touches pages in random order, one after another, and starts over when all have been touched.
struct Toucher<'a> {
    ground: &'a mut dyn Ground,
    offsets: Vec<usize>,
    next: usize,
    random: Random,
    /// The thread's faults when this turn over the pages began.
    before: ThreadUsage,
}

impl<'a> Toucher<'a> {
    fn new(ground: &'a mut dyn Ground, bytes: usize, step: usize, seed: u64) -> Result<Toucher<'a>> {
        let offsets: Vec<usize> = (0..bytes).step_by(step).collect();
        let next = offsets.len();
        let before = thread_usage()?;
        Ok(Toucher { ground, offsets, next, random: Random::new(seed), before })
    }

    /// Time of one touch.
    fn touch(&mut self) -> Result<u64> {
        if self.next == self.offsets.len() {
            self.start_over()?;
        }
        let offset = self.offsets[self.next];
        self.next += 1;
        let start = monotonic_ns();
        self.ground.touch(offset);
        let ns = monotonic_ns() - start;
        if self.next == self.offsets.len() {
            self.check()?;
        }
        Ok(ns)
    }

    fn start_over(&mut self) -> Result<()> {
        self.ground.clear()?;
        self.random.shuffle(&mut self.offsets);
        self.next = 0;
        self.before = thread_usage()?;
        Ok(())
    }

    /// Every touch of this turn was one fault. The thread may have had a few others: its stack, the
    /// list of times.
    fn check(&self) -> Result<()> {
        let faults = self.ground.faults(thread_usage()?.since(self.before));
        let touches = self.next as u64;
        if faults < touches {
            bail!("{touches} touches made only {faults} faults of the right kind");
        }
        if faults > touches + touches / 4 + 16 {
            bail!("{touches} touches made {faults} faults");
        }
        Ok(())
    }
}

/// The pages of a case, how far apart they are touched, and how many bytes there are.
fn ground(fault: &Fault, task: &Task) -> Result<(Box<dyn Ground>, usize, usize)> {
    match fault.id {
        "minor_anonymous" => {
            let bytes = ANONYMOUS_PAGES * page_bytes();
            Ok((Box::new(Anonymous(Mapping::anonymous(bytes, Pages::Base)?)), bytes, page_bytes()))
        }
        "huge_anonymous" => {
            let one = huge_pages::bytes_of_one().unwrap_or(2 << 20);
            // Mapped whole and looked up: what is given back comes again as it was.
            let memory = huge_pages::map(HUGE_PAGES * one)?;
            let bytes = memory.len();
            Ok((Box::new(Anonymous(memory)), bytes, one))
        }
        kind => {
            let path = task.files.first().ok_or_else(|| anyhow!("no file to map"))?;
            let file = File::open(path).with_context(|| format!("cannot open {path}"))?;
            let ground: Box<dyn Ground> = if kind == "major_file" {
                Box::new(Cold { file, mapping: None })
            } else {
                // Reading it puts it into the page cache.
                std::io::copy(&mut &file, &mut std::io::sink())?;
                Box::new(Cached { file, mapping: None })
            };
            Ok((ground, FILE_BYTES as usize, page_bytes()))
        }
    }
}

impl Probe for PageFault {
    fn about(&self) -> About {
        About {
            id: ID,
            title: "page fault",
            method: "One thread touches fresh pages one by one in random order and times each touch; the kernel's counts of \
                     minor or major faults must be those of the touches. A major fault reads from a file without readahead \
                     whose pages were dropped from the page cache and looked up to be gone; a minor fault of a file writes to \
                     a private mapping, because the kernel maps many pages at once where one is read.",
            source: "lmbench lat_pagefault; getrusage(2), madvise(2), posix_fadvise(2), mincore(2)",
        }
    }

    fn suite(&self) -> Option<&'static str> {
        Some("os")
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            Axis {
                id: FAULT,
                flag: "fault",
                title: "fault",
                help: "what the kernel has to do at the first touch of a page",
                unit: Unit::Name,
                kind: Kind::Name { names: || FAULTS.iter().map(|f| f.id).collect(), aliases: Vec::new },
                default: all,
                quick: all,
            },
            directory::axis(),
        ]
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis != directory::ID || find(point).is_some_and(|fault| fault.of_file)
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        match find(point) {
            Some(fault) if fault.of_file => directory::available(point),
            Some(fault) if fault.id == "huge_anonymous" => huge_pages::available(),
            _ => Ok(()),
        }
    }

    fn files(&self, point: &Point) -> Vec<ScratchFile> {
        // One for each kind: the pages of one are dropped, those of the other have to stay.
        let number = FAULTS.iter().position(|f| Some(f.id) == point.text(FAULT)).unwrap_or(0) as u32;
        let file = || ScratchFile { directory: directory::of(point).into(), bytes: FILE_BYTES, number };
        find(point).filter(|fault| fault.of_file).map(|_| file()).into_iter().collect()
    }

    fn memory_bytes(&self, point: &Point) -> u64 {
        match find(point) {
            Some(fault) if fault.of_file => 2 * FILE_BYTES,
            Some(fault) if fault.id == "huge_anonymous" => {
                (HUGE_PAGES * huge_pages::bytes_of_one().unwrap_or(2 << 20)) as u64
            }
            _ => (ANONYMOUS_PAGES * page_bytes()) as u64,
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        cost::QUANTITIES.to_vec()
    }

    fn metrics(&self) -> Vec<Metric> {
        cost::SYSTEM.to_vec()
    }

    fn roles(&self) -> &'static [&'static str] {
        &["toucher"]
    }

    fn play(&self, task: &Task, stage: &mut dyn Stage) -> Result<RoleReport> {
        let fault = find(&task.point).ok_or_else(|| anyhow!("no fault at {}", task.point))?;
        let mut facts = settle_on_one_cpu();
        let (mut ground, bytes, step) = ground(fault, task)?;
        let seed = task.token.bytes().fold(1, |seed: u64, byte| seed.wrapping_mul(257) ^ u64::from(byte));
        let mut toucher = Toucher::new(ground.as_mut(), bytes, step, seed)?;
        toucher.start_over()?;
        stage.ready()?;
        let windows = batch::operations(task, batch::clock_overhead_ns(), || toucher.touch())?;
        // The last turn has not come to its end, and counts as well.
        toucher.check()?;
        facts.insert("touched_every_bytes".into(), step.to_string());
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }

    fn merge(&self, _: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        samples_of_one_role(reports)
    }

    fn decisive(&self) -> &'static [&'static str] {
        &["cost"]
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

    /// Entering and leaving the kernel is taken to cost what the cheapest system call does; the
    /// hardware fills the page, with zeroes, a copy or a block of the disk.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<Account> {
        let fault = find(point)?;
        let trap = inputs.row("trap", system_call::cost_of("getppid"));
        let page = match fault.id {
            "huge_anonymous" => {
                let fact = huge_pages::bytes_of_one().map_or(2 << 20, |bytes| bytes as u64);
                inputs.constant("page", fact as f64, Unit::Bytes, "a huge page of this machine")
            }
            _ => inputs.constant("page", page_bytes() as f64, Unit::Bytes, "a base page of this machine"),
        };
        let (formula, filled) = match fault.id {
            "major_file" => {
                let read = file_read::cost_of(Way::Direct, true, READ_BYTES, directory::of(point));
                ("trap + direct_read", inputs.row("direct_read", read))
            }
            "minor_file" => {
                let rate = inputs.row("copy_rate", memory_bandwidth::rate("copy", CACHED_BYTES, 1));
                ("trap + page / copy_rate", rate.map(|rate| page * 1e9 / rate))
            }
            _ => {
                let rate = inputs.row("write_rate", memory_bandwidth::rate("write", CACHED_BYTES, 1));
                ("trap + page / write_rate", rate.map(|rate| page * 1e9 / rate))
            }
        };
        Some(inputs.sum(formula, filled, trap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file_of(dir: &std::path::Path) -> File {
        let path = dir.join("pages");
        let mut file = File::create_new(&path).unwrap();
        file.write_all(&vec![7; FILE_BYTES as usize]).unwrap();
        file.sync_all().unwrap();
        File::open(path).unwrap()
    }

    fn turn(ground: &mut dyn Ground, bytes: usize, step: usize) -> Result<()> {
        let mut toucher = Toucher::new(ground, bytes, step, 1)?;
        for _ in 0..bytes / step {
            toucher.touch()?;
        }
        Ok(())
    }

    #[test]
    fn every_touch_of_fresh_memory_is_a_fault() {
        let bytes = 256 * page_bytes();
        let mut ground = Anonymous(Mapping::anonymous(bytes, Pages::Base).unwrap());
        turn(&mut ground, bytes, page_bytes()).unwrap();
    }

    /// The trap: memory that is there already costs nothing to touch.
    #[test]
    fn touches_that_are_no_faults_are_an_error() {
        struct Warm(Mapping);
        impl Ground for Warm {
            fn clear(&mut self) -> Result<()> {
                self.0.populate();
                Ok(())
            }
            fn touch(&mut self, offset: usize) {
                self.0.touch(offset);
            }
            fn faults(&self, usage: ThreadUsage) -> u64 {
                usage.minor_faults
            }
        }
        let bytes = 256 * page_bytes();
        let mut warm = Warm(Mapping::anonymous(bytes, Pages::Base).unwrap());
        let error = turn(&mut warm, bytes, page_bytes()).unwrap_err();
        assert!(error.to_string().contains("faults"), "{error}");
    }

    /// The trap: a page cache that is still warm.
    #[test]
    fn a_cold_file_is_really_cold_or_refused() {
        let dir = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/target")).unwrap();
        let mut cold = Cold { file: file_of(dir.path()), mapping: None };
        match cold.clear() {
            Ok(()) => assert_eq!(cached_bytes(&cold.file, FILE_BYTES).unwrap(), 0),
            Err(error) => {
                assert!(error.is::<Unavailable>(), "{error}");
                eprintln!("skipped: {error}");
                return;
            }
        }
        cold.touch(0);
        assert_eq!(cached_bytes(&cold.file, FILE_BYTES).unwrap(), page_bytes() as u64, "no readahead");
    }

    #[test]
    fn a_file_that_lives_in_memory_is_refused() {
        let Ok(dir) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: no /dev/shm to make a file in");
            return;
        };
        let mut cold = Cold { file: file_of(dir.path()), mapping: None };
        let error = cold.clear().unwrap_err();
        assert!(error.is::<Unavailable>(), "{error}");
    }

    #[test]
    fn every_touch_of_a_cached_file_is_a_fault() {
        let dir = tempfile::tempdir().unwrap();
        let mut cached = Cached { file: file_of(dir.path()), mapping: None };
        turn(&mut cached, FILE_BYTES as usize, page_bytes()).unwrap();
    }
}
