//! Every way to read a processor's constant-rate counter, plain and fenced, as loops to be timed.
//!
//! `None`: this processor has no such instruction. Sources: Intel SDM vol. 2 (RDTSC, RDTSCP,
//! LFENCE), Arm ARM (CNTVCT_EL0, ISB).

use std::hint::black_box;

/// Reads the counter this often.
pub type Loop = Option<fn(u64)>;

/// Loops that exist on one architecture, and are `None` on every other.
macro_rules! loops {
    ($($arch:literal $name:ident = $read:expr;)*) => {$(
        #[cfg(target_arch = $arch)]
        pub const $name: Loop = Some(|n| repeat(n, $read));
        #[cfg(not(target_arch = $arch))]
        pub const $name: Loop = None;
    )*};
}

loops! {
    "x86_64" RDTSC = x86::rdtsc;
    "x86_64" RDTSCP = x86::rdtscp;
    "x86_64" LFENCE_RDTSC = x86::lfence_rdtsc;
    "x86_64" RDTSCP_LFENCE = x86::rdtscp_lfence;
    "aarch64" CNTVCT = crate::clock::ticks;
    "aarch64" ISB_CNTVCT = isb_cntvct;
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};

    #[inline(always)]
    pub fn rdtsc() -> u64 {
        // SAFETY: RDTSC exists on every x86-64 and Linux leaves it enabled for user mode.
        unsafe { _rdtsc() }
    }

    #[inline(always)]
    pub fn rdtscp() -> u64 {
        // SAFETY: as RDTSC; the pointer is to a live integer. Every 64-bit processor since 2007 has it.
        unsafe { __rdtscp(&mut 0) }
    }

    #[inline(always)]
    fn lfence() {
        // SAFETY: LFENCE is part of SSE2, which every x86-64 has.
        unsafe { _mm_lfence() }
    }

    #[inline(always)]
    pub fn lfence_rdtsc() -> u64 {
        lfence();
        rdtsc()
    }

    #[inline(always)]
    pub fn rdtscp_lfence() -> u64 {
        let ticks = rdtscp();
        lfence();
        ticks
    }
}

#[cfg(target_arch = "aarch64")]
#[inline(always)]
fn isb_cntvct() -> Option<u64> {
    // SAFETY: ISB only waits for what came before it.
    unsafe { core::arch::asm!("isb", options(nostack)) };
    crate::clock::ticks()
}

#[inline(always)]
fn repeat<T>(n: u64, read: impl Fn() -> T) {
    for _ in 0..n {
        black_box(read());
    }
}

/// Counts down to zero: one cycle a step on every superscalar processor, whatever its frequency,
/// because each step needs the one before. `None` on a processor for which it is not written.
pub fn count_down(steps: u64) -> Option<()> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: changes one register, which it is given; `steps` is at least 1.
        unsafe {
            core::arch::asm!("2: dec {n}", "jnz 2b", n = inout(reg) steps.max(1) => _, options(nomem, nostack));
        }
        Some(())
    }
    #[cfg(target_arch = "aarch64")]
    {
        // SAFETY: changes one register, which it is given, and flags; `steps` is at least 1.
        unsafe {
            core::arch::asm!("2: subs {n}, {n}, #1", "b.ne 2b", n = inout(reg) steps.max(1) => _, options(nomem, nostack));
        }
        Some(())
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        let _ = steps;
        None
    }
}
