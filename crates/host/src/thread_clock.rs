//! Does a thread's CPU time contain what the hypervisor stole from it?
//!
//! Where the kernel takes stolen time off (CONFIG_PARAVIRT_TIME_ACCOUNTING, x86 and arm64 guests), a thread that spins has
//! less CPU time than the wall clock says, by what was stolen. Elsewhere stolen time is charged to the thread. What else
//! is missing from its clock is time that it waited for the CPU and, where interrupts are accounted apart, theirs.
//! Sources: kernel/sched/core.c (update_rq_clock_task), Documentation/scheduler/sched-stats.rst, proc(5) /proc/stat.

use super::files::Root;
use super::noise::Noise;
use super::settings;
use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};
use syscost_sys::affinity;
use syscost_sys::clock::{monotonic_ns, thread_cpu_ns};

/// /proc/stat counts in ticks: of fewer than these an error of one is too much.
const LEAST_TICKS: u64 = 3;
/// Shares of the stolen time that is missing from the thread's clock: below one nothing of it, above the other all.
const NOTHING: f64 = 0.3;
const ALL: f64 = 0.6;
/// Between two readings.
const SPIN: Duration = Duration::from_millis(10);

/// What became of stolen time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StolenTime {
    /// A thread's CPU time contains it.
    Included,
    Excluded,
    /// Too little was stolen in that time.
    #[default]
    NotSeen,
    /// Enough was stolen, and neither nothing nor all of it is missing.
    Unclear,
}

/// One thread that spun on one CPU, by every clock; stretches in which a CPU quota stopped it are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadClock {
    pub wall_ns: u64,
    /// By CLOCK_THREAD_CPUTIME_ID.
    pub cpu_ns: u64,
    /// By schedstat: on the CPU (as of the last tick), and waiting for it.
    pub run_ns: u64,
    pub wait_ns: u64,
    /// Of the CPU, by /proc/stat.
    pub steal_ns: u64,
    /// Interrupts on that CPU, where the kernel accounts them apart from threads.
    pub interrupts_ns: u64,
    pub stolen: StolenTime,
}

impl ThreadClock {
    /// Wall time that is in no account but steal's.
    pub fn missing_ns(&self) -> u64 {
        self.wall_ns.saturating_sub(self.cpu_ns + self.wait_ns + self.interrupts_ns)
    }

    /// Stolen while the thread had the CPU: while it waits, the CPU is stolen from others.
    fn stolen_from_thread_ns(&self) -> f64 {
        let wall = self.wall_ns.max(1) as f64;
        self.steal_ns as f64 * (1.0 - (self.wait_ns as f64 / wall).min(1.0))
    }

    /// The share of the thread's wish for CPU time that was stolen.
    pub fn stolen_share(&self) -> f64 {
        self.stolen_from_thread_ns() / self.wall_ns.saturating_sub(self.wait_ns).max(1) as f64
    }

    fn judged(self, tick_ns: u64) -> ThreadClock {
        let stolen_ns = self.stolen_from_thread_ns();
        let missing = self.missing_ns() as f64 / stolen_ns.max(1.0);
        let stolen = match () {
            () if stolen_ns < (LEAST_TICKS * tick_ns) as f64 => StolenTime::NotSeen,
            () if missing <= NOTHING => StolenTime::Included,
            () if missing >= ALL => StolenTime::Excluded,
            () => StolenTime::Unclear,
        };
        ThreadClock { stolen, ..self }
    }

    /// Each time of this one and the other, taken together.
    fn zip(&self, other: &ThreadClock, of: fn(u64, u64) -> u64) -> ThreadClock {
        ThreadClock {
            wall_ns: of(self.wall_ns, other.wall_ns),
            cpu_ns: of(self.cpu_ns, other.cpu_ns),
            run_ns: of(self.run_ns, other.run_ns),
            wait_ns: of(self.wait_ns, other.wait_ns),
            steal_ns: of(self.steal_ns, other.steal_ns),
            interrupts_ns: of(self.interrupts_ns, other.interrupts_ns),
            stolen: StolenTime::NotSeen,
        }
    }

    /// Adds stretches until stolen time can be judged, or there are no more.
    fn of(stretches: impl Iterator<Item = ThreadClock>, tick_ns: u64) -> ThreadClock {
        let mut sum = ThreadClock::default();
        for stretch in stretches {
            sum = sum.zip(&stretch, |sum, more| sum + more).judged(tick_ns);
            if matches!(sum.stolen, StolenTime::Included | StolenTime::Excluded) {
                break;
            }
        }
        sum
    }

    /// Spins on one CPU until stolen time can be judged, for so long at most or until it is told to end. `None`: this
    /// machine does not say what is needed, or its CPU time means nothing.
    pub fn look(most: Duration, ended: &(dyn Fn() -> bool + Sync)) -> Option<ThreadClock> {
        if settings::emulator_here().is_some() {
            return None;
        }
        // A thread of its own: its affinity ends with it.
        std::thread::scope(|scope| {
            // A user may have no thread left.
            let spinning = std::thread::Builder::new().spawn_scoped(scope, || spin(most, ended)).ok()?;
            spinning.join().ok()?
        })
    }
}

fn spin(most: Duration, ended: &dyn Fn() -> bool) -> Option<ThreadClock> {
    let cpu = affinity::current()?;
    affinity::restrict(&[cpu]).ok()?;
    let root = Root::here();
    let apart = settings::irq_time_accounting(&root).is_some_and(|(apart, _)| apart);
    let until = Instant::now() + most;
    let mut before = SpinReading::of(&root, cpu, apart)?;
    let stretches = std::iter::from_fn(|| {
        while Instant::now() < until && !ended() {
            let turn = Instant::now() + SPIN;
            while Instant::now() < turn {
                std::hint::spin_loop();
            }
            let now = SpinReading::of(&root, cpu, apart)?;
            let stretch = now.since(&before);
            before = now;
            if stretch.is_some() {
                return stretch;
            }
        }
        None
    });
    Some(ThreadClock::of(stretches, tick_ns())).filter(|sum| sum.wall_ns > 0)
}

fn tick_ns() -> u64 {
    1_000_000_000 / clock_ticks_per_second()
}

/// Every clock at one moment, since each began.
struct SpinReading {
    clocks: ThreadClock,
    throttled_periods: Option<u64>,
}

impl SpinReading {
    fn of(root: &Root, cpu: usize, interrupts_apart: bool) -> Option<SpinReading> {
        let stat = root.text("proc/stat")?;
        let (steal_ns, interrupts_ns) = of_cpu(&stat, cpu)?;
        let schedstat = root.text("proc/thread-self/schedstat")?;
        let mut fields = schedstat.split_whitespace().map_while(|field| field.parse().ok());
        let clocks = ThreadClock {
            run_ns: fields.next()?,
            wait_ns: fields.next()?,
            steal_ns,
            interrupts_ns: if interrupts_apart { interrupts_ns } else { 0 },
            wall_ns: monotonic_ns(),
            cpu_ns: thread_cpu_ns(),
            stolen: StolenTime::NotSeen,
        };
        Some(SpinReading { clocks, throttled_periods: Noise::now().throttled_periods })
    }

    /// `None`: a CPU quota stopped the thread in between.
    fn since(&self, earlier: &SpinReading) -> Option<ThreadClock> {
        let since = self.clocks.zip(&earlier.clocks, u64::saturating_sub);
        (self.throttled_periods == earlier.throttled_periods).then_some(since)
    }
}

/// Stolen from a CPU, and spent on it in interrupts and softirqs.
fn of_cpu(stat: &str, cpu: usize) -> Option<(u64, u64)> {
    let name = format!("cpu{cpu} ");
    let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
    let fields: Vec<u64> = line.split_whitespace().map_while(|field| field.parse().ok()).collect();
    let ns = |ticks: u64| ticks * tick_ns();
    Some((ns(*fields.get(7)?), ns(fields[5] + fields[6])))
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::random::Random;

    const MS: u64 = 1_000_000;
    const TICK: u64 = 10 * MS;

    /// A machine on which a thread spins for half a second, by 10 ms.
    struct Guest {
        excludes_steal: bool,
        /// Shares of the wall time.
        steal: f64,
        others: f64,
        /// Accounted apart from threads, and whether /proc/stat says so.
        interrupts: f64,
        interrupts_known: bool,
    }

    impl Guest {
        const QUIET: Guest = Guest {
            excludes_steal: false,
            steal: 0.0,
            others: 0.0,
            interrupts: 0.004,
            interrupts_known: true,
        };

        /// Steal and other work come in bursts of their own, and /proc/stat counts whole ticks.
        fn seen(&self, random: &mut Random) -> ThreadClock {
            let (mut stolen, mut interrupted) = (random.unit() * TICK as f64, random.unit() * TICK as f64);
            let stretches = (0..50).map(|_| {
                let wall = (10 * MS) as f64;
                let burst = |share: f64, random: &mut Random| {
                    let burst = 2.0 * share / 0.6 * random.unit();
                    if random.unit() < 0.6 { burst.min(1.0) } else { 0.0 }
                };
                let wait = wall * burst(self.others, random);
                let steal = (wall - wait) * burst(self.steal, random);
                let interrupts = wall * self.interrupts;
                let missing = interrupts + if self.excludes_steal { steal } else { 0.0 };
                let ticks = |before: f64, after: f64| (after as u64 / TICK - before as u64 / TICK) * TICK;
                let stretch = ThreadClock {
                    wall_ns: wall as u64,
                    cpu_ns: (wall - wait - missing).max(0.0) as u64,
                    run_ns: (wall - wait - missing).max(0.0) as u64,
                    wait_ns: wait as u64,
                    steal_ns: ticks(stolen, stolen + steal),
                    interrupts_ns: if self.interrupts_known {
                        ticks(interrupted, interrupted + interrupts)
                    } else {
                        0
                    },
                    stolen: StolenTime::NotSeen,
                };
                (stolen, interrupted) = (stolen + steal, interrupted + interrupts);
                stretch
            });
            ThreadClock::of(stretches, TICK)
        }

        /// How many of a thousand looks say each answer.
        fn answers(&self) -> [usize; 4] {
            let mut random = Random::new(77);
            let mut counts = [0; 4];
            for _ in 0..1000 {
                counts[self.seen(&mut random).stolen as usize] += 1;
            }
            counts
        }
    }

    #[test]
    fn both_kinds_of_kernel_are_told_apart_and_hardly_ever_mistaken() {
        for (steal, least) in [(0.3, 990), (0.15, 900)] {
            for others in [0.0, 0.2] {
                let includes = Guest { steal, others, ..Guest::QUIET }.answers();
                let excludes = Guest { steal, others, excludes_steal: true, ..Guest::QUIET }.answers();
                assert!(includes[0] >= least && includes[1] == 0, "{steal} {others}: {includes:?}");
                assert!(excludes[1] >= least && excludes[0] == 0, "{steal} {others}: {excludes:?}");
            }
        }
    }

    #[test]
    fn nothing_is_said_where_hardly_anything_was_stolen() {
        for guest in [Guest::QUIET, Guest { others: 0.3, ..Guest::QUIET }] {
            assert_eq!(guest.answers(), [0, 0, 1000, 0]);
        }
        let some = Guest { steal: 0.02, excludes_steal: true, ..Guest::QUIET }.answers();
        assert!(some[0] == 0 && some[2] > 900, "{some:?}");
    }

    /// The kernel's configuration cannot be read everywhere: a per cent of interrupts does not look like steal.
    #[test]
    fn interrupts_that_nobody_counts_make_no_false_answer() {
        let guest = Guest { steal: 0.1, interrupts: 0.01, interrupts_known: false, ..Guest::QUIET };
        let includes = guest.answers();
        assert!(includes[1] == 0, "{includes:?}");
        let excludes = Guest { excludes_steal: true, ..guest }.answers();
        assert!(excludes[0] == 0 && excludes[1] > 500, "{excludes:?}");
    }

    #[test]
    fn the_stolen_share_is_of_what_the_thread_wanted() {
        let wall_ns = 1000 * MS;
        let half = ThreadClock { wall_ns, wait_ns: 500 * MS, steal_ns: 200 * MS, ..ThreadClock::default() };
        assert!((half.stolen_share() - 0.2).abs() < 1e-9);
        assert_eq!(half.missing_ns(), 500 * MS);
    }

    #[test]
    fn a_stretch_in_which_a_quota_stopped_the_thread_is_left_out() {
        let reading = |wall_ns, periods| SpinReading {
            clocks: ThreadClock { wall_ns, ..ThreadClock::default() },
            throttled_periods: periods,
        };
        assert_eq!(reading(9, Some(4)).since(&reading(2, Some(3))), None);
        assert_eq!(reading(9, Some(3)).since(&reading(2, Some(3))).unwrap().wall_ns, 7);
        assert_eq!(reading(9, None).since(&reading(2, None)).unwrap().wall_ns, 7);
    }

    #[test]
    fn lines_of_a_cpu_are_read_and_no_other_s() {
        let stat = "cpu  9 9 9 9 9 9 9 9 0 0\ncpu1 1 0 2 3 4 5 6 7 0 0\ncpu11 1 0 2 3 4 1 1 1 0 0\n";
        assert_eq!(of_cpu(stat, 1), Some((7 * tick_ns(), 11 * tick_ns())));
        assert_eq!(of_cpu(stat, 2), None);
        assert_eq!(of_cpu("cpu0 1 2 3\n", 0), None, "before Linux 2.6.11");
    }

    #[test]
    fn this_machine_s_clocks_agree_but_for_what_was_stolen() {
        let Some(seen) = ThreadClock::look(Duration::from_millis(60), &|| false) else { return };
        assert!(seen.wall_ns >= 10 * MS && seen.cpu_ns <= seen.wall_ns + MS, "{seen:?}");
        assert!(seen.cpu_ns + seen.wait_ns <= seen.wall_ns + 5 * MS, "{seen:?}");
        assert_eq!(ThreadClock::look(Duration::from_secs(9), &|| true), None, "ended before a stretch");
    }
}
