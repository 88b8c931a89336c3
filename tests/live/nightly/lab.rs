//! The lab: a real guest boots, really does not copy between its devices, and leaves nothing behind;
//! and two namespaces that a user made are a path on any machine.
//!
//! The kernel is fetched once into the build directory. Without the emulator, or without a network
//! at the first time, these tests say so and are no pass.

mod layers;
mod refused;

use crate::common::{SYSCOST, is_root, said, skipped, soon};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Audit, Run};
use syscost_measure::ledger::Tier;
use syscost_measure::mechanism;

/// One guest at a time: each keeps two CPUs busy.
static ONE: Mutex<()> = Mutex::new(());

/// The lab of one test: no other test has a guest meanwhile, and what this one writes goes when it ends. The kernels are
/// those of all tests.
pub struct Lab {
    _one: MutexGuard<'static, ()>,
    temporary: tempfile::TempDir,
}

impl Lab {
    pub fn alone() -> Lab {
        let _one = ONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        Lab { _one, temporary: tempfile::tempdir().unwrap() }
    }

    pub fn folder(&self) -> &Path {
        self.temporary.path()
    }

    /// Where [`Lab::run`] has the run written.
    pub fn out(&self) -> PathBuf {
        self.folder().join("run")
    }

    pub fn command(&self, arguments: &[impl AsRef<OsStr>]) -> Command {
        let mut command = Command::new(SYSCOST);
        // As a person would name it: from where they are.
        command.current_dir(env!("CARGO_TARGET_TMPDIR")).env("TMPDIR", self.folder());
        command.arg("lab").args(arguments).args(["--cache", "lab"]);
        command
    }

    /// Runs one guest to its end. `None`: this machine lacks what a lab needs, and the test has said so.
    pub fn run(&self, test: &str, arguments: &[impl AsRef<OsStr>]) -> Option<Output> {
        let output = self.command(arguments).arg("--out").arg(self.out()).output().unwrap();
        (!lacks_something(test, &output)).then_some(output)
    }

    /// What a guest that must succeed brought back.
    pub fn brings(&self, test: &str, arguments: &[impl AsRef<OsStr>]) -> Option<Run> {
        let output = self.run(test, arguments)?;
        assert!(output.status.success(), "{}", said(&output));
        Some(RunDir::load(&self.out()).unwrap())
    }
}

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("lab")
}

/// A case of one thread and size.
fn one_size(more: &[&str]) -> Vec<String> {
    ["--threads", "1", "--size", "64K"].iter().chain(more).map(|word| word.to_string()).collect()
}

/// Does the lab lack something that this machine would have to bring?
pub fn lacks_something(test: &str, output: &Output) -> bool {
    let words = String::from_utf8_lossy(&output.stderr);
    let lacking = [
        "there is no qemu",
        "there is no kernel",
        "is not there ->",
        "only on x86-64",
        "apt cannot download",
    ];
    let lacks = output.status.code() == Some(2) && lacking.iter().any(|words_of| words.contains(words_of));
    if lacks {
        skipped(test, words.trim());
    }
    lacks
}

/// Completions, and those flagged copied, of the cases that have any on this path.
fn completions(run: &Run, path: &str) -> (f64, f64) {
    let of_path = |case: usize| run.case(case).is_some_and(|c| c.point.text_at("path") == Some(path));
    let sum = |quantity: &str| {
        run.samples.iter().filter(|s| of_path(s.case)).filter_map(|s| s.get(quantity)).sum::<f64>()
    };
    (sum("sender_completions"), sum("sender_completions_copied"))
}

/// What the ledger counted of zero-copy on this path, in bytes per byte delivered: copied in, not
/// copied, copied again for the receiver.
fn counted(run: &Run, path: &str) -> [f64; 3] {
    let text = |audit: &Audit, axis: &str| audit.point.text_at(axis).map(str::to_string);
    let zero_copy = |audit: &&Audit| text(audit, "path").as_deref() == Some(path) && audit.completions > 0;
    let audit = run.record.audits.iter().find(zero_copy).expect("zero-copy was audited on this path");
    assert_eq!(audit.balanced(), Some(true), "{audit:?}");
    let counts = audit.counts.expect("a guest's root may trace");
    [counts.copied_in, counts.uncopied_in, counts.orphan_copied].map(|bytes| audit.per_byte(bytes))
}

/// What this mechanism's audit on a path says is confirmed by the kernel's functions: their own counts
/// are those of the tracepoints, to the byte but for copies of segments that were sent again.
fn confirmed(run: &Run, mechanism: &str, path: &str) {
    let of = |audit: &&Audit| {
        audit.point.text_at("mechanism") == Some(mechanism) && audit.point.text_at("path") == Some(path)
    };
    let audit = run.record.audits.iter().find(of).expect("audited on this path");
    assert_eq!(audit.tier, Tier::Agreed, "{audit:?}");
    let (counts, functions) = (audit.counts.expect("traced"), audit.functions.expect("functions"));
    assert_eq!((functions.sent, functions.received), (audit.delivered_bytes, counts.copied_out), "{audit:?}");
    let differ = |returned: u64, seen: u64| returned.abs_diff(seen);
    let repeated = if functions.copied_leaving > 0 { counts.retransmitted } else { 0 };
    assert!(differ(functions.copied_in(), counts.copied_in) <= repeated, "{audit:?}");
    assert!(differ(functions.orphan_copied, counts.orphan_copied) <= counts.retransmitted, "{audit:?}");
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, |entries| entries.count())
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn between_devices_nothing_is_copied_and_on_veth_everything() {
    let lab = Lab::alone();
    let devices = syscost_lab::path();
    let paths = one_size(&["--mechanism", "sendmsg,zero-copy", "--path", &devices, "--path", "veth"]);
    let Some(run) = lab.brings("the lab", &paths) else { return };
    assert_eq!(run.record.emulator(), Some("TCG"));
    let (between_devices, copied) = completions(&run, &devices);
    assert!(between_devices > 0.0 && copied == 0.0, "{copied} of {between_devices} were copied");
    let (on_veth, copied) = completions(&run, "veth");
    assert!(on_veth > 0.0 && copied == on_veth, "{copied} of {on_veth} were copied");
    assert_eq!(counted(&run, &devices), [0.0, 1.0, 0.0], "between devices the sender's pages leave");
    // A segment that an emulated machine sends again is also copied again.
    let [copied_in, uncopied, orphaned] = counted(&run, "veth");
    assert_eq!([copied_in, uncopied], [0.0, 1.0]);
    assert!((1.0..1.1).contains(&orphaned), "on veth the receiver gets copies: {orphaned}");
    for path in [devices.as_str(), "veth"] {
        confirmed(&run, "sendmsg", path);
        confirmed(&run, "msg_zerocopy", path);
    }
    let measured = |case: usize| run.samples.iter().any(|s| s.case == case && s.verified);
    assert!(run.record.plan.cases.iter().all(|case| measured(case.index)), "every case was measured");
    let results = std::fs::read_to_string(lab.out().join("results.csv")).unwrap();
    assert!(results.contains("copied_fraction") && !results.contains("throughput"), "counts only");
    let page = std::fs::read_to_string(lab.out().join("report.html")).unwrap();
    assert!(page.contains("counts only") && !page.contains("Gbit/s"), "no rate of an emulated machine");
    assert!(run.record.command.iter().any(|word| word == "lab"), "repeated as it was asked for");
    assert_eq!(entries(lab.folder()), 1, "only the run is left");
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn whatever_is_called_zero_copy_leaves_a_device_uncopied() {
    let lab = Lab::alone();
    let named = mechanism::ALL.iter().map(|m| m.about()).filter(|about| about.title.starts_with("zero-copy"));
    let named = named.map(|about| about.id).collect::<Vec<_>>().join(",");
    let devices = syscost_lab::path();
    let limits = ["--time-limit", "100s", "--limit", "4m"];
    // Pieces are of 8 KiB, which is less than what is lent by default.
    let ways = ["--mechanism", &named, "--lent-from", "1K", "--path", &devices];
    let arguments = one_size(&[&ways, &limits[..]].concat());
    let Some(output) = lab.run("zero-copy of every kind", &arguments) else { return };
    let run = RunDir::load(&lab.out()).unwrap();
    assert!(run.record.audits.len() >= 4, "{}", said(&output));
    for audit in &run.record.audits {
        assert_eq!((audit.tier, audit.balanced()), (Tier::Agreed, Some(true)), "{audit:?}");
        let counts = audit.counts.expect("a guest's root may trace");
        let sent = (counts.copied_in, counts.uncopied_in, counts.orphan_copied);
        assert_eq!(sent, (0, audit.delivered_bytes, 0), "{audit:?}");
        assert!(counts.device_fetched >= audit.delivered_bytes, "{audit:?}");
        // A segment that is sent again in an emulated machine that is late may be copied for that.
        if counts.retransmitted == 0 {
            assert_eq!(audit.completions_copied, 0, "{audit:?}");
        }
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_device_without_scatter_gather_is_found_out() {
    let lab = Lab::alone();
    let arguments = one_size(&["--nic", "virtio", "--mechanism", "zero-copy"]);
    let Some(run) = lab.brings("a virtio device", &arguments) else { return };
    let settings = run.record.settings.values().next().expect("the case has settings");
    assert_eq!(settings["sender_driver"], "virtio_net");
    assert_eq!(settings["sender_scatter_gather"], "off");
    assert_eq!(counted(&run, &syscost_lab::path()), [1.0, 0.0, 0.0], "everything is copied");
    // Taken without a copy, and copied after all on leaving: the functions say where.
    confirmed(&run, "msg_zerocopy", &syscost_lab::path());
    let (completions, copied) = completions(&run, &syscost_lab::path());
    assert!(copied < completions, "{copied} of {completions} are flagged: the flag does not say so");
    let page = std::fs::read_to_string(lab.out().join("report.html")).unwrap();
    assert!(page.contains("cannot gather"), "{page}");
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn an_emulated_aarch64_counts_instructions() {
    const BINARY: &str = "SYSCOST_AARCH64_BINARY";
    let Ok(binary) = std::env::var(BINARY) else {
        return skipped(
            "aarch64",
            &format!("{BINARY} names no static syscost for it (docs/lab.md builds one)"),
        );
    };
    let lab = Lab::alone();
    let arguments = one_size(&["--arch", "aarch64", "--mechanism", "zero-copy", "--binary", &binary]);
    let Some(run) = lab.brings("aarch64", &arguments) else { return };
    assert_eq!(counted(&run, &syscost_lab::path()), [0.0, 1.0, 0.0]);
    // Windows that are timed are not counted: counting would disturb them.
    let counted: Vec<_> = run.samples.iter().filter(|sample| sample.is_counting()).collect();
    assert!(!counted.is_empty(), "{}", run.samples.len());
    for sample in counted {
        let counts = ["sender_instructions_kernel", "receiver_instructions_kernel", "sender_cycles_kernel"];
        for counter in counts {
            assert!(sample.get(counter).is_some_and(|count| count > 1e4), "{counter} of {sample:?}");
        }
    }
}

/// What no guest does in time.
const LATE: &[&str] = &["--limit", "2s", "--time-limit", "1s", "--mechanism", "send"];

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_guest_that_takes_too_long_is_ended_and_its_console_kept() {
    let lab = Lab::alone();
    let Some(output) = lab.run("a time limit", &one_size(LATE)) else { return };
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(words.contains("was ended after 2 s") && words.contains("console.log"), "{words}");
    assert!(cache().join("console.log").exists());
    assert_eq!(entries(lab.folder()), 0, "nothing is left");
}

/// Processes that work in a directory below this one.
fn inside(folder: &Path) -> Vec<u32> {
    let numbers = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers
        .filter(|pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(folder))
        })
        .collect()
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn a_killed_lab_leaves_no_guest_and_no_file() {
    let lab = Lab::alone();
    // Fetches the kernel, if no other test has, and tells what is missing.
    if lab.run("a killed lab", &one_size(LATE)).is_none() {
        return;
    }
    let mut child = lab
        .command(&one_size(&["--out", "/nowhere/run"]))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    soon("the guest", || !inside(lab.folder()).is_empty());
    child.kill().unwrap();
    child.wait().unwrap();
    soon("the end of the guest", || inside(lab.folder()).is_empty());
    soon("an empty directory", || entries(lab.folder()) == 0);
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn without_a_kernel_it_says_what_to_name() {
    let empty = tempfile::tempdir().unwrap();
    let mut command = Command::new(SYSCOST);
    let output =
        command.args(["lab", "--offline", "--cache"]).arg(empty.path().join("cache")).output().unwrap();
    let words = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    let of_qemu = words.contains("qemu-system-x86");
    assert!(of_qemu || words.contains("linux-image-") && words.contains("--kernel"), "{words}");
}

/// Namespaces as a user makes them; dropping it removes them.
struct Made([String; 2]);

impl Made {
    fn ip(arguments: &str) -> bool {
        let mut ip = Command::new("ip");
        ip.args(arguments.split(' ')).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    }

    fn new() -> Option<Made> {
        let names = ["s", "r"].map(|side| format!("sctest{}{side}", std::process::id()));
        let made = Made(names);
        let [s, r] = &made.0;
        let steps = [
            format!("netns add {s}"),
            format!("netns add {r}"),
            format!("link add v0 netns {s} type veth peer name v1 netns {r}"),
            format!("-n {s} address add 203.0.113.1/24 dev v0"),
            format!("-n {r} address add 203.0.113.2/24 dev v1"),
            format!("-n {s} link set v0 up"),
            format!("-n {r} link set v1 up"),
        ];
        steps.iter().all(|step| Made::ip(step)).then_some(made)
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        for name in &self.0 {
            Made::ip(&format!("netns delete {name}"));
        }
    }
}

#[test]
#[ignore = "nightly: .ci/nightly"]
fn namespaces_that_a_user_made_are_a_path() {
    if !is_root("namespaces of one's own") {
        return;
    }
    let Some(made) = Made::new() else {
        return skipped("namespaces of one's own", "ip(8) cannot make them here");
    };
    let path = format!("netns:{},{}", made.0[0], made.0[1]);
    let arguments =
        ["check", "--path", &path, "--mechanism", "send", "--size", "4K", "--threads", "2", "--strict"];
    let output = Command::new(SYSCOST).args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    let reversed = format!("netns:{},no-such-namespace", made.0[1]);
    let output = Command::new(SYSCOST).args(["check", "transfer", "--path", &reversed]).output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("ip netns add no-such-namespace"),
        "{}",
        said(&output)
    );
}
