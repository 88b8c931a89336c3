//! A far host that lies in everything it says ([`super::lies`]), run after run, each by a seed of its own: the harness
//! ends in time, in bounded memory, without a process left, and what it wrote can be read.
//!
//! `SYSCOST_LYING_SECONDS=600` goes on for so long; `SYSCOST_LYING_SEED=N` repeats the run of a seed that was printed.

use super::lies;
use crate::common::{self, SYSCOST};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use syscost_experiment::run::RunDir;
use syscost_sys::random;

const TEST: &str =
    "reliability::lying_hosts::a_host_that_lies_in_everything_costs_its_rounds_and_nothing_else";
/// In the environment of every process of one run.
const OURS: &str = "SYSCOST_TEST_FAR_RUN";
const SECONDS: &str = "SYSCOST_LYING_SECONDS";
const ONE_SEED: &str = "SYSCOST_LYING_SEED";
const SHORT: u64 = 15;
/// Most of a run with a silent host is waiting.
const AT_ONCE: usize = 3;

const LIMIT: &str = "4s";
/// The limit, the grace that a last round has, the parting of a line, and a busy machine.
const LATEST: Duration = Duration::from_secs(45);
/// An agent that hears nothing goes on for half a minute.
const TO_LEAVE: Duration = Duration::from_secs(60);
/// Frames are a megabyte at most, and a few of them are kept; a report of so few cases takes less.
const MOST_MEMORY_KIB: i64 = 400 << 10;

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_host_that_lies_in_everything_costs_its_rounds_and_nothing_else() {
    if std::env::var_os(lies::COMMAND).is_some() {
        lies::play();
    }
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    if let Some(seed) = number(ONE_SEED) {
        return lied_to(seed).map(drop).unwrap_or_else(|what| panic!("{ONE_SEED}={seed}: {what}"));
    }
    let end = Instant::now() + Duration::from_secs(number(SECONDS).unwrap_or(SHORT));
    let mut first = [0; 4];
    random::fill(&mut first).expect("random numbers");
    let first = u64::from(u32::from_le_bytes(first));
    let (runs, lies) = (AtomicU64::new(0), AtomicU64::new(0));
    let one_after_another = || {
        let mut wrong = Vec::new();
        while Instant::now() < end && wrong.is_empty() {
            let seed = first.wrapping_add(runs.fetch_add(1, Ordering::Relaxed));
            match lied_to(seed) {
                Ok(told) => drop(lies.fetch_add(told, Ordering::Relaxed)),
                Err(what) => wrong.push(format!("{ONE_SEED}={seed}: {what}")),
            }
        }
        wrong
    };
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let players: Vec<_> = (0..AT_ONCE).map(|_| scope.spawn(one_after_another)).collect();
        players.into_iter().flat_map(|player| player.join().expect("it returns what is wrong")).collect()
    });
    eprintln!("{runs:?} runs from seed {first}, {lies:?} lies");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(lies.into_inner() > 0, "nobody lied");
}

/// One run with a host that lies by this seed: how many lies it told, or what went wrong.
fn lied_to(seed: u64) -> Result<u64, String> {
    let scratch = tempfile::tempdir().map_err(|error| error.to_string())?;
    let (place, out) = (scratch.path(), scratch.path().join("run"));
    let mark = format!("{seed}-{}", place.display());
    let mut run = start(place, &out, seed, &mark);
    let began = Instant::now();
    let Some((status, memory)) = end_of(&mut run, began + LATEST) else {
        return Err(format!("it did not end within {LATEST:?} of a limit of {LIMIT}"));
    };
    let said = fs::read_to_string(place.join("said")).unwrap_or_default();
    let told = fs::read_to_string(place.join("lies")).unwrap_or_default();
    let check =
        |good: bool, what: &str| if good { Ok(()) } else { Err(format!("{what}\n{said}\nlies:\n{told}")) };
    check(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) <= 2, &format!("it ended with {status:#x}"))?;
    check(!said.contains("panicked"), "it panicked")?;
    check(memory < MOST_MEMORY_KIB, &format!("it took {memory} KiB"))?;
    if out.join("run.json").exists() {
        check(RunDir::load(&out).is_ok(), &format!("unreadable: {:?}", RunDir::load(&out).err()))?;
        let report = common::syscost(&["report", out.to_str().expect("UTF-8")]);
        let said = common::said(&report);
        check(report.status.success() || said.contains("be measured"), &format!("no report: {said}"))?;
    }
    let left = left_after(&mark, Instant::now() + TO_LEAVE);
    check(left.is_empty(), &format!("left: {left:?}"))?;
    Ok(told.lines().count() as u64)
}

/// The harness, with a liar in place of ssh.
fn start(place: &Path, out: &Path, seed: u64, mark: &str) -> Child {
    for folder in ["bin", "home"] {
        fs::create_dir(place.join(folder)).expect("a folder");
    }
    let this = std::env::current_exe().expect("this program");
    let liar = format!(
        "for last; do :; done\n{}=\"$last\" exec {} --exact {TEST} --include-ignored --nocapture",
        lies::COMMAND,
        this.display()
    );
    common::script(&place.join("bin/ssh"), &liar);
    // Rivals take turns in one pair of workers; what has none is over sooner, and says more at other places.
    let mechanisms = if seed % 3 == 0 { r#""send", "pack_send""# } else { r#""send""# };
    let probe = format!(
        "[[probe]]\nid = \"transfer\"\nmechanism = [{mechanisms}]\nreceiver = \"recv\"\nmessage_bytes = 4096\n\
         threads = 1\npath = \"ssh://liar\""
    );
    let experiment = common::experiment(place, 8, LIMIT, ("1ms", "2ms", 2), &probe);
    let installed = Path::new(SYSCOST).parent().expect("a folder");
    let search = std::env::var("PATH").unwrap_or_default();
    let mut run = Command::new(SYSCOST);
    run.args(["run", "--allow-commands"]).arg(experiment).arg("--out").arg(out);
    run.env("PATH", format!("{}:{}:{search}", place.join("bin").display(), installed.display()));
    run.env(lies::SEED, seed.to_string()).env(lies::PLACE, place).env(OURS, mark);
    let said = File::create(place.join("said")).expect("a file");
    run.stdin(Stdio::null()).stdout(Stdio::null()).stderr(said).spawn().expect("the binary starts")
}

/// With which status it ended and how much memory it, or a child of its, ever had in KiB; killed where it is late.
fn end_of(run: &mut Child, latest: Instant) -> Option<(i32, i64)> {
    loop {
        let mut status = 0;
        // SAFETY: a structure of integers, for which zeros are a value.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: both are this frame's own, and the child is waited for here alone.
        match unsafe { libc::wait4(run.id() as i32, &raw mut status, libc::WNOHANG, &raw mut usage) } {
            0 if Instant::now() < latest => syscost_sys::sleep::sleep(Duration::from_millis(20)),
            0 => {
                run.kill().expect("our child");
                run.wait().expect("our child");
                return None;
            }
            _ => return Some((status, usage.ru_maxrss)),
        }
    }
}

/// Processes of a run, when none should be there any more.
fn left_after(mark: &str, latest: Instant) -> Vec<PathBuf> {
    let ours = format!("{OURS}={mark}");
    loop {
        let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten().map(|entry| entry.path());
        let of_run = |process: &PathBuf| {
            let environment = fs::read(process.join("environ")).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|word| word == ours.as_bytes())
        };
        let left: Vec<PathBuf> = processes.filter(of_run).collect();
        if left.is_empty() || Instant::now() > latest {
            return left;
        }
        syscost_sys::sleep::sleep(Duration::from_millis(50));
    }
}
