//! The operating-system suite for real: every case does its work, or says why it cannot be done
//! here, under every restriction that users meet; predictions are written before samples.

use crate::common::{self, SYSCOST};
use crate::reliability::machines::sandboxed;
use serde_json::Value;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;
use syscost_experiment::run::files::RunDir;
use syscost_sys::affinity;

/// The built-in experiments of operations.
const SUITES: [&str; 2] = ["os", "os-more"];

/// Checks both suites as `restrict` leaves the process; every planned case is verified or skipped.
/// Returns the reasons of the skips.
fn suite_is_honest(restrict: impl Fn(&mut Command), program: &Path) -> Vec<String> {
    suite_is_honest_in(|| Command::new(program), restrict)
}

fn suite_is_honest_in(command: impl Fn() -> Command, restrict: impl Fn(&mut Command)) -> Vec<String> {
    SUITES.iter().flat_map(|suite| one_is_honest(suite, command(), &restrict)).collect()
}

fn one_is_honest(suite: &str, command: Command, restrict: &impl Fn(&mut Command)) -> Vec<String> {
    let reason = |skip: &Value| skip["reason"].as_str().unwrap_or_default().to_string();
    skips_of(suite, command, restrict).iter().map(reason).collect()
}

fn skips_of(suite: &str, mut command: Command, restrict: &impl Fn(&mut Command)) -> Vec<Value> {
    command.args(["check", suite, "--quick", "--json"]);
    restrict(&mut command);
    let output = command.output().expect("the binary starts");
    assert!(output.status.success(), "{}", common::said(&output));
    let text = String::from_utf8_lossy(&output.stdout);
    let last: Value = serde_json::from_str(text.lines().last().expect("a last line")).expect("JSON");
    assert_eq!(last["failures"], Value::Array(Vec::new()));
    assert!(last["verified"].as_u64() > Some(20), "{last}");
    let skips = last["skips"].as_array().expect("skips");
    let says = |skip: &Value, what: &str| skip[what].as_str().is_some_and(|words| !words.is_empty());
    assert!(skips.iter().all(|skip| says(skip, "reason") && says(skip, "remedy")), "{skips:?}");
    skips.clone()
}

#[test]
fn every_operation_does_its_work() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    suite_is_honest(
        |c| {
            c.current_dir(&directory);
        },
        Path::new(SYSCOST),
    );
    let left: Vec<_> = std::fs::read_dir(directory.path()).expect("readable").collect();
    assert!(left.is_empty(), "left behind: {left:?}");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn on_one_cpu() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let first = affinity::allowed().expect("an affinity")[..1].to_vec();
    let restrict = |command: &mut Command| {
        command.current_dir(&directory);
        let first = first.clone();
        // SAFETY: the closure makes one system call and allocates only what it frees.
        unsafe { command.pre_exec(move || affinity::restrict(&first)) };
    };
    let reasons = suite_is_honest(restrict, Path::new(SYSCOST));
    assert!(reasons.iter().any(|r| r.contains("CPU")), "what needs two CPUs is skipped: {reasons:?}");
}

#[test]
fn as_an_ordinary_user_where_nothing_may_be_written() {
    if !common::is_root("as_an_ordinary_user_where_nothing_may_be_written") {
        return;
    }
    let (_directory, program) = common::open_to_all();
    let reasons = suite_is_honest(|command| _ = common::as_nobody(command), &program);
    assert!(reasons.iter().any(|r| r.contains("scratch file")), "file rows are skipped: {reasons:?}");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn with_a_cpu_quota() {
    const TEST: &str = "with_a_cpu_quota";
    if !common::is_root(TEST) {
        return;
    }
    let version_1 = [("cpu.cfs_period_us", "100000"), ("cpu.cfs_quota_us", "50000")];
    let group = match common::LimitedGroup::limiting("cpu", &version_1, &[("cpu.max", "50000 100000")]) {
        Ok(group) => group,
        Err(why) => return common::skipped(TEST, &format!("no control group that limits CPU time: {why}")),
    };
    let directory = tempfile::tempdir().expect("a scratch directory");
    suite_is_honest_in(
        || group.command(Path::new(SYSCOST)),
        |command| {
            command.current_dir(&directory);
        },
    );
}

/// What sandboxes refuse and no row needs.
const REFUSED: [libc::c_long; 5] =
    [libc::SYS_bpf, libc::SYS_io_uring_setup, libc::SYS_ptrace, libc::SYS_seccomp, libc::SYS_userfaultfd];

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_sandbox_costs_no_row() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let within = |command: &mut Command| {
        command.current_dir(&directory);
    };
    let free = skips_of("os-more", Command::new(SYSCOST), &within);
    for errno in [libc::EPERM, libc::ENOSYS] {
        let restrict = |command: &mut Command| {
            within(command);
            sandboxed(command, &REFUSED, errno);
        };
        assert_eq!(skips_of("os-more", Command::new(SYSCOST), &restrict), free);
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn without_huge_pages() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let restrict = |command: &mut Command| {
        command.current_dir(&directory);
        let forbid = || {
            // SAFETY: takes numbers only; children inherit the setting.
            match unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1, 0, 0, 0) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            }
        };
        // SAFETY: only an async-signal-safe call.
        unsafe { command.pre_exec(forbid) };
    };
    suite_is_honest(restrict, Path::new(SYSCOST));
    // A quick check has no row of them.
    let mut command = Command::new(SYSCOST);
    command.args(["check", "memory_latency", "--working-set", "8M", "--huge-pages", "off,on", "--json"]);
    restrict(&mut command);
    let reasons = common::said(&command.output().expect("the binary starts"));
    assert!(reasons.contains("became huge"), "rows of huge pages are skipped: {reasons:?}");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn on_a_full_disk() {
    if !common::is_root("on_a_full_disk") {
        return;
    }
    let directory = tempfile::tempdir().expect("a scratch directory");
    let target = std::ffi::CString::new(directory.path().to_str().expect("UTF-8")).expect("no NUL");
    let restrict = |command: &mut Command| {
        let target = target.clone();
        let mount = move || {
            // SAFETY: plain system calls on strings that live; the mount is in a namespace of its own.
            let done = unsafe {
                libc::unshare(libc::CLONE_NEWNS) == 0
                    && libc::mount(
                        std::ptr::null(),
                        c"/".as_ptr(),
                        std::ptr::null(),
                        libc::MS_REC | libc::MS_PRIVATE,
                        std::ptr::null(),
                    ) == 0
                    && libc::mount(
                        c"none".as_ptr(),
                        target.as_ptr(),
                        c"tmpfs".as_ptr(),
                        0,
                        c"size=16k".as_ptr().cast(),
                    ) == 0
                    && libc::chdir(target.as_ptr()) == 0
            };
            if done { Ok(()) } else { Err(std::io::Error::last_os_error()) }
        };
        // SAFETY: only async-signal-safe calls.
        unsafe { command.pre_exec(mount) };
    };
    let reasons = suite_is_honest(restrict, Path::new(SYSCOST));
    assert!(reasons.iter().any(|r| r.contains("half of the")), "what would fill it is skipped: {reasons:?}");
}

#[test]
fn predictions_are_written_before_samples_and_from_other_rows() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let probes = "[[probe]]\nid = 'timer'\n[[probe]]\nid = 'system_call'";
    let spec = common::experiment(directory.path(), 2, "60s", ("1ms", "1ms", 1), probes);
    let (spec, dir) = (spec.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    let output = common::syscost(&["run", spec, "--out", dir]);
    assert!(output.status.success(), "{}", common::said(&output));
    let record = RunDir::load(&out).expect("a valid run").record;
    assert!(record.predictions.len() > 5);
    for prediction in &record.predictions {
        let began = prediction.first_round_unix_ns.expect("every case was measured");
        assert!(record.started_unix_ns < prediction.made_unix_ns && prediction.made_unix_ns < began);
        for case in prediction.cost.inputs.iter().filter_map(|i| i.case) {
            let other = record.predictions.iter().find(|p| p.case == case);
            assert_ne!(case, prediction.case, "its own samples");
            let earlier =
                |p: &syscost_measure::probe::prediction::Prediction| p.first_round_unix_ns < Some(began);
            assert!(other.is_none_or(earlier), "an input that was measured later: {prediction:?}");
        }
    }
    assert!(record.predictions.iter().any(|p| p.cost.predicted.is_some()));
    assert!(record.predictions.iter().any(|p| p.cost.inputs.iter().any(|i| i.case.is_some())));
}

#[test]
fn a_prediction_that_lacks_an_input_is_unknown_and_names_it() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let dir = out.to_str().expect("UTF-8");
    let output = common::syscost(&[
        "run",
        "timer",
        "--clock",
        "clock_gettime_syscall",
        "--time-limit",
        "1s",
        "--out",
        dir,
    ]);
    assert!(output.status.success(), "{}", common::said(&output));
    let record = RunDir::load(&out).expect("a valid run").record;
    let [prediction] = record.predictions.as_slice() else { panic!("{:?}", record.predictions) };
    assert_eq!(prediction.cost.predicted, None);
    assert!(prediction.cost.inputs.iter().any(|i| i.name == "trap" && i.value.is_none()));
}
