//! Pages that fault at every touch, and the one who touches them: what is measured, and the counts
//! that prove it.

use crate::probe::blocks;
use anyhow::{Context, Result, bail};
use std::fs::File;
use std::hint::black_box;
use syscost_core::stats::random::Random;
use syscost_host::clock::{ThreadUsage, monotonic_ns, thread_usage};
use syscost_host::{Unavailable, huge_pages};
use syscost_sys::mapping::{FileMapping, Mapping};
use syscost_sys::page_cache::cached_bytes;

/// The part of a file that is mapped.
pub const FILE_BYTES: u64 = 8 << 20;

/// Pages that can be made to fault, all of them, again and again.
pub trait Ground {
    /// Makes every page fault at its next touch.
    fn clear(&mut self) -> Result<()>;

    /// Touches one page.
    fn touch(&mut self, offset: usize);

    /// Faults of the right kind among those of a thread.
    fn faults(&self, usage: ThreadUsage) -> u64;

    /// Is every touch a fault? Where not, the kernel may map neighbours at the first one.
    fn faults_at_each_touch(&self) -> bool {
        true
    }

    /// Did this many touches get what the case is about? Asked beside the count of faults.
    fn check(&self, _touches: usize) -> Result<()> {
        Ok(())
    }
}

/// Anonymous memory. Of huge pages each has to come back as one: where none is free the kernel quietly gives a
/// base page, and a touch is a fault all the same.
pub struct Anonymous {
    pub memory: Mapping,
    /// Where they are to be huge.
    pub huge_page_bytes: Option<usize>,
}

impl Ground for Anonymous {
    fn clear(&mut self) -> Result<()> {
        self.memory.discard().context("the kernel takes no pages back")
    }

    fn touch(&mut self, offset: usize) {
        self.memory.touch(offset);
    }

    fn faults(&self, usage: ThreadUsage) -> u64 {
        usage.minor_faults
    }

    fn check(&self, touches: usize) -> Result<()> {
        let Some(one) = self.huge_page_bytes else { return Ok(()) };
        let got = huge_pages::huge_bytes_of(&self.memory).map(|bytes| bytes as usize / one);
        if got == Some(touches) {
            return Ok(());
        }
        let got = got.map_or("an unknown number".into(), |n| n.to_string());
        Err(Unavailable {
            reason: format!("{touches} touches gave {got} of huge pages: memory is too fragmented"),
            remedy: "free some memory".into(),
        }
        .into())
    }
}

/// What the pages of a mapped file are when they are touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileState {
    /// Dropped from the page cache: each touch reads one from the disk.
    Cold,
    /// In the page cache; each touched page becomes a private copy. (A page that is only read is no measure of a fault: the
    /// kernel maps its neighbours, or the whole of a large folio, at once.)
    Copied,
    /// In the page cache, and read. The kernel maps what lies around a fault too (fault-around), or the whole of a large folio.
    ReadMapped,
}

pub struct MappedFile {
    file: File,
    state: FileState,
    mapping: Option<FileMapping>,
}

impl MappedFile {
    /// Reads the file where it is to be in the page cache.
    pub fn new(file: File, state: FileState) -> Result<MappedFile> {
        if state != FileState::Cold {
            std::io::copy(&mut &file, &mut std::io::sink()).context("cannot read the file")?;
        }
        Ok(MappedFile { file, state, mapping: None })
    }
}

impl Ground for MappedFile {
    fn clear(&mut self) -> Result<()> {
        // The copies of the turn before go first; and pages that somebody has mapped are not dropped.
        self.mapping = None;
        match self.state {
            FileState::Cold => blocks::drop_cached(&self.file, FILE_BYTES)?,
            _ => refuse_uncached(&self.file)?,
        }
        let map = if self.state == FileState::Copied { FileMapping::private_of } else { FileMapping::of };
        let mapping = map(&self.file, FILE_BYTES as usize).context("cannot map the file")?;
        if self.state == FileState::Cold {
            mapping.expect_random_access()?;
        }
        self.mapping = Some(mapping);
        Ok(())
    }

    #[inline]
    fn touch(&mut self, offset: usize) {
        match (&mut self.mapping, self.state) {
            (Some(mapping), FileState::Copied) => mapping.touch(offset),
            (Some(mapping), _) => _ = black_box(mapping.read(offset)),
            (None, _) => {}
        }
    }

    fn faults(&self, usage: ThreadUsage) -> u64 {
        if self.state == FileState::Cold { usage.major_faults } else { usage.minor_faults }
    }

    fn faults_at_each_touch(&self) -> bool {
        self.state != FileState::ReadMapped
    }
}

fn refuse_uncached(file: &File) -> Result<()> {
    let cached = cached_bytes(file, FILE_BYTES)?;
    if cached < FILE_BYTES {
        bail!("only {cached} of the file's {FILE_BYTES} bytes are in the page cache");
    }
    Ok(())
}

/// More than the pages of code and data that a turn over few pages may need for the first time.
const FAULTS_OF_ITS_OWN: u64 = 64;

/// Touches pages in random order, one after another, and starts over when all have been touched.
pub struct Toucher<'a> {
    ground: &'a mut dyn Ground,
    offsets: Vec<usize>,
    next: usize,
    random: Random,
    /// The thread's faults when this turn over the pages began.
    before: ThreadUsage,
}

impl<'a> Toucher<'a> {
    pub fn new(ground: &'a mut dyn Ground, bytes: usize, step: usize, seed: u64) -> Result<Toucher<'a>> {
        let offsets: Vec<usize> = (0..bytes).step_by(step).collect();
        let next = offsets.len();
        let before = thread_usage()?;
        Ok(Toucher { ground, offsets, next, random: Random::new(seed), before })
    }

    /// Time of one touch.
    pub fn touch(&mut self) -> Result<u64> {
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

    /// Time of touching every page once, and how many they are.
    pub fn turn(&mut self) -> Result<(u64, usize)> {
        self.start_over()?;
        let start = monotonic_ns();
        for offset in &self.offsets {
            self.ground.touch(*offset);
        }
        let ns = monotonic_ns() - start;
        self.next = self.offsets.len();
        self.check()?;
        Ok((ns, self.next))
    }

    pub fn start_over(&mut self) -> Result<()> {
        self.ground.clear()?;
        self.random.shuffle(&mut self.offsets);
        self.next = 0;
        self.before = thread_usage()?;
        Ok(())
    }

    /// Every touch of this turn was one fault. The thread may have had some others: its stack, its
    /// code for the first time, the list of times.
    pub fn check(&self) -> Result<()> {
        let faults = self.ground.faults(thread_usage()?.since(self.before));
        let touches = self.next as u64;
        if faults < touches && self.ground.faults_at_each_touch() {
            bail!("{touches} touches made only {faults} faults of the right kind");
        }
        if faults == 0 && touches > 0 {
            bail!("{touches} touches made no fault: the pages were mapped already");
        }
        if faults > touches + touches / 4 + FAULTS_OF_ITS_OWN {
            bail!("{touches} touches made {faults} faults");
        }
        self.ground.check(self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use syscost_sys::mapping::{Pages, page_bytes};

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

    /// The trap: base pages where huge ones are meant.
    #[test]
    fn a_base_page_is_not_taken_for_a_huge_one() {
        let Some(one) = huge_pages::bytes_of_one() else {
            eprintln!("skipped: this kernel has no transparent huge pages");
            return;
        };
        let huge = |memory| Anonymous { memory, huge_page_bytes: Some(one) };
        let mut base = huge(Mapping::anonymous(4 * one, Pages::Base).unwrap());
        let error = turn(&mut base, 4 * one, one).unwrap_err();
        assert!(error.is::<Unavailable>(), "{error}");
        match huge_pages::map(4 * one) {
            Ok(memory) => turn(&mut huge(memory), 4 * one, one).unwrap(),
            Err(why) => eprintln!("skipped: {}", why.reason),
        }
    }

    /// The trap: a page cache that is still warm.
    #[test]
    fn a_cold_file_is_really_cold_or_refused() {
        let dir = tempfile::tempdir_in(concat!(env!("CARGO_MANIFEST_DIR"), "/../../target")).unwrap();
        let mut cold = MappedFile::new(file_of(dir.path()), FileState::Cold).unwrap();
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
        let mut cold = MappedFile::new(file_of(dir.path()), FileState::Cold).unwrap();
        let error = cold.clear().unwrap_err();
        assert!(error.is::<Unavailable>(), "{error}");
    }

    /// The trap: a mapping that is there already. Touched twice, the second turn is an error.
    #[test]
    fn a_turn_over_a_mapped_file_faults_at_least_once() {
        struct Kept(MappedFile);
        impl Ground for Kept {
            fn clear(&mut self) -> Result<()> {
                if self.0.mapping.is_none() { self.0.clear() } else { Ok(()) }
            }
            fn touch(&mut self, offset: usize) {
                self.0.touch(offset);
            }
            fn faults(&self, usage: ThreadUsage) -> u64 {
                usage.minor_faults
            }
            fn faults_at_each_touch(&self) -> bool {
                false
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let mut read = MappedFile::new(file_of(dir.path()), FileState::ReadMapped).unwrap();
        let (_, touches) =
            Toucher::new(&mut read, FILE_BYTES as usize, page_bytes(), 1).unwrap().turn().unwrap();
        assert_eq!(touches, FILE_BYTES as usize / page_bytes());
        let mut kept = Kept(read);
        kept.clear().unwrap();
        let mut toucher = Toucher::new(&mut kept, FILE_BYTES as usize, page_bytes(), 1).unwrap();
        // The first turn may find the pages of the turn before; the second always does.
        let _ = toucher.turn();
        assert!(toucher.turn().unwrap_err().to_string().contains("mapped already"));
    }
}
