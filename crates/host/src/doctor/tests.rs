//! Machines put before the judge.

use super::*;
use crate::files::fixture::Machine;
use std::collections::BTreeMap;

const LIMITS: &str = "Max open files 1024 4096 files\nMax locked memory 65536 65536 bytes\nMax address space \
                      unlimited\nMax data size unlimited\nMax processes 4096 4096 processes\n";

/// A quiet bare machine of eight cores, as its root.
fn quiet() -> (Machine, Live) {
    let machine = Machine::empty();
    let cpu = "sys/devices/system/cpu";
    for id in 0..8 {
        machine.write(&format!("{cpu}/cpu{id}/topology/core_cpus_list"), &format!("{id}\n"));
        machine.write(&format!("{cpu}/cpu{id}/cpufreq/scaling_governor"), "performance\n");
    }
    machine.write(&format!("{cpu}/cpufreq/boost"), "0\n");
    machine.write(&format!("{cpu}/smt/active"), "0\n");
    machine.write("proc/cpuinfo", "flags\t: fpu constant_tsc nonstop_tsc\n");
    machine.link("proc/self/exe", "/usr/bin/syscost");
    machine.write("proc/meminfo", "MemTotal: 32000000 kB\nMemAvailable: 16000000 kB\n");
    let mounts = [("/", "/", "ext4 /dev/nvme0n1p2 rw"), ("/", "/sys/fs/cgroup", "cgroup2 none rw")];
    machine.control_groups("0::/\n", &mounts);
    machine.group("sys/fs/cgroup", "cgroup.controllers", "cpu memory pids\n");
    machine.write("proc/loadavg", "0.1 0.1 0.1 1/600 77\n");
    machine.write("proc/sys/kernel/threads-max", "100000\n");
    machine.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
    machine.write("proc/sys/kernel/osrelease", "6.1\n");
    machine.write("boot/config-6.1", "# CONFIG_IRQ_TIME_ACCOUNTING is not set\n");
    machine.write("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n");
    machine.write("proc/self/limits", LIMITS);
    machine.write("proc/sys/net/core/optmem_max", "131072\n");
    machine.write("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n");
    machine.write("proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno cubic\n");
    machine.write("proc/sys/net/ipv4/tcp_congestion_control", "cubic\n");
    let topology = Topology::read_from(&machine.root(), &(0..8).collect::<Vec<_>>());
    let live = Live {
        noise: Noise {
            elapsed_ns: 200_000_000,
            busy_ns: Some(10_000_000),
            steal_ns_by_cpu: (0..8).map(|cpu| (cpu, 0)).collect(),
            load_average: Some(0.1),
            ..Noise::default()
        },
        topology,
        clock: clock::ClockReading {
            clocksource: Some("tsc".into()),
            by_vdso: true,
            cost_ns: 20.0,
            system_call_cost_ns: 120.0,
        },
        tick_invariant: Some(true),
        tick_difference: Some(12e-6),
        counters_wanted: 16,
        counters_missing: Vec::new(),
        namespaces: Ok(NamespaceRights::Root),
        carried: Some(CarriedSettings { read: 300, ..CarriedSettings::default() }),
        packet_sockets: None,
        zerocopy: Ok(()),
        debug_build: false,
        directory: "/home/me".into(),
        directory_writable: Ok(()),
        directory_free_bytes: Some(100 << 30),
    };
    (machine, live)
}

fn judged(machine: &Machine, live: &Live, id: &str) -> HostCheck {
    let checks = checks_of(&machine.root(), live);
    checks.into_iter().find(|check| check.id == id).unwrap_or_else(|| panic!("no check {id}"))
}

#[test]
fn a_quiet_machine_is_good_in_everything() {
    let (machine, live) = quiet();
    let not_good: Vec<HostCheck> =
        checks_of(&machine.root(), &live).into_iter().filter(|c| c.status != Status::Good).collect();
    assert!(not_good.is_empty(), "{not_good:#?}");
}

#[test]
fn each_fault_of_a_machine_is_seen() {
    let cpu = "sys/devices/system/cpu";
    let governor = format!("{cpu}/cpu3/cpufreq/scaling_governor");
    let (boost, smt) = (format!("{cpu}/cpufreq/boost"), format!("{cpu}/smt/active"));
    let by_file: &[(&str, &str, &str, Status)] = &[
        (&governor, "powersave\n", "frequency_governor", Status::Caution),
        (&boost, "1\n", "turbo", Status::Caution),
        (&smt, "1\n", "smt", Status::Caution),
        ("proc/cpuinfo", "flags\t: hypervisor\n", "virtual_machine", Status::Caution),
        ("proc/meminfo", "MemAvailable: 600000 kB\n", "memory", Status::Caution),
        ("proc/meminfo", "MemAvailable: 100000 kB\n", "memory", Status::Bad),
        ("sys/kernel/mm/transparent_hugepage/enabled", "[always] never\n", "huge_pages", Status::Caution),
        ("boot/config-6.1", "CONFIG_IRQ_TIME_ACCOUNTING=y\n", "softirq_time", Status::Caution),
        ("proc/self/status", "Uid:\t9\t9\t9\t9\nCapEff:\t0\n", "rights", Status::Caution),
        ("proc/self/status", "Uid:\t9\t9\t9\t9\nCapEff:\t0\n", "locked_memory", Status::Caution),
        ("proc/self/limits", "Max open files 256 4096 files\n", "open_files", Status::Caution),
        ("proc/self/mountinfo", "1 1 0:9 / / rw - tmpfs tmpfs rw\n", "directory", Status::Caution),
        ("proc/self/mountinfo", "1 1 0:9 / / rw - fuse.sshfs me@host: rw\n", "directory", Status::Caution),
        ("proc/self/mountinfo", "", "directory", Status::Unknown),
        ("proc/sys/net/core/optmem_max", "20480\n", "socket_zerocopy", Status::Caution),
        ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno\n", "congestion_control", Status::Bad),
    ];
    for (file, text, id, status) in by_file {
        let (machine, live) = quiet();
        machine.write(file, text);
        let check = judged(&machine, &live, id);
        assert_eq!(check.status, *status, "{check:?}");
    }
}

#[test]
fn an_ordinary_user_needs_cubic_allowed() {
    let (machine, live) = quiet();
    machine.write("proc/sys/net/ipv4/tcp_allowed_congestion_control", "reno bbr\n");
    assert_eq!(judged(&machine, &live, "congestion_control").status, Status::Good, "root may set any");
    machine.write("proc/self/status", "Uid:\t9\t9\t9\t9\nCapEff:\t0\n");
    let check = judged(&machine, &live, "congestion_control");
    assert_eq!(check.status, Status::Bad);
    assert!(check.remedy.contains("tcp_allowed_congestion_control=\"reno bbr cubic\""), "{check:?}");
}

#[test]
fn a_quota_is_compared_with_the_cpus() {
    let (machine, live) = quiet();
    for (max, status) in [
        ("900000", Status::Good),
        ("400000", Status::Caution),
        ("150000", Status::Bad),
        ("max", Status::Good),
    ] {
        machine.write("sys/fs/cgroup/cpu.max", &format!("{max} 100000\n"));
        assert_eq!(judged(&machine, &live, "cpu_quota").status, status, "{max}");
    }
}

/// A check, what it must come to, and the fault that is put into a quiet machine.
type Fault = (&'static str, Status, fn(&mut Live));

#[test]
fn what_runs_badly_is_seen() {
    let why = Unavailable { reason: "not here".into(), remedy: "go there".into() };
    let faults: Vec<Fault> = vec![
        ("build", Status::Bad, |live| live.debug_build = true),
        ("clock", Status::Caution, |live| live.clock.by_vdso = false),
        ("tick_counter", Status::Caution, |live| live.tick_invariant = Some(false)),
        ("tick_counter", Status::Unknown, |live| live.tick_invariant = None),
        ("tick_counter", Status::Bad, |live| live.tick_difference = Some(-0.02)),
        ("tick_counter", Status::Good, |live| live.tick_difference = None),
        ("directory", Status::Bad, |live| live.directory_free_bytes = Some(1 << 20)),
        ("directory", Status::Bad, |live| {
            let why = Unavailable { reason: "read-only".into(), remedy: "elsewhere".into() };
            live.directory_writable = Err(why);
        }),
        ("steal", Status::Caution, |live| live.noise.steal_ns_by_cpu = BTreeMap::from([(0, 10_000_000)])),
        ("steal", Status::Bad, |live| live.noise.steal_ns_by_cpu = BTreeMap::from([(0, 50_000_000)])),
        ("steal", Status::Unknown, |live| live.noise.steal_ns_by_cpu.clear()),
        ("other_load", Status::Caution, |live| live.noise.busy_ns = Some(200_000_000)),
        ("other_load", Status::Caution, |live| live.noise.load_average = Some(60.0)),
        ("other_load", Status::Bad, |live| live.noise.busy_ns = Some(1_500_000_000)),
        ("socket_zerocopy", Status::Caution, |live| live.zerocopy = Err("ENOPROTOOPT".into())),
        ("cpus", Status::Bad, |live| live.topology = Topology::read_from(&Root::at("/nowhere"), &[0])),
        ("cpus", Status::Caution, |live| live.topology = Topology::read_from(&Root::at("/nowhere"), &[0, 1])),
    ];
    for (id, status, fault) in faults {
        let (machine, mut live) = quiet();
        fault(&mut live);
        let check = judged(&machine, &live, id);
        assert_eq!(check.status, status, "{check:?}");
    }
    let (machine, mut live) = quiet();
    live.namespaces = Err(why.clone());
    let other = Unavailable { reason: "forbidden".into(), remedy: "ask".into() };
    live.counters_missing = vec![
        ("l1d_loads_user".into(), why.clone()),
        ("l1d_loads_kernel".into(), other),
        ("llc_misses_user".into(), why),
    ];
    assert_eq!(judged(&machine, &live, "namespaces").remedy, "go there");
    let counters = judged(&machine, &live, "hardware_counters");
    assert_eq!(counters.status, Status::Caution);
    assert!(
        counters.observed.contains("13 of 16") && counters.observed.ends_with("; not here; forbidden"),
        "{counters:?}"
    );
    assert!(counters.consequence.contains("llc_misses_user"));
}

/// On any machine, told or not: ids are unique, and whoever is warned is told why and what to do.
#[test]
fn every_check_explains_itself() {
    let (told, live) = quiet();
    for root in [told.root(), Machine::empty().root(), Root::here()] {
        let checks = checks_of(&root, &live);
        let ids: std::collections::BTreeSet<&str> = checks.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids.len(), checks.len());
        for check in &checks {
            assert!(!check.title.is_empty() && !check.observed.is_empty(), "{check:?}");
            if check.status != Status::Good {
                assert!(!check.consequence.is_empty(), "{check:?}");
            }
            if check.status != Status::Good {
                assert!(!check.remedy.is_empty(), "{check:?}");
            }
        }
    }
}
