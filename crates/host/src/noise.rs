//! What disturbs a measurement from outside: stolen time, throttling, quotas, other load.
//!
//! Readings are cheap (a few small files) and mean nothing alone; two of them say what happened in
//! between. What a machine does not say is `None`, never 0. Sources: proc(5) /proc/stat,
//! Documentation/admin-guide/cgroup-v2.rst, sched-bwc.rst, Documentation/arch/x86 (thermal).

use super::allowance;
use super::files::Root;
use rustix::param::clock_ticks_per_second;
use std::collections::BTreeMap;
use std::sync::OnceLock;
use syscost_sys::clock::{monotonic_ns, suspended_ns};

/// Where this machine says such things; found once.
#[derive(Clone, Debug)]
pub struct Sources {
    root: Root,
    thermal: Vec<String>,
    /// cpu.stat of our own control group and those above it: each counts its own quota alone.
    cgroup_stats: Vec<String>,
}

impl Sources {
    pub fn at(root: Root) -> Sources {
        let cpus = root.names("sys/devices/system/cpu");
        let files = cpus.iter().flat_map(|cpu| {
            ["core_throttle_count", "package_throttle_count"]
                .map(|file| format!("sys/devices/system/cpu/{cpu}/thermal_throttle/{file}"))
        });
        let thermal = files.filter(|file| root.exists(file)).collect();
        let groups = allowance::groups(&root, "cpu").unwrap_or_default();
        let cgroup_stats = groups.into_iter().map(|folder| format!("{folder}/cpu.stat")).collect();
        Sources { thermal, cgroup_stats, root }
    }

    pub fn read(&self) -> Noise {
        let (throttled_periods, throttled_ns) = self.cgroup();
        Noise {
            elapsed_ns: monotonic_ns(),
            busy_ns: self.busy(),
            steal_ns_by_cpu: self.steal().unwrap_or_default(),
            throttle_events: self.throttle_events(),
            throttled_periods,
            throttled_ns,
            load_average: self.root.text("proc/loadavg").and_then(|t| t.split(' ').next()?.parse().ok()),
            suspended_ns: suspended_ns(),
        }
    }

    /// CPU -> time that the hypervisor took from it. The column exists since Linux 2.6.11; a
    /// guest whose hypervisor does not report it reads 0.
    fn steal(&self) -> Option<BTreeMap<usize, u64>> {
        let stat = self.root.text("proc/stat")?;
        let tick_ns = 1_000_000_000 / clock_ticks_per_second();
        let of_line = |line: &str| {
            let mut fields = line.strip_prefix("cpu")?.split_whitespace();
            let cpu = fields.next()?.parse().ok()?;
            let steal: u64 = fields.nth(7)?.parse().ok()?;
            Some((cpu, steal * tick_ns))
        };
        // The first line is the sum, and starts with `cpu` and a blank.
        let lines = stat.lines().filter(|line| !line.starts_with("cpu "));
        Some(lines.filter_map(of_line).collect())
    }

    /// Time in which CPUs worked for anybody: user, nice, system, irq, softirq.
    fn busy(&self) -> Option<u64> {
        let stat = self.root.text("proc/stat")?;
        let sum = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let fields: Vec<u64> = sum.split_whitespace().filter_map(|n| n.parse().ok()).collect();
        let working = [0, 1, 2, 5, 6].iter().map(|i| fields.get(*i).copied()).sum::<Option<u64>>()?;
        Some(working * (1_000_000_000 / clock_ticks_per_second()))
    }

    fn throttle_events(&self) -> Option<u64> {
        let counts: Vec<u64> = self.thermal.iter().filter_map(|file| self.root.number(file)).collect();
        (!counts.is_empty()).then(|| counts.iter().sum())
    }

    /// Periods in which the quota stopped us, and for how long.
    fn cgroup(&self) -> (Option<u64>, Option<u64>) {
        let texts: Vec<String> = self.cgroup_stats.iter().filter_map(|file| self.root.text(file)).collect();
        let field = |name: &str| {
            let of_line =
                |line: &str| line.split_once(' ').filter(|(key, _)| *key == name)?.1.parse::<u64>().ok();
            texts.iter().filter_map(|text| text.lines().find_map(of_line)).reduce(|a, b| a + b)
        };
        let throttled_ns = field("throttled_usec").map(|us| us * 1000).or_else(|| field("throttled_time"));
        (field("nr_throttled"), throttled_ns)
    }
}

/// What the machine counts since it was started, or between two moments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Noise {
    pub elapsed_ns: u64,
    /// Work of all processes on all CPUs, this one included.
    pub busy_ns: Option<u64>,
    /// CPU -> stolen time; empty where the machine does not say.
    pub steal_ns_by_cpu: BTreeMap<usize, u64>,
    /// Thermal throttling events of all cores and packages.
    pub throttle_events: Option<u64>,
    /// Periods in which the control group's CPU quota was used up.
    pub throttled_periods: Option<u64>,
    pub throttled_ns: Option<u64>,
    /// Runnable tasks, averaged over the last minute.
    pub load_average: Option<f64>,
    /// Time that the machine slept.
    pub suspended_ns: u64,
}

impl Noise {
    pub fn now() -> Noise {
        static SOURCES: OnceLock<Sources> = OnceLock::new();
        SOURCES.get_or_init(|| Sources::at(Root::here())).read()
    }

    pub fn since(&self, earlier: &Noise) -> Noise {
        // A CPU that went offline takes its count with it: what cannot be a difference is left out.
        let between = |now: Option<u64>, then: Option<u64>| now?.checked_sub(then?);
        let of_cpu =
            |(cpu, now): (&usize, &u64)| Some((*cpu, now.checked_sub(*earlier.steal_ns_by_cpu.get(cpu)?)?));
        Noise {
            elapsed_ns: self.elapsed_ns.saturating_sub(earlier.elapsed_ns),
            busy_ns: between(self.busy_ns, earlier.busy_ns),
            steal_ns_by_cpu: self.steal_ns_by_cpu.iter().filter_map(of_cpu).collect(),
            throttle_events: between(self.throttle_events, earlier.throttle_events),
            throttled_periods: between(self.throttled_periods, earlier.throttled_periods),
            throttled_ns: between(self.throttled_ns, earlier.throttled_ns),
            load_average: self.load_average,
            suspended_ns: self.suspended_ns.saturating_sub(earlier.suspended_ns),
        }
    }

    /// Stolen share of the time of these CPUs (of all, if none is named).
    pub fn steal_fraction(&self, cpus: &[usize]) -> Option<f64> {
        let chosen = |cpu: &usize| cpus.is_empty() || cpus.contains(cpu);
        let steal: Vec<u64> =
            self.steal_ns_by_cpu.iter().filter(|(cpu, _)| chosen(cpu)).map(|(_, ns)| *ns).collect();
        let time = self.elapsed_ns as f64 * steal.len() as f64;
        (time > 0.0).then(|| (steal.iter().sum::<u64>() as f64 / time).min(1.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;

    fn stat(steal: [u64; 2]) -> String {
        let line = |cpu: usize| format!("cpu{cpu} 100 0 50 900 1 0 2 {} 0 0\n", steal[cpu]);
        format!("cpu  200 0 100 1800 2 0 4 {} 0 0\n{}{}intr 5\n", steal[0] + steal[1], line(0), line(1))
    }

    fn stolen(noise: &Noise) -> u64 {
        noise.steal_ns_by_cpu.values().sum()
    }

    #[test]
    fn differences_on_a_quiet_and_on_a_disturbed_machine() {
        let machine = Machine::empty();
        machine.write("proc/stat", &stat([10, 20]));
        machine.write("proc/loadavg", "1.25 0.5 0.1 1/200 4242\n");
        machine.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "3\n");
        machine.write("sys/devices/system/cpu/cpu0/thermal_throttle/package_throttle_count", "4\n");
        machine.control_groups("0::/work.slice/job\n", &[("/", "/sys/fs/cgroup", "cgroup2 none rw")]);
        machine.group("sys/fs/cgroup/work.slice/job", "cpu.stat", "nr_throttled 0\nthrottled_usec 0\n");
        // The quota of a group above stops us as well, and only its own count says so.
        let group = "sys/fs/cgroup/work.slice/cpu.stat";
        machine.write(group, "usage_usec 5\nnr_periods 9\nnr_throttled 2\nthrottled_usec 70\n");
        let sources = Sources::at(machine.root());
        let before = sources.read();
        assert_eq!(before.busy_ns, Some(304 * 1_000_000_000 / clock_ticks_per_second()));
        let quiet = sources.read().since(&before);
        assert_eq!(quiet.busy_ns, Some(0));
        assert_eq!((stolen(&quiet), quiet.throttle_events, quiet.throttled_ns), (0, Some(0), Some(0)));
        assert_eq!(quiet.load_average, Some(1.25));

        machine.write("proc/stat", &stat([10, 50]));
        machine.write("sys/devices/system/cpu/cpu0/thermal_throttle/core_throttle_count", "8\n");
        machine.write(group, "usage_usec 5\nnr_periods 9\nnr_throttled 5\nthrottled_usec 90\n");
        let mut after = sources.read();
        after.elapsed_ns = before.elapsed_ns + 1_000_000_000;
        let noise = after.since(&before);
        assert_eq!(stolen(&noise), 30 * 1_000_000_000 / clock_ticks_per_second());
        assert_eq!(noise.throttle_events, Some(5));
        assert_eq!(noise.throttled_periods, Some(3));
        assert_eq!(noise.throttled_ns, Some(20_000));
        assert_eq!(noise.steal_fraction(&[0]), Some(0.0));
        let stolen = stolen(&noise) as f64 / 1e9;
        assert_eq!(noise.steal_fraction(&[1]), Some(stolen));
        assert_eq!(noise.steal_fraction(&[]), Some(stolen / 2.0));
    }

    #[test]
    fn a_machine_that_says_nothing_has_no_zeroes() {
        let sources = Sources::at(Machine::empty().root());
        let reading = sources.read();
        let noise = reading.since(&reading);
        assert_eq!(noise, Noise::default());
        assert_eq!(noise.steal_fraction(&[]), None);
    }

    #[test]
    fn counters_that_went_backwards_are_unknown() {
        let later = Noise { throttle_events: Some(1), ..Noise::default() };
        let earlier = Noise { throttle_events: Some(5), ..Noise::default() };
        assert_eq!(later.since(&earlier).throttle_events, None);
    }
}
