//! The memory that this process's control group may use. Sources: proc(5), cgroups(7),
//! Documentation/admin-guide/cgroup-v2.rst (memory.max), cgroup-v1/memory.rst.

use super::files::{Root, control_groups};

/// Above this a limit of version 1 means "none": it is the largest number of whole pages.
const NO_LIMIT_BYTES: u64 = 1 << 62;

/// The tightest limit of our control group and those above it; `None`: none is set.
pub fn bytes() -> Option<u64> {
    bytes_in(&Root::here())
}

fn bytes_in(root: &Root) -> Option<u64> {
    let limit = |folder: String| {
        let files = ["memory.max", "memory.limit_in_bytes"];
        files.iter().find_map(|file| root.number(&format!("{folder}/{file}")))
    };
    folders(root).into_iter().filter_map(limit).filter(|bytes| *bytes < NO_LIMIT_BYTES).min()
}

/// How many processes the kernel has killed so far in our control group and below, because it had no
/// memory left; `None`: it does not say.
pub fn oom_kills() -> Option<u64> {
    oom_kills_in(&Root::here())
}

fn oom_kills_in(root: &Root) -> Option<u64> {
    let count = |folder: String| {
        let files = ["memory.events", "memory.oom_control"];
        let text = files.iter().find_map(|file| root.text(&format!("{folder}/{file}")))?;
        text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
    };
    folders(root).into_iter().find_map(count)
}

fn folders(root: &Root) -> Vec<String> {
    control_groups(root, "memory", &["sys/fs/cgroup/memory"])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::files::fixture::Machine;

    #[test]
    fn the_tightest_limit_on_the_way_up_counts() {
        let machine = Machine::empty();
        machine.write("proc/self/cgroup", "0::/a/b\n");
        machine.write("sys/fs/cgroup/a/b/memory.max", "max\n");
        assert_eq!(bytes_in(&machine.root()), None);
        machine.write("sys/fs/cgroup/a/memory.max", "268435456\n");
        assert_eq!(bytes_in(&machine.root()), Some(256 << 20));
    }

    #[test]
    fn kills_for_want_of_memory_are_counted_in_both_versions() {
        let machine = Machine::empty();
        assert_eq!(oom_kills_in(&machine.root()), None);
        machine.write("proc/self/cgroup", "0::/a\n");
        machine.write("sys/fs/cgroup/a/memory.events", "low 0\nhigh 0\nmax 9\noom 3\noom_kill 2\n");
        assert_eq!(oom_kills_in(&machine.root()), Some(2));
        machine.write("proc/self/cgroup", "4:memory:/b\n");
        machine.write(
            "sys/fs/cgroup/memory/b/memory.oom_control",
            "oom_kill_disable 0\nunder_oom 0\noom_kill 5\n",
        );
        assert_eq!(oom_kills_in(&machine.root()), Some(5));
    }

    #[test]
    fn version_one_is_read_too_and_its_largest_number_is_no_limit() {
        let machine = Machine::empty();
        machine.write("proc/self/cgroup", "5:memory:/docker/x\n2:cpu:/docker/x\n");
        machine.write("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(bytes_in(&machine.root()), None);
        machine.write("sys/fs/cgroup/memory/docker/x/memory.limit_in_bytes", "104857600\n");
        assert_eq!(bytes_in(&machine.root()), Some(100 << 20));
    }
}
