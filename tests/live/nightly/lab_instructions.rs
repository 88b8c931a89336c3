//! Counted guests: the same answer twice, a planted system call seen as exactly that, and a gate by which git bisects.
//!
//! The kernel is that of the other tests of the lab. Without the emulator, or without a network at the first time, these
//! tests say so and are no pass.

use crate::common::{SYSCOST, said, skipped};
use crate::nightly::lab::{Lab, lacks_something};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use syscost_analyze::cells::Cells;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_host::counters::{Counters, GROUPS};

const MESSAGE: &str = "instructions_per_message";
const OPERATION: &str = "instructions_per_operation";

/// A small case of each kind: a message, a call, and what forks.
const SMALL: &str = r#"
name = "small"
title = "a case of each kind"
seed = 1
min_rounds = 2
max_rounds = 2
time_limit = "5m"
[timing]
warmup = "500us"
window = "2ms"
windows = 3
[[probe]]
id = "transfer"
mechanism = "send"
message_bytes = ["4K", "1K"]
threads = 1
path = ["DEVICES", "veth"]
[[probe]]
id = "system_call"
call = "getppid"
[[probe]]
id = "process_create"
how = "fork"
resident_bytes = "1M"
"#;

/// Runs guests side by side, each with boot options of its own.
fn guests(lab: &Lab, of: &[(&Path, &str)]) -> Vec<Output> {
    let spec = lab.folder().join("small.toml");
    std::fs::write(&spec, SMALL.replace("DEVICES", &syscost_lab::path())).unwrap();
    let spec = spec.to_str().unwrap();
    let started: Vec<_> = of
        .iter()
        .map(|(out, append)| {
            let mut guest =
                lab.command(&[spec, "--count", "instructions", "--limit", "4m", "--append", append]);
            guest.arg("--out").arg(out).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    started.into_iter().map(|child| child.wait_with_output().unwrap()).collect()
}

/// The count of the first case of a probe; of a transfer where the kernel alone moves the segments: between emulated
/// devices rounds drift apart by more than what is asked of a repeat.
fn count(run: &Run, probe: &str, metric: &str) -> f64 {
    let steady = |case: &&Case| {
        case.probe.as_str() == probe && case.point.text_at("path").is_none_or(|path| path == "veth")
    };
    let case = run.record.plan.cases.iter().find(steady).expect("planned");
    let cells = Cells::of(run);
    cells.cell(case.index, metric).unwrap_or_else(|| panic!("no {metric} of {probe}")).estimate.value
}

/// Rounds agree from the first on, and no connection still grows in its windows: then each segment is acknowledged.
///
/// Where the kernel alone moves the segments they agree within 0.1 % (8 rounds of 4 KiB: 13,498 to 13,504). Between
/// emulated devices each round costs more than the one before (30,299 to 30,473), by what the sender executes for the
/// same segments, acknowledgements, calls and sleeps.
fn steady(run: &Run) {
    let cells = Cells::of(run);
    for case in run.record.plan.cases.iter().filter(|case| case.probe.as_str() == "transfer") {
        let rounds = cells.cell(case.index, MESSAGE).expect("counted").rounds.values();
        let most = if case.point.text_at("path") == Some("veth") { 0.001 } else { 0.01 };
        assert!((rounds[0] / rounds[1] - 1.0).abs() < most, "{rounds:?} of {:?}", case.point);
        let acknowledged: Vec<f64> = run
            .samples
            .of_case(case.index)
            .iter()
            .map(|sample| sample.get("sender_segments_received").expect("counted"))
            .collect();
        let [least, most] = [f64::min, f64::max].map(|of| acknowledged.iter().copied().reduce(of).unwrap());
        assert!(most <= least + 2.0, "{acknowledged:?} of {:?}", case.point);
    }
}

/// How far two counts are apart, as a share.
fn apart(runs: &[Run], probe: &str, metric: &str) -> f64 {
    let [a, b] = [0, 1].map(|which| count(&runs[which], probe, metric));
    (a / b - 1.0).abs()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn counted_twice_it_is_the_same_and_one_more_system_call_is_exactly_that() {
    let lab = Lab::alone();
    let outs = ["one", "two", "more"].map(|name| lab.folder().join(name));
    // A kernel puts what it does not know of its boot options into the environment of its first process.
    let (none, planted) = ("SYSCOST_PLANT=send=send+0calls", "SYSCOST_PLANT=send=send+1calls");
    // Everything comes a little later, and is the same.
    let late = "SYSCOST_PLANT=send=send+0calls nothing=1";
    let first = guests(&lab, &[(&outs[0], none)]);
    if lacks_something("counted twice", &first[0]) {
        return;
    }
    assert!(first[0].status.success(), "{}", said(&first[0]));
    for output in guests(&lab, &[(&outs[1], late), (&outs[2], planted)]) {
        assert!(output.status.success(), "{}", said(&output));
    }
    let runs = outs.each_ref().map(|out| RunDir::load(out).unwrap());
    let far = [
        apart(&runs, "transfer", MESSAGE),
        apart(&runs, "system_call", OPERATION),
        apart(&runs, "process_create", OPERATION),
    ];
    assert!(far[0] <= 0.001 && far[1] <= 0.001 && far[2] <= 0.005, "{far:?}");
    runs.iter().for_each(steady);
    let call = count(&runs[0], "system_call", OPERATION);
    let more = count(&runs[2], "transfer", MESSAGE) - count(&runs[0], "transfer", MESSAGE);
    assert!((0.95..1.05).contains(&(more / call)), "{more} more a message, where a call is {call}");
    let results = std::fs::read_to_string(outs[0].join("results.csv")).unwrap();
    assert!(results.contains(MESSAGE) && !results.contains("cpu_ns"), "instructions, and no time");
    let mut compare = Command::new(SYSCOST);
    let compared = compare.arg("compare").arg(&outs[0]).arg("--").arg(&outs[2]).output().unwrap();
    let table = said(&compared);
    assert!(compared.status.success() && table.contains("say nothing of caches"), "{table}");
}

fn git(place: &Path, arguments: &[&str]) -> Output {
    let mut git = Command::new("git");
    git.args(["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]);
    git.current_dir(place).args(arguments).output().unwrap()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn git_bisects_by_the_gate() {
    let lab = Lab::alone();
    let base = lab.folder().join("base");
    let output = guests(&lab, &[(&base, "SYSCOST_PLANT=send=send+0calls")]);
    if lacks_something("git bisect", &output[0]) {
        return;
    }
    assert!(output[0].status.success(), "{}", said(&output[0]));
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab");
    let gate = |options: &str| {
        let (base, cache, spec) = (base.display(), cache.display(), lab.folder().join("small.toml"));
        let spec = spec.display();
        format!(
            "rm -rf run && '{SYSCOST}' lab '{spec}' --count instructions --cache '{cache}' --limit 3m --append \"{options}\" --out run || exit 125
            '{SYSCOST}' gate --baseline '{base}' --budget cpu=2% --undecided skip run"
        )
    };
    // A history of boot options: the third makes messages dearer.
    let history = lab.folder().join("history");
    std::fs::create_dir(&history).unwrap();
    assert!(git(&history, &["init", "-q"]).status.success(), "git is here");
    for (number, calls) in [0, 0, 20, 20].iter().enumerate() {
        std::fs::write(history.join("options"), format!("SYSCOST_PLANT=send=send+{calls}calls")).unwrap();
        std::fs::write(history.join("number"), number.to_string()).unwrap();
        git(&history, &["add", "."]);
        assert!(git(&history, &["commit", "-qm", &format!("change {number}")]).status.success());
    }
    let dearer = git(&history, &["rev-parse", "HEAD~1"]);
    let dearer = String::from_utf8_lossy(&dearer.stdout).trim().to_string();
    git(&history, &["bisect", "start", "HEAD", "HEAD~3"]);
    let told = said(&git(&history, &["bisect", "run", "sh", "-c", &gate("$(cat options)")]));
    assert!(told.contains(&format!("{dearer} is the first bad commit")), "{told}");
}

/// A call of the committed guests costs what a processor with counters counts here, whose kernel is another.
#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_processor_counts_for_a_call_what_guests_count() {
    const CALLS: u32 = 100_000;
    // Of the groups, the first counts in user mode, and the first of the second half in the kernel.
    let of = |group: usize, id: &str| {
        let (mut counters, _) = Counters::open(group);
        (0..CALLS).for_each(|_| _ = syscost_sys::call::getppid());
        counters.read().values.get(id).map(|count| count / f64::from(CALLS))
    };
    let (Some(user), Some(kernel)) = (of(0, "instructions_user"), of(GROUPS / 2, "instructions_kernel"))
    else {
        return skipped(
            "a processor's count",
            "no instructions are counted here (perf stat -e instructions)",
        );
    };
    let apart = ["6.1", "6.12", "newest"].map(|guest| {
        let run = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runs/kernels").join(guest);
        ((user + kernel) / count(&RunDir::load(&run).unwrap(), "system_call", OPERATION) - 1.0).abs()
    });
    assert!(apart.iter().any(|share| *share < 0.15), "{user} and {kernel} here: {apart:?}");
}
