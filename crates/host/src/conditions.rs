//! How quiet the machine is, before a measurement and during it: other work, stolen time, frequency, throttling.
//!
//! The limits are those of `doctor`. During a measurement its own work is taken off: what is left on loopback and veth
//! holds the kernel's own threads (ksoftirqd), which work for the measurement.

use super::files::Root;
use super::noise::Noise;
use super::{settings, topology};
use serde::{Deserialize, Serialize};
use std::time::Duration;
use syscost_core::units::{self, Unit, count, format_duration};
use syscost_sys::process::ProcessUsage;
use syscost_sys::sleep::sleep;

/// The share of CPU time that others use on a machine at rest.
const IDLE_SHARE: f64 = 0.05;
const BUSY_SHARE: f64 = 0.3;
/// Stolen time from this share on makes figures wrong.
const STEAL_SHARE: f64 = 0.1;
/// Less than this, of work or of stolen time, does not show in a figure: differences are looked for from 3 % on.
pub const QUIET_SHARE: f64 = 0.01;
/// A frequency that falls by more than this changes costs by more than most differences that are looked for.
const SLOWER: f64 = 0.1;

/// How a point of the machine is judged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    Good,
    /// This machine does not say.
    Unknown,
    /// Figures are right, with a caveat.
    Caution,
    /// Figures are wrong or missing.
    Bad,
}

/// What is to be thought of other work: the share of all CPUs that it takes now, and how many tasks were runnable in the
/// last minute.
pub fn load_status(share: Option<f64>, load_average: Option<f64>, cpus: usize) -> Status {
    share.map_or(Status::Unknown, share_status).max(load_average_status(load_average, cpus))
}

fn share_status(share: f64) -> Status {
    match share {
        s if s > BUSY_SHARE => Status::Bad,
        s if s > IDLE_SHARE => Status::Caution,
        _ => Status::Good,
    }
}

/// Work that comes in bursts is missed by a short look. A load average also holds what has just ended (a build, the run
/// before this one): no more than a caution.
fn load_average_status(load_average: Option<f64>, cpus: usize) -> Status {
    let high = load_average.is_some_and(|load| load > BUSY_SHARE * cpus.max(1) as f64);
    if high { Status::Caution } else { Status::Good }
}

pub fn steal_status(share: f64) -> Status {
    match share {
        s if s >= STEAL_SHARE => Status::Bad,
        s if s >= QUIET_SHARE => Status::Caution,
        _ => Status::Good,
    }
}

/// What a measurement used of its machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnUse {
    /// Of the harness: schedule, record, looks at the data.
    pub harness_cpu_ns: u64,
    pub harness_peak_bytes: u64,
    /// Of all workers on this host.
    pub workers_cpu_ns: u64,
    /// Of the largest of them.
    pub worker_peak_bytes: u64,
}

impl OwnUse {
    fn so_far() -> OwnUse {
        let (harness, workers) = (ProcessUsage::by_this_process(), ProcessUsage::by_children());
        OwnUse {
            harness_cpu_ns: harness.cpu_ns,
            harness_peak_bytes: harness.peak_bytes,
            workers_cpu_ns: workers.cpu_ns,
            worker_peak_bytes: workers.peak_bytes,
        }
    }

    /// Time since then; memory is the most there was.
    fn since(self, then: OwnUse) -> OwnUse {
        OwnUse {
            harness_cpu_ns: self.harness_cpu_ns.saturating_sub(then.harness_cpu_ns),
            workers_cpu_ns: self.workers_cpu_ns.saturating_sub(then.workers_cpu_ns),
            ..self
        }
    }

    fn cpu_ns(self) -> u64 {
        self.harness_cpu_ns.saturating_add(self.workers_cpu_ns)
    }

    fn and(self, other: OwnUse) -> OwnUse {
        OwnUse {
            harness_cpu_ns: self.harness_cpu_ns.saturating_add(other.harness_cpu_ns),
            harness_peak_bytes: self.harness_peak_bytes.max(other.harness_peak_bytes),
            workers_cpu_ns: self.workers_cpu_ns.saturating_add(other.workers_cpu_ns),
            worker_peak_bytes: self.worker_peak_bytes.max(other.worker_peak_bytes),
        }
    }

    /// `syscost itself took 1.2 s of CPU time and 34 MiB. Its workers took 81 s, the largest 60 MiB.`
    pub fn sentence(&self) -> String {
        let time = |ns| format_duration(Duration::from_nanos(ns));
        let memory = |bytes: u64| Unit::Bytes.format((bytes as f64 / 1048576.0).ceil() * 1048576.0);
        format!(
            "syscost itself took {} of CPU time and {}. Its workers took {}, the largest {}.",
            time(self.harness_cpu_ns),
            memory(self.harness_peak_bytes),
            time(self.workers_cpu_ns),
            memory(self.worker_peak_bytes)
        )
    }
}

/// What was seen of the machine over a stretch of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Conditions {
    pub watched_ns: u64,
    pub cpus: usize,
    /// Runnable tasks, averaged over the last minute.
    pub load_average: Option<f64>,
    /// The share of all CPUs' time that others used.
    pub others_share: Option<f64>,
    /// The share of all CPUs' time that the hypervisor took.
    pub steal_share: Option<f64>,
    /// The mean of all CPUs at the end.
    pub frequency_hertz: Option<f64>,
    /// Thermal throttling, and periods in which the CPU quota was used up.
    pub throttled: Option<u64>,
    /// Absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub own: Option<OwnUse>,
}

impl Conditions {
    /// What two readings say; `own` is what the measurement itself used between them.
    fn of(noise: &Noise, own: OwnUse, cpus: usize, frequency_hertz: Option<f64>) -> Conditions {
        let cpus = cpus.max(noise.steal_ns_by_cpu.len());
        let time = noise.elapsed_ns as f64 * cpus as f64;
        // Ticks and the clock are not read at one moment.
        let others = |busy_ns: u64| (busy_ns.saturating_sub(own.cpu_ns()) as f64 / time).min(1.0);
        let throttled = [noise.throttle_events, noise.throttled_periods];
        Conditions {
            watched_ns: noise.elapsed_ns,
            cpus,
            load_average: noise.load_average,
            others_share: noise.busy_ns.filter(|_| time > 0.0).map(others),
            steal_share: noise.steal_fraction(&[]),
            frequency_hertz,
            throttled: throttled.into_iter().flatten().reduce(|a, b| a + b),
            own: Some(own),
        }
    }

    /// The worst of what is known before a measurement.
    pub fn status(&self) -> Status {
        self.watched_status().max(load_average_status(self.load_average, self.cpus))
    }

    /// The worst of what was seen in the time watched: during a measurement the load average is its own.
    fn watched_status(&self) -> Status {
        let of_load = self.others_share.map(share_status);
        let of_steal = self.steal_share.map(steal_status);
        of_load.into_iter().chain(of_steal).max().unwrap_or(Status::Unknown)
    }

    /// One line: `2 CPUs, load 0.1, no steal seen, CPU frequency not readable: quiet enough`.
    pub fn line(&self) -> String {
        let cpus = count(self.cpus, "CPU");
        let load = self.load_average.map_or("load not readable".into(), |load| format!("load {load:.1}"));
        match self.status() {
            Status::Good => format!("{cpus}, {load}, {}, {}: quiet enough", self.steal(), self.frequency()),
            Status::Unknown => format!("{cpus}, {load}: other work cannot be seen here"),
            Status::Caution => {
                let taken = Some(self.taken()).filter(|taken| !taken.is_empty());
                let taken = taken.unwrap_or(" in the last minute".into());
                format!("somewhat busy: {load} on {cpus}{taken}: results may need longer")
            }
            Status::Bad => format!("busy: {load} on {cpus}{}: results will need longer", self.taken()),
        }
    }

    /// `, others use 12 %, 3 % stolen`: what is above its limit.
    fn taken(&self) -> String {
        let worth_saying = |share: Option<f64>, judge: fn(f64) -> Status| {
            share.filter(|share| judge(*share) > Status::Unknown).map(percent)
        };
        let others =
            worth_saying(self.others_share, share_status).map(|share| format!(", others use {share}"));
        let stolen = worth_saying(self.steal_share, steal_status).map(|share| format!(", {share} stolen"));
        others.unwrap_or_default() + &stolen.unwrap_or_default()
    }

    fn steal(&self) -> String {
        match self.steal_share {
            None => "steal not readable".into(),
            Some(0.0) => "no steal seen".into(),
            Some(share) => format!("{} stolen", percent(share)),
        }
    }

    fn frequency(&self) -> String {
        let known = self.frequency_hertz.map(|hertz| format!("CPUs at {}", Unit::Hertz.format(hertz)));
        known.unwrap_or("CPU frequency not readable".into())
    }

    /// What is worse or better since `before`, in a line; `None`: nothing that matters.
    pub fn change_since(&self, before: &Conditions) -> Option<String> {
        let mut said = Vec::new();
        match self.watched_status().cmp(&before.watched_status()) {
            std::cmp::Ordering::Greater if self.watched_status() > Status::Unknown => {
                said.push(format!("busier than before it{}", self.taken()));
            }
            std::cmp::Ordering::Less if self.watched_status() == Status::Good => {
                said.push("quieter than before it".into());
            }
            _ => {}
        }
        let frequencies = before.frequency_hertz.zip(self.frequency_hertz);
        if let Some((then, now)) = frequencies.filter(|(then, now)| *now < then * (1.0 - SLOWER)) {
            said.push(format!("CPUs fell from {} to {}", Unit::Hertz.format(then), Unit::Hertz.format(now)));
        }
        if let Some(times) = self.throttled.filter(|times| *times > 0) {
            said.push(format!("throttled {}", count(times as usize, "time")));
        }
        (!said.is_empty()).then(|| format!("During the run the machine was: {}.", said.join("; ")))
    }

    /// Of several stretches: shares of their whole time, and the last of what has a moment.
    pub fn joined(all: &[Conditions]) -> Option<Conditions> {
        let watched_ns: u64 = all.iter().map(|c| c.watched_ns).sum();
        let share = |of: fn(&Conditions) -> Option<f64>| -> Option<f64> {
            let known = all.iter().filter_map(|c| Some((of(c)? * c.watched_ns as f64, c.watched_ns as f64)));
            let (part, time) = known.fold((0.0, 0.0), |(a, b), (x, y)| (a + x, b + y));
            (time > 0.0).then(|| part / time)
        };
        Some(Conditions {
            watched_ns,
            others_share: share(|c| c.others_share),
            steal_share: share(|c| c.steal_share),
            throttled: all.iter().filter_map(|c| c.throttled).reduce(|a, b| a + b),
            own: all.iter().filter_map(|c| c.own).reduce(OwnUse::and),
            ..all.last()?.clone()
        })
    }
}

/// A share that is not 0 is not rounded to it.
fn percent(share: f64) -> String {
    if share < 0.001 { "under 0.1 %".into() } else { units::percent(share) }
}

/// Watches from a moment on.
pub struct ConditionsWatch {
    noise: Noise,
    own: OwnUse,
    cpus: usize,
}

impl ConditionsWatch {
    pub fn begin() -> ConditionsWatch {
        ConditionsWatch {
            noise: Noise::now(),
            own: OwnUse::so_far(),
            cpus: topology::Topology::read().cpus().len(),
        }
    }

    /// What was seen since. Workers that still run are taken for others.
    pub fn seen(&self) -> Conditions {
        let noise = Noise::now().since(&self.noise);
        let own = OwnUse::so_far().since(self.own);
        Conditions::of(&noise, own, self.cpus, settings::frequency_hertz(&Root::here()))
    }

    /// The machine when nothing is measured: it is looked at for so long.
    pub fn at_rest(time: Duration) -> Conditions {
        let watch = ConditionsWatch::begin();
        sleep(time);
        Conditions { own: None, ..watch.seen() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(busy_ms: u64, own_ms: u64, steal_ms: u64) -> Conditions {
        let noise = Noise {
            elapsed_ns: 1_000_000_000,
            busy_ns: Some(busy_ms * 1_000_000),
            steal_ns_by_cpu: [(0, steal_ms * 1_000_000), (1, steal_ms * 1_000_000)].into(),
            load_average: Some(0.123),
            ..Noise::default()
        };
        let own = OwnUse { workers_cpu_ns: own_ms * 1_000_000, ..OwnUse::default() };
        Conditions::of(&noise, own, 2, None)
    }

    #[test]
    fn a_quiet_machine_and_a_busy_one_say_so_in_a_line() {
        let quiet = "2 CPUs, load 0.1, no steal seen, CPU frequency not readable: quiet enough";
        assert_eq!(seen(50, 0, 0).line(), quiet);
        let fast = Conditions { frequency_hertz: Some(3.2e9), ..seen(50, 0, 0) };
        assert!(fast.line().contains("CPUs at 3.2 GHz"), "{}", fast.line());
        let other = seen(300, 0, 0).line();
        assert_eq!(other, "somewhat busy: load 0.1 on 2 CPUs, others use 15 %: results may need longer");
        let busy = seen(1240, 0, 120).line();
        assert_eq!(busy, "busy: load 0.1 on 2 CPUs, others use 62 %, 12 % stolen: results will need longer");
        let blind = Conditions { cpus: 2, ..Conditions::default() }.line();
        assert_eq!(blind, "2 CPUs, load not readable: other work cannot be seen here");
        let bursts = Conditions { load_average: Some(4.25), ..seen(50, 0, 0) }.line();
        assert_eq!(bursts, "somewhat busy: load 4.2 on 2 CPUs in the last minute: results may need longer");
        for line in [quiet, &other, &busy, &blind, &bursts] {
            assert!(line.chars().count() <= 80, "{line}");
        }
    }

    #[test]
    fn a_tick_of_stolen_time_is_told_and_makes_no_machine_busy() {
        let stolen = |share| Conditions { steal_share: Some(share), ..seen(50, 0, 0) };
        let line = "2 CPUs, load 0.1, under 0.1 % stolen, CPU frequency not readable: quiet enough";
        assert_eq!(stolen(0.000_17).line(), line);
        assert_eq!(stolen(0.000_17).change_since(&seen(50, 0, 0)), None);
        assert!(stolen(0.004).line().contains(", 0.4 % stolen,"), "{}", stolen(0.004).line());
        let change = stolen(0.015).change_since(&stolen(0.004)).unwrap();
        assert_eq!(change, "During the run the machine was: busier than before it, 1.5 % stolen.");
    }

    #[test]
    fn a_measurement_s_own_work_is_not_other_work() {
        assert_eq!(seen(1900, 1850, 0).status(), Status::Good);
        assert_eq!(seen(1900, 1000, 0).status(), Status::Bad);
        assert_eq!(seen(1000, 1100, 0).others_share, Some(0.0), "clocks differ a little");
        assert_eq!(seen(2040, 0, 0).others_share, Some(1.0));
    }

    #[test]
    fn a_load_average_counts_for_the_cpus_there_are_and_not_during_a_measurement() {
        let loaded = |load: f64, cpus| Conditions { load_average: Some(load), cpus, ..seen(50, 0, 0) };
        let status = |load, cpus| loaded(load, cpus).status();
        assert_eq!((status(0.59, 2), status(0.61, 2), status(0.61, 16)), {
            (Status::Good, Status::Caution, Status::Good)
        });
        assert_eq!(status(40.0, 2), Status::Caution, "it may have ended");
        assert_eq!(Conditions { load_average: Some(9.0), ..seen(1900, 0, 0) }.status(), Status::Bad);
        assert_eq!(loaded(9.0, 2).change_since(&loaded(0.1, 2)), None);
    }

    #[test]
    fn what_changed_during_a_run_is_said_and_nothing_else() {
        let (quiet, busy) = (seen(20, 0, 0), seen(1000, 0, 0));
        assert_eq!(quiet.change_since(&seen(30, 0, 0)), None);
        assert_eq!(busy.change_since(&busy), None);
        let change = busy.change_since(&quiet).unwrap();
        assert_eq!(change, "During the run the machine was: busier than before it, others use 50 %.");
        assert!(quiet.change_since(&busy).unwrap().contains("quieter"));
        let at = |hertz, throttled| Conditions { frequency_hertz: Some(hertz), throttled, ..quiet.clone() };
        assert_eq!(at(3.1e9, Some(0)).change_since(&at(3.2e9, None)), None);
        let slower = at(2.4e9, Some(3)).change_since(&at(3.2e9, None)).unwrap();
        assert!(
            slower.contains("fell from 3.2 GHz to 2.4 GHz") && slower.contains("throttled 3 times"),
            "{slower}"
        );
    }

    #[test]
    fn sessions_are_joined_by_their_time() {
        let used = |ns, bytes| OwnUse {
            harness_cpu_ns: ns,
            harness_peak_bytes: bytes,
            workers_cpu_ns: 2 * ns,
            worker_peak_bytes: 2 * bytes,
        };
        let both = used(2_000_000_000, 30 << 20).and(used(1_000_000_000, 40 << 20));
        let said =
            "syscost itself took 3 s of CPU time and 40 MiB. Its workers took 6 s, the largest 80 MiB.";
        assert_eq!(both.sentence(), said);
        let long = Conditions { watched_ns: 3_000_000_000, ..seen(0, 0, 0) };
        let joined = Conditions::joined(&[long, seen(800, 0, 0)]).unwrap();
        assert_eq!((joined.others_share, joined.watched_ns), (Some(0.1), 4_000_000_000));
        assert_eq!(Conditions::joined(&[]), None);
    }

    #[test]
    fn this_machine_is_seen_and_our_own_work_taken_off() {
        let watch = ConditionsWatch::begin();
        let until = std::time::Instant::now() + Duration::from_millis(300);
        let mut turns = 0u64;
        while std::time::Instant::now() < until {
            turns = std::hint::black_box(turns + 1);
        }
        let own_ns = OwnUse::so_far().since(watch.own).harness_cpu_ns;
        assert!(own_ns > 10_000_000, "{own_ns} ns for {turns} turns");
        let seen = watch.seen();
        assert!(seen.cpus > 0 && seen.watched_ns >= 300_000_000, "{seen:?}");
        let own = seen.own.expect("it is always known");
        assert!(own.harness_cpu_ns >= own_ns && own.harness_peak_bytes > 1 << 20, "{own:?}");
        assert!(seen.others_share.is_none_or(|share| (0.0..=1.0).contains(&share)), "{seen:?}");
    }
}
