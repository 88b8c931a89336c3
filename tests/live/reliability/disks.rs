//! Full, small, read-only and vanishing places for a run: what went wrong is said, with what to do;
//! what was measured before is kept, and the run goes on once there is room.

use super::left::{self, check};
use crate::common::{self, SYSCOST, soon};
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Run, State};

/// Environment: what was asked cannot be done here.
const ENVIRONMENT: i32 = 2;

/// Runs `body` in a thread with mounts of its own, where `tmpfs` (its options) lies on a directory
/// that `body` is given; nothing of it is seen from outside, and all of it ends with the thread.
fn on_a_tmpfs(test: &str, options: &str, body: impl FnOnce(&Path) + Send) {
    if !common::is_root(test) {
        return;
    }
    let folder = tempfile::tempdir().expect("a scratch directory");
    let target = CString::new(folder.path().to_str().expect("UTF-8")).expect("no zero byte");
    let options = CString::new(options).expect("no zero byte");
    let mount = || -> std::io::Result<()> {
        left::own_mounts()?;
        // SAFETY: four C strings.
        check(unsafe {
            libc::mount(c"tmpfs".as_ptr(), target.as_ptr(), c"tmpfs".as_ptr(), 0, options.as_ptr().cast())
        })
    };
    std::thread::scope(|scope| {
        let inside = || match mount() {
            Ok(()) => body(folder.path()),
            Err(error) => common::skipped(test, &format!("mounts of one's own: {error}")),
        };
        scope.spawn(inside).join().unwrap_or_else(|e| std::panic::resume_unwind(e));
    });
}

fn spec(folder: &Path, rounds: u32, probe: &str) -> PathBuf {
    common::experiment(folder, rounds, "240s", ("1ms", "1ms", 4), &format!("[[probe]]\n{probe}"))
}

const TRANSFER: &str = "id = \"transfer\"\nmechanism = \"send\"\nmessage_bytes = [64, 4096]\nthreads = 1\n\
                        path = \"loopback\"";
/// Keeps histograms.
const LATENCY: &str =
    "id = \"tcp_latency\"\nmessage_bytes = 64\npath = \"loopback\"\nthreads = 1\nloop = \"closed\"";

fn start(spec: &Path, out: &Path) -> Child {
    let mut command = Command::new(SYSCOST);
    command.args(["run", "--quiet"]).arg(spec).arg("--out").arg(out);
    command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("the binary starts")
}

/// What cannot be continued is not said to be.
#[test]
fn a_disk_on_which_no_run_begins_is_no_run_to_continue() {
    on_a_tmpfs("a_disk_on_which_no_run_begins_is_no_run_to_continue", "size=16k", |disk| {
        let out = disk.join("run");
        let output = start(&spec(disk, 2, TRANSFER), &out).wait_with_output().expect("it ends");
        let said = common::said(&output);
        assert_eq!(output.status.code(), Some(ENVIRONMENT), "{said}");
        assert!(said.contains("no space is left") && !said.contains("--resume"), "{said}");
        assert!(said.contains("--out"), "{said}");
    });
}

/// 1: among other tests a worker may get no CPU for all of its window of a millisecond; the run says so.
fn measured(output: &Output) {
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(output));
}

fn resume(out: &Path, limit: &str) -> Output {
    common::syscost(&["run", "--quiet", "--resume", out.to_str().expect("UTF-8"), "--time-limit", limit])
}

fn has_samples(out: &Path) -> bool {
    RunDir::load(out).is_ok_and(|run| run.samples.len() > 4)
}

/// Writes until nothing more fits.
fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    let chunk = vec![1; 64 << 10];
    while file.write_all(&chunk).is_ok() {}
    while file.write_all(&[1]).is_ok() {}
}

/// Its words, once it ended as an environment that cannot do what was asked.
fn refused(output: &Output) -> String {
    let said = common::said(output);
    assert_eq!(output.status.code(), Some(ENVIRONMENT), "{said}");
    assert!(said.contains("error:"), "{said}");
    assert!(!said.contains("panicked"), "{said}");
    said
}

fn begins_with(now: &Run, before: &Run) {
    assert!(now.samples.len() >= before.samples.len(), "samples went");
    assert_eq!(&now.samples[..before.samples.len()], &before.samples[..], "samples changed");
}

fn goes_on(out: &Path, before: &Run) {
    let more = |now: &Run| now.samples.len() > before.samples.len();
    let now = common::given_time(more, |limit| {
        let output = resume(out, limit);
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
        let now = RunDir::load(out).expect("the directory is valid");
        begins_with(&now, before);
        now
    });
    assert!(more(&now), "it went on");
    assert!(matches!(now.record.state, State::Complete | State::TimeLimit));
    let hidden: Vec<String> = left::names(out).into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(hidden, [""; 0], "nothing temporary stays");
}

/// The disk becomes full in the middle of a run of this probe.
fn full_in_the_middle(folder: &Path, probe: &str) {
    let (out, filler) = (folder.join("run"), folder.join("filler"));
    let child = start(&spec(folder, 200, probe), &out);
    soon("the first samples", || has_samples(&out));
    fill(&filler);
    let said = refused(&child.wait_with_output().expect("it ends"));
    assert!(said.contains("no space is left") && said.contains("--resume"), "{said}");
    let before = RunDir::load(&out).expect("the directory is valid");
    assert!(before.samples.len() > 4, "what was measured is kept");
    assert_eq!(resume(&out, "2s").status.code(), Some(ENVIRONMENT), "still full");
    fs::remove_file(&filler).expect("room is made");
    goes_on(&out, &before);
    fs::remove_dir_all(&out).expect("removed");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    on_a_tmpfs("a_full_disk_ends_the_run_and_loses_nothing", "size=8m", |folder| {
        full_in_the_middle(folder, TRANSFER);
        full_in_the_middle(folder, LATENCY);
    });
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_report_that_does_not_fit_leaves_the_former_one_whole() {
    on_a_tmpfs("a_report_that_does_not_fit_leaves_the_former_one_whole", "size=8m", |folder| {
        let (out, filler) = (folder.join("run"), folder.join("filler"));
        let output = start(&spec(folder, 3, TRANSFER), &out).wait_with_output().expect("it ends");
        measured(&output);
        let read =
            || ["report.html", "results.csv"].map(|name| fs::read(out.join(name)).expect("it is there"));
        let before = read();
        fill(&filler);
        let directory = out.to_str().expect("UTF-8");
        let said = refused(&common::syscost(&["report", directory]));
        assert!(said.contains("no space is left") && said.contains("--out"), "{said}");
        assert_eq!(read(), before);
        assert_eq!(
            left::names(&out).iter().filter(|name| name.starts_with('.')).count(),
            0,
            "nothing temporary"
        );
        let elsewhere = tempfile::tempdir().expect("a scratch directory");
        let output =
            common::syscost(&["report", directory, "--out", elsewhere.path().to_str().expect("UTF-8")]);
        measured(&output);
    });
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_disk_without_room_for_another_file_says_so() {
    on_a_tmpfs("a_disk_without_room_for_another_file_says_so", "size=8m,nr_inodes=40", |folder| {
        let out = folder.join("run");
        let mut child = start(&spec(folder, 200, TRANSFER), &out);
        soon("the first samples", || has_samples(&out));
        let fillers = folder.join("fillers");
        let _ = fs::create_dir(&fillers);
        // The run replaces its record through a second file. Where that stands while the disk is filled, its place is free
        // again a moment later, and has to be taken too.
        let mut files = 0;
        while child.try_wait().expect("it can be asked").is_none() {
            while File::create(fillers.join(files.to_string())).is_ok() {
                files += 1;
            }
            syscost_sys::sleep::sleep(Duration::from_millis(1));
        }
        let said = refused(&child.wait_with_output().expect("it ends"));
        assert!(said.contains("no space is left") && said.contains("df -i"), "{said}");
        let before = RunDir::load(&out).expect("the directory is valid");
        fs::remove_dir_all(&fillers).expect("room is made");
        goes_on(&out, &before);
    });
}

/// A command whose files may not become larger.
fn limited(bytes: u64, arguments: &[&str]) -> Output {
    let mut command = Command::new(SYSCOST);
    command.args(arguments);
    common::limit(&mut command, libc::RLIMIT_FSIZE, bytes, libc::RLIM_INFINITY);
    command.output().expect("the binary starts")
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_limit_on_the_size_of_files_is_an_error_with_a_remedy() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let out = folder.path().join("run");
    let spec = spec(folder.path(), 60, TRANSFER);
    let arguments = ["run", "--quiet", spec.to_str().expect("UTF-8"), "--out", out.to_str().expect("UTF-8")];
    // Above the record, below the samples.
    let said = refused(&limited(64 << 10, &arguments));
    assert!(
        said.contains("samples.csv") && said.contains("ulimit -f") && said.contains("--resume"),
        "{said}"
    );
    let before = RunDir::load(&out).expect("the directory is valid");
    assert!(before.samples.len() > 50, "what was measured is kept");
    goes_on(&out, &before);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_directory_removed_during_the_run_ends_it_soon() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let out = folder.path().join("run");
    let child = start(&spec(folder.path(), 2000, TRANSFER), &out);
    soon("the first samples", || has_samples(&out));
    // All of it at one moment: it may be putting a file there, or see half of it gone.
    common::signal(child.id(), libc::SIGSTOP);
    soon("it stands still", || common::stat_field(child.id(), 3).as_deref() == Some("T"));
    fs::remove_dir_all(&out).expect("removed");
    common::signal(child.id(), libc::SIGCONT);
    let removed = Instant::now();
    let said = refused(&child.wait_with_output().expect("it ends"));
    assert!(removed.elapsed() < Duration::from_secs(20), "long before its time limit");
    assert!(said.contains("removed") && said.contains("--out"), "{said}");
    assert!(!out.exists(), "nothing was made again");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn samples_removed_or_moved_away_are_missed_at_once() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let spec = spec(folder.path(), 2000, TRANSFER);
    let out = folder.path().join("removed");
    let child = start(&spec, &out);
    soon("the first samples", || has_samples(&out));
    fs::remove_file(out.join("samples.csv")).expect("removed");
    let said = refused(&child.wait_with_output().expect("it ends"));
    assert!(said.contains("lost; measure again"), "{said}");
    assert!(!out.join("samples.csv").exists(), "nothing was made again");

    let (out, away) = (folder.path().join("here"), folder.path().join("away"));
    let child = start(&spec, &out);
    soon("the first samples", || has_samples(&out));
    fs::rename(&out, &away).expect("moved");
    let said = refused(&child.wait_with_output().expect("it ends"));
    assert!(said.contains("moved away") || said.contains("removed meanwhile"), "{said}");
    assert!(!out.exists(), "nothing was made again");
    let before = RunDir::load(&away).expect("the moved directory is valid");
    let output =
        common::syscost(&["run", "-q", "--resume", away.to_str().expect("UTF-8"), "--time-limit", "2s"]);
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    begins_with(&RunDir::load(&away).expect("valid"), &before);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_place_that_may_not_be_written_says_so_at_the_start() {
    on_a_tmpfs("a_place_that_may_not_be_written_says_so_at_the_start", "size=8m", |folder| {
        let out = folder.join("run");
        let spec = spec(folder, 2, TRANSFER);
        let output = start(&spec, &out).wait_with_output().expect("it ends");
        measured(&output);
        let before = RunDir::load(&out).expect("valid");
        let target = CString::new(folder.to_str().expect("UTF-8")).expect("no zero byte");
        let (none, flags) = (std::ptr::null(), libc::MS_REMOUNT | libc::MS_RDONLY);
        // SAFETY: one C string, and nulls where a changed mount needs nothing.
        check(unsafe { libc::mount(none, target.as_ptr(), none, flags, none.cast()) }).expect("read-only");
        let fresh = start(&spec, &folder.join("another")).wait_with_output().expect("it ends");
        for output in [fresh, resume(&out, "2s"), common::syscost(&["report", out.to_str().expect("UTF-8")])]
        {
            let said = refused(&output);
            assert!(said.contains("file system is read-only") && said.contains("--out"), "{said}");
        }
        assert_eq!(RunDir::load(&out).expect("valid"), before);
    });
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_directory_of_somebody_else_is_refused_in_words() {
    const TEST: &str = "a_directory_of_somebody_else_is_refused_in_words";
    if !common::is_root(TEST) {
        return;
    }
    let (folder, program) = common::open_to_all();
    let out = folder.path().join("run");
    let spec = spec(folder.path(), 2, TRANSFER);
    let output = start(&spec, &out).wait_with_output().expect("it ends");
    measured(&output);
    for path in [&out, &out.join("samples.csv"), &out.join("run.json")] {
        let mode = if path.is_dir() { 0o755 } else { 0o644 };
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("chmod");
    }
    let as_nobody = |arguments: &[&str]| {
        let mut command = Command::new(&program);
        common::as_nobody(command.args(arguments)).output().expect("the binary starts")
    };
    let said = refused(&as_nobody(&["run", "-q", "--resume", out.to_str().expect("UTF-8")]));
    assert!(said.contains("may not write"), "a file that can be read: {said}");
    let said = refused(&as_nobody(&["report", out.to_str().expect("UTF-8")]));
    assert!(said.contains("may not write") && said.contains("--out"), "{said}");
}
