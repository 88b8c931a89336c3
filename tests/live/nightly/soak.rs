//! Thousands of rounds in one process: its memory, descriptors and threads stay as they are.

use crate::common;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Rounds of the whole promise, and those that are enough to see a leak in a test that everybody runs.
const WHOLE: u64 = 20_000;
const FEWEST: u64 = 1_500;
/// Says how many seconds the test may take; a whole soak takes some minutes.
const SECONDS: &str = "SYSCOST_SOAK_SECONDS";
const SHORT: u64 = 45;

/// Kept of every round: where its rows stand, its number, a value of each metric that decides about the next.
const KEPT_PER_ROUND: u64 = 256;
/// What an allocator may hold back.
const SLACK: u64 = 4 << 20;

/// What the harness holds at a moment between two workers.
#[derive(Clone, Copy, Debug)]
struct Held {
    rounds: u64,
    memory_bytes: u64,
    descriptors: usize,
    threads: usize,
}

impl Held {
    /// What is held in both: a busy machine lets workers, and the pipes to them, live long.
    fn least(self, other: Held) -> Held {
        Held {
            rounds: self.rounds.min(other.rounds),
            memory_bytes: self.memory_bytes.min(other.memory_bytes),
            descriptors: self.descriptors.min(other.descriptors),
            threads: self.threads.min(other.threads),
        }
    }
}

fn entries(path: &str) -> Option<usize> {
    Some(std::fs::read_dir(path).ok()?.count())
}

fn held(pid: u32, samples: &Path) -> Option<Held> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    let rows = std::fs::read(samples).ok()?.iter().filter(|byte| **byte == b'\n').count() as u64;
    Some(Held {
        // One window a round, and the header.
        rounds: rows.saturating_sub(1),
        memory_bytes: kib * 1024,
        descriptors: entries(&format!("/proc/{pid}/fd"))?,
        threads: entries(&format!("/proc/{pid}/task"))?,
    })
}

/// The least of some readings close together: pipes of a worker that is just there belong to it.
fn settled(pid: u32, samples: &Path) -> Option<Held> {
    let mut least = held(pid, samples)?;
    for _ in 0..10 {
        syscost_sys::sleep::sleep(Duration::from_millis(3));
        least = least.least(held(pid, samples)?);
    }
    Some(least)
}

const PROBES: &str = "[[probe]]\nid = \"timer\"\n\
                      [[probe]]\nid = \"transfer\"\nmechanism = \"send\"\nmessage_bytes = 4096\nthreads = 1\n\
                      path = \"loopback\"";

fn start(directory: &Path, seconds: u64) -> Child {
    let limit = format!("{seconds}s");
    let file = common::experiment(directory, WHOLE, &limit, ("50us", "100us", 1), PROBES);
    Command::new(common::SYSCOST)
        .arg("run")
        .arg(file)
        .arg("--out")
        .arg(directory.join("run"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts")
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn thousands_of_rounds_leave_memory_descriptors_and_threads_as_they_were() {
    let seconds = std::env::var(SECONDS).ok().and_then(|text| text.parse().ok()).unwrap_or(SHORT);
    let directory = tempfile::tempdir().expect("a scratch directory");
    let samples = directory.path().join("run/samples.csv");
    let mut child = start(directory.path(), seconds);
    let mut readings: Vec<Held> = Vec::new();
    while child.try_wait().expect("a child of ours").is_none() {
        syscost_sys::sleep::sleep(Duration::from_millis(500));
        readings.extend(settled(child.id(), &samples));
        if readings.last().is_some_and(|now| now.rounds >= WHOLE) {
            common::signal(child.id(), libc::SIGINT);
            break;
        }
    }
    child.wait().expect("the child ends");
    // The report is made at the end, from everything: not what is looked at here.
    let most = readings.iter().map(|now| now.rounds).max().unwrap_or(0);
    let between = |from: u64, to: u64| {
        let rounds = most * from / 100..most * to / 100;
        readings.iter().filter(move |now| rounds.contains(&now.rounds)).copied().reduce(Held::least)
    };
    let (Some(early), Some(late)) = (between(10, 30), between(80, 100)) else {
        panic!("no reading of a run of {most} rounds");
    };
    eprintln!("after {early:?}\nthen  {late:?}");
    if late.rounds < FEWEST {
        common::skipped("soak", &format!("{} rounds in {seconds} s show no leak; {SECONDS}", late.rounds));
        return;
    }
    let allowed = SLACK + KEPT_PER_ROUND * (late.rounds - early.rounds);
    assert!(late.memory_bytes <= early.memory_bytes + allowed, "memory grew: {early:?} to {late:?}");
    assert!(late.descriptors <= early.descriptors + 2, "descriptors are left open: {early:?} to {late:?}");
    assert!(late.threads <= early.threads + 1, "threads are left: {early:?} to {late:?}");
}
