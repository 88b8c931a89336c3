//! CPU time of kernel threads: what works for a flow and is in no data thread's clock (ksoftirqd, kworker, napi).
//!
//! Between two readings lies the work of the whole machine, so a difference is the most that a flow can have caused.
//! Where processes are not seen as the kernel numbers them (a container), there are none, and nothing is known.
//! Source: proc(5), Documentation/scheduler/sched-stats.rst (the first number of schedstat is time on a CPU in ns).

use super::files::Root;
use std::collections::BTreeMap;

/// The process whose children kernel threads are.
const KTHREADD: &str = "2";

/// Kernel threads at one moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelThreads {
    /// By number: the name up to its first `/`, and the time.
    threads: BTreeMap<u32, (String, u64)>,
}

impl KernelThreads {
    /// `None`: this machine does not show them.
    pub fn now() -> Option<KernelThreads> {
        KernelThreads::at(&Root::here())
    }

    fn at(root: &Root) -> Option<KernelThreads> {
        let one = |number: String| {
            let stat = root.text(&format!("proc/{number}/stat"))?;
            let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
            if rest.split_whitespace().nth(1) != Some(KTHREADD) {
                return None;
            }
            let times = root.text(&format!("proc/{number}/schedstat"))?;
            let ns = times.split_whitespace().next()?.parse().ok()?;
            Some((number.parse().ok()?, (name.split('/').next()?.to_string(), ns)))
        };
        let numbered = |name: &String| name.bytes().all(|byte| byte.is_ascii_digit());
        let threads: BTreeMap<_, _> =
            root.names("proc").into_iter().filter(numbered).filter_map(one).collect();
        (!threads.is_empty()).then_some(KernelThreads { threads })
    }

    /// What they spent in between, by name; only those that did.
    pub fn since(&self, earlier: &KernelThreads) -> BTreeMap<String, u64> {
        let mut spent: BTreeMap<String, u64> = BTreeMap::new();
        for (number, (name, ns)) in &self.threads {
            // A thread that was made in between has worked for its whole time.
            let before =
                earlier.threads.get(number).filter(|known| known.0 == *name).map_or(0, |known| known.1);
            let more = ns.saturating_sub(before);
            if more > 0 {
                *spent.entry(name.clone()).or_default() += more;
            }
        }
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(ksoftirqd_ns: u64, with_new: bool) -> (tempfile::TempDir, KernelThreads) {
        let folder = tempfile::tempdir().unwrap();
        let write = |number: u32, name: &str, parent: u32, ns: u64| {
            let own = folder.path().join(format!("proc/{number}"));
            std::fs::create_dir_all(&own).unwrap();
            std::fs::write(own.join("stat"), format!("{number} ({name}) S {parent} 0 0 0\n")).unwrap();
            std::fs::write(own.join("schedstat"), format!("{ns} 5 7\n")).unwrap();
        };
        write(15, "ksoftirqd/0", 2, ksoftirqd_ns);
        write(20, "ksoftirqd/1", 2, 2 * ksoftirqd_ns);
        write(30, "kworker/0:1-events", 2, 77);
        write(400, "not (a) kernel thread", 1, 1_000_000 * ksoftirqd_ns);
        if with_new {
            write(500, "napi/eth0-3", 2, 9);
        }
        let read = KernelThreads::at(&Root::at(folder.path())).unwrap();
        (folder, read)
    }

    #[test]
    fn what_kernel_threads_spent_is_told_by_name_and_other_processes_are_not() {
        let ((_a, before), (_b, after)) = (machine(100, false), machine(150, true));
        let spent: Vec<(String, u64)> = after.since(&before).into_iter().collect();
        assert_eq!(spent, [("ksoftirqd".to_string(), 150), ("napi".to_string(), 9)]);
        assert!(before.since(&before).is_empty());
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(KernelThreads::at(&Root::at(empty.path())), None, "a container shows none");
    }
}
