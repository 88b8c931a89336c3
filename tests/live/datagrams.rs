//! Datagrams: every way to send and to receive them, every byte verified; and what is lost, told by where it was dropped.

use crate::common::{self, SYSCOST, all_verify};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use syscost_experiment::run::{Run, RunDir};

const SENDERS: &str = "udp_send,udp_sendto,udp_sendmsg,udp_more,udp_sendmmsg,udp_segment,udp_sendmmsg_segment,\
                       udp_zerocopy,udp_segment_zerocopy,udp_io_uring_send,udp_io_uring_send_zc";
const RECEIVERS: &str = "udp_recv,udp_recvmmsg,udp_gro,udp_io_uring_recv";

#[test]
fn every_way_to_send_to_every_way_to_receive() {
    all_verify(
        "datagram_transfer",
        &[
            ("mechanism", SENDERS),
            ("receiver", RECEIVERS),
            ("size", "64,65,1000"),
            ("batch", "3"),
            ("segments", "2,7"),
            ("path", "loopback"),
            ("placement", "none"),
        ],
    );
}

#[test]
fn several_threads_each_have_a_pair_of_their_own() {
    all_verify(
        "datagram_transfer",
        &[
            ("mechanism", "udp_send,udp_segment"),
            ("receiver", RECEIVERS),
            ("size", "300"),
            ("threads", "3"),
            ("path", "loopback"),
            ("placement", "none"),
        ],
    );
}

#[test]
fn threads_may_share_a_port_and_datagrams_may_be_larger_than_the_path_takes() {
    let usual = [("threads", "1,3"), ("path", "loopback"), ("placement", "none"), ("reuseport", "on,off")];
    let ways = [("mechanism", "udp_send,udp_sendto,udp_segment"), ("receiver", RECEIVERS), ("size", "300")];
    all_verify("datagram_transfer", &[&ways[..], &usual[..]].concat());
    let large = [
        ("mechanism", "udp_send,udp_sendmmsg,udp_zerocopy"),
        ("receiver", "udp_recv,udp_recvmmsg"),
        ("size", "65507"),
        ("batch", "3"),
        ("fragments", "on"),
    ];
    all_verify("datagram_transfer", &[&large[..], &[("path", "loopback"), ("placement", "none")]].concat());
}

#[test]
fn a_datagram_beyond_the_mtu_goes_in_fragments_where_they_are_allowed() {
    let Some(pair) = Pair::new("fragments") else { return };
    for (fragments, whole) in [("off", false), ("on", true)] {
        let folder = tempfile::tempdir().expect("a scratch directory");
        let axes = format!(
            "mechanism = \"udp_send\"\nreceiver = \"udp_recv\"\nsize = 8000\nfragments = \"{fragments}\""
        );
        let done = run(folder.path(), &pair.path(), &axes);
        let said = common::said(&done);
        assert_eq!(done.status.success(), whole, "{said}");
        let failures = recorded(folder.path()).record.failures;
        let told = failures.iter().any(|why| format!("{why:?}").contains("larger than the path's MTU"));
        assert_eq!(told, !whole, "{failures:?}");
    }
    let counted = Command::new("ip")
        .args(["netns", "exec", &pair.0[0], "cat", "/proc/net/snmp"])
        .output()
        .expect("ip(8)");
    let text = String::from_utf8_lossy(&counted.stdout).into_owned();
    let [names, counts] = [0, 1].map(|at| {
        text.lines()
            .filter(|line| line.starts_with("Ip:"))
            .nth(at)
            .expect("both lines")
            .split(' ')
            .collect::<Vec<_>>()
    });
    let at = names.iter().position(|name| *name == "FragCreates").expect("the counter");
    assert_ne!(counts[at], "0", "the kernel cut them");
}

#[test]
fn a_tcp_message_is_held_beside_datagrams_and_never_advised() {
    all_verify(
        "datagram_transfer",
        &[
            ("mechanism", "tcp_send"),
            ("nodelay", "on,off"),
            ("size", "64,5000"),
            ("threads", "1,2"),
            ("path", "loopback"),
            ("placement", "none"),
        ],
    );
    let folder = tempfile::tempdir().expect("a scratch directory");
    // Without TCP_NODELAY a message of 64 B takes a tenth of a datagram's time: it would be the best way.
    let axes =
        "mechanism = [\"udp_send\", \"tcp_send\"]\nreceiver = \"udp_recv\"\nnodelay = \"off\"\nsize = 64";
    let done = run(folder.path(), "loopback", axes);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let run = recorded(folder.path());
    assert_eq!(run.record.plan.blocks()[0].cases.len(), 3, "both, and the control's twin, take turns");
    let found: serde_json::Value = serde_json::from_slice(
        &std::fs::read(folder.path().join("run/findings.json")).expect("a run has findings"),
    )
    .expect("JSON");
    assert!(!found["recommendation"].to_string().contains("tcp_send"), "{}", found["recommendation"]);
    let beside = found["answers"].as_array().expect("answers").iter().find(|a| a["question"] == "beside_tcp");
    let shown =
        beside.expect("it is a question of this run")["shown"].as_array().expect("what shows it").len();
    assert_eq!(shown, 2, "CPU time and throughput");
}

/// It may leave in one call or in several threads: every packet is sealed, and opens as what was sent.
#[test]
fn the_floor_of_a_stream_is_verified_to_the_byte() {
    all_verify(
        "datagram_transfer",
        &[
            ("mechanism", "udp_stream_floor"),
            ("size", "25,300,1472"),
            ("segments", "2,7,44"),
            ("acknowledge-every", "1,2,100"),
            ("threads", "1,2"),
            ("path", "loopback"),
            ("placement", "none"),
        ],
    );
}

/// Two namespaces with names, joined by a link; gone when dropped.
struct Pair([String; 2]);

fn ip(words: &str) -> bool {
    let done = Command::new("ip").args(words.split(' ')).stderr(Stdio::null()).status();
    done.is_ok_and(|status| status.success())
}

impl Pair {
    fn new(test: &str) -> Option<Pair> {
        if !common::is_root(test) {
            return None;
        }
        let pair = Pair(["a", "b"].map(|side| format!("scu{side}{}-{test:.4}", std::process::id())));
        let [near, far] = &pair.0;
        let steps = [
            format!("netns add {near}"),
            format!("netns add {far}"),
            format!("link add v0 netns {near} type veth peer name v1 netns {far}"),
            format!("-n {near} address add 10.77.0.1/24 dev v0"),
            format!("-n {far} address add 10.77.0.2/24 dev v1"),
            format!("-n {near} link set v0 up"),
            format!("-n {far} link set v1 up"),
        ];
        if let Some(refused) = steps.iter().find(|step| !ip(step)) {
            common::skipped(test, &format!("ip {refused}"));
            return None;
        }
        Some(pair)
    }

    fn exec(&self, side: usize, words: &str) -> bool {
        ip(&format!("netns exec {} {words}", self.0[side]))
    }

    fn path(&self) -> String {
        format!("netns:{},{}", self.0[0], self.0[1])
    }
}

impl Drop for Pair {
    fn drop(&mut self) {
        for side in &self.0 {
            ip(&format!("netns del {side}"));
        }
    }
}

/// Runs one way with so many rounds of one window.
fn run(folder: &Path, path: &str, axes: &str) -> Output {
    placed(folder, path, "none", axes)
}

fn placed(folder: &Path, path: &str, placement: &str, axes: &str) -> Output {
    let probe = format!(
        "[[probe]]\nid = \"datagram_transfer\"\npath = \"{path}\"\nplacement = \"{placement}\"\n{axes}"
    );
    let spec = common::experiment(folder, 2, "30s", ("5ms", "40ms", 1), &probe);
    let out = folder.join("run");
    Command::new(SYSCOST).arg("run").arg(spec).arg("--out").arg(out).output().expect("syscost runs")
}

fn recorded(folder: &Path) -> Run {
    RunDir::load(&folder.join("run")).expect("a run")
}

/// What each round says of its datagrams.
fn rounds(run: &Run, wanted: [&str; 4]) -> Vec<[f64; 4]> {
    run.samples.iter().map(|sample| wanted.map(|id| sample.get(id).expect("every round says it"))).collect()
}

#[test]
fn what_a_queue_discipline_drops_is_counted_by_it() {
    let Some(pair) = Pair::new("queue") else { return };
    if !pair.exec(0, "tc qdisc add dev v0 root tbf rate 50mbit burst 16k limit 16k") {
        return common::skipped("queue", "tc qdisc add .. tbf");
    }
    let folder = tempfile::tempdir().expect("a scratch directory");
    let axes = "mechanism = \"udp_send\"\nreceiver = \"udp_recv\"\nsize = 1000\ndatagram-rate = 20000";
    let done = run(folder.path(), &pair.path(), axes);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let counts = rounds(
        &recorded(folder.path()),
        ["round_sent", "round_lost", "round_dropped_queue", "round_in_no_counter"],
    );
    assert_eq!(counts.len(), 2);
    for [sent, lost, queue, nowhere] in counts {
        // Three in five, about: 20,000 datagrams of 1042 bytes are 167 Mbit/s.
        assert!(lost > 0.3 * sent && lost < sent, "{lost} of {sent}");
        assert_eq!((queue, nowhere), (lost, 0.0));
    }
    // Where nothing may be lost, the receiver's window fits no such queue: the loss is an error that names the place.
    let small = "tc qdisc change dev v0 root tbf rate 50mbit burst 2k limit 4k";
    assert!(pair.exec(0, small));
    let other = tempfile::tempdir().expect("a scratch directory");
    let axes = "mechanism = \"udp_send\"\nreceiver = \"udp_recv\"\nsize = 1000";
    let done = run(other.path(), &pair.path(), axes);
    let said = String::from_utf8_lossy(&done.stdout).into_owned() + &String::from_utf8_lossy(&done.stderr);
    assert!(!done.status.success(), "{said}");
    let failures: Vec<String> =
        recorded(other.path()).record.failures.iter().map(|failure| format!("{failure:?}")).collect();
    assert!(failures.iter().any(|why| why.contains("by queue disciplines")), "{failures:?}");
}

#[test]
fn what_a_full_receive_buffer_drops_is_counted_by_its_socket() {
    let folder = tempfile::tempdir().expect("a scratch directory");
    let axes = "mechanism = \"udp_sendmmsg\"\nreceiver = \"udp_recv\"\nsize = 1000\nbatch = 64\n\
                socket-buffer = 8192\ndatagram-rate = 100000";
    // On a CPU of its own the receiver may keep up with a call while it lasts.
    let done = placed(folder.path(), "loopback", "same", axes);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let counts = rounds(
        &recorded(folder.path()),
        ["round_sent", "round_lost", "round_dropped_full", "round_in_no_counter"],
    );
    assert_eq!(counts.len(), 2, "the end of a stream, which is dropped too, is none of its datagrams");
    for [sent, lost, full, nowhere] in counts {
        assert!(lost > 0.1 * sent, "{lost} of {sent}: 64 at once do not fit 16 KiB");
        assert_eq!((full, nowhere), (lost, 0.0));
    }
}

/// Runs a search or a latency with so many rounds; the recorded run.
fn recorded_run(folder: &Path, timing: (&str, &str, u32), probe: &str) -> (Output, Run) {
    let spec = common::experiment(folder, 2, "60s", timing, probe);
    let out = folder.join("run");
    let done =
        Command::new(SYSCOST).arg("run").arg(spec).arg("--out").arg(out).output().expect("syscost runs");
    (done, recorded(folder))
}

#[test]
fn the_highest_rate_is_that_of_the_queue_that_drops() {
    let Some(pair) = Pair::new("limit") else { return };
    // 20 Mbit/s are 2,400 datagrams of 1042 bytes a second; the bucket holds a few.
    if !pair.exec(0, "tc qdisc add dev v0 root tbf rate 20mbit burst 3k limit 4k") {
        return common::skipped("limit", "tc qdisc add .. tbf");
    }
    let folder = tempfile::tempdir().expect("a scratch directory");
    let probe = format!(
        "[[probe]]\nid = \"datagram_limit\"\npath = \"{}\"\nplacement = \"none\"\nmechanism = \"udp_send\"\n\
         receiver = [\"udp_recv\", \"udp_io_uring_recv\"]\nsize = 1000",
        pair.path()
    );
    let (done, run) = recorded_run(folder.path(), ("5ms", "25ms", 1), &probe);
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    let wanted = ["highest_rate", "sender_bound", "round_lost", "round_dropped_queue"];
    let found = rounds(&run, wanted);
    assert_eq!(found.len(), 6, "both receivers, and the twin of one");
    for [rate, bound, lost, queue] in found {
        // Never above what the link carries; a disturbed round may find less.
        assert!(rate > 300.0 && rate < 2_700.0, "{rate}");
        assert_eq!((bound, queue), (0.0, lost), "every loss is found at the queue");
        assert!(lost > 0.0, "the search goes where something is lost");
    }
}

#[test]
fn every_carrier_has_round_trips_and_messages_at_a_rate() {
    for (what, rate) in [("closed", None), ("open", Some("2000"))] {
        let mut axes = vec![
            ("loop", what),
            ("mechanism", "udp_send,tcp_send,unix_stream,pipe"),
            ("size", "64,1000"),
            ("threads", "1,2"),
            ("path", "loopback"),
            ("placement", "none"),
        ];
        axes.extend(rate.map(|rate| ("rate", rate)));
        all_verify("carrier_latency", &axes);
    }
}

#[test]
fn a_datagram_that_is_lost_has_no_latency() {
    let Some(pair) = Pair::new("gone") else { return };
    if !pair.exec(0, "tc qdisc add dev v0 root tbf rate 1mbit burst 2k limit 2k") {
        return common::skipped("gone", "tc qdisc add .. tbf");
    }
    let folder = tempfile::tempdir().expect("a scratch directory");
    let probe = format!(
        "[[probe]]\nid = \"carrier_latency\"\nloop = \"open\"\nrate = 5000\npath = \"{}\"\nplacement = \"none\"\n\
         mechanism = \"udp_send\"\nsize = 1000",
        pair.path()
    );
    let (done, run) = recorded_run(folder.path(), ("5ms", "20ms", 1), &probe);
    assert!(!done.status.success());
    let failures: Vec<String> = run.record.failures.iter().map(|failure| format!("{failure:?}")).collect();
    assert!(failures.iter().any(|why| why.contains("lost from number")), "{failures:?}");
}
