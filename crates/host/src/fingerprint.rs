//! What this machine is, as facts of a run: everything that could explain a figure.
//!
//! Each fact names the file that it was read from; a fact that this machine does not tell has no
//! value. Values are bare, in the unit that the id names; control characters never get through.
//! Sources: proc(5), sysfs(5), Documentation/ABI.

mod memory;
mod network;
mod origin;
mod processor;
mod storage;

use super::files::Root;
use super::{Fact, allowance, settings};
use syscost_sys::c_library;

const CPU: &str = "sys/devices/system/cpu";
/// The id of the fact that tells which C library, and which way of linking it, was measured with.
pub const C_LIBRARY: &str = "c_library";
/// Which machine, and which of its boots: what tells replicates of runs apart.
pub const MACHINE: &str = "machine_id_hash";
pub const BOOT: &str = "boot_id";
/// A value longer than this is no property but a text.
const LONGEST_VALUE_CHARS: usize = 300;

/// Everything about this machine. Takes some ten milliseconds: the counter's rate is measured.
pub fn facts() -> Vec<Fact> {
    let mut facts = Facts { root: Root::here(), list: facts_of(&Root::here()) };
    facts.running_clocks();
    facts.running_devices();
    facts.running_program();
    facts.list
}

/// Any machine, as far as its files tell.
pub fn facts_of(root: &Root) -> Vec<Fact> {
    let mut facts = Facts { root: root.clone(), list: Vec::new() };
    facts.processor();
    facts.frequency();
    facts.memory();
    facts.origin();
    facts.system();
    facts.mitigations();
    facts.storage();
    facts.network();
    facts.rights();
    facts.list
}

struct Facts {
    root: Root,
    list: Vec<Fact>,
}

impl Facts {
    fn add(
        &mut self,
        id: impl Into<String>,
        title: impl Into<String>,
        source: &str,
        value: Option<impl ToString>,
    ) {
        let value = value.map(|value| clean(&value.to_string())).filter(|text| !text.is_empty());
        self.list.push(Fact { id: id.into(), title: title.into(), value, source: source.into() });
    }

    /// Fills in a fact that the files left open.
    fn tell(&mut self, id: &str, source: &str, value: String) {
        if let Some(fact) = self.list.iter_mut().find(|fact| fact.id == id && fact.value.is_none()) {
            (fact.value, fact.source) = (Some(clean(&value)), source.into());
        }
    }

    /// A fact that is one file's text.
    fn file(&mut self, id: &str, title: &str, path: &str) {
        self.add(id, title, &format!("/{path}"), self.root.text(path));
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
        let hypervisor = settings::hypervisor(&self.root);
        self.add("hypervisor", "hypervisor", "/proc/cpuinfo, /sys/class/dmi/id", hypervisor);
        let emulator = settings::emulator(&self.root);
        self.add("emulated", "emulated instruction by instruction", "/proc/cmdline", emulator);
        if let Some(counted) = settings::clock_counts(&self.root) {
            self.add("clock_counts", "what the clocks count", "/proc/cmdline", Some(counted));
        }
        if let Some(caches) = settings::modelled_caches(&self.root) {
            self.add("modelled_caches", "modelled caches, size/ways", "/proc/cmdline", Some(caches));
        }
        let container = settings::container(&self.root);
        self.add("container", "container", "/run, /proc/self/cgroup", container);
        let quota = allowance::cpu_quota(&self.root).limit();
        self.add("cpu_quota_cpus", "CPU quota, CPUs", "/sys/fs/cgroup", quota);
        let (memory, source) =
            (allowance::memory(&self.root).limit(), "/proc/meminfo, /sys/fs/cgroup, getrlimit(2)");
        self.add("memory_limit_bytes", "memory that this process may use, bytes", source, memory);
        let (tasks, source) =
            (allowance::tasks(&self.root).limit(), "/proc/sys/kernel, /sys/fs/cgroup, getrlimit(2)");
        self.add("limit_processes", "limit of processes and threads", source, tasks);
        let accounting = settings::irq_time_accounting(&self.root);
        let source = accounting.as_ref().map_or("/proc/config.gz, /boot/config-*", |(_, file)| file.as_str());
        let value = accounting.as_ref().map(|(is_on, _)| on(*is_on));
        self.add("irq_time_accounting", "softirq time kept apart", source, value);
        self.file("perf_event_paranoid", "perf_event_paranoid", "proc/sys/kernel/perf_event_paranoid");
    }

    /// What of this very program is part of the figures.
    fn running_program(&mut self) {
        let source = "gnu_get_libc_version(3), the build";
        self.add(C_LIBRARY, "C library of syscost", source, Some(c_library::name()));
    }

    fn mitigations(&mut self) {
        let folder = format!("{CPU}/vulnerabilities");
        let names = self.root.names(&folder);
        if names.is_empty() {
            self.file("vulnerabilities", "CPU vulnerabilities and mitigations", &folder);
        }
        for name in names {
            let title = name.replace('_', " ");
            self.file(&format!("vulnerability_{name}"), &title, &format!("{folder}/{name}"));
        }
    }

    fn rights(&mut self) {
        let source = "/proc/self/limits";
        let files = settings::soft_limit(&self.root, "Max open files");
        self.add("limit_open_files", "limit of open files", source, files);
        let locked = settings::soft_limit(&self.root, "Max locked memory");
        self.add("limit_locked_memory_bytes", "limit of locked memory, bytes", source, locked);
        let source = "/proc/self/status";
        self.add("effective_uid", "effective user id", source, settings::effective_uid(&self.root));
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
    use crate::files::fixture::Machine;
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
            "processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 17\nmodel name\t: AMD\x1b[31m EPYC  9654\u{0}\nmicrocode : 0xa1\n",
        );
        machine.write(&format!("{CPU}/online"), "0-3\n");
        for cpu in 0..4 {
            let siblings = if cpu % 2 == 0 { "0,2" } else { "1,3" };
            machine.write(&format!("{CPU}/cpu{cpu}/topology/core_cpus_list"), siblings);
        }
        machine.write(&format!("{CPU}/cpu0/cache/index0/level"), "1\n");
        machine.write(&format!("{CPU}/cpu0/cache/index0/type"), "Data\n");
        machine.write(&format!("{CPU}/cpu0/cache/index0/size"), "48K\n");
        machine.write(&format!("{CPU}/cpu0/cache/index0/coherency_line_size"), "64\n");
        machine.write(&format!("{CPU}/cpu0/cache/index0/shared_cpu_list"), "0,2\n");
        machine.write(&format!("{CPU}/cpu0/cpufreq/base_frequency"), "2400000\n");
        machine.write("sys/devices/system/node/node0/distance", "10 21\n");
        machine.write("sys/devices/system/node/node1/distance", "21 10\n");
        machine.write("proc/self/smaps", "5500-5600 r-xp 0 0:0 0\nSize: 8 kB\nKernelPageSize:       64 kB\n");
        machine.link("proc/self/cwd", "/home/me");
        machine.write("proc/self/mountinfo", "22 1 8:1 / / rw,relatime - xfs /dev/sda1 rw\n");
        machine.link("sys/dev/block/8:1", "../../devices/pci0/block/sda/sda1");
        machine.write("sys/block/sda/queue/rotational", "1\n");
        machine.write("sys/block/sda/queue/scheduler", "[none]\n");
        machine.write("sys/class/net/eth0/speed", "25000\n");
        machine.link("sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/mlx5_core");
        machine.write("sys/class/net/br-lan/speed", "-1\n");
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
        assert_eq!(value("cpu_family").as_deref(), Some("AuthenticAMD family 25 model 17"));
        assert_eq!(value("cpus_online").as_deref(), Some("0-3"));
        assert_eq!(value("cpus_allowed").as_deref(), Some("1-3"));
        assert_eq!(value("cpu_cores").as_deref(), Some("2"));
        assert_eq!(value("cache_l1d_bytes").as_deref(), Some("49152"));
        assert_eq!(value("cpu_base_hertz").as_deref(), Some("2400000000"));
        assert_eq!(value("cache_line_bytes").as_deref(), Some("64"));
        assert_eq!(value("cache_l1d_cpus").as_deref(), Some("0,2"));
        assert_eq!(value("numa_distances").as_deref(), Some("10 21 / 21 10"));
        assert_eq!(value("page_bytes").as_deref(), Some("65536"));
        assert_eq!(value("directory_file_system").as_deref(), Some("xfs"));
        assert_eq!(value("directory_disk_rotational").as_deref(), Some("yes"));
        assert_eq!(value("network_eth0_driver").as_deref(), Some("mlx5_core"));
        assert_eq!(value("network_eth0_bits_per_second").as_deref(), Some("25000000000"));
        assert_eq!(value("network_br_lan_bits_per_second"), None);
        assert_eq!(value("vulnerability_spectre_v2").as_deref(), Some("Mitigation: Retpolines"));
        assert_eq!(value("tcp_rmem_bytes").as_deref(), Some("4096 131072 6291456"));
        assert_eq!(value("kernel_options").as_deref(), Some("mitigations=off isolcpus=2,3"));
        assert_eq!(value("distribution").as_deref(), Some("Debian GNU/Linux 12 (bookworm)"));
        assert_eq!(value("capabilities").as_deref(), Some("none"));
        assert_eq!(value("turbo"), None);
        assert_eq!(value("smt"), None);
    }

    #[test]
    fn intel_writes_the_nominal_frequency_into_the_name() {
        let machine = Machine::empty();
        machine.write("proc/cpuinfo", "model name\t: Intel(R) Core(TM) i5-7200U CPU @ 2.50GHz\n");
        assert_eq!(value(&facts_of(&machine.root()), "cpu_base_hertz").as_deref(), Some("2500000000"));
    }

    #[test]
    fn a_machine_that_says_nothing_has_the_same_facts_without_values() {
        let facts = facts_of(&Machine::empty().root());
        let with_value: Vec<_> = facts.iter().filter(|f| f.value.is_some()).map(|f| f.id.as_str()).collect();
        assert_eq!(with_value, ["architecture"]);
    }

    #[test]
    fn this_machine_has_every_fact_once() {
        let facts = facts();
        let ids: BTreeSet<&str> = facts.iter().map(|f| f.id.as_str()).collect();
        assert_eq!(ids.len(), facts.len());
        for id in
            ["kernel_release", "cpus_online", "memory_bytes", "effective_uid", "tcp_wmem_bytes", C_LIBRARY]
        {
            assert!(value(&facts, id).is_some(), "{id}");
        }
        let clean = |text: &str| !text.is_empty() && !text.chars().any(char::is_control);
        assert!(facts.iter().all(|f| f.value.as_deref().is_none_or(clean)));
        assert!(facts.iter().all(|f| clean(&f.title) && clean(&f.source)));
    }
}
