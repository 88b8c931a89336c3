//! Counters that the emulator of this machine keeps for each thread, in memory that it shares with the machine.
//!
//! A store that means nothing to the machine asks for them; when it is over they stand beside it. The other side is
//! tools/lab/src/cache_model/plugin.c, which has the same layout.

use super::mapping::MappedArea;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::AsRawFd;

/// User mode, the kernel outside of softirqs, softirqs.
pub const MODES: usize = 3;
/// L1i, L1d, L2 and last-level misses, instructions.
pub const COUNTERS: usize = 5;
pub type ThreadCounts = [[u64; COUNTERS]; MODES];

const SLOTS: usize = 1024;

/// What a thread asks of the emulator.
#[derive(Clone, Copy)]
enum Wish {
    OwnCounts,
    AllCounts,
}

#[repr(C, align(256))]
struct CounterSlot {
    mark: u32,
    /// Of slot 0: not 0 where the emulator has answered; of others a [`Wish`].
    wish: u32,
    /// Of slot 0: where the kernel's function lies that runs softirqs.
    softirqs: [u64; 2],
    /// Goes up with each answer.
    serial: u64,
    counts: ThreadCounts,
}

#[derive(Debug)]
pub struct ModelledCounters(MappedArea);

impl ModelledCounters {
    /// `memory`: what is shared with the emulator.
    pub fn open(memory: &File) -> io::Result<ModelledCounters> {
        if cfg!(not(target_arch = "x86_64")) {
            return Err(io::ErrorKind::Unsupported.into());
        }
        let bytes = SLOTS * size_of::<CounterSlot>();
        // Beyond the end of a shorter one is nothing.
        if memory.metadata()?.len() < bytes as u64 {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let access = libc::PROT_READ | libc::PROT_WRITE;
        MappedArea::map(bytes, access, libc::MAP_SHARED, memory.as_raw_fd()).map(ModelledCounters)
    }

    fn slot(&self, number: usize) -> *mut CounterSlot {
        // SAFETY: the number is taken modulo the slots that are mapped.
        unsafe { self.0.start.as_ptr().cast::<CounterSlot>().add(number % SLOTS) }
    }

    /// Tells where softirqs run, before anything is counted. False: nobody heard it.
    pub fn introduce(&self, softirqs: Range<u64>) -> bool {
        let slot = self.slot(0);
        // SAFETY: inside the mapping, and only the emulator reads it.
        unsafe { (&raw mut (*slot).softirqs).write_volatile([softirqs.start, softirqs.end]) };
        ask(slot);
        // SAFETY: inside the mapping; the emulator wrote it while the store above executed.
        unsafe { (&raw const (*slot).wish).read_volatile() != 0 }
    }

    /// Those of the calling thread until now; `None`: nobody answered. The first reading of any thread begins to count.
    pub fn read(&self) -> Option<ThreadCounts> {
        self.tell(Wish::OwnCounts)
    }

    /// Those of all threads together, but for what idle CPUs execute.
    pub fn read_all(&self) -> Option<ThreadCounts> {
        self.tell(Wish::AllCounts)
    }

    fn tell(&self, wish: Wish) -> Option<ThreadCounts> {
        thread_local!(static OWN: usize = own_slot());
        let slot = self.slot(OWN.with(|own| *own));
        // SAFETY: inside the mapping; the emulator writes it while this thread's store executes.
        let serial = move || unsafe { (&raw const (*slot).serial).read_volatile() };
        let before = serial();
        // SAFETY: inside the mapping, in the slot of this thread, and only the emulator reads it.
        unsafe { (&raw mut (*slot).wish).write_volatile(wish as u32) };
        ask(slot);
        // SAFETY: as above.
        let counts = unsafe { (&raw const (*slot).counts).read_volatile() };
        (serial() != before).then_some(counts)
    }
}

/// Threads that live at the same time have different ones, where there are fewer than a thousand.
fn own_slot() -> usize {
    // SAFETY: takes nothing and cannot fail.
    let thread = unsafe { libc::gettid() };
    1 + thread as usize % (SLOTS - 1)
}

#[cfg(target_arch = "x86_64")]
fn ask(slot: *mut CounterSlot) {
    // The emulator knows this instruction by its bytes.
    // SAFETY: writes the first word of a slot, which nobody reads.
    unsafe {
        core::arch::asm!("mov dword ptr [rdi], 0x5c05cace", in("rdi") slot, options(nostack, preserves_flags));
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn ask(_: *mut CounterSlot) {}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::offset_of;

    #[test]
    fn the_layout_is_the_plugin_s_and_silence_is_no_count() {
        assert_eq!(
            (size_of::<CounterSlot>(), offset_of!(CounterSlot, counts), offset_of!(CounterSlot, serial)),
            (256, 32, 24)
        );
        let file = tempfile::tempfile().unwrap();
        assert!(ModelledCounters::open(&file).is_err(), "too short");
        file.set_len(1 << 20).unwrap();
        let Ok(counters) = ModelledCounters::open(&file) else { return eprintln!("skipped: not x86-64") };
        assert_eq!((counters.introduce(1..2), counters.read()), (false, None));
    }
}
