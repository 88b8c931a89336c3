//! A CPU that is taken out of the machine in the middle of a sample, for real, and put back.
//!
//! Everything else on the machine feels that, so it is done only where `SYSCOST_UNPLUG_CPU=1` asks for it,
//! for seconds, and the CPU comes back whatever becomes of the test.

use super::held_up::{Held, TRANSFER, here, two_cpus};
use crate::common;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_sys::affinity;

const ALLOWED_BY: &str = "SYSCOST_UNPLUG_CPU";
/// Well below the ten seconds for which a case may fail that had worked before.
const GONE: Duration = Duration::from_secs(3);

/// A CPU that is offline until this is dropped.
struct Unplugged {
    file: PathBuf,
    restorer: Child,
}

impl Unplugged {
    fn take(file: &Path) -> Unplugged {
        // Its standard input ends with this process, whatever that died of; half a minute ends it too.
        let mut restorer = Command::new("sh");
        restorer.args(["-c", "trap '' INT HUP TERM; timeout 30 cat; echo 1 > \"$0\""]).arg(file);
        let restorer = restorer.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("sh starts");
        let unplugged = Unplugged { file: file.to_path_buf(), restorer };
        fs::write(file, "0").expect("the CPU goes offline");
        unplugged
    }
}

impl Drop for Unplugged {
    fn drop(&mut self) {
        // Two ways to the same end; writing what is there already changes nothing.
        let written = fs::write(&self.file, "1");
        drop(self.restorer.stdin.take());
        let ended = self.restorer.wait();
        if !std::thread::panicking() {
            written.expect("the CPU comes back");
            assert!(ended.expect("the restorer ends").success(), "the restorer could not put the CPU back");
            assert_eq!(fs::read_to_string(&self.file).expect("sysfs").trim(), "1", "{}", self.file.display());
        }
    }
}

/// The switch of the last CPU, where this machine and whoever runs the test allow its use.
fn removable(test: &str) -> Option<PathBuf> {
    if std::env::var(ALLOWED_BY).as_deref() != Ok("1") {
        common::skipped(test, &format!("it disturbs the whole machine; {ALLOWED_BY}=1 allows it"));
        return None;
    }
    if !common::is_root(test) {
        return None;
    }
    let last = *two_cpus(test)?.last()?;
    let file = PathBuf::from(format!("/sys/devices/system/cpu/cpu{last}/online"));
    let writable = fs::OpenOptions::new().write(true).open(&file);
    if let Err(why) = writable {
        common::skipped(test, &format!("{}: {why}", file.display()));
        return None;
    }
    Some(file)
}

/// One after the other, in one test: both change the one machine there is.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_cpu_that_goes_offline_costs_what_it_touches_and_nothing_else() {
    let Some(switch) = removable("a_cpu_that_goes_offline_costs_what_it_touches_and_nothing_else") else {
        return;
    };
    let cpus = affinity::allowed().expect("sched_getaffinity(2)");
    gone_for_a_moment_marks_its_round(&switch);
    gone_for_seconds_fails_rounds_until_it_is_back(&switch, cpus.len());
    assert_eq!(affinity::allowed().expect("sched_getaffinity(2)"), cpus, "the CPU is back");
}

/// The kernel moves its threads away; those of some cpusets it moves back, and at the end all looks as it did.
fn gone_for_a_moment_marks_its_round(switch: &Path) {
    let mut held = Held::with_windows_of("400ms", TRANSFER, 4, here());
    held.busy_workers();
    let before = Instant::now();
    drop(Unplugged::take(switch));
    eprintln!("the CPU was gone for {:?}", before.elapsed());
    let (output, run) = held.end();
    nothing_of_it_is_used(&run, &common::said(&output));
}

/// The round that it hits is marked; those without it fail with what helps; then the run goes on.
fn gone_for_seconds_fails_rounds_until_it_is_back(switch: &Path, cpus: usize) {
    let mut held = Held::start(TRANSFER, 8, here());
    held.busy_workers();
    let unplugged = Unplugged::take(switch);
    syscost_sys::sleep::sleep(GONE);
    let without = RunDir::load(&held.out).expect("the directory is valid").samples.len();
    drop(unplugged);
    let (output, run) = held.end();
    let said = common::said(&output);
    nothing_of_it_is_used(&run, &said);
    assert!(run.samples.len() > without, "it went on when the CPU was back: {said}");
    if cpus > 2 {
        return assert!(output.status.success(), "other CPUs take its place: {said}");
    }
    assert_eq!(output.status.code(), Some(common::wanted_status(&run)), "{said}");
    assert!(!run.record.failures.is_empty(), "one CPU is not two: {said}");
}

/// A round that lost its CPU is marked, one that began without it fails with what helps, and the others are as many
/// as were asked for.
fn nothing_of_it_is_used(run: &Run, said: &str) {
    let marked = run.samples.iter().filter(|s| s.marks.iter().any(|mark| mark == "unpinned")).count();
    assert!(marked > 0, "the round in which it went: {said}");
    assert!(run.samples.iter().all(|s| s.marks.is_empty() || !s.usable()), "a marked sample is used");
    for failure in &run.record.failures {
        for word in ["one CPU only", "is offline", "/online"] {
            assert!(failure.message.contains(word), "{word} is not in {failure:?}");
        }
    }
    let usable: BTreeSet<u32> = run.samples.iter().filter(|s| s.usable()).map(|s| s.round).collect();
    assert!(usable.len() >= run.record.spec.min_rounds as usize, "rounds {usable:?}: {said}");
}
