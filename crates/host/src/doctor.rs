//! Will this machine give clean numbers? Each point with what was seen, what it does to figures,
//! and what to do about it.
//!
//! It judges and never changes anything. What can only be found by running is measured once
//! ([`Live`]); the judgements are pure, so that tests can put any machine before them.

mod network;
mod path;
mod processor;
mod system;

pub use super::conditions::Status;
use super::counters::{self, Counters};
use super::files::Root;
use super::namespaces::carried::CarriedSettings;
use super::namespaces::{self, NamespaceRights};
use super::noise::Noise;
use super::topology::Topology;
use super::{Unavailable, clock, packet_sockets, scratch};
pub use path::path;
use serde::{Deserialize, Serialize};
use std::io;
use std::os::fd::AsRawFd;
use std::path::PathBuf;
use std::time::Duration;
use syscost_sys::sleep::sleep;
use syscost_sys::{disk, socket};

/// Short enough for a command that a person waits for; a tick of steal is 10 ms.
const WATCH: Duration = Duration::from_millis(200);

/// One judged point.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCheck {
    /// `frequency_governor`
    pub id: String,
    pub title: String,
    pub status: Status,
    pub observed: String,
    /// What it does to figures; empty where all is well.
    pub consequence: String,
    /// The next command or setting; empty where there is nothing to do.
    pub remedy: String,
}

/// What can only be found by running here.
#[derive(Debug)]
pub struct Live {
    noise: Noise,
    topology: Topology,
    clock: clock::ClockReading,
    tick_invariant: Option<bool>,
    /// The counter's measured rate over the declared one, less 1.
    tick_difference: Option<f64>,
    counters_wanted: usize,
    counters_missing: Vec<(String, Unavailable)>,
    namespaces: Result<NamespaceRights, Unavailable>,
    /// What came of carrying the caller's settings into such namespaces.
    carried: Option<CarriedSettings>,
    /// Who sees every packet that leaves this network namespace.
    packet_sockets: Option<String>,
    zerocopy: Result<(), String>,
    debug_build: bool,
    directory: PathBuf,
    directory_writable: Result<(), Unavailable>,
    directory_free_bytes: Option<u64>,
}

impl Live {
    /// Takes a quarter of a second, most of it asleep.
    pub fn measure() -> Live {
        let before = Noise::now();
        sleep(WATCH);
        let noise = Noise::now().since(&before);
        let counter = clock::tick_counter();
        let directory = std::env::current_dir().unwrap_or_else(|_| ".".into());
        Live {
            noise,
            topology: Topology::read(),
            clock: clock::clock_reading(),
            tick_invariant: counter.and_then(|counter| counter.invariant),
            tick_difference: counter.and_then(|counter| counter.difference),
            counters_wanted: counters::ids().count(),
            counters_missing: Counters::refused(),
            namespaces: namespaces::available(),
            carried: namespaces::carried().cloned(),
            packet_sockets: packet_sockets::on(None),
            zerocopy: tcp_zerocopy().map_err(|e| e.to_string()),
            debug_build: cfg!(debug_assertions),
            directory_writable: scratch::writable(&directory.to_string_lossy()),
            directory_free_bytes: disk::free_bytes(&directory).ok(),
            directory,
        }
    }
}

/// Tries SO_ZEROCOPY on a fresh TCP socket.
fn tcp_zerocopy() -> io::Result<()> {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None)?;
    socket::enable_zerocopy(socket.as_raw_fd())
}

/// Every check of this machine, in the order of a report.
pub fn checks() -> Vec<HostCheck> {
    checks_of(&Root::here(), &Live::measure())
}

/// What judges one point of a machine.
type Judge = fn(&Root, &Live) -> Judgement;

/// Every point: its id, its title, the file of which it is asked first, and its judge.
const POINTS: &[(&str, &str, &str, Judge)] = &[
    ("proc", "process file system", "proc", system::proc),
    ("build", "build of syscost", "", system::build),
    ("cpus", "CPUs", "sys/devices/system/cpu/cpu0/topology", processor::count),
    ("frequency_governor", "frequency governor", "sys/devices/system/cpu/cpu0/cpufreq", processor::governor),
    ("turbo", "turbo", "sys/devices/system/cpu/cpufreq/boost", processor::turbo),
    ("smt", "SMT (two hardware threads a core)", "sys/devices/system/cpu/smt/active", processor::smt),
    ("clock", "clock", "sys/devices/system/clocksource/clocksource0/current_clocksource", processor::clock),
    ("tick_counter", "time-stamp counter", "proc/cpuinfo", processor::tick_counter),
    ("hardware_counters", "hardware counters", "proc/sys/kernel/perf_event_paranoid", processor::counters),
    ("steal", "stolen time", "proc/stat", system::steal),
    ("other_load", "other work", "proc/loadavg", system::other_load),
    ("virtual_machine", "virtual machine", "proc/cpuinfo", system::hypervisor),
    ("cpu_quota", "CPU quota", "sys/fs/cgroup", system::quota),
    ("memory", "memory available", "proc/meminfo", system::memory),
    ("processes", "processes and threads", "proc/loadavg", system::processes),
    ("huge_pages", "transparent huge pages", "sys/kernel/mm/transparent_hugepage", system::huge_pages),
    ("directory", "current directory", "proc/self/mountinfo", system::directory),
    ("softirq_time", "softirq time (IRQ_TIME_ACCOUNTING)", "proc/config.gz", system::softirq_time),
    ("rights", "rights", "proc/self/status", system::rights),
    ("open_files", "limit of open files", "proc/self/limits", system::open_files),
    ("namespaces", "network namespaces and veth", "", network::namespaces),
    ("carried_settings", "settings of the network there", "", network::carried),
    ("socket_zerocopy", "MSG_ZEROCOPY", "proc/sys/net/core/optmem_max", network::zerocopy),
    ("packet_sockets", "packet sockets", "proc/net/packet", network::packet_sockets),
    ("locked_memory", "limit of locked memory", "proc/self/limits", network::locked_memory),
    ("congestion_control", "TCP congestion control", "proc/sys/net/ipv4", network::congestion_control),
];

/// A machine as its files tell, with what was found by running on it.
pub fn checks_of(root: &Root, live: &Live) -> Vec<HostCheck> {
    let check = |(id, title, file, judge): &(&str, &str, &str, Judge)| {
        let check = judge(root, live).of(id, *title);
        let unread = check.status == Status::Unknown && check.remedy.is_empty();
        if unread { HostCheck { remedy: root.how_to_read(file), ..check } } else { check }
    };
    POINTS.iter().map(check).collect()
}

/// A check before it is known of what.
struct Judgement {
    status: Status,
    observed: String,
    consequence: String,
    remedy: String,
}

/// All is well.
fn good(observed: impl Into<String>) -> Judgement {
    let observed = observed.into();
    Judgement { status: Status::Good, observed, consequence: String::new(), remedy: String::new() }
}

impl Judgement {
    /// The same point, with a caveat.
    fn worse(self, status: Status, consequence: impl Into<String>, remedy: impl Into<String>) -> Judgement {
        Judgement { status, consequence: consequence.into(), remedy: remedy.into(), ..self }
    }

    /// As bad as this, with what it does to figures unless all is well.
    fn judged(self, status: Status, consequence: &str, remedy: &str) -> Judgement {
        if status == Status::Good { self } else { self.worse(status, consequence, remedy) }
    }

    fn caution(self, consequence: impl Into<String>, remedy: impl Into<String>) -> Judgement {
        self.worse(Status::Caution, consequence, remedy)
    }

    fn bad(self, consequence: impl Into<String>, remedy: impl Into<String>) -> Judgement {
        self.worse(Status::Bad, consequence, remedy)
    }

    /// What to mount or allow follows from the file of the point.
    fn unknown(self, consequence: impl Into<String>) -> Judgement {
        self.worse(Status::Unknown, consequence, "")
    }

    /// Good as far as can be seen, and something cannot.
    fn unless_unseen(self, unseen: Option<Unavailable>) -> Judgement {
        match unseen {
            Some(why) if self.status == Status::Good => self.worse(Status::Unknown, why.reason, why.remedy),
            _ => self,
        }
    }

    fn of(self, id: &str, title: impl Into<String>) -> HostCheck {
        let Judgement { status, observed, consequence, remedy } = self;
        HostCheck { id: id.into(), title: title.into(), status, observed, consequence, remedy }
    }
}

#[cfg(test)]
mod tests;
