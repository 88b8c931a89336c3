//! What the live tests share.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicU32, Ordering};
use syscost_core::axis::Point;
use syscost_experiment::plan::{Plan, Skip};
use syscost_experiment::run::{Run, RunDir, State};
use syscost_experiment::spec::Spec;
use syscost_harness::{self as measure, Event};
use syscost_host::namespaces;
use syscost_sys::program;

pub use crate::support::*;

/// Points the library at the real binary: its own executable is the test's.
pub fn use_real_binary() {
    program::set(SYSCOST);
}

/// An experiment of one probe over these axes.
pub fn spec(probe: &str, axes: &[(&str, &str)]) -> Spec {
    let mut spec = Spec::named(probe).expect("the probe is a spec");
    for (flag, values) in axes {
        spec.set_axis(flag, &[values]).expect("valid values");
    }
    spec
}

pub fn plan(probe: &str, axes: &[(&str, &str)]) -> Plan {
    use_real_binary();
    Plan::make(&spec(probe, axes)).expect("a plan")
}

/// Checks every case of a plan, byte by byte; none may fail. Returns the points that were verified, and what was
/// found out to be impossible on the way.
pub fn checked(plan: &Plan) -> (Vec<Point>, Vec<Skip>) {
    let mut done = Vec::new();
    let unfinished = measure::check(plan, &mut |event| {
        if let Event::CaseDone { case, .. } = event {
            done.push(case.point.clone());
        }
    })
    .expect("the check runs");
    assert!(unfinished.failures.is_empty(), "{:#?}", unfinished.failures);
    (done, unfinished.skips)
}

/// Checks every case of the axes given; each must run and verify.
pub fn all_verify(probe: &str, axes: &[(&str, &str)]) {
    let plan = plan(probe, axes);
    assert!(plan.skips.is_empty(), "{:?}", plan.skips);
    let (done, _) = checked(&plan);
    assert!(!done.is_empty());
    assert_eq!(done.len(), plan.cases.iter().filter(|case| case.twin_of.is_none()).count());
}

/// Writes an experiment of exactly so many rounds: `timing` is its warm-up, its window, and windows a round.
pub fn experiment(
    folder: &Path,
    rounds: impl Display,
    limit: &str,
    timing: (&str, &str, u32),
    probes: &str,
) -> PathBuf {
    let path = folder.join(format!("experiment-{rounds}.toml"));
    let (warmup, window, windows) = timing;
    let text = format!(
        "name = \"test\"\ntitle = \"test\"\nmin_rounds = {rounds}\nmax_rounds = {rounds}\ntime_limit = \"{limit}\"\n\
         [timing]\nwarmup = \"{warmup}\"\nwindow = \"{window}\"\nwindows = {windows}\n{probes}\n"
    );
    std::fs::write(&path, text).expect("the experiment is written");
    path
}

/// What the command starts has this limit of a resource.
pub fn limit(command: &mut Command, resource: libc::__rlimit_resource_t, soft: u64, hard: u64) {
    let limit = libc::rlimit { rlim_cur: soft, rlim_max: hard };
    // SAFETY: between fork and exec one system call is made, which reads a structure of the closure's own.
    unsafe {
        command.pre_exec(move || match libc::setrlimit(resource, &raw const limit) {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        })
    };
}

pub fn signal(pid: u32, signal: i32) {
    // SAFETY: kill touches no memory of ours.
    unsafe { libc::kill(pid as i32, signal) };
}

/// May namespaces be made here? Says why not, once per caller.
pub fn namespaces_allowed(test: &str) -> bool {
    use_real_binary();
    match namespaces::available() {
        Ok(_) => true,
        Err(why) => {
            skipped(test, &why.reason);
            false
        }
    }
}

/// Runs the binary to its end.
pub fn syscost(arguments: &[&str]) -> Output {
    Command::new(SYSCOST).args(arguments).output().expect("the binary starts")
}

/// A run of a few seconds with samples, histograms and a report.
pub fn short_run(out: &Path) -> Output {
    let arguments = ["run", "tcp_latency", "--path", "loopback", "--time-limit", "3s", "--quiet", "--out"];
    Command::new(SYSCOST).args(arguments).arg(out).output().expect("the binary starts")
}

/// The same, of which nothing may be missing.
pub fn measured(out: &Path) {
    let made = short_run(out);
    // 1: a round may fail on a machine that is busy with other tests.
    assert!(matches!(made.status.code(), Some(0 | 1)), "{}", said(&made));
    assert!(RunDir::load(out).is_ok(), "{}", said(&made));
}

/// What is begun anew with a longer time limit where a busy machine gave it too little: until there is enough, and at
/// most twice.
pub fn given_time<T>(enough: impl Fn(&T) -> bool, mut once: impl FnMut(&str) -> T) -> T {
    let shorter = ["5s", "20s"].into_iter().map(&mut once).find(enough);
    shorter.unwrap_or_else(|| once("60s"))
}

/// What `check` says where it played something: of a case that was skipped nothing was verified.
pub fn some_verified(text: &str) {
    let words: Vec<&str> = text.split_whitespace().skip_while(|word| *word != "verified").collect();
    assert!(words.get(1).is_some_and(|count| *count != "0") && !text.contains("failed"), "{text}");
}

/// Got the run no CPU for any of its samples? Then a longer one may.
pub fn starved(run: &Run) -> bool {
    let late = |message: &str| message.contains("stood still");
    run.samples.is_empty() && run.record.failures.iter().all(|failure| late(&failure.message))
}

/// The status is that of a run in which nothing is wrong; of one that got no CPU in time, only that is said.
pub fn sound(status: i32, run: &Run, text: &str) {
    let (failures, cases) = (&run.record.failures, run.record.plan.cases.len());
    let seen: BTreeSet<usize> = run.samples.iter().map(|sample| sample.case).collect();
    let starved = failures.iter().all(|failure| failure.message.contains("stood still"));
    let late = run.record.state == State::TimeLimit && seen.len() < cases;
    assert!(starved && status == wanted_status(run) && !seen.is_empty(), "{failures:?}\n{text}");
    assert!(seen.len() == cases || late || !failures.is_empty(), "each case has samples: {text}");
}

/// What a run ends with that nobody stopped: 0 where every case was measured or refused, 2 where none was measured.
pub fn wanted_status(run: &Run) -> i32 {
    let refused = run.record.plan.given_up();
    let measured = |case: usize| run.samples.verified(case);
    let cases = || run.record.plan.cases.iter().map(|case| case.index);
    match (cases().any(measured), cases().all(|case| measured(case) || refused.contains(&case))) {
        (false, _) => 2,
        (true, all) => i32::from(!all),
    }
}

/// A script of the shell that can be executed at once.
pub fn script(path: &Path, text: &str) {
    let draft = path.with_extension("draft");
    std::fs::write(&draft, format!("#!/bin/sh\n{text}\n")).expect("a script");
    executable(&draft, path);
}

/// Processes of this binary that are workers.
pub fn workers() -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("/proc is mounted");
    processes
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let command = std::fs::read(Path::new("/proc").join(pid.to_string()).join("cmdline"));
            command.is_ok_and(|c| c.starts_with(SYSCOST.as_bytes()) && c.ends_with(b"\0worker\0"))
        })
        .collect()
}

/// Of those, the ones that this process started.
pub fn workers_of(pid: u32) -> Vec<u32> {
    workers().into_iter().filter(|worker| parent(*worker) == Some(pid)).collect()
}

/// A field of proc_pid_stat(5) by its number there, after the name of the program, which is the second.
pub fn stat_field(pid: u32, number: usize) -> Option<String> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    stat.rsplit_once(')')?.1.split_whitespace().nth(number - 3).map(str::to_string)
}

/// The process that made this one, or that it was left to.
pub fn parent(pid: u32) -> Option<u32> {
    stat_field(pid, 4)?.parse().ok()
}

/// A control group of our own; removed when dropped.
pub struct LimitedGroup(PathBuf);

impl LimitedGroup {
    /// One that limits what this controller hands out, by the settings of version 1 or of version 2.
    pub fn limiting(
        controller: &str,
        version_1: &[(&str, &str)],
        version_2: &[(&str, &str)],
    ) -> Result<LimitedGroup, String> {
        let own = std::fs::read_to_string("/proc/self/cgroup").map_err(|e| e.to_string())?;
        let mounted = own.lines().find_map(|line| {
            let (list, path) = line.split_once(':')?.1.split_once(':')?;
            let mine = list.split(',').any(|c| c == controller);
            mine.then(|| format!("/sys/fs/cgroup/{list}/{}", path.trim_matches('/')))
        });
        // In version 2 only a group without processes may hand resources on: the top one always may.
        let (above, settings) = match mounted {
            Some(above) => (above, version_1),
            None => ("/sys/fs/cgroup".to_string(), version_2),
        };
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder =
            Path::new(&above).join(format!("syscost-test-{controller}-{}-{number}", std::process::id()));
        std::fs::create_dir(&folder).map_err(|e| format!("{}: {e}", folder.display()))?;
        let group = LimitedGroup(folder);
        for (file, value) in settings {
            let file = group.0.join(file);
            std::fs::write(&file, value).map_err(|e| format!("{}: {e}", file.display()))?;
        }
        Ok(group)
    }

    /// Changes a setting; false where this version has none of these files.
    pub fn set(&self, file: &str, value: &str) -> bool {
        let file = self.0.join(file);
        // Opened, not made: a control group has the files that it has.
        file.exists() && std::fs::write(file, value).is_ok()
    }

    /// A command that runs inside.
    pub fn command(&self, program: &Path) -> Command {
        let enter = format!("echo $$ > {}/cgroup.procs && exec \"$@\"", self.0.display());
        let mut command = Command::new("sh");
        command.args(["-c", &enter, "sh"]).arg(program);
        command
    }
}

impl Drop for LimitedGroup {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}
