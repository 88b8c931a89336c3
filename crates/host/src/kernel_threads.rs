//! CPU time that is in no data thread's clock: of kernel threads that work for a flow (ksoftirqd, kworker, napi), and of CPUs
//! that were busy while no thread ran.
//!
//! Between two readings lies the work of the whole machine, so a difference is the most that a flow can have caused. What no
//! clock has is interrupts that end an idle CPU's sleep, and its way into and out of that sleep.
//! Where processes are not seen as the kernel numbers them (a container), there are no kernel threads, and nothing is known.
//! Source: proc(5), Documentation/scheduler/sched-stats.rst (the first number of schedstat is time on a CPU in ns);
//! kernel/time/tick-sched.c (an interrupt ends the idle time of /proc/stat).

use super::clock::monotonic_ns;
use super::files::Root;
use rustix::param::clock_ticks_per_second;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The process whose children kernel threads are.
const KTHREADD: &str = "2";

/// A thread's process, its name up to the first `/` where it is the kernel's, and its time.
type Clock = (u32, Option<String>, u64);

/// The clocks of all threads, and of the machine, at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadClocks {
    at_ns: u64,
    /// By number.
    threads: BTreeMap<u32, Clock>,
    /// Of each CPU. Of a CPU that stops its tick when idle it is exact but for the tick that it is told in.
    idle_ns: Vec<u64>,
}

/// What was spent between two moments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClockedTime {
    /// By kernel threads, by name; only those that did.
    pub kernel_threads: BTreeMap<String, u64>,
    /// By the threads of the processes asked for.
    pub own_ns: u64,
    pub machine: MachineTime,
}

/// The machine's own account of the same time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MachineTime {
    /// Time in which CPUs were not idle, and how exactly that is known.
    pub busy_ns: u64,
    pub resolution_ns: u64,
    /// What the clocks of all threads have of it.
    pub clocked_ns: u64,
    /// Threads of programs that ended meanwhile: their time is not known.
    pub ended: u64,
}

impl MachineTime {
    /// The share of the busy time that no thread's clock has. None can be told where threads ended, or where the ticks of
    /// /proc/stat are more than a tenth of the busy time.
    pub fn in_no_clock(&self) -> Option<f64> {
        let known = self.ended == 0 && self.busy_ns >= 10 * self.resolution_ns.max(1);
        known.then(|| self.busy_ns.saturating_sub(self.clocked_ns) as f64 / self.busy_ns as f64)
    }
}

impl ThreadClocks {
    /// `None`: this machine does not show kernel threads.
    pub fn now() -> Option<ThreadClocks> {
        ThreadClocks::at(&Root::here(), monotonic_ns())
    }

    fn at(root: &Root, at_ns: u64) -> Option<ThreadClocks> {
        let stat = root.text("proc/stat")?;
        let idle = |line: &str| {
            let mut fields =
                line.strip_prefix("cpu").filter(|rest| !rest.starts_with(' '))?.split_whitespace();
            // The columns idle and iowait.
            let ticks = fields.nth(4)?.parse::<u64>().ok()? + fields.next()?.parse::<u64>().ok()?;
            Some(ticks * tick_ns())
        };
        let idle_ns: Vec<u64> = stat.lines().filter_map(idle).collect();
        let numbered = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let mut threads = BTreeMap::new();
        for process in root.names("proc").into_iter().filter(numbered) {
            let Some(stat) = root.text(&format!("proc/{process}/stat")) else { continue };
            let Some((name, rest)) = stat.split_once('(').and_then(|(_, rest)| rest.rsplit_once(')')) else {
                continue;
            };
            let of_kernel = rest.split_whitespace().nth(1) == Some(KTHREADD);
            let name = of_kernel.then(|| name.split('/').next().unwrap_or(name).to_string());
            for thread in root.names(&format!("proc/{process}/task")) {
                let times = root.text(&format!("proc/{process}/task/{thread}/schedstat"));
                let ns = times.and_then(|times| times.split_whitespace().next()?.parse().ok());
                if let (Ok(process), Ok(thread), Some(ns)) = (process.parse(), thread.parse(), ns) {
                    threads.insert(thread, (process, name.clone(), ns));
                }
            }
        }
        let shown = threads.values().any(|(_, name, _)| name.is_some());
        shown.then_some(ThreadClocks { at_ns, threads, idle_ns })
    }

    /// What was spent since, and what of it by these processes.
    pub fn since(&self, earlier: &ThreadClocks, own: &[u32]) -> ClockedTime {
        let mut spent = ClockedTime::default();
        for (number, (process, name, ns)) in &self.threads {
            // A thread that was made in between has worked for its whole time.
            let known = earlier.threads.get(number).filter(|known| known.1 == *name);
            let more = ns.saturating_sub(known.map_or(0, |known| known.2));
            spent.machine.clocked_ns += more;
            spent.own_ns += if own.contains(process) { more } else { 0 };
            if let Some(name) = name.as_ref().filter(|_| more > 0) {
                *spent.kernel_threads.entry(name.clone()).or_default() += more;
            }
        }
        // A kernel thread ends when it has been idle for minutes.
        let gone = |(number, clock): &(&u32, &Clock)| clock.1.is_none() && !self.threads.contains_key(number);
        spent.machine.ended = earlier.threads.iter().filter(gone).count() as u64;
        let wall_ns = self.at_ns.saturating_sub(earlier.at_ns);
        let idle = self.idle_ns.iter().zip(&earlier.idle_ns).map(|(now, then)| now.saturating_sub(*then));
        spent.machine.busy_ns = idle.map(|idle_ns| wall_ns.saturating_sub(idle_ns)).sum();
        spent.machine.resolution_ns = self.idle_ns.len() as u64 * tick_ns();
        spent
    }
}

/// /proc/stat counts in these.
fn tick_ns() -> u64 {
    1_000_000_000 / clock_ticks_per_second()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(ksoftirqd_ns: u64, later: bool) -> (tempfile::TempDir, ThreadClocks) {
        let folder = tempfile::tempdir().unwrap();
        let write = |number: u32, name: &str, parent: u32, ns: u64| {
            let own = folder.path().join(format!("proc/{number}"));
            std::fs::create_dir_all(own.join(format!("task/{number}"))).unwrap();
            std::fs::write(own.join("stat"), format!("{number} ({name}) S {parent} 0 0 0\n")).unwrap();
            std::fs::write(own.join(format!("task/{number}/schedstat")), format!("{ns} 5 7\n")).unwrap();
        };
        write(15, "ksoftirqd/0", 2, ksoftirqd_ns);
        write(20, "ksoftirqd/1", 2, 2 * ksoftirqd_ns);
        write(30, "kworker/0:1-events", 2, 77);
        write(400, "not (a) kernel thread", 1, 1_000 * ksoftirqd_ns);
        if later {
            write(500, "napi/eth0-3", 2, 9);
        } else {
            write(600, "cc1", 1, 9);
            write(700, "kworker/1:2", 2, 9);
        }
        let idle = if later { 30 } else { 10 };
        let stat = format!("cpu  1 0 1 99 0 0 0 0\ncpu0 1 0 1 {idle} 3 0 0 0\ncpu1 1 0 1 50 0 0 0 0\n");
        std::fs::write(folder.path().join("proc/stat"), stat).unwrap();
        let at_ns = if later { 50 * tick_ns() } else { 0 };
        let read = ThreadClocks::at(&Root::at(folder.path()), at_ns).unwrap();
        (folder, read)
    }

    #[test]
    fn what_kernel_threads_spent_is_told_by_name_and_busy_time_is_of_all_cpus() {
        let ((_a, before), (_b, after)) = (machine(100, false), machine(150, true));
        let spent = after.since(&before, &[400]);
        let by_name: Vec<(String, u64)> = spent.kernel_threads.clone().into_iter().collect();
        assert_eq!(by_name, [("ksoftirqd".to_string(), 150), ("napi".to_string(), 9)]);
        assert_eq!((spent.own_ns, spent.machine.clocked_ns, spent.machine.ended), (50_000, 50_159, 1));
        assert_eq!((spent.machine.busy_ns, spent.machine.resolution_ns), (80 * tick_ns(), 2 * tick_ns()));
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(ThreadClocks::at(&Root::at(empty.path()), 0), None, "a container shows none");
    }

    #[test]
    fn what_no_clock_has_is_told_only_where_every_clock_was_read_and_ticks_are_fine_enough() {
        let machine = |ended, busy_ns| MachineTime { busy_ns, resolution_ns: 20, clocked_ns: 900, ended };
        assert_eq!(machine(0, 1000).in_no_clock(), Some(0.1));
        assert_eq!(machine(0, 890).in_no_clock(), Some(0.0), "an error of ticks is no negative time");
        assert_eq!((machine(1, 1000).in_no_clock(), machine(0, 199).in_no_clock()), (None, None));
    }
}
