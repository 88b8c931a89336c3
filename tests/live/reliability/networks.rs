//! Hostile networks, each in network namespaces of the test's own: a link that goes down in mid-run and
//! comes up again, one with a small MTU, ports that are used up, packets that are lost.

use crate::common::{self, SYSCOST, soon};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Run, State};

/// Two namespaces with names, joined by a link; gone when dropped.
struct Wire {
    near: String,
    far: String,
    /// What stands between them, where that is more than a link.
    between: Option<String>,
}

/// How the two are joined.
enum Joined {
    ByALink,
    /// By a switch of its own whose way to the far side loses what it cannot queue.
    ByANarrowSwitch,
}

impl Wire {
    fn new(test: &str, joined: Joined) -> Option<Wire> {
        if !common::is_root(test) {
            return None;
        }
        if Command::new("ip").arg("-V").output().is_err() {
            common::skipped(test, "no ip (apt-get install iproute2)");
            return None;
        }
        static WIRES: AtomicUsize = AtomicUsize::new(0);
        let number = WIRES.fetch_add(1, Ordering::Relaxed);
        let name = |side: &str| format!("sct{side}{}-{number}", std::process::id());
        let narrow = matches!(joined, Joined::ByANarrowSwitch);
        let wire = Wire { near: name("a"), far: name("b"), between: narrow.then(|| name("m")) };
        let (near, far) = (wire.near.as_str(), wire.far.as_str());
        let mut steps = vec![format!("netns add {near}"), format!("netns add {far}")];
        match &wire.between {
            None => steps.push(format!("link add v0 netns {near} type veth peer name v1 netns {far}")),
            Some(switch) => {
                steps.push(format!("netns add {switch}"));
                steps.push(format!("link add v0 netns {near} type veth peer name p0 netns {switch}"));
                steps.push(format!("link add v1 netns {far} type veth peer name p1 netns {switch}"));
                steps.push(format!("-n {switch} link add switch type bridge"));
                for port in ["p0", "p1"] {
                    steps.push(format!("-n {switch} link set {port} master switch"));
                }
                for link in ["switch", "p0", "p1"] {
                    steps.push(format!("-n {switch} link set {link} up"));
                }
                let queue = "tc qdisc add dev p1 root tbf rate 400mbit burst 64k limit 64k";
                steps.push(format!("netns exec {switch} {queue}"));
            }
        }
        steps.extend([
            format!("-n {near} address add 192.0.2.1/24 dev v0"),
            format!("-n {far} address add 192.0.2.2/24 dev v1"),
            format!("-n {near} link set v0 up"),
            format!("-n {far} link set v1 up"),
        ]);
        for step in steps {
            if let Err(error) = ip(&step) {
                common::skipped(test, &error);
                return None;
            }
        }
        Some(wire)
    }

    fn path(&self) -> String {
        format!("netns:{},{}", self.near, self.far)
    }

    fn set_link(&self, state: &str) {
        ip(&format!("-n {} link set v0 {state}", self.near)).expect("our own link");
    }

    /// A command inside the near namespace.
    fn near(&self, words: &[&str]) -> Output {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.near]).args(words);
        command.output().expect("ip was there")
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        let _ = ip(&format!("netns del {}", self.near));
        let _ = ip(&format!("netns del {}", self.far));
        if let Some(switch) = &self.between {
            let _ = ip(&format!("netns del {switch}"));
        }
    }
}

fn ip(words: &str) -> Result<(), String> {
    let output = Command::new("ip").args(words.split(' ')).output().map_err(|e| e.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("ip {words}: {}", String::from_utf8_lossy(&output.stderr).trim()))
}

fn samples_of(out: &Path) -> usize {
    RunDir::load(out).map_or(0, |run| run.samples.len())
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_link_that_goes_down_fails_rounds_and_the_run_goes_on_when_it_is_up() {
    let Some(wire) =
        Wire::new("a_link_that_goes_down_fails_rounds_and_the_run_goes_on_when_it_is_up", Joined::ByALink)
    else {
        return;
    };
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let out = scratch.path().join("run");
    // Time for a busy machine to measure before, between and after.
    let limit = Duration::from_secs(40);
    let start = Instant::now();
    let mut child = Command::new(SYSCOST)
        .args(["run", "transfer", "--mechanism", "send,msg_zerocopy", "--size", "64K", "--threads", "1"])
        .args(["--path", &wire.path(), "--time-limit", "40s", "--quiet", "--out"])
        .arg(&out)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("the binary starts");
    soon("the first samples", || samples_of(&out) > 0);
    wire.set_link("down");
    syscost_sys::sleep::sleep(Duration::from_millis(1500));
    let before = samples_of(&out);
    wire.set_link("up");
    soon("samples after the link was up again", || samples_of(&out) > before);
    // And now for good.
    wire.set_link("down");
    let status = child.wait().expect("our child");
    let took = start.elapsed();
    assert!(took < limit + Duration::from_secs(15), "the run took {took:?}");
    let run = RunDir::load(&out).expect("the run is valid");
    assert_eq!(status.code(), Some(common::wanted_status(&run)), "rounds failed");
    assert!(run.record.state != State::Running && run.samples.len() > before);
    let reasons = ["stood still", "cannot connect", "no window came to its end", "cannot send"];
    assert!(!run.record.failures.is_empty());
    for failure in &run.record.failures {
        assert!(reasons.iter().any(|reason| failure.message.contains(reason)), "{failure:?}");
    }
    wire.set_link("up");
    let text = out.to_str().expect("UTF-8");
    let goes_on = |_: &Output| samples_of(&out) > run.samples.len();
    let resumed = common::given_time(goes_on, |limit| {
        common::syscost(&["run", "--resume", text, "--time-limit", limit, "--quiet"])
    });
    assert!(matches!(resumed.status.code(), Some(0 | 1)), "{}", common::said(&resumed));
    assert!(goes_on(&resumed), "the run continued over the link");
}

#[test]
fn a_small_mtu_moves_every_byte_and_one_below_what_tcp_needs_is_refused() {
    let refused = common::syscost(&["plan", "--size", "64", "--path", "veth", "--mtu", "68"]);
    let said = common::said(&refused);
    assert!(
        refused.status.code() == Some(2) && said.contains("--mtu") && said.contains("smallest"),
        "{said}"
    );
    let Some(wire) =
        Wire::new("a_small_mtu_moves_every_byte_and_one_below_what_tcp_needs_is_refused", Joined::ByALink)
    else {
        return;
    };
    // A segment of TCP carries 48 bytes at least, beside 52 of headers.
    for mtu in ["576", "128"] {
        ip(&format!("-n {} link set v0 mtu {mtu}", wire.near)).expect("our own link");
        ip(&format!("-n {} link set v1 mtu {mtu}", wire.far)).expect("our own link");
        let output = common::syscost(&[
            "check",
            "transfer",
            "--mechanism",
            "send,msg_zerocopy,sendfile",
            "--size",
            "64,65537",
            "--threads",
            "2",
            "--path",
            &wire.path(),
        ]);
        assert_eq!(output.status.code(), Some(0), "MTU {mtu}: {}", common::said(&output));
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn ports_that_are_used_up_are_named_with_what_helps() {
    let Some(wire) = Wire::new("ports_that_are_used_up_are_named_with_what_helps", Joined::ByALink) else {
        return;
    };
    let narrowed = wire.near(&["sysctl", "-w", "net.ipv4.ip_local_port_range=40000 40003"]);
    assert!(narrowed.status.success(), "{}", common::said(&narrowed));
    let scratch = tempfile::tempdir().expect("a scratch directory");
    for (probe, more) in [("transfer", ["--threads", "8"]), ("tcp_connect", ["--phase", "close"])] {
        let out = scratch.path().join(probe);
        let (text, path) = (out.to_str().expect("UTF-8"), wire.path());
        let fixed = ["run", probe, "--path", &path, "--time-limit", "4s", "--out", text];
        let start = Instant::now();
        let output = common::syscost(&[&fixed[..], &more[..]].concat());
        // At once, not when the other side has waited for it in vain.
        assert!(start.elapsed() < Duration::from_secs(30), "{probe} took {:?}", start.elapsed());
        let run = RunDir::load(&out).expect("the run is valid");
        assert_eq!(output.status.code(), Some(common::wanted_status(&run)), "{}", common::said(&output));
        assert!(!run.record.failures.is_empty(), "{probe}");
        for failure in &run.record.failures {
            let message = &failure.message;
            assert!(message.contains("no local port is left"), "{probe}: {message}");
            assert!(message.contains("ip_local_port_range") && message.contains("ss -tan"), "{message}");
        }
    }
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn lost_packets_are_counted_and_the_run_is_valid() {
    // A queue that is too short for what is sent loses packets on every kernel; netem is not in all of them.
    let test = "lost_packets_are_counted_and_the_run_is_valid";
    let Some(wire) = Wire::new(test, Joined::ByANarrowSwitch) else { return };
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let path = wire.path();
    let once = |limit: &str| {
        let out = scratch.path().join(limit);
        let fixed = ["run", "transfer", "--mechanism", "send,sendmsg", "--size", "64K", "--threads", "2"];
        let of_run = ["--path", &path, "--time-limit", limit, "--out", out.to_str().expect("UTF-8")];
        let output = common::syscost(&[&fixed[..], &of_run].concat());
        assert!(matches!(output.status.code(), Some(0 | 1)), "{}", common::said(&output));
        let run = RunDir::load(&out).expect("the run is valid");
        (out, run)
    };
    let lost =
        |run: &Run| run.samples.iter().filter_map(|sample| sample.get("retransmits")).sum::<f64>() > 0.0;
    // Of samples that other tests disturbed no figure is made.
    let has_row = |out: &Path| {
        let results = std::fs::read_to_string(out.join("results.csv")).expect("results");
        results.contains(",retransmits,")
    };
    let enough = |(out, run): &(PathBuf, Run)| lost(run) && has_row(out);
    let (out, run) = common::given_time(enough, once);
    assert!(lost(&run), "{} samples, and no segment was sent again", run.samples.len());
    assert!(run.samples.iter().all(|sample| sample.verified), "what arrived is what was sent");
    assert!(has_row(&out), "the figures have a row of their own");
}
