//! Hostile machines: hardly any descriptors or processes, a sandbox that refuses system calls, /proc and /sys that
//! are read-only, empty or missing. What can be measured is; what cannot is told with what would help.

use super::left;
use crate::common::{self, said, sound};
use std::ffi::CStr;
use std::fs;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};
use syscost_experiment::plan::{Case, Skip};
use syscost_experiment::run::{LoadError, Run, RunDir};
use syscost_measure::ledger::Tier;

/// Limits are counted per user: no other test runs as this one.
const LONELY: u32 = 65_530;
const HIDDEN: u32 = 65_529;

/// The whole of the tool's start, a run of some seconds, and its report.
pub fn run_of(program: &Path, mechanisms: &str, threads: &str, out: &Path, more: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(["run", "transfer", "--mechanism", mechanisms, "--size", "4K", "--threads", threads, "--quick"])
        .args(more)
        .arg("--out")
        .arg(out)
        .current_dir("/");
    command
}

fn resumed(out: &Path, limit: &str) -> Command {
    let mut command = Command::new(common::SYSCOST);
    command.args(["run", "--time-limit", limit, "--resume"]).arg(out).current_dir("/");
    command
}

fn has_samples(out: &Path) -> bool {
    RunDir::load(out).is_ok_and(|run| !run.samples.is_empty())
}

/// It ends by itself, with a status that it documents, and no panic in any of its processes.
pub fn ended(mut command: Command) -> (i32, String) {
    let output: Output = command.output().expect("the binary starts");
    let text = said(&output);
    assert!(!text.contains("panicked"), "{text}");
    (output.status.code().unwrap_or_else(|| panic!("{text}")), text)
}

/// A run that has samples, unless it cannot have any.
pub fn measured(out: &Path, command: impl Fn(&Path, &str) -> Command) -> (i32, String, Run) {
    let once = |limit: &str| {
        let out = out.with_extension(limit);
        let (status, text) = ended(command(&out, limit));
        let run = RunDir::load(&out).unwrap_or_else(|error| panic!("{error}: {text}"));
        (status, text, run)
    };
    common::given_time(|(_, _, run)| !common::starved(run), once)
}

/// Runs this between fork and exec: only plain system calls.
pub fn before_exec(command: &mut Command, prepare: impl FnMut() -> io::Result<()> + Send + Sync + 'static) {
    // SAFETY: each caller's closure makes system calls alone, and allocates nothing.
    unsafe { command.pre_exec(prepare) };
}

fn done(result: libc::c_int) -> io::Result<()> {
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn few_descriptors_are_enough_or_the_limit_is_named() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for (limit, wanted) in [(20, 1), (10, 2), (6, 2)] {
        let once = |time: &str| {
            let out = scratch.path().join(format!("{limit}-{time}"));
            let more = ["--path", "loopback", "--time-limit", time];
            let mut command = run_of(Path::new(common::SYSCOST), "send,sendmsg", "1,64", &out, &more);
            common::limit(&mut command, libc::RLIMIT_NOFILE, limit, limit);
            let (status, text) = ended(command);
            (status, text, out)
        };
        let named = |message: &str| message.contains("ulimit -n");
        // One thread a side needs fewer than 20.
        let (status, text, out) =
            common::given_time(|(_, text, out)| named(text) && (limit < 20 || has_samples(out)), once);
        assert_eq!(status, wanted, "{limit}: {text}");
        assert!(
            text.contains("ulimit -n") && text.contains(&format!("may have {limit} files")),
            "{limit}: {text}"
        );
        if status == 2 {
            // What was begun is no obstacle once the limit is raised.
            let again = |time: &str| match RunDir::load(&out) {
                Ok(_) => resumed(&out, time),
                Err(_) => {
                    let more = ["--path", "loopback", "--time-limit", time];
                    run_of(Path::new(common::SYSCOST), "send", "1", &out, &more)
                }
            };
            let (status, text) = common::given_time(|_| has_samples(&out), |time| ended(again(time)));
            let run = RunDir::load(&out).expect("a run");
            // What failed while the limit stood stays in the record.
            let told = |message: &str| message.contains("ulimit -n") || message.contains("stood still");
            assert!(run.record.failures.iter().all(|failure| told(&failure.message)), "{text}");
            assert!(status < 2 && !run.samples.is_empty(), "{text}");
            continue;
        }
        let run = RunDir::load(&out).expect("a valid run");
        assert!(!run.record.failures.is_empty());
        assert!(run.record.failures.iter().any(|failure| named(&failure.message)), "{limit}: {text}");
        for failure in &run.record.failures {
            // A round that got no CPU in time says that.
            let told = named(&failure.message) || failure.message.contains("the work stood still");
            assert!(told, "{limit}: {}", failure.message);
        }
        assert_eq!(run.samples.is_empty(), limit < 20, "{limit}: {text}");
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn few_processes_are_named_with_the_limit() {
    let test = "few_processes_are_named_with_the_limit";
    if !common::is_root(test) {
        return;
    }
    let (directory, program) = common::open_to_all();
    for limit in [1, 8] {
        let once = |time: &str| {
            let out = directory.path().join(format!("{limit}-{time}"));
            let mut command =
                run_of(&program, "send", "1,8", &out, &["--path", "loopback", "--time-limit", time]);
            command.uid(LONELY).gid(LONELY);
            common::limit(&mut command, libc::RLIMIT_NPROC, limit, limit);
            let (status, text) = ended(command);
            (status, text, RunDir::load(&out))
        };
        let enough = |(_, _, run): &(i32, String, Result<Run, LoadError>)| {
            limit == 1 || run.as_ref().is_ok_and(|run| !run.samples.is_empty())
        };
        let (status, text, run) = common::given_time(enough, once);
        if limit == 1 {
            assert!(status == 2 && run.is_err(), "{text}");
            assert!(text.contains("this user's limit (ulimit -u) has 0 to give"), "{text}");
            continue;
        }
        let run = run.unwrap_or_else(|error| panic!("{error}: {text}"));
        // Two workers of one thread each are 6 tasks beside the tool.
        let skip = &run.record.plan.skips[0].why;
        assert!(skip.reason.contains("this user's limit (ulimit -u) has 7 to give"), "{skip:?}");
        assert!(skip.remedy.contains("ulimit -u unlimited"), "{skip:?}");
        assert!(!run.samples.is_empty(), "{text}");
    }
}

/// A call by its number, and which arguments (by place) have which value.
pub type RefusedCall<'a> = (libc::c_long, &'a [(u32, u32)]);

/// A real filter: these calls end with this error, for this process and all that it starts.
fn filter(calls: &[RefusedCall], errno: i32) -> Vec<libc::sock_filter> {
    let step = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let load = |offset| step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, offset);
    // Past what follows of this call.
    let unless = |left: usize, value| step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, left as u8, value);
    let end = |answer| step(libc::BPF_RET | libc::BPF_K, 0, answer);
    let mut program = Vec::new();
    for (number, arguments) in calls {
        program.extend([load(0), unless(2 * arguments.len() + 1, *number as u32)]);
        for (place, (argument, value)) in arguments.iter().enumerate() {
            let left = 2 * (arguments.len() - place - 1) + 1;
            program.extend([load(16 + 8 * argument), unless(left, *value)]);
        }
        program.push(end(libc::SECCOMP_RET_ERRNO | errno as u32));
    }
    program.push(end(libc::SECCOMP_RET_ALLOW));
    program
}

pub fn sandboxed(command: &mut Command, calls: &[libc::c_long], errno: i32) {
    let calls: Vec<RefusedCall> = calls.iter().map(|number| (*number, &[][..])).collect();
    refusing(command, &calls, errno);
}

pub fn refusing(command: &mut Command, calls: &[RefusedCall], errno: i32) {
    let mut program = filter(calls, errno);
    before_exec(command, move || {
        let whole = libc::sock_fprog { len: program.len() as u16, filter: program.as_mut_ptr() };
        // SAFETY: prctl takes plain numbers, and reads the live program that it is given.
        unsafe {
            done(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))?;
            done(libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &whole as *const _))
        }
    });
}

/// What containers refuse, and what older sandboxes know nothing of.
const REFUSED: [libc::c_long; 8] = [
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_memfd_create,
    libc::SYS_unshare,
    libc::SYS_setns,
];

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_sandbox_skips_what_it_refuses_and_the_rest_is_measured() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    std::thread::scope(|scope| {
        for errno in [libc::EPERM, libc::ENOSYS] {
            let out = scratch.path().join(errno.to_string());
            scope.spawn(move || in_a_sandbox(errno, &out));
        }
    });
}

fn in_a_sandbox(errno: i32, out: &Path) {
    let (status, text, run) = measured(out, |out, limit| {
        let more = ["--path", "loopback", "--time-limit", limit];
        let mut command = run_of(Path::new(common::SYSCOST), "all", "1", out, &more);
        sandboxed(&mut command, &REFUSED, errno);
        command
    });
    sound(status, &run, &text);

    let skips = &run.record.plan.skips;
    assert!(skips.iter().all(|skip| !skip.why.reason.is_empty() && !skip.why.remedy.is_empty()), "{skips:?}");
    let about = |word: &str| {
        let told =
            |skip: &&Skip| skip.why.remedy.contains(word) && format!("{:?}", skip.why).contains("sandbox");
        skips.iter().filter(told).count()
    };
    let ring = if errno == libc::EPERM { "io_uring_setup" } else { "CONFIG_IO_URING" };
    assert_eq!((about(ring), about("memfd_create")), (4, 3), "{skips:?}");

    let mechanism = |case: &Case| case.point.text_at("mechanism").map(String::from);
    let planned: Vec<String> = run.record.plan.cases.iter().filter_map(mechanism).collect();
    for plain in ["send", "sendmsg", "writev", "msg_zerocopy"] {
        assert!(planned.iter().any(|one| one == plain), "{plain}: {planned:?}");
    }
    for audit in &run.record.audits {
        let why = audit.uncounted.as_ref().expect("nothing could count");
        assert_eq!(audit.tier, Tier::Told);
        assert!(why.reason.contains("sandbox") || !common::is_root("the reason of an audit"), "{why:?}");
    }
    let left = run.record.warnings.iter().any(|warning| warning.observed.contains("copies"));
    assert!(!run.record.audits.is_empty() || left, "{text}");
    let counters = run.record.missing.iter().find(|m| m.quantities.iter().any(|q| q.contains("cycles")));
    let why = &counters.expect("no counter opens").why;
    assert!(why.reason.contains("perf_event") && !why.remedy.is_empty(), "{why:?}");
    // Whoever has the rights is not told to get them.
    if common::is_root("the remedy of a counter") {
        assert!(why.remedy.contains("allow perf_event_open") || why.remedy.contains("sandbox"), "{why:?}");
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_sandbox_without_namespaces_or_pinning_is_named() {
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for errno in [libc::EPERM, libc::ENOSYS] {
        let out = scratch.path().join(format!("namespaces-{errno}"));
        let program = Path::new(common::SYSCOST);
        let (status, text, run) = measured(&out, |out, limit| {
            let mut command = run_of(program, "send", "1", out, &["--time-limit", limit]);
            sandboxed(&mut command, &REFUSED, errno);
            command
        });
        sound(status, &run, &text);
        let fallback = run.record.warnings.iter().find(|warning| warning.id == "path_fallback");
        let fallback = fallback.unwrap_or_else(|| panic!("loopback without a reason: {text}"));
        if common::is_root("the reason why there is no namespace") {
            assert!(
                fallback.observed.contains("seccomp") && fallback.remedy.contains("--cap-add"),
                "{fallback:?}"
            );
        }

        let out = scratch.path().join(format!("pinning-{errno}"));
        let more = ["--time-limit", "4s", "--path", "loopback"];
        let more = [&more[..], &["--placement", "same"]].concat();
        let mut command = run_of(program, "send", "1", &out, &more);
        sandboxed(&mut command, &[libc::SYS_sched_setaffinity], errno);
        let (status, text) = ended(command);
        assert_eq!(status, 2, "{text}");
        assert!(text.contains("sandbox") && text.contains("--placement none"), "{text}");
        // The remedy helps.
        let out = scratch.path().join(format!("unpinned-{errno}"));
        let (status, text, run) = measured(&out, |out, limit| {
            let more = ["--time-limit", limit, "--path", "loopback", "--placement", "none"];
            let mut command = run_of(program, "send", "1", out, &more);
            sandboxed(&mut command, &[libc::SYS_sched_setaffinity], errno);
            command
        });
        sound(status, &run, &text);
    }
}

fn read_only(path: &CStr) -> io::Result<()> {
    let (none, data) = (std::ptr::null(), std::ptr::null());
    let again = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
    // SAFETY: plain system calls with terminated strings.
    unsafe {
        done(libc::mount(path.as_ptr(), path.as_ptr(), none, libc::MS_BIND, data))?;
        done(libc::mount(path.as_ptr(), path.as_ptr(), none, again, data))
    }
}

/// An empty folder in its place; where there is none, it stays so.
pub fn emptied(path: &CStr) -> io::Result<()> {
    // SAFETY: a plain system call with terminated strings.
    let result =
        unsafe { libc::mount(c"none".as_ptr(), path.as_ptr(), c"tmpfs".as_ptr(), 0, std::ptr::null()) };
    done(result).or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn kernel_files_that_are_read_only_or_missing_do_not_end_a_run() {
    if !common::is_root("kernel_files_that_are_read_only_or_missing_do_not_end_a_run") {
        return;
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let program = Path::new(common::SYSCOST);
    for missing in [false, true] {
        let prepare = move || {
            left::own_mounts()?;
            emptied(c"/proc/pressure")?;
            let both = if missing { emptied } else { read_only };
            both(c"/proc/sys").and_then(|()| both(c"/sys"))
        };
        let out = scratch.path().join(missing.to_string());
        let (status, text, run) = measured(&out, |out, limit| {
            let mut command = run_of(program, "send,msg_zerocopy", "1", out, &["--time-limit", limit]);
            before_exec(&mut command, prepare);
            command
        });
        sound(status, &run, &text);
        assert!(!run.record.audits.is_empty() || !run.record.warnings.is_empty(), "{text}");
        // Without the kernel's types nothing was counted: no count is what is said, and never a count of 0.
        for audit in run.record.audits.iter().filter(|_| missing) {
            assert_eq!((audit.tier, audit.counts), (Tier::Told, None), "{audit:?}");
            let why = audit.uncounted.as_ref().expect("a reason");
            assert!(why.reason.contains("BTF") || why.reason.contains("/sys/kernel"), "{why:?}");
        }

        let mut command = Command::new(program);
        command.arg("doctor");
        before_exec(&mut command, prepare);
        let (status, text) = ended(command);
        assert!(status <= 1, "{text}");
        assert!(!missing || text.contains("perf_event_paranoid = not told"), "{text}");
    }
    let mut command = run_of(program, "send", "1", &scratch.path().join("none"), &["--time-limit", "4s"]);
    before_exec(&mut command, || left::own_mounts().and_then(|()| emptied(c"/proc")));
    let (status, text) = ended(command);
    assert_eq!(status, 2, "{text}");
    assert!(text.contains("mount -t proc proc /proc"), "{text}");
}

/// In a process namespace of its own: on older kernels the option belongs to all mounts of one.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn hidden_processes_do_not_hide_our_own() {
    let test = "hidden_processes_do_not_hide_our_own";
    if !common::is_root(test) || !common::namespaces_allowed(test) {
        return;
    }
    let (directory, program) = common::open_to_all();
    let out = directory.path().join("run");
    // The shell stays the first process there: root's, and hidden.
    let script = "mount --make-rprivate / && mount -t proc -o hidepid=2 proc /proc && setpriv --reuid \"$0\" \
                  --regid \"$0\" --clear-groups \"$@\"; exit $?";
    let tools = Command::new("sh").args(["-c", "command -v unshare && command -v setpriv"]).output();
    if !tools.is_ok_and(|found| found.status.success()) {
        return common::skipped(test, "needs unshare and setpriv");
    }
    let (status, text, run) = measured(&out, |out, limit| {
        let inner = run_of(&program, "send", "1", out, &["--time-limit", limit]);
        let mut command = Command::new("unshare");
        command
            .args(["--mount", "--pid", "--fork", "--kill-child", "sh", "-c", script])
            .arg(HIDDEN.to_string());
        command.arg(inner.get_program()).args(inner.get_args());
        command
    });
    sound(status, &run, &text);
    assert!(fs::read_to_string("/proc/mounts").is_ok_and(|m| !m.contains("hidepid=2")), "ours alone");
}
