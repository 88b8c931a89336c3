//! What this machine is, as facts of a run: everything that could explain a figure.
//!
//! Each fact names the file that it was read from; a fact that this machine does not tell has no
//! value. Values are bare, in the unit that the id names; control characters never get through.
//! Sources: proc(5), sysfs(5), Documentation/ABI.

use super::files::{Root, parse_list, show_list};
use super::topology::Topology;
use super::{Fact, clock, noise, settings};
use crate::sys::affinity;

const CPU: &str = "sys/devices/system/cpu";
/// A value longer than this is no property but a text.
const LONGEST_VALUE_CHARS: usize = 300;

/// Everything about this machine. Takes some ten milliseconds: the counter's rate is measured.
pub fn facts() -> Vec<Fact> {
    let mut facts = Facts { root: Root::here(), list: facts_of(&Root::here()) };
    facts.running_clocks();
    facts.list
}

/// Any machine, as far as its files tell.
pub fn facts_of(root: &Root) -> Vec<Fact> {
    let mut facts = Facts { root: root.clone(), list: Vec::new() };
    facts.processor();
    facts.frequency();
    facts.memory();
    facts.system();
    facts.mitigations();
    facts.network();
    facts.rights();
    facts.list
}

struct Facts {
    root: Root,
    list: Vec<Fact>,
}

impl Facts {
    fn add(&mut self, id: impl Into<String>, title: impl Into<String>, source: &str, value: Option<String>) {
        let value = value.map(|text| clean(&text)).filter(|text| !text.is_empty());
        self.list.push(Fact { id: id.into(), title: title.into(), value, source: source.into() });
    }

    /// A fact that is one file's text.
    fn file(&mut self, id: &str, title: &str, path: &str) {
        self.add(id, title, &format!("/{path}"), self.root.text(path));
    }

    fn processor(&mut self) {
        let cpuinfo = self.root.text("proc/cpuinfo").unwrap_or_default();
        let field = |name: &str| {
            let of_line = |line: &str| Some(line.strip_prefix(name)?.trim().strip_prefix(':')?.to_string());
            cpuinfo.lines().find_map(of_line)
        };
        // Arm names implementer and part by number, and boards name themselves.
        let arm = || {
            let part = format!("implementer {} part {}", field("CPU implementer")?, field("CPU part")?);
            Some(part.split_whitespace().collect::<Vec<_>>().join(" "))
        };
        let model = field("model name").or_else(|| self.root.text("proc/device-tree/model")).or_else(arm);
        self.add("cpu_model", "CPU model", "/proc/cpuinfo", model);
        self.add("cpu_microcode", "microcode", "/proc/cpuinfo", field("microcode"));
        self.add("architecture", "architecture", "the build", Some(std::env::consts::ARCH.into()));

        let online = self.root.list(&format!("{CPU}/online"));
        let topology = online.as_ref().map(|cpus| Topology::read_from(&self.root, cpus));
        let source = format!("/{CPU}/online");
        self.add("cpus_online", "CPUs online", &source, online.as_deref().map(show_list));
        let allowed = settings::status(&self.root, "Cpus_allowed_list");
        let online_only = |list: String| {
            let online = online.as_ref()?;
            let list = parse_list(&list)?;
            Some(show_list(&list.into_iter().filter(|cpu| online.contains(cpu)).collect::<Vec<_>>()))
        };
        self.add("cpus_allowed", "CPUs allowed", "/proc/self/status", allowed.and_then(online_only));
        let source = format!("/{CPU}/cpu*/topology");
        let count = |of: fn(&Topology) -> usize| topology.as_ref().map(|t| of(t).to_string());
        let (cores, packages, nodes) =
            (count(Topology::cores), count(Topology::packages), count(Topology::nodes));
        let hybrid = topology.as_ref().map(|t| yes(t.is_hybrid()));
        self.add("cpu_cores", "physical cores", &source, cores);
        self.add("cpu_sockets", "sockets", &source, packages);
        self.add("numa_nodes", "NUMA nodes", "/sys/devices/system/node", nodes);
        self.add("cpu_hybrid", "two kinds of cores", "/sys/devices/cpu_core, cpu_capacity", hybrid);
        let smt = settings::smt(&self.root).map(on);
        self.add("smt", "SMT", &format!("/{CPU}/smt/active"), smt);
        self.caches();
    }

    /// Caches of the first CPU, each once.
    fn caches(&mut self) {
        let folder = format!("{CPU}/cpu0/cache");
        for index in self.root.names(&folder).into_iter().filter(|name| name.starts_with("index")) {
            let read = |file: &str| self.root.text(&format!("{folder}/{index}/{file}"));
            let Some(level) = read("level") else {
                continue;
            };
            let suffix = match read("type").as_deref() {
                Some("Data") => "d",
                Some("Instruction") => "i",
                _ => "",
            };
            let bytes = read("size").and_then(|t| crate::units::parse_bytes(&t).ok());
            let (id, title) =
                (format!("cache_l{level}{suffix}_bytes"), format!("L{level}{suffix} cache, bytes"));
            self.add(id, title, &format!("/{folder}/{index}"), bytes.map(|n| n.to_string()));
        }
    }

    /// What can only be found by running here.
    fn running_clocks(&mut self) {
        let counter = clock::tick_counter();
        let source = counter.map_or("the processor", |c| c.source);
        let hertz = counter.map(|c| format!("{:.0}", c.hertz));
        self.add("tick_counter_hertz", "time-stamp counter, Hz", source, hertz);
        let invariant = counter.and_then(|c| c.invariant).map(yes);
        self.add("tick_counter_invariant", "time-stamp counter of constant rate", "/proc/cpuinfo", invariant);
        let core = clock::core_hertz().map(|hertz| format!("{hertz:.0}"));
        let how = "a chain of one-cycle steps, timed at the start of the run";
        self.add("core_hertz", "core frequency while measuring, Hz", how, core);
        let reading = clock::clock_reading();
        let how = "clock_gettime(2) timed against the bare system call";
        self.add("clock_by_vdso", "clock read without a system call", how, Some(yes(reading.by_vdso)));
        let cost = Some(format!("{:.1}", reading.cost_ns));
        self.add("clock_reading_ns", "cost of reading the clock, ns", how, cost);
        if let Ok(cpus) = affinity::allowed() {
            let cpus = show_list(&cpus);
            self.add(
                "cpus_of_this_thread",
                "CPUs of the measuring thread",
                "sched_getaffinity(2)",
                Some(cpus),
            );
        }
    }

    fn frequency(&mut self) {
        let folder = format!("{CPU}/cpu0/cpufreq");
        for (id, title, file) in [
            ("cpu_base_hertz", "nominal frequency, Hz", "base_frequency"),
            ("cpu_max_hertz", "highest frequency, Hz", "cpuinfo_max_freq"),
        ] {
            let path = format!("{folder}/{file}");
            let hertz = self.root.number(&path).map(|khz| (khz * 1000).to_string());
            self.add(id, title, &format!("/{path}"), hertz);
        }
        self.file("cpu_frequency_driver", "frequency driver", &format!("{folder}/scaling_driver"));
        let governors = settings::governors(&self.root);
        self.add(
            "cpu_governor",
            "frequency governor",
            &format!("/{CPU}/cpu*/cpufreq/scaling_governor"),
            governors,
        );
        let turbo = settings::turbo(&self.root).map(on);
        let source = format!("/{CPU}/intel_pstate/no_turbo, /{CPU}/cpufreq/boost");
        self.add("turbo", "turbo", &source, turbo);
        self.file("idle_driver", "idle driver", &format!("{CPU}/cpuidle/current_driver"));
        let clocksource = clock::clocksource(&self.root);
        let source = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
        self.add("clocksource", "clock source", source, clocksource);
    }

    fn memory(&mut self) {
        for (id, title, name) in [
            ("memory_bytes", "memory, bytes", "MemTotal"),
            ("memory_available_bytes", "memory available, bytes", "MemAvailable"),
            ("swap_bytes", "swap, bytes", "SwapTotal"),
        ] {
            let bytes = settings::memory_bytes(&self.root, name).map(|n| n.to_string());
            self.add(id, title, "/proc/meminfo", bytes);
        }
        let pages = settings::huge_pages(&self.root);
        let source = "/sys/kernel/mm/transparent_hugepage/enabled";
        self.add("transparent_huge_pages", "transparent huge pages", source, pages);
    }

    fn system(&mut self) {
        self.file("kernel_release", "kernel", "proc/sys/kernel/osrelease");
        self.file("kernel_version", "kernel build", "proc/sys/kernel/version");
        let options = self.root.text("proc/cmdline").map(|text| timing_options(&text));
        self.add("kernel_options", "boot options that matter", "/proc/cmdline", options);
        let release = self.root.text("etc/os-release").unwrap_or_default();
        let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
        let name = name.map(|text| text.trim_matches('"').to_string());
        self.add("distribution", "distribution", "/etc/os-release", name);
        let hypervisor = settings::hypervisor(&self.root).unwrap_or_else(|| "none seen".into());
        self.add("hypervisor", "hypervisor", "/proc/cpuinfo, /sys/class/dmi/id", Some(hypervisor));
        let container = settings::container(&self.root).unwrap_or_else(|| "none seen".into());
        self.add("container", "container", "/run, /proc/self/cgroup", Some(container));
        let quota = noise::cpu_quota(&self.root).map_or("none".into(), |n| format!("{n:.2}"));
        self.add("cpu_quota_cpus", "CPU quota, CPUs", "/sys/fs/cgroup", Some(quota));
        let accounting = settings::irq_time_accounting(&self.root);
        let source = accounting.as_ref().map_or("/proc/config.gz, /boot/config-*", |(_, file)| file.as_str());
        let value = accounting.as_ref().map(|(is_on, _)| on(*is_on));
        self.add("irq_time_accounting", "softirq time kept apart", source, value);
        self.file("perf_event_paranoid", "perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid");
    }

    fn mitigations(&mut self) {
        let folder = format!("{CPU}/vulnerabilities");
        for name in self.root.names(&folder) {
            let title = name.replace('_', " ");
            self.file(&format!("vulnerability_{name}"), &title, &format!("{folder}/{name}"));
        }
    }

    fn network(&mut self) {
        const NET: [(&str, &str, &str); 12] = [
            ("tcp_rmem_bytes", "TCP receive buffer: least, default, most", "ipv4/tcp_rmem"),
            ("tcp_wmem_bytes", "TCP send buffer: least, default, most", "ipv4/tcp_wmem"),
            ("rmem_max_bytes", "largest SO_RCVBUF", "core/rmem_max"),
            ("wmem_max_bytes", "largest SO_SNDBUF", "core/wmem_max"),
            ("optmem_max_bytes", "option memory of a socket", "core/optmem_max"),
            ("congestion_control", "congestion control by default", "ipv4/tcp_congestion_control"),
            ("congestion_controls_available", "congestion controls", "ipv4/tcp_available_congestion_control"),
            ("tcp_timestamps", "TCP timestamps", "ipv4/tcp_timestamps"),
            ("tcp_sack", "TCP selective acknowledgement", "ipv4/tcp_sack"),
            ("tcp_autocorking", "TCP automatic corking", "ipv4/tcp_autocorking"),
            ("default_qdisc", "queueing discipline by default", "core/default_qdisc"),
            ("high_order_alloc_disable", "sockets allocate single pages", "core/high_order_alloc_disable"),
        ];
        for (id, title, file) in NET {
            self.file(id, title, &format!("proc/sys/net/{file}"));
        }
    }

    fn rights(&mut self) {
        let source = "/proc/self/limits";
        let files = settings::soft_limit(&self.root, "Max open files");
        self.add("limit_open_files", "limit of open files", source, files);
        let locked = settings::soft_limit(&self.root, "Max locked memory");
        self.add("limit_locked_memory_bytes", "limit of locked memory, bytes", source, locked);
        let source = "/proc/self/status";
        let uid = settings::effective_uid(&self.root).map(|n| n.to_string());
        self.add("effective_uid", "effective user id", source, uid);
        let capabilities = settings::capabilities(&self.root);
        self.add("capabilities", "capabilities of use here", source, capabilities);
    }
}

fn on(is_on: bool) -> String {
    if is_on { "on" } else { "off" }.into()
}

fn yes(is_so: bool) -> String {
    if is_so { "yes" } else { "no" }.into()
}

/// One line of printable text, blanks squeezed.
fn clean(text: &str) -> String {
    let printable = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect::<String>();
    let line = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST_VALUE_CHARS).collect()
}

/// Boot options that change timing. The rest is nobody's business: a run is published.
fn timing_options(command_line: &str) -> String {
    const NAMES: [&str; 18] = [
        "mitigations",
        "isolcpus",
        "nohz",
        "nohz_full",
        "rcu_nocbs",
        "idle",
        "nosmt",
        "maxcpus",
        "tsc",
        "clocksource",
        "hugepages",
        "default_hugepagesz",
        "transparent_hugepage",
        "intel_pstate",
        "amd_pstate",
        "intel_idle.max_cstate",
        "processor.max_cstate",
        "preempt",
    ];
    let chosen =
        command_line.split_whitespace().filter(|o| NAMES.contains(&o.split('=').next().unwrap_or("")));
    let chosen = chosen.collect::<Vec<_>>().join(" ");
    if chosen.is_empty() { "none".into() } else { chosen }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::files::fixture::Machine;
    use std::collections::BTreeSet;

    fn value(facts: &[Fact], id: &str) -> Option<String> {
        let fact = facts.iter().find(|fact| fact.id == id);
        fact.unwrap_or_else(|| panic!("no fact {id}")).value.clone()
    }

    #[test]
    fn a_server_is_described() {
        let machine = Machine::empty();
        machine.write(
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: AMD\x1b[31m EPYC  9654\u{0}\nmicrocode : 0xa1\n",
        );
        machine.write(&format!("{CPU}/online"), "0-3\n");
        for cpu in 0..4 {
            let siblings = if cpu % 2 == 0 { "0,2" } else { "1,3" };
            machine.write(&format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), siblings);
        }
        machine.write(&format!("{CPU}/cpu0/cache/index0/level"), "1\n");
        machine.write(&format!("{CPU}/cpu0/cache/index0/type"), "Data\n");
        machine.write(&format!("{CPU}/cpu0/cache/index0/size"), "48K\n");
        machine.write(&format!("{CPU}/cpu0/cpufreq/base_frequency"), "2400000\n");
        machine.write(&format!("{CPU}/vulnerabilities/spectre_v2"), "Mitigation: Retpolines\n");
        machine.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n");
        machine.write("proc/cmdline", "root=UUID=secret mitigations=off quiet token=abc isolcpus=2,3\n");
        machine.write("etc/os-release", "NAME=Debian\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
        machine.write(
            "proc/self/status",
            "Cpus_allowed_list:\t1-7\nUid:\t0\t0\t0\t0\nCapEff:\t0000000000000000\n",
        );
        let facts = facts_of(&machine.root());
        let value = |id: &str| value(&facts, id);
        assert_eq!(value("cpu_model").as_deref(), Some("AMD [31m EPYC 9654"), "no escape gets through");
        assert_eq!(value("cpus_online").as_deref(), Some("0-3"));
        assert_eq!(value("cpus_allowed").as_deref(), Some("1-3"));
        assert_eq!(value("cpu_cores").as_deref(), Some("2"));
        assert_eq!(value("cache_l1d_bytes").as_deref(), Some("49152"));
        assert_eq!(value("cpu_base_hertz").as_deref(), Some("2400000000"));
        assert_eq!(value("vulnerability_spectre_v2").as_deref(), Some("Mitigation: Retpolines"));
        assert_eq!(value("tcp_rmem_bytes").as_deref(), Some("4096 131072 6291456"));
        assert_eq!(value("kernel_options").as_deref(), Some("mitigations=off isolcpus=2,3"));
        assert_eq!(value("distribution").as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(value("capabilities").as_deref(), Some("none"));
        assert_eq!(value("turbo"), None);
        assert_eq!(value("smt"), None);
    }

    #[test]
    fn a_machine_that_says_nothing_has_the_same_facts_without_values() {
        let facts = facts_of(&Machine::empty().root());
        let with_value: Vec<_> = facts.iter().filter(|f| f.value.is_some()).map(|f| f.id.as_str()).collect();
        assert_eq!(with_value, ["architecture", "hypervisor", "container", "cpu_quota_cpus"]);
    }

    #[test]
    fn this_machine_has_every_fact_once() {
        let facts = facts();
        let ids: BTreeSet<&str> = facts.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids.len(), facts.len());
        for id in ["kernel_release", "cpus_online", "memory_bytes", "effective_uid", "tcp_wmem_bytes"] {
            assert!(value(&facts, id).is_some(), "{id}");
        }
        let clean = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        assert!(facts.iter().all(|f| f.value.as_deref().is_none_or(clean)));
        assert!(facts.iter().all(|f| clean(&f.title) && clean(&f.source)));
    }
}
