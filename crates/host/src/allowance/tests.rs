//! Hierarchies of control groups put before the reader: both versions, mixed, hidden in part or in whole.

use super::*;
use crate::files::fixture::Machine;

const MIB: f64 = 1048576.0;

fn machine(own: &str, mounts: &[(&str, &str, &str)]) -> Machine {
    let machine = Machine::empty();
    machine.control_groups(own, mounts);
    machine.write("proc/self/exe", "");
    machine.write("proc/meminfo", "MemTotal: 32768000 kB\nMemAvailable: 16384000 kB\n");
    machine.write("proc/self/status", "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\nVmSize:\t10240 kB\n");
    machine.write(
        "proc/self/limits",
        "Max address space unlimited\nMax data size unlimited\nMax processes 100 100\n",
    );
    machine
}

/// Mounts of control groups: the root, the place, and what follows in mountinfo.
type Mounts = &'static [(&'static str, &'static str, &'static str)];

const SECOND: &[(&str, &str, &str)] = &[("/", "/sys/fs/cgroup", "cgroup2 none rw,nsdelegate")];
const OWN: &str = "sys/fs/cgroup/a/b";

fn left(allowance: Allowance) -> Option<f64> {
    assert!(allowance.unseen.is_none(), "{allowance:?}");
    allowance.least().map(|room| room.left)
}

#[test]
fn the_tightest_limit_on_the_way_up_counts_less_what_is_used_and_not_only_cached() {
    let two = machine("0::/a/b\n", SECOND);
    let root = two.root();
    two.group(OWN, "memory.max", "max\n");
    assert_eq!(left(memory(&root)), Some(16000.0 * MIB), "the machine's own");
    assert_eq!(memory(&root).limit().as_deref(), Some("33554432000"));
    two.group("sys/fs/cgroup/a", "memory.max", "268435456\n");
    two.write("sys/fs/cgroup/a/memory.current", "104857600\n");
    assert_eq!(left(memory(&root)), Some(156.0 * MIB));
    two.write("sys/fs/cgroup/a/memory.stat", "anon 5\ninactive_file 52428800\nactive_file 1048576\n");
    assert_eq!(left(memory(&root)), Some(207.0 * MIB), "what is only cached is given back");
    two.write(&format!("{OWN}/memory.high"), "20971520\n");
    let all = memory(&root);
    let least = all.least().expect("a limit");
    assert_eq!(
        (least.left, least.by.as_str()),
        (20.0 * MIB, "the control group (/sys/fs/cgroup/a/b/memory.high)")
    );
    two.write("proc/self/limits", "Max address space 20971520 x bytes\nMax data size unlimited\n");
    assert_eq!(left(memory(&root)), Some(10.0 * MIB), "less what this process has");
}

#[test]
fn the_first_version_and_both_side_by_side_are_read() {
    let mounts = [
        ("/", "/sys/fs/cgroup/unified", "cgroup2 none rw"),
        ("/", "/sys/fs/cgroup/cpu,cpuacct", "cgroup none rw,cpu,cpuacct"),
        ("/docker/x", "/sys/fs/cgroup/memory", "cgroup none rw,memory"),
    ];
    let one = machine("5:memory:/docker/x\n2:cpu,cpuacct:/a/b\n0::/\n", &mounts);
    let root = one.root();
    one.group("sys/fs/cgroup/memory", "memory.limit_in_bytes", "9223372036854771712\n");
    one.group("sys/fs/cgroup/unified", "cgroup.controllers", "pids\n");
    assert_eq!(left(memory(&root)), Some(16000.0 * MIB), "its largest number is no limit");
    one.write("sys/fs/cgroup/memory/memory.stat", "cache 1\nhierarchical_memory_limit 104857600\n");
    assert_eq!(left(memory(&root)), Some(100.0 * MIB), "of a group that the container does not see");
    for (folder, quota) in [("a/b", "-1"), ("a", "150000"), ("", "-1")] {
        let folder = format!("sys/fs/cgroup/cpu,cpuacct/{folder}");
        one.group(&folder, "cpu.cfs_quota_us", quota);
        one.write(&format!("{folder}/cpu.cfs_period_us"), "100000\n");
    }
    assert_eq!(left(cpu_quota(&root)), Some(1.5));
    one.write("sys/fs/cgroup/memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n");
    assert_eq!(oom_kills_in(&root), Some(5));
}

#[test]
fn a_quota_and_processes_of_the_second_version_are_read() {
    let two = machine("0::/a/b\n", SECOND);
    let root = two.root();
    two.group(OWN, "cpu.max", "max 100000\n");
    assert_eq!((left(cpu_quota(&root)), cpu_quota(&root).limit().as_deref()), (None, Some("none")));
    two.write("sys/fs/cgroup/a/cpu.max", "20000 100000\n");
    assert_eq!(cpu_quota(&root).limit().as_deref(), Some("0.2"));
    two.write("proc/sys/kernel/threads-max", "1000\n");
    two.write("proc/loadavg", "0.1 0.1 0.1 1/600 77\n");
    assert_eq!(left(tasks(&root)), Some(400.0));
    two.write("sys/fs/cgroup/a/pids.max", "30\n");
    two.write("sys/fs/cgroup/a/pids.current", "10\n");
    assert_eq!(left(tasks(&root)), Some(20.0));
    two.write("proc/self/status", "Uid:\t7\t7\t7\t7\nCapEff:\t0\n");
    two.write("proc/12/status", "Uid:\t7\t7\t7\t7\nThreads:\t95\n");
    two.write("proc/13/status", "Uid:\t0\t0\t0\t0\nThreads:\t95\n");
    assert_eq!(left(tasks(&root)), Some(5.0), "an ordinary user's own limit");
    let rooms = Rooms { memory: memory(&root).least().cloned(), tasks: tasks(&root).least().cloned() };
    assert_eq!(rooms.lacks(1 << 20, 1, 0), None);
    let why = rooms.lacks(1 << 20, 2, 32).expect("too many");
    assert!(
        why.reason.starts_with("it needs 36 processes and threads") && why.remedy.contains("ulimit -u"),
        "{why:?}"
    );
    two.write("sys/fs/cgroup/a/b/memory.events", "oom 3\noom_kill 2\n");
    assert_eq!(oom_kills_in(&root), Some(2));
}

/// Each once said: no quota.
#[test]
fn what_cannot_be_seen_is_no_none() {
    let told = |own: &str, mounts: &[(&str, &str, &str)], seen: bool| {
        let machine = machine(own, mounts);
        if seen {
            machine.group(OWN, "cpu.max", "max 100000\n");
            machine.group("sys/fs/cgroup", "cgroup.controllers", "cpu\n");
        }
        let quota = cpu_quota(&machine.root());
        let why = quota.unseen.clone().map(|why| (why.reason, why.remedy)).unwrap_or_default();
        (quota.limit(), why.0, why.1)
    };
    assert_eq!(told("0::/a/b\n", SECOND, true).0.as_deref(), Some("none"));
    let inside = [("/a", "/sys/fs/cgroup/a", "cgroup2 none rw")];
    assert_eq!(
        told("0::/a/b\n", &inside, true).0.as_deref(),
        Some("none"),
        "a part that holds it is mounted"
    );
    const BESIDE: Mounts = &[("/x", "/sys/fs/cgroup", "cgroup2 none rw")];
    let unseen: [(&str, Mounts, bool, &str); 6] = [
        ("0::/a/b\n", &[], true, "mount -t cgroup2"),
        ("0::/a/b\n", SECOND, false, "mount -t cgroup2"),
        ("0::/../..\n", SECOND, true, "mount -t cgroup2"),
        ("0::/a/b\n", BESIDE, true, "mount -t cgroup2"),
        ("3:cpu:/a/b\n0::/\n", SECOND, true, "mount -t cgroup -o cpu none /sys/fs/cgroup/cpu"),
        ("", SECOND, true, "/proc/self/cgroup does not say"),
    ];
    for (own, mounts, seen, remedy) in unseen {
        let (limit, reason, how) = told(own, mounts, seen);
        assert!(limit.is_none() && how.contains(remedy), "{own} {mounts:?}: {limit:?} {reason} -> {how}");
    }
    let covered = machine("0::/a/b\n", SECOND);
    covered.group(OWN, "cpu.max", "");
    assert!(cpu_quota(&covered.root()).unseen.is_some(), "covered by /dev/null");
    let without = machine("", &[]);
    without.write("proc/filesystems", "nodev\tproc\n\text4\n");
    assert_eq!(
        cpu_quota(&without.root()).limit().as_deref(),
        Some("none"),
        "a kernel without control groups"
    );
    let blind = memory(&Machine::empty().root());
    assert!(blind.least().is_none() && blind.unseen.expect("a reason").remedy.contains("mount -t proc"));
}
