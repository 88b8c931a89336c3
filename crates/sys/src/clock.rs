//! Clocks, thread accounting and the processor's constant-rate counter, each as one cheap call.
//!
//! Sources: clock_gettime(2), getrusage(2), Intel SDM vol. 2 (RDTSC), Arm ARM (CNTVCT_EL0).

use crate::status::done;
use std::io;

/// One reading of a kernel clock in nanoseconds, through the vDSO where there is one.
#[inline]
pub fn gettime(clock: libc::clockid_t) -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec. It fails only for a clock that does not exist;
    // those used here exist on every Linux.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// The wall clock, as far as it is set.
pub fn unix_ns() -> u64 {
    gettime(libc::CLOCK_REALTIME)
}

/// CLOCK_MONOTONIC: the same clock in every process and namespace of a host.
#[inline]
pub fn monotonic_ns() -> u64 {
    gettime(libc::CLOCK_MONOTONIC)
}

/// CLOCK_MONOTONIC by a real system call, whatever the vDSO offers.
#[inline]
pub fn monotonic_ns_by_system_call() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as in `gettime`.
    unsafe { libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_MONOTONIC, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// How long the machine has slept since boot: CLOCK_BOOTTIME goes on while it does, CLOCK_MONOTONIC
/// does not. In steps of a millisecond, below which two readings after another differ anyway.
pub fn suspended_ns() -> u64 {
    const STEP_NS: u64 = 1_000_000;
    let difference = gettime(libc::CLOCK_BOOTTIME).saturating_sub(monotonic_ns());
    (difference + STEP_NS / 2) / STEP_NS * STEP_NS
}

/// CPU time of the calling thread, user and kernel, and whatever softirq work was charged to it.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    gettime(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The clock of the calling thread's CPU time, which other threads of the process can read ([`gettime`]).
pub fn own_cpu_clock() -> io::Result<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the thread is the calling one, and the pointer is to a live clock id.
    match unsafe { libc::pthread_getcpuclockid(libc::pthread_self(), &raw mut clock) } {
        0 => Ok(clock),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// The clock of the CPU time of another process of this user, all its threads together.
pub fn of_process(pid: u32) -> io::Result<libc::clockid_t> {
    let mut clock = 0;
    // SAFETY: the pointer is to a live clock id.
    match unsafe { libc::clock_getcpuclockid(pid as libc::pid_t, &raw mut clock) } {
        0 => Ok(clock),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// What the kernel counts for one thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadUsage {
    pub voluntary_switches: u64,
    pub involuntary_switches: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
}

impl ThreadUsage {
    #[inline]
    pub fn since(self, earlier: ThreadUsage) -> ThreadUsage {
        ThreadUsage {
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
            minor_faults: self.minor_faults.saturating_sub(earlier.minor_faults),
            major_faults: self.major_faults.saturating_sub(earlier.major_faults),
        }
    }
}

/// Totals of the calling thread since it started.
#[inline]
pub fn thread_usage() -> io::Result<ThreadUsage> {
    let usage = usage(libc::RUSAGE_THREAD)?;
    Ok(ThreadUsage {
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        minor_faults: usage.ru_minflt as u64,
        major_faults: usage.ru_majflt as u64,
    })
}

#[inline]
pub(super) fn usage(of: libc::c_int) -> io::Result<libc::rusage> {
    // SAFETY: an rusage is plain numbers, for which zeroes are valid.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: the pointer is to a live rusage.
    done(unsafe { libc::getrusage(of, &raw mut usage) }).map(|()| usage)
}

/// The processor's constant-rate counter: not core cycles. `None` on other processors.
#[inline]
pub fn ticks() -> Option<u64> {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: RDTSC exists on every x86-64 and Linux leaves it enabled for user mode.
        Some(unsafe { core::arch::x86_64::_rdtsc() })
    }
    #[cfg(target_arch = "aarch64")]
    {
        let ticks: u64;
        // SAFETY: Linux lets user mode read this register; the read changes nothing.
        unsafe { core::arch::asm!("mrs {}, cntvct_el0", out(reg) ticks, options(nomem, nostack)) };
        Some(ticks)
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        None
    }
}

/// The counter's rate where the processor itself says it (CNTFRQ_EL0).
pub fn declared_tick_hertz() -> Option<f64> {
    #[cfg(target_arch = "aarch64")]
    {
        let hertz: u64;
        // SAFETY: as in `ticks`.
        unsafe { core::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack)) };
        (hertz > 0).then_some(hertz as f64)
    }
    #[cfg(not(target_arch = "aarch64"))]
    {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_advance_and_agree() {
        let (before, by_call, after) = (monotonic_ns(), monotonic_ns_by_system_call(), monotonic_ns());
        assert!(before <= by_call && by_call <= after, "one clock, two ways to read it");
        if let (Some(a), Some(b)) = (ticks(), ticks()) {
            assert!(b >= a);
        }
    }

    #[test]
    fn a_thread_is_charged_for_its_own_work_only() {
        let mine = thread_cpu_ns();
        let other = std::thread::spawn(|| {
            let mut sum = 0u64;
            while thread_cpu_ns() < 20_000_000 {
                sum = std::hint::black_box(sum + 1);
            }
            thread_cpu_ns()
        });
        assert!(other.join().unwrap() >= 20_000_000);
        assert!(thread_cpu_ns() - mine < 20_000_000, "waiting costs no CPU time");
    }

    #[test]
    fn sleeping_is_a_voluntary_switch() {
        let before = thread_usage().unwrap();
        crate::sleep::sleep(std::time::Duration::from_millis(1));
        assert!(thread_usage().unwrap().since(before).voluntary_switches >= 1);
    }
}
