//! Runs as large as a person can ask for, made in seconds: the record and the samples of a real run of one
//! case, repeated over as many cases or rounds as wanted. Written by the library, as a real run is.

use crate::common;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use syscost_core::sample::Sample;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Run, State};
use syscost_experiment::spec::Spec;

/// What a child needed, by the kernel's account of it.
pub struct Needed {
    pub code: Option<i32>,
    pub said: String,
    pub peak_bytes: u64,
    pub cpu_seconds: f64,
}

/// USER_HZ, which is 100 in every kernel's files for programs.
const TICKS_A_SECOND: f64 = 100.0;

/// The largest resident memory of a process until now. Source: proc_pid_status(5), VmHWM.
fn largest_memory(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<u64>().ok()? * 1024)
}

/// Runs the binary to its end, and looks at the largest memory that it held all the while. What needs more CPU seconds than
/// these fails at once: what grows with a square would go on for hours.
pub fn watched(arguments: &[&str], directory: &Path, most_cpu_seconds: f64) -> Needed {
    let said = directory.join(format!("said-{}", arguments[0]));
    let file = std::fs::File::create(&said).expect("a file for what it says");
    let mut child = Command::new(common::SYSCOST)
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(file)
        .spawn()
        .expect("the binary starts");
    // Not ru_maxrss: that of a child begins with what its parent, this test's process, had at its start.
    let pid = child.id();
    let (mut peak_bytes, mut ticks) = (0, 0);
    let status = loop {
        peak_bytes = peak_bytes.max(largest_memory(pid).unwrap_or(0));
        // utime and stime of proc_pid_stat(5): what else the machine does is not in them.
        let field = |number| common::stat_field(pid, number).and_then(|text| text.parse::<u64>().ok());
        ticks = field(14).zip(field(15)).map_or(ticks, |(user, system)| ticks.max(user + system));
        if let Some(status) = child.try_wait().expect("it can be waited for") {
            break status;
        }
        if ticks as f64 > most_cpu_seconds * TICKS_A_SECOND {
            child.kill().and_then(|()| child.wait()).expect("it ends");
            panic!("{}: more than {most_cpu_seconds:.0} s of CPU time", arguments[0]);
        }
        syscost_sys::sleep::sleep(std::time::Duration::from_millis(2));
    };
    Needed {
        code: status.code(),
        said: std::fs::read_to_string(&said).unwrap_or_default(),
        peak_bytes,
        cpu_seconds: ticks as f64 / TICKS_A_SECOND,
    }
}

/// A directory in the build's own, which is on a disk: what is large is not to fill a temporary one in memory.
pub fn directory() -> tempfile::TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a directory for large files")
}

/// The flags of 100,000 cases: one mechanism's sizes, and how many others.
pub fn sizes(count: u64) -> String {
    (0..count).map(|i| (64 + 8 * i).to_string()).collect::<Vec<_>>().join(",")
}

/// A transfer over these sizes by four mechanisms with five numbers of threads.
pub fn spec(sizes_count: u64) -> Spec {
    let mut spec = Spec::named("transfer").expect("built in");
    for (flag, values) in [
        ("mechanism", "send,sendmsg,pack_send,send_fields"),
        ("threads", "1,2,3,4,5"),
        ("path", "loopback"),
        ("size", &sizes(sizes_count)),
    ] {
        spec.set_axis(flag, &[values]).expect("values of these axes");
    }
    spec
}

/// A real run of one case: its samples have every quantity that this machine can measure.
fn template(directory: &Path) -> Run {
    let once = |limit: &str| {
        let out = directory.join(format!("template-{limit}"));
        let one = ["--mechanism", "send", "--threads", "1", "--path", "loopback", "--size", "4K"];
        let mut arguments = vec!["run", "transfer", "--time-limit", limit, "--out"];
        arguments.push(out.to_str().expect("UTF-8"));
        arguments.extend(one);
        let output = common::syscost(&arguments);
        RunDir::load(&out).unwrap_or_else(|error| panic!("{error}\n{}", common::said(&output)))
    };
    let run = common::given_time(|run: &Run| !run.samples.is_empty(), once);
    assert!(!run.samples.is_empty(), "{:?}", run.record.failures);
    run
}

/// How much more a case costs in a round than the one that was measured.
pub type Cost = fn(&Case, u32) -> f64;

/// Nothing differs by more than a few per cent.
pub fn alike(_: &Case, _: u32) -> f64 {
    1.0
}

/// Mechanisms differ, more threads cost more, and one case in ten surprises: a cliff, two levels, a far round.
pub fn surprising(case: &Case, round: u32) -> f64 {
    let point = &case.point;
    let number = |axis| point.int_at(axis).unwrap_or(1);
    let mechanism = match point.text_at("mechanism") {
        Some("sendmsg") => 1.2 - number("message_bytes") as f64 / 30_000.0,
        Some("pack_send") => 1.1,
        Some("send_fields") => 1.6,
        _ => 1.0,
    };
    let surprise = match (case.index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58 {
        0..=3 => 3.0,
        4 if round % 3 == 0 => 2.0,
        5 if round == 5 => 5.0,
        _ => 1.0,
    };
    mechanism * surprise * (number("threads") as f64).powf(0.3)
}

/// Writes a run of a spec's whole plan, every case measured in so many rounds of so many samples.
pub fn run_of(spec: &Spec, rounds: u32, windows: u32, cost: Cost, directory: &Path) -> PathBuf {
    let Run { mut record, samples, .. } = template(directory);
    record.spec = spec.clone();
    record.plan = Plan::make_within(spec, None).expect("a plan");
    record.state = State::Complete;
    record.predictions.clear();
    record.audits.clear();
    record.warnings.clear();
    record.failures.clear();
    let settings = record.settings.get(&0).cloned().unwrap_or_default();
    // Each case has some of its own: how much memory its workers took.
    let of_case = |case: &Case| {
        let mut settings = settings.clone();
        settings.set("sender.peak_resident_bytes", (48_000_000 + 4096 * case.index).to_string().into());
        (case.index, settings)
    };
    record.settings = record.plan.cases.iter().map(of_case).collect();
    let out = directory.join("large");
    let mut dir = RunDir::create(&out, &record).expect("a run directory");
    let like = samples.iter().find(|s| s.usable()).unwrap_or(&samples[0]);
    for round in 0..rounds {
        for cases in record.plan.cases.chunks(256) {
            let rows: Vec<Sample> = cases
                .iter()
                .flat_map(|c| (0..windows).map(move |w| another(like, c, (round, w), cost)))
                .collect();
            dir.append(&rows).expect("rows are written");
        }
    }
    out
}

/// The same sample a little slower or faster, as another case or round would have it.
fn another(like: &Sample, case: &Case, (round, index): (u32, u32), cost: Cost) -> Sample {
    let mut sample = like.clone();
    (sample.case, sample.round, sample.index) = (case.index, round, index);
    (sample.verified, sample.marks) = (true, Vec::new());
    // A few per cent, and no pattern over cases or rounds.
    let seed = (case.index as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(round * 31 + index);
    let noise = 1.0 + 0.05 * (seed.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 40) as f64 / (1u64 << 24) as f64;
    let factor = noise * cost(case, round);
    for messages in ["sender_messages", "receiver_messages"] {
        let fewer = sample.get(messages).map(|n| (n / factor).round());
        sample.quantities.insert(messages.into(), fewer);
    }
    sample.ops = (sample.ops / factor).round();
    sample.bytes = sample.ops * case.point.int_at("message_bytes").unwrap_or(0) as f64;
    sample
}
