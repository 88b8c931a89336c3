//! What the clocks of this machine are worth: the counter's rate, and what a reading costs.
//!
//! The readings themselves are in [`syscost_sys::clock`] and are passed on from here.
//! Sources: Intel SDM vol. 3, "Time-Stamp Counter"; vdso(7); Paoloni, "How to benchmark code
//! execution times" (2010).

use super::files::Root;
use super::modelled;
use super::settings::has_cpu_flag;
use std::sync::OnceLock;
use std::time::Duration;
use syscost_sys::cpuid::{self, Declared};
use syscost_sys::sleep::sleep;
use syscost_sys::{clock, timer};

pub use syscost_sys::clock::{ThreadUsage, gettime, own_cpu_clock, thread_cpu_ns, thread_usage};

/// CLOCK_MONOTONIC. Where an emulator counts operations, their counts are read with it.
#[inline]
pub fn monotonic_ns() -> u64 {
    if modelled::with_counts() { modelled::monotonic_ns() } else { clock::monotonic_ns() }
}

/// Long enough that reading both clocks (below 100 ns apart) costs the rate less than 10 ppm.
const CALIBRATION: Duration = Duration::from_millis(10);

/// The processor's constant-rate counter: reference cycles, not core cycles.
#[derive(Clone, Debug, PartialEq)]
pub struct TickCounter {
    pub hertz: f64,
    /// It runs at one rate in every power state; `None`: this machine does not say.
    pub invariant: Option<bool>,
    /// How the rate is known.
    pub source: &'static str,
    /// What the processor, its hypervisor or the kernel says the rate is.
    pub declared: Option<Declared>,
    /// The rate against CLOCK_MONOTONIC over what is declared, less 1.
    pub difference: Option<f64>,
}

impl TickCounter {
    /// A time in reference cycles.
    pub fn cycles(&self, ns: f64) -> f64 {
        ns * self.hertz / 1e9
    }
}

/// The counter and its rate; the first call takes ten milliseconds, in which it is calibrated.
pub fn tick_counter() -> Option<&'static TickCounter> {
    static COUNTER: OnceLock<Option<TickCounter>> = OnceLock::new();
    COUNTER.get_or_init(|| measure(&Root::here())).as_ref()
}

/// The counter's rate, unless it is known to vary.
pub fn constant_tick_rate() -> Option<f64> {
    tick_counter().filter(|counter| counter.invariant != Some(false)).map(|counter| counter.hertz)
}

fn measure(root: &Root) -> Option<TickCounter> {
    let measured = calibrate()?;
    let declared = declared(root);
    let difference = declared.map(|declared| measured / declared.hertz - 1.0);
    let (hertz, invariant, source) = match clock::declared_tick_hertz() {
        Some(hertz) => (hertz, Some(true), "CNTFRQ_EL0"),
        None => (measured, invariant(root), "calibrated against CLOCK_MONOTONIC"),
    };
    Some(TickCounter { hertz, invariant, source, declared, difference })
}

fn calibrate() -> Option<f64> {
    let (first_ns, first_ticks) = both_clocks()?;
    sleep(CALIBRATION);
    let (second_ns, second_ticks) = both_clocks()?;
    rate(first_ns, first_ticks, second_ns, second_ticks)
}

/// What is said of the counter's rate, by whoever should know best.
fn declared(root: &Root) -> Option<Declared> {
    let by_register = clock::declared_tick_hertz().map(|hertz| Declared { hertz, source: "CNTFRQ_EL0" });
    by_register.or_else(cpuid::tick_counter).or_else(|| declared_by_kernel(root))
}

/// `cpu MHz` is the rate that the kernel calibrated the counter to when it started, unless the
/// kernel can tell the frequency of the moment: then that is what stands there.
fn declared_by_kernel(root: &Root) -> Option<Declared> {
    if has_cpu_flag(root, "aperfmperf")? || root.exists("sys/devices/system/cpu/cpu0/cpufreq") {
        return None;
    }
    let megahertz: f64 = root.field("proc/cpuinfo", "cpu MHz")?.parse().ok()?;
    (megahertz > 0.0).then_some(Declared { hertz: megahertz * 1e6, source: "cpu MHz of /proc/cpuinfo" })
}

/// Both clocks at one moment: of some tries the one least disturbed.
fn both_clocks() -> Option<(f64, u64)> {
    let reading = || {
        let before = monotonic_ns();
        let ticks = clock::ticks()?;
        let after = monotonic_ns();
        Some((after - before, (before + after) as f64 / 2.0, ticks))
    };
    let tries: Option<Vec<_>> = (0..32).map(|_| reading()).collect();
    tries?.into_iter().min_by_key(|(gap, ..)| *gap).map(|(_, ns, ticks)| (ns, ticks))
}

/// `None` where the counter went backwards or stood still.
fn rate(first_ns: f64, first_ticks: u64, second_ns: f64, second_ticks: u64) -> Option<f64> {
    let (ns, ticks) = (second_ns - first_ns, second_ticks.checked_sub(first_ticks)?);
    (ns > 0.0 && ticks > 0).then(|| ticks as f64 * 1e9 / ns)
}

/// The kernel's flags for a counter of constant rate that does not stop in deep sleep.
fn invariant(root: &Root) -> Option<bool> {
    Some(has_cpu_flag(root, "constant_tsc")? && has_cpu_flag(root, "nonstop_tsc")?)
}

/// Does reading the clock avoid a system call?
#[derive(Clone, Debug, PartialEq)]
pub struct ClockReading {
    pub clocksource: Option<String>,
    pub by_vdso: bool,
    pub cost_ns: f64,
    pub system_call_cost_ns: f64,
}

/// Compares clock_gettime(2) as the C library calls it with the bare system call. Takes less than
/// a millisecond.
pub fn clock_reading() -> ClockReading {
    let cost_ns = cost(monotonic_ns);
    let system_call_cost_ns = cost(clock::monotonic_ns_by_system_call);
    ClockReading {
        clocksource: clocksource(&Root::here()),
        // Without the vDSO both are the same system call; with it one costs a fraction.
        by_vdso: cost_ns < 0.7 * system_call_cost_ns,
        cost_ns,
        system_call_cost_ns,
    }
}

/// The frequency at which this core runs now, by a chain of one-cycle steps: what a prediction in
/// cycles is converted with. Several looks, apart from each other: a neighbour on the core can fill one of them.
pub fn core_hertz() -> Option<f64> {
    const APART: Duration = Duration::from_millis(3);
    const STEPS: u64 = 100_000;
    let rate = || {
        let start = monotonic_ns();
        timer::count_down(STEPS)?;
        Some(STEPS as f64 * 1e9 / (monotonic_ns() - start).max(1) as f64)
    };
    fastest(rate, || sleep(APART))
}

/// Of several looks of several tries each: a disturbance only ever adds. `None`: this machine has no such chain.
fn fastest(rate: impl Fn() -> Option<f64>, pause: impl Fn()) -> Option<f64> {
    const LOOKS: usize = 6;
    const TRIES: usize = 6;
    let look = |_| {
        pause();
        (0..TRIES).map(|_| rate()).collect::<Option<Vec<f64>>>()
    };
    let looks: Option<Vec<Vec<f64>>> = (0..LOOKS).map(look).collect();
    looks?.into_iter().flatten().max_by(f64::total_cmp)
}

pub fn clocksource(root: &Root) -> Option<String> {
    root.text("sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The cheapest of some batches: a disturbance only ever adds.
fn cost(read: fn() -> u64) -> f64 {
    const CALLS: u32 = 100;
    let batch = || {
        let start = read();
        for _ in 0..CALLS {
            std::hint::black_box(read());
        }
        (read() - start) as f64 / f64::from(CALLS + 1)
    };
    (0..20).map(|_| batch()).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;
    use std::cell::Cell;

    #[test]
    fn a_rate_is_ticks_over_time() {
        assert_eq!(rate(1000.0, 5000, 11_000.0, 35_000), Some(3e9));
        assert_eq!(rate(1000.0, 5000, 11_000.0, 4000), None, "a counter that went backwards");
        assert_eq!(rate(1000.0, 5000, 1000.0, 6000), None);
        let counter =
            TickCounter { hertz: 2.5e9, invariant: None, source: "", declared: None, difference: None };
        assert_eq!(counter.cycles(1000.0), 2500.0);
    }

    #[test]
    fn the_counter_here_has_a_processors_rate() {
        let counter = tick_counter().expect("this architecture has a counter");
        assert!((1e6..1e10).contains(&counter.hertz), "{counter:?}");
    }

    #[test]
    fn the_kernels_calibration_counts_where_it_is_not_the_frequency_of_the_moment() {
        let machine = Machine::empty();
        machine.write("proc/cpuinfo", "cpu MHz\t\t: 2596.122\nflags\t\t: fpu tsc\n");
        assert_eq!(declared_by_kernel(&machine.root()).map(|d| d.hertz), Some(2_596_122_000.0));
        machine.write("proc/cpuinfo", "cpu MHz\t\t: 2596.122\nflags\t\t: fpu tsc aperfmperf\n");
        assert_eq!(declared_by_kernel(&machine.root()), None);
        assert_eq!(declared_by_kernel(&Machine::empty().root()), None);
    }

    #[test]
    fn invariance_needs_both_flags() {
        let machine = Machine::empty();
        assert_eq!(invariant(&machine.root()), None);
        machine.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc nonstop_tsc\n");
        assert_eq!(invariant(&machine.root()), Some(true));
        machine.write("proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu constant_tsc xtopology\n");
        assert_eq!(invariant(&machine.root()), Some(false));
    }

    /// It was said: 66 GB/s of a cache that gives 118, because all tries fell into one disturbed millisecond.
    #[test]
    fn a_disturbed_look_at_the_core_does_not_halve_its_frequency() {
        // A neighbour is on the core for the first two looks.
        let looks = Cell::new(0);
        let rate = || Some(if looks.get() <= 2 { 2.06e9 } else { 3.69e9 });
        assert_eq!(fastest(rate, || looks.set(looks.get() + 1)), Some(3.69e9));
        assert_eq!(fastest(|| None, || ()), None);
    }

    #[test]
    fn the_core_runs_at_a_processors_frequency() {
        assert!(core_hertz().is_none_or(|hertz| (1e8..1e10).contains(&hertz)), "{:?}", core_hertz());
    }

    #[test]
    fn a_reading_of_the_clock_costs_something() {
        let reading = clock_reading();
        assert!(reading.cost_ns > 0.0 && reading.system_call_cost_ns > 0.0, "{reading:?}");
    }
}
