//! Every way to read a processor's constant-rate counter, plain and fenced, as loops to be timed.
//!
//! `None`: this processor has no such instruction. Sources: Intel SDM vol. 2 (RDTSC, RDTSCP,
//! LFENCE), Arm ARM (CNTVCT_EL0, ISB).

/// Reads the counter this often.
pub type Loop = Option<fn(u64)>;

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::{__rdtscp, _mm_lfence, _rdtsc};
    use std::hint::black_box;

    pub fn rdtsc(n: u64) {
        for _ in 0..n {
            // SAFETY: RDTSC exists on every x86-64 and Linux leaves it enabled for user mode.
            black_box(unsafe { _rdtsc() });
        }
    }

    pub fn rdtscp(n: u64) {
        let mut cpu = 0;
        for _ in 0..n {
            // SAFETY: as RDTSC; the pointer is to a live integer. Every 64-bit processor since 2007 has it.
            black_box(unsafe { __rdtscp(&raw mut cpu) });
        }
    }

    pub fn lfence_rdtsc(n: u64) {
        for _ in 0..n {
            // SAFETY: as above; LFENCE is part of SSE2, which every x86-64 has.
            black_box(unsafe {
                _mm_lfence();
                _rdtsc()
            });
        }
    }

    pub fn rdtscp_lfence(n: u64) {
        let mut cpu = 0;
        for _ in 0..n {
            // SAFETY: as above.
            black_box(unsafe {
                let ticks = __rdtscp(&raw mut cpu);
                _mm_lfence();
                ticks
            });
        }
    }
}

#[cfg(target_arch = "x86_64")]
mod loops {
    use super::{Loop, x86};
    pub const RDTSC: Loop = Some(x86::rdtsc);
    pub const RDTSCP: Loop = Some(x86::rdtscp);
    pub const LFENCE_RDTSC: Loop = Some(x86::lfence_rdtsc);
    pub const RDTSCP_LFENCE: Loop = Some(x86::rdtscp_lfence);
    pub const CNTVCT: Loop = None;
    pub const ISB_CNTVCT: Loop = None;
}

#[cfg(target_arch = "aarch64")]
mod loops {
    use super::Loop;
    pub const RDTSC: Loop = None;
    pub const RDTSCP: Loop = None;
    pub const LFENCE_RDTSC: Loop = None;
    pub const RDTSCP_LFENCE: Loop = None;
    pub const CNTVCT: Loop = Some(|n| {
        for _ in 0..n {
            std::hint::black_box(crate::clock::ticks());
        }
    });
    pub const ISB_CNTVCT: Loop = Some(|n| {
        for _ in 0..n {
            // SAFETY: ISB only waits for what came before it.
            unsafe { core::arch::asm!("isb", options(nostack)) };
            std::hint::black_box(crate::clock::ticks());
        }
    });
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
mod loops {
    use super::Loop;
    pub const RDTSC: Loop = None;
    pub const RDTSCP: Loop = None;
    pub const LFENCE_RDTSC: Loop = None;
    pub const RDTSCP_LFENCE: Loop = None;
    pub const CNTVCT: Loop = None;
    pub const ISB_CNTVCT: Loop = None;
}

pub use loops::*;

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
