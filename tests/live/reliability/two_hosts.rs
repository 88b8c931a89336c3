//! A run between two hosts over ssh: real sshd, real ssh, and whatever can end or refuse it.

use super::hosts::{FAR, FAR_IPV6, Hosts, PORT, known_hosts};
use crate::common;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Output, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::{Run, State};
use syscost_sys::namespace;

/// Sizes enough for many rounds.
const MANY: &str = "64,256,1K,4K,16K,64K,256K,1M";
/// An agent that hears nothing goes on for so long.
const SILENCE: Duration = Duration::from_secs(30);
const SOON: Duration = common::PATIENCE;

fn load(hosts: &Hosts, out: &str) -> Run {
    RunDir::load(&hosts.file(out)).expect("a valid run")
}

fn place(hosts: &Hosts, out: &str) -> String {
    hosts.file(out).to_str().expect("UTF-8").to_string()
}

fn start(hosts: &Hosts, arguments: &[&str]) -> Child {
    let mut command = hosts.syscost(arguments);
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("the binary starts")
}

fn until(what: &str, within: Duration, mut happened: impl FnMut() -> bool) {
    let end = Instant::now() + within;
    while !happened() {
        assert!(Instant::now() < end, "{what} did not happen within {within:?}");
        syscost_sys::sleep::sleep(Duration::from_millis(20));
    }
}

/// A run with samples in which nothing is wrong, by a command that is given its directory and limit; and whether it was
/// the first one. On a busy machine a login may take longer than its share of the limit.
fn sound(hosts: &Hosts, out: &str, run: impl Fn(&str, &str) -> Output) -> (Run, bool) {
    let mut begun = 0;
    let once = |limit: &str| {
        begun += 1;
        let dir = format!("{out}-{limit}");
        let output = run(&place(hosts, &dir), limit);
        (output, RunDir::load(&hosts.file(&dir)).ok())
    };
    let enough = |(_, run): &(Output, Option<Run>)| run.as_ref().is_some_and(|run| !common::starved(run));
    let (output, run) = common::given_time(enough, once);
    let run = run.unwrap_or_else(|| panic!("{}", common::said(&output)));
    common::sound(output.status.code().unwrap_or(-1), &run, &common::said(&output));
    (run, begun == 1)
}

fn samples(hosts: &Hosts, out: &str) -> usize {
    RunDir::load(&hosts.file(out)).map_or(0, |run| run.samples.len())
}

/// ssh clients that are children of the harness.
fn ssh_of(harness: u32) -> Vec<u32> {
    let children =
        std::fs::read_to_string(format!("/proc/{harness}/task/{harness}/children")).unwrap_or_default();
    let is_ssh = |pid: &u32| {
        std::fs::read_to_string(format!("/proc/{pid}/comm")).is_ok_and(|name| name.trim() == "ssh")
    };
    children.split_whitespace().filter_map(|pid| pid.parse().ok()).filter(is_ssh).collect()
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_study_runs_over_ipv4_and_ipv6_and_copies_the_program_once() {
    let Some(hosts) = Hosts::new("two_hosts::a_study_runs") else { return };
    for (out, host) in [("v4", FAR.to_string()), ("v6", format!("[{FAR_IPV6}]"))] {
        let path = format!("ssh://{host}:{PORT}");
        let (run, first) =
            sound(&hosts, out, |dir, limit| hosts.run(&Hosts::study(&path, dir, "64K", limit)));
        assert!(
            run.samples
                .iter()
                .any(|s| run.case(s.case).is_some_and(|c| c.point.text_at("path") == Some(&path)))
        );
        assert!(
            run.samples.iter().all(|sample| sample.verified && sample.bytes > 0.0 || sample.bytes == 0.0)
        );
        let settings =
            run.record.settings.values().find(|s| s.contains_key("receiver_host")).expect("recorded");
        assert_eq!((settings["mtu"].as_str(), settings["receiver_driver"].as_str()), ("1500", "veth"));
        let address = if out == "v4" { FAR } else { FAR_IPV6 };
        assert_eq!(settings["receiver_address"], address);
        let routes = (settings["sender_route"].as_str(), settings["receiver_route"].as_str());
        assert_eq!(routes, ("direct", "direct"));
        let offset: f64 = settings["path_clock_offset_ns"].parse().expect("a number");
        let uncertainty: f64 = settings["path_clock_uncertainty_ns"].parse().expect("a number");
        assert!(offset.abs() <= uncertainty, "one clock: {offset} ns, within {uncertainty} ns");
        let said = run.record.warnings.iter().any(|warning| warning.id == "copied_to_host");
        // Of one that began anew an earlier one has said it.
        assert!(!first || said == (out == "v4"), "a copy is said, and is made once");
        for audit in &run.record.audits {
            assert!(audit.counts.is_none(), "half of the copies are no count");
            assert!(
                audit.uncounted.as_ref().is_some_and(|why| why.reason.contains("another host")),
                "{audit:?}"
            );
        }
    }
    let audit = hosts.run(&["audit", "transfer", "--path", &hosts.path(), "--mechanism", "send", "--json"]);
    assert_eq!(audit.status.code(), Some(0), "{}", common::said(&audit));
    assert!(common::said(&audit).contains("the receiver is on another host"), "{}", common::said(&audit));
    assert_eq!(hosts.copies().len(), 1);
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_probe_with_a_path_goes_there() {
    let Some(hosts) = Hosts::new("two_hosts::every_probe") else { return };
    let path = hosts.path();
    // A login, the question whether data comes through, and the data.
    let went_there = |asked: u64, output: &Output| {
        assert_eq!(output.status.code(), Some(0), "{}", common::said(output));
        assert!(hosts.far_was_asked() - asked >= 3, "measured on one host: {}", common::said(output));
    };
    for probe in
        ["tcp_round_trip", "tcp_connect", "icmp_round_trip", "peak_bandwidth", "tcp_latency", "tcp_path"]
    {
        let asked = hosts.far_was_asked();
        went_there(asked, &hosts.run(&["check", probe, "--path", &path, "--quick"]));
    }
    // The same from a file, as `plan` writes it.
    let spec = hosts.run(&["plan", "tcp_round_trip", "--path", &path, "--exchange", "ping", "--toml"]);
    std::fs::write(hosts.file("spec.toml"), &spec.stdout).expect("written");
    assert!(String::from_utf8_lossy(&spec.stdout).contains(&path), "{}", common::said(&spec));
    let asked = hosts.far_was_asked();
    went_there(asked, &hosts.run(&["check", "--allow-commands", &place(&hosts, "spec.toml")]));
    // A file server is not started where others reach it, and that is said.
    let output = hosts.run(&["check", "remote_file_read", "--path", &path]);
    let said = common::said(&output);
    assert!(output.status.code() == Some(2) && said.contains("open to every user who reaches"), "{said}");
    let output = hosts.run(&["doctor", "--path", &path, "--json"]);
    let checks: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let judged = checks.as_array().and_then(|checks| checks.iter().find(|check| check["id"] == "path"));
    let judged = judged.expect("the path is judged");
    assert_eq!(judged["status"], "good", "{judged}");
    assert!(judged["observed"].as_str().is_some_and(|text| text.contains("(veth); MTU 1500")), "{judged}");
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn datagrams_go_there_and_latency_by_carrier_stays_here() {
    let Some(hosts) = Hosts::new("two_hosts::datagrams") else { return };
    let path = hosts.path();
    let ways = ["--receiver", "udp_recv,udp_gro,udp_io_uring_recv", "--size", "64", "--path", &path];
    for (probe, mechanisms) in [
        ("datagram_transfer", "udp_send,udp_segment,udp_io_uring_send,tcp_send,udp_stream_floor"),
        ("datagram_limit", "udp_send,udp_segment"),
    ] {
        let asked = hosts.far_was_asked();
        let arguments = [&["check", probe, "--quick", "--mechanism", mechanisms], &ways[..]].concat();
        let output = hosts.run(&arguments);
        assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
        assert!(hosts.far_was_asked() - asked >= 3, "measured on one host: {}", common::said(&output));
    }
    // Rivals in turns, by the same experiment as on one host.
    let (run, _) = sound(&hosts, "udp", |dir, limit| {
        let ways = ["--mechanism", "udp_send,udp_segment,tcp_send", "--size", "64"];
        hosts.run(
            &[&["run", "datagram_transfer", "--path", &path, "--time-limit", limit, "--out", dir], &ways[..]]
                .concat(),
        )
    });
    assert!(!run.record.plan.blocks().is_empty(), "ways take turns");
    let unknown = hosts.run(&["check", "carrier_latency", "--mechanism", "udp_send", "--path", &path]);
    assert!(common::said(&unknown).contains("between processes of one host"), "{}", common::said(&unknown));
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_host_that_refuses_us_is_an_answer_with_a_remedy() {
    let Some(hosts) = Hosts::new("two_hosts::refuses") else { return };
    let path = hosts.path();
    let refused = |path: &str, reason: &str, remedy: &str| {
        let output = hosts.run(&["check", "transfer", "--path", path, "--mechanism", "send", "--size", "64"]);
        let said = common::said(&output);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason) && said.contains(remedy), "{reason:?} and {remedy:?}: {said}");
    };
    let key = |name: &str| std::fs::read_to_string(hosts.file(name)).expect("a key");
    std::fs::write(hosts.file("authorized"), key("stranger-key.pub")).expect("written");
    refused(&path, "Permission denied", "ssh-copy-id");
    std::fs::write(hosts.file("authorized"), key("user-key.pub")).expect("written");
    std::fs::write(hosts.file("known"), known_hosts(&key("stranger-key.pub"))).expect("written");
    refused(&path, "Host key verification failed", "ssh-keygen -R");
    std::fs::write(hosts.file("known"), known_hosts(&key("host-key.pub"))).expect("written");
    refused(&format!("ssh://{FAR}:9"), "Connection refused", "start sshd");
    hosts.far_program("sh", "echo This account is currently not available.; exit 1");
    refused(&path, "currently not available", "usermod -s");
    std::fs::remove_file(hosts.file("far-bin/sh")).expect("removed");
    // What is copied may not be executed, as in a home directory that is mounted noexec.
    hosts.far_program("chmod", "exit 0");
    refused(&path, "could not be copied to", "noexec");
    std::fs::remove_file(hosts.file("far-bin/chmod")).expect("removed");
    refused(&format!("{path}?data=198.51.100.7"), "no device there has the address", "?data=ADDRESS");
    assert_eq!(hosts.copies().len(), 1, "copied before the address was asked for");

    // An address whose answers the far host drops, as a packet filter would.
    hosts.far_ip(&["address", "add", "198.51.100.2/32", "dev", &hosts.pair.receiver.interface]);
    hosts.far_ip(&["rule", "add", "from", "198.51.100.2", "blackhole"]);
    hosts.near_ip(&["route", "add", "198.51.100.2/32", "via", FAR]);
    let dropped = format!("{path}?data=198.51.100.2&ports=40000-40001");
    refused(&dropped, "no answer", "tcp dport 40000-40001 accept");
    hosts.near_ip(&["route", "replace", "unreachable", "198.51.100.2/32"]);
    refused(&dropped, "no route", "?data=ADDRESS");
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn the_router_on_the_way_is_recorded() {
    let Some(hosts) = Hosts::new("two_hosts::router") else { return };
    hosts.far_ip(&["address", "add", "198.51.100.2/32", "dev", &hosts.pair.receiver.interface]);
    hosts.near_ip(&["route", "add", "198.51.100.2/32", "via", FAR]);
    let path = format!("{}?data=198.51.100.2", hosts.path());
    let (run, _) = sound(&hosts, "routed", |dir, limit| {
        hosts.run(&["run", "tcp_round_trip", "--path", &path, "--time-limit", limit, "--out", dir])
    });
    let settings = run.record.settings.values().find(|s| s.contains_key("receiver_host")).expect("recorded");
    assert_eq!(settings["receiver_address"], "198.51.100.2");
    let routes = (settings["sender_route"].as_str(), settings["receiver_route"].as_str());
    assert_eq!(routes, (format!("by {FAR}").as_str(), "direct"));
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn another_build_there_is_not_used_and_another_machine_is_told() {
    let Some(hosts) = Hosts::new("two_hosts::another_build") else { return };
    let path = hosts.path();
    let check = || {
        hosts.run(&[
            "check",
            "transfer",
            "--path",
            &path,
            "--mechanism",
            "send",
            "--size",
            "64",
            "--threads",
            "1",
        ])
    };
    // Endless garbage where the first frame should be.
    hosts.far_program("syscost", "exec cat /dev/urandom");
    let output = check();
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
    assert_eq!(hosts.copies().len(), 1, "ours was copied instead");
    // A copy that was damaged is replaced.
    hosts.far_is_empty(SOON);
    std::fs::write(&hosts.copies()[0], "#!/bin/sh\necho damaged >&2; exit 1\n").expect("written");
    let output = check();
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
    // Another architecture: never copied.
    std::fs::remove_file(&hosts.copies()[0]).expect("removed");
    hosts.far_program("uname", "case $1 in -s) echo Linux;; *) echo sparc64;; esac");
    let output = check();
    let said = common::said(&output);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains("Linux sparc64") && said.contains("install syscost"), "{said}");
    assert_eq!(hosts.copies().len(), 0);
    // The same version, built for that architecture, is as good there.
    hosts.far_program("syscost", &format!("exec {} \"$@\"", common::SYSCOST));
    let output = check();
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn kill_9_of_ssh_costs_a_round_and_the_next_one_connects_again() {
    let Some(hosts) = Hosts::new("two_hosts::kill_ssh") else { return };
    let (path, dir) = (hosts.path(), place(&hosts, "run"));
    let mut harness = start(&hosts, &Hosts::study(&path, &dir, MANY, "60s"));
    until("the first samples", Duration::from_secs(60), || samples(&hosts, "run") > 4);
    for _ in 0..2 {
        until("a worker there", SOON, || hosts.far_syscost().len() > 1);
        let ssh = ssh_of(harness.id());
        assert_eq!(ssh.len(), 1, "one connection for the run");
        common::signal(ssh[0], libc::SIGKILL);
        until("a fresh connection", SOON, || ssh_of(harness.id()).iter().any(|pid| *pid != ssh[0]));
    }
    let status = harness.wait().expect("it ends");
    let run = load(&hosts, "run");
    assert!(matches!(status.code(), Some(0 | 1)), "{status}");
    assert!(matches!(run.record.state, State::Complete | State::TimeLimit), "{:?}", run.record.state);
    let told = run.record.failures.iter().any(|failure| failure.message.contains("other host"));
    assert!(told, "{:?}", run.record.failures);
    let failed = run.record.failures.iter().map(|failure| failure.round).min().expect("a failure");
    let last = run.samples.iter().map(|sample| sample.round).max().expect("samples");
    assert!(last > failed, "rounds after the failure have samples");
    hosts.far_is_empty(SOON);
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn kill_9_of_the_harness_leaves_nothing_on_the_far_host() {
    let Some(hosts) = Hosts::new("two_hosts::kill_harness") else { return };
    let (path, dir) = (hosts.path(), place(&hosts, "run"));
    let mut harness = start(&hosts, &Hosts::study(&path, &dir, MANY, "60s"));
    until("the first samples", Duration::from_secs(60), || samples(&hosts, "run") > 4);
    until("a worker there", SOON, || hosts.far_syscost().len() > 1);
    let ssh = ssh_of(harness.id());
    common::signal(harness.id(), libc::SIGKILL);
    harness.wait().expect("it ends");
    hosts.far_is_empty(SOON);
    until("the end of ssh here", SOON, || {
        ssh.iter().all(|pid| !std::path::Path::new(&format!("/proc/{pid}")).exists())
    });
    assert!(!load(&hosts, "run").samples.is_empty());
    let copies = hosts.copies();
    assert!(copies.len() == 1 && !copies[0].file_name().expect("a name").to_string_lossy().starts_with('.'));
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_network_that_is_gone_leaves_nothing_on_the_far_host() {
    let Some(hosts) = Hosts::new("two_hosts::network_gone") else { return };
    let (path, dir) = (hosts.path(), place(&hosts, "run"));
    let mut harness = start(&hosts, &Hosts::study(&path, &dir, MANY, "60s"));
    until("the first samples", Duration::from_secs(60), || samples(&hosts, "run") > 4);
    until("a worker there", SOON, || hosts.far_syscost().len() > 1);
    hosts.near_ip(&["link", "set", &hosts.pair.sender.interface, "down"]);
    common::signal(harness.id(), libc::SIGKILL);
    harness.wait().expect("it ends");
    // Nothing was closed: the agent hears nothing for half a minute.
    until("the end of the agent", SILENCE + SOON, || hosts.far_syscost().is_empty());
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn strangers_at_the_data_port_are_not_served_and_a_range_of_ports_is_kept() {
    let Some(hosts) = Hosts::new("two_hosts::strangers") else { return };
    let path = format!("{}?ports=40000-40009", hosts.path());
    let (over, seen) = (AtomicBool::new(false), std::sync::Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            namespace::enter_net(std::os::fd::AsFd::as_fd(&hosts.pair.sender.net_ns)).expect("root");
            while !over.load(Ordering::Relaxed) {
                for port in hosts.far_listeners() {
                    seen.lock().expect("no panic").push(port);
                    if let Ok(mut stream) = TcpStream::connect((FAR, port)) {
                        let _ = stream.write_all(&[0; 64]);
                    }
                }
                syscost_sys::sleep::sleep(Duration::from_millis(1));
            }
        });
        let run = || sound(&hosts, "run", |dir, limit| hosts.run(&Hosts::study(&path, dir, "64K", limit)));
        let run = std::panic::catch_unwind(std::panic::AssertUnwindSafe(run));
        over.store(true, Ordering::Relaxed);
        let (run, _) = run.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        assert!(run.samples.iter().all(|sample| sample.verified));
    });
    let seen = seen.into_inner().expect("no panic");
    assert!(!seen.is_empty(), "a listener was seen");
    assert!(seen.iter().all(|port| (40000..=40009).contains(port)), "{seen:?}");
    assert!(hosts.far_listeners().is_empty(), "nothing listens any more");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn one_namespace_is_the_far_side_of_wherever_the_tool_runs() {
    let Some(hosts) = Hosts::new("two_hosts::one_namespace") else { return };
    let name = hosts.name_far();
    let output = hosts.run(&[
        "check",
        "transfer",
        "--path",
        &format!("netns:{name}"),
        "--mechanism",
        "send",
        "--quick",
    ]);
    hosts.forget(&name);
    assert_eq!(output.status.code(), Some(0), "{}", common::said(&output));
    let output = hosts.run(&["check", "transfer", "--path", &format!("netns:{name}"), "--mechanism", "send"]);
    let said = common::said(&output);
    assert!(output.status.code() == Some(2) && said.contains(&format!("ip netns add {name}")), "{said}");
}
