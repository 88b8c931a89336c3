//! Processes that are stopped, frozen, moved off their CPU or out of memory in the middle of a sample:
//! the samples that this touched are marked and not used, or the round fails and says of what; the run
//! goes on.

use super::left::{self, Marked, check};
use crate::common::{self, LimitedGroup, PATIENCE, SYSCOST, signal, soon};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_sys::affinity;

pub const TRANSFER: &str = "[[probe]]\nid = \"transfer\"\nmechanism = \"send\"\nmessage_bytes = 4096\nthreads = 1\n\
                        path = \"loopback\"\n";

/// A worker's start takes 3 to 6 ms of a CPU.
const BUSY_NS: u64 = 12_000_000;

/// Enough that a busy machine sees its workers in one of them.
const ROUNDS: u32 = 10;

/// A run of long windows, so that most of its time is samples.
pub struct Held {
    pub out: PathBuf,
    mark: Marked,
    child: Option<Child>,
    _folder: tempfile::TempDir,
}

impl Held {
    /// Starts it, by this command (the binary's own, or one inside of something), and waits for the
    /// first round.
    pub fn start(probes: &str, rounds: u32, command: Command) -> Held {
        Held::with_windows_of("200ms", probes, rounds, command)
    }

    pub fn with_windows_of(window: &str, probes: &str, rounds: u32, mut command: Command) -> Held {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let out = folder.path().join("run");
        let spec = common::experiment(folder.path(), rounds, "120s", ("1ms", window, 3), probes);
        let mark = Marked::new();
        command.args(["run", "--quiet"]).arg(&spec).arg("--out").arg(&out);
        mark.put_on(&mut command);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts");
        let held = Held { out, mark, child: Some(child), _folder: folder };
        soon("the first round", || RunDir::load(&held.out).is_ok_and(|run| !run.samples.is_empty()));
        held
    }

    fn of_role(&self, role: &str) -> Vec<u32> {
        self.mark.processes().into_iter().filter(|pid| left::role(*pid) == role).collect()
    }

    /// Workers that are at their windows: nothing before takes so much time of a CPU.
    pub fn busy_workers(&self) -> Vec<u32> {
        let mut workers = Vec::new();
        soon("two busy workers", || {
            workers = self.of_role("worker");
            workers.len() == 2 && workers.iter().all(|worker| cpu_ns(*worker) >= BUSY_NS)
        });
        workers
    }

    pub fn end(&mut self) -> (Output, Run) {
        let output = self.child.take().expect("ended once").wait_with_output().expect("it ends");
        self.mark.wait_until_all_ended(PATIENCE);
        (output, RunDir::load(&self.out).expect("the directory is valid"))
    }

    /// Ends well, with this mark on whole rounds, on one at least and not on all.
    pub fn ends_with_marked_rounds(&mut self, mark: &str) {
        let (output, run) = self.end();
        let said = common::said(&output);
        assert_eq!(run.record.failures, [], "{said}");
        assert!(output.status.success(), "{said}");
        let is_marked = |marks: &[String]| marks.iter().any(|m| m == mark);
        let rounds_where = |marked: bool| -> BTreeSet<(usize, u32, bool)> {
            let those = run.samples.iter().filter(|s| is_marked(&s.marks) == marked);
            // A round for counters has workers of its own.
            those.map(|s| (s.case, s.round, s.is_counting())).collect()
        };
        let (marked, clean) = (rounds_where(true), rounds_where(false));
        assert!(!marked.is_empty(), "no sample is marked {mark}");
        assert!(!clean.is_empty(), "every sample is marked {mark}");
        assert!(marked.is_disjoint(&clean), "half a round is marked: {marked:?} {clean:?}");
        assert!(run.samples.iter().all(|s| !is_marked(&s.marks) || !s.usable()), "a marked sample is used");
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A failed test leaves nothing either.
        for pid in self.mark.processes() {
            signal(pid, libc::SIGKILL);
        }
        if let Some(mut child) = self.child.take() {
            let _ = child.wait();
        }
    }
}

/// CPU time of the threads that a process has. Source: Documentation/scheduler/sched-stats.rst.
fn cpu_ns(pid: u32) -> u64 {
    let threads = std::fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let used = |thread: std::fs::DirEntry| {
        std::fs::read_to_string(thread.path().join("schedstat")).ok()?.split(' ').next()?.parse::<u64>().ok()
    };
    threads.filter_map(used).sum()
}

fn stop(pids: &[u32], time: Duration) {
    pids.iter().for_each(|pid| signal(*pid, libc::SIGSTOP));
    syscost_sys::sleep::sleep(time);
    pids.iter().for_each(|pid| signal(*pid, libc::SIGCONT));
}

pub fn here() -> Command {
    Command::new(SYSCOST)
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_worker_stopped_for_ten_seconds_marks_its_round() {
    let mut held = Held::start(TRANSFER, ROUNDS, here());
    let workers = held.busy_workers();
    stop(&workers[..1], Duration::from_secs(10));
    held.ends_with_marked_rounds("stopped");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_short_stop_is_seen_too() {
    let mut held = Held::start(TRANSFER, ROUNDS, here());
    let workers = held.busy_workers();
    stop(&workers[1..], Duration::from_millis(20));
    held.ends_with_marked_rounds("stopped");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_whole_run_stopped_for_a_while_goes_on() {
    let mut held = Held::start(TRANSFER, ROUNDS, here());
    held.busy_workers();
    let all = held.mark.processes();
    stop(&all, Duration::from_secs(3));
    held.ends_with_marked_rounds("stopped");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_stopped_harness_loses_no_round() {
    let mut held = Held::start(TRANSFER, ROUNDS, here());
    held.busy_workers();
    // Longer than it would wait for an answer, which comes after that.
    stop(&held.mark.processes(), Duration::from_secs(25));
    held.ends_with_marked_rounds("stopped");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_frozen_control_group_marks_its_round() {
    const TEST: &str = "a_frozen_control_group_marks_its_round";
    if !common::is_root(TEST) {
        return;
    }
    let group = match LimitedGroup::limiting("freezer", &[], &[]) {
        Ok(group) => group,
        Err(why) => return common::skipped(TEST, &why),
    };
    let mut held = Held::start(TRANSFER, ROUNDS, group.command(Path::new(SYSCOST)));
    held.busy_workers();
    let froze = group.set("freezer.state", "FROZEN") || group.set("cgroup.freeze", "1");
    syscost_sys::sleep::sleep(Duration::from_secs(3));
    let thawed = group.set("freezer.state", "THAWED") || group.set("cgroup.freeze", "0");
    assert!(froze && thawed, "a freezer of neither version");
    held.ends_with_marked_rounds("stopped");
}

/// Lets every thread of the process run on these CPUs only, as taskset(1) does.
pub fn move_to(pid: u32, cpus: &[usize]) {
    let mut mask = [0u64; 16];
    cpus.iter().for_each(|cpu| mask[cpu / 64] |= 1 << (cpu % 64));
    for task in left::names(Path::new(&format!("/proc/{pid}/task"))) {
        let task: i32 = task.parse().expect("a thread's number");
        // SAFETY: the pointer and the length in bytes describe a live array, which is only read.
        let _ = check(unsafe { libc::sched_setaffinity(task, size_of_val(&mask), mask.as_ptr().cast()) });
    }
}

pub fn two_cpus(test: &str) -> Option<Vec<usize>> {
    let cpus = affinity::allowed().expect("sched_getaffinity(2)");
    if cpus.len() < 2 {
        common::skipped(test, "needs two CPUs");
    }
    (cpus.len() >= 2).then_some(cpus)
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn threads_moved_off_their_cpu_mark_their_round() {
    let Some(cpus) = two_cpus("threads_moved_off_their_cpu_mark_their_round") else { return };
    let mut held = Held::start(TRANSFER, ROUNDS, here());
    let workers = held.busy_workers();
    // One of the two was pinned elsewhere.
    workers.iter().for_each(|worker| move_to(*worker, &cpus[..1]));
    held.ends_with_marked_rounds("unpinned");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_cpuset_that_shrinks_is_said_and_nothing_is_measured_elsewhere() {
    const TEST: &str = "a_cpuset_that_shrinks_is_said_and_nothing_is_measured_elsewhere";
    let Some(cpus) = two_cpus(TEST) else { return };
    if !common::is_root(TEST) {
        return;
    }
    let both = format!("{},{}", cpus[0], cpus[1]);
    let settings = [("cpuset.cpus", both.as_str()), ("cpuset.mems", "0")];
    let group = match LimitedGroup::limiting("cpuset", &settings, &settings[..1]) {
        Ok(group) => group,
        Err(why) => return common::skipped(TEST, &why),
    };
    let mut held = Held::start(TRANSFER, ROUNDS, group.command(Path::new(SYSCOST)));
    held.busy_workers();
    assert!(group.set("cpuset.cpus", &cpus[0].to_string()));
    let (output, run) = held.end();
    let said = common::said(&output);
    assert_eq!(output.status.code(), Some(common::wanted_status(&run)), "{said}");
    let marked = run.samples.iter().filter(|s| s.marks.iter().any(|m| m == "unpinned")).count();
    assert!(marked > 0, "the round in which it shrank: {said}");
    let failure = run.record.failures.first().expect("there are not two CPUs any more");
    assert!(failure.message.contains("one CPU only") && failure.message.contains("taskset"), "{failure:?}");
    assert!(run.samples.iter().any(|s| s.usable()), "what was measured before stands");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_worker_out_of_memory_is_named_and_the_run_goes_on() {
    const TEST: &str = "a_worker_out_of_memory_is_named_and_the_run_goes_on";
    if !common::is_root(TEST) {
        return;
    }
    let enough = [("memory.limit_in_bytes", "1G")];
    let group =
        match LimitedGroup::limiting("memory", &enough, &[("memory.max", "1G"), ("memory.swap.max", "0")]) {
            Ok(group) => group,
            Err(why) => return common::skipped(TEST, &why),
        };
    let large = "[[probe]]\nid = \"memory_latency\"\nworking_set_bytes = \"512M\"\n";
    let mut held = Held::start(&format!("{TRANSFER}{large}"), 6, group.command(Path::new(SYSCOST)));
    // The plan was made with more. It may be refused while a large worker is there, or kill it. The harness and its
    // small workers fit into it several times, with what the kernel charges for them: no other worker is the victim.
    soon("the limit", || group.set("memory.limit_in_bytes", "384M") || group.set("memory.max", "384M"));
    let (output, run) = held.end();
    let said = common::said(&output);
    assert_eq!(output.status.code(), Some(common::wanted_status(&run)), "{said}");
    let failures = &run.record.failures;
    let told = failures.iter().find(|failure| failure.message.contains("out of memory"));
    let told = told.unwrap_or_else(|| panic!("{failures:?}\n{said}"));
    assert!(told.message.contains("signal 9"), "{told:?}");
    // At least: a round that the kernel's search for memory disturbed is marked, and visited again.
    let of_transfer = run.samples.iter().filter(|s| s.case == 0 && s.usable());
    let of_transfer: BTreeSet<u32> = of_transfer.map(|s| s.round).collect();
    assert!(of_transfer.len() >= 6, "the other case went on: {} rounds, {failures:?}", of_transfer.len());
}
