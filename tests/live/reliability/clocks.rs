//! The clock of the day is set in the middle of a run, by hours, forwards and back: no duration, no
//! limit and no order of events depends on it.

use super::left;
use crate::common::{self, SYSCOST};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;

/// Between the C library and the program: the day's clock is off by as many seconds as a file says, and by as
/// many more at each reading as a variable says.
/// What a process sees of a real jump, without one for everybody else.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>
static long step(void) {
    static atomic_long readings;
    const char *each = getenv("SYSCOST_TEST_STEP");
    return each ? atol(each) * atomic_fetch_add(&readings, 1) : 0;
}
static long shift(void) {
    char text[32] = {0};
    const char *path = getenv("SYSCOST_TEST_SHIFT");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0) return 0;
    if (read(file, text, sizeof text - 1) < 0) text[0] = 0;
    close(file);
    return atol(text) + step();
}
int clock_gettime(clockid_t clock, struct timespec *time) {
    int result = syscall(SYS_clock_gettime, clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) time->tv_sec += shift();
    return result;
}
int gettimeofday(struct timeval *time, void *zone) {
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    time->tv_sec = now.tv_sec;
    time->tv_usec = now.tv_nsec / 1000;
    return 0;
}
time_t time(time_t *out) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (out) *out = now.tv_sec;
    return now.tv_sec;
}
"#;

const HOURS: i64 = 5 * 3600;
const PATIENCE: Duration = Duration::from_secs(60);

/// A machine whose clock can be set, for one program.
struct Day {
    folder: tempfile::TempDir,
    shim: PathBuf,
}

impl Day {
    fn new(test: &str) -> Option<Day> {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let (source, shim) = (folder.path().join("shim.c"), folder.path().join("shim.so"));
        fs::write(&source, SHIM).expect("written");
        let cc = Command::new("cc").args(["-shared", "-fPIC", "-O1", "-o"]).arg(&shim).arg(&source).output();
        match cc {
            Ok(output) if output.status.success() => Some(Day { folder, shim }),
            Ok(output) => panic!("{}", common::said(&output)),
            Err(error) => {
                common::skipped(test, &format!("cc: {error}"));
                None
            }
        }
    }

    fn set(&self, seconds: i64) {
        // Replaced as a whole: a reader must not find half a number.
        let (new, shift) = (self.folder.path().join("new"), self.shift());
        fs::write(&new, seconds.to_string()).and_then(|()| fs::rename(&new, shift)).expect("written");
    }

    fn shift(&self) -> PathBuf {
        self.folder.path().join("shift")
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(SYSCOST);
        command.args(arguments).env("LD_PRELOAD", &self.shim).env("SYSCOST_TEST_SHIFT", self.shift());
        command.stdout(Stdio::null()).stderr(Stdio::piped());
        command
    }

    fn start(&self, arguments: &[&str]) -> Child {
        self.command(arguments).spawn().expect("the binary starts")
    }
}

fn spec(folder: &Path) -> PathBuf {
    // Predictions of some rows stand on others.
    let probes = "[[probe]]\nid = \"transfer\"\nmechanism = \"send\"\nmessage_bytes = 4096\nthreads = 1\n\
                  path = \"loopback\"\n[[probe]]\nid = \"timer\"\n[[probe]]\nid = \"procedure_call\"\n\
                  [[probe]]\nid = \"system_call\"";
    common::experiment(folder, 60, "6s", ("1ms", "2ms", 2), probes)
}

fn nothing_depends_on_the_day(run: &Run) {
    let hour_ns = 3600.0 * 1e9;
    for sample in &run.samples {
        let times = sample.quantities.iter().filter(|(id, _)| id.ends_with("_ns")).map(|(_, n)| n);
        for time in times.chain([sample.elapsed_ns]) {
            assert!((0.0..hour_ns / 10.0).contains(&time), "{sample:?}");
        }
        assert!(sample.usable() || !sample.marks.contains(&"suspended".to_string()), "{sample:?}");
    }
    assert!((run.record.elapsed_ns as f64) < hour_ns / 10.0, "{}", run.record.elapsed_ns);
    let stamps: Vec<Option<u64>> = run.samples.iter().map(|sample| sample.start_ns).collect();
    assert!(
        stamps.iter().all(Option::is_some) && stamps.is_sorted(),
        "one clock for the whole run: {stamps:?}"
    );
    let first = |p: &syscost_measure::probe::prediction::Prediction| p.first_round_unix_ns;
    let predictions = &run.record.predictions;
    assert!(predictions.iter().any(|p| first(p).is_some()), "nothing was predicted");
    for prediction in predictions.iter().filter(|p| first(p).is_some()) {
        let made_ns = prediction.made_unix_ns.saturating_sub(run.record.started_unix_ns);
        assert!((made_ns as f64) < hour_ns / 10.0, "made when the run began: {prediction:?}");
        assert!(prediction.made_unix_ns >= run.record.started_unix_ns, "and not before: {prediction:?}");
        assert!(
            first(prediction) > Some(prediction.made_unix_ns),
            "an honest prediction looks late: {prediction:?}"
        );
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_clock_set_by_hours_changes_no_duration_and_no_order() {
    let Some(day) = Day::new("a_clock_set_by_hours_changes_no_duration_and_no_order") else { return };
    let out = day.folder.path().join("run");
    let spec = spec(day.folder.path());
    let (spec, out_text) = (spec.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    day.set(HOURS);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs() as i64;
    let began = Instant::now();
    let child = day.start(&["run", "--quiet", spec, "--out", out_text]);
    let mut shift = HOURS;
    // Back and forth throughout the run: between a prediction and its case's first sample too.
    while !left::has_ended(child.id()) && began.elapsed() < PATIENCE {
        shift = -shift;
        day.set(shift);
        syscost_sys::sleep::sleep(Duration::from_millis(3));
    }
    let output = child.wait_with_output().expect("it ends");
    assert!(began.elapsed() < PATIENCE, "its time limit was 6 s");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    let run = RunDir::load(&out).expect("the directory is valid");
    let off = run.record.started_unix_ns as i64 / 1_000_000_000 - now;
    assert!((off.abs() - HOURS).abs() < 120, "the run saw the jump: {off} s");
    assert!(!run.samples.is_empty());
    nothing_depends_on_the_day(&run);

    // Continued the day before: set back by far more than the run took.
    day.set(-24 * 3600);
    let child = day.start(&["run", "--quiet", "--resume", out_text, "--time-limit", "3s"]);
    let output = child.wait_with_output().expect("it ends");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    let resumed = RunDir::load(&out).expect("the directory is valid");
    assert!(resumed.record.elapsed_ns >= run.record.elapsed_ns);
    assert_eq!(&resumed.samples[..run.samples.len()], &run.samples[..]);
    nothing_depends_on_the_day(&resumed);
}

/// Whatever moment between two readings somebody chooses to set the clock.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_clock_set_on_between_any_two_readings_changes_no_order() {
    let Some(day) = Day::new("a_clock_set_on_between_any_two_readings_changes_no_order") else { return };
    let out = day.folder.path().join("run");
    let spec = spec(day.folder.path());
    let (spec, out_text) = (spec.to_str().expect("UTF-8"), out.to_str().expect("UTF-8"));
    day.set(0);
    let arguments = ["run", "--quiet", spec, "--out", out_text];
    let output = day.command(&arguments).env("SYSCOST_TEST_STEP", HOURS.to_string()).output();
    let output = output.expect("the binary starts");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
    nothing_depends_on_the_day(&RunDir::load(&out).expect("the directory is valid"));
}
