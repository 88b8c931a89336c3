//! The ledger where a queue of the sender's own device drops what it cannot hold: no byte is unexplained.

use crate::audits::audits;
use crate::support::{SYSCOST, is_root, said, skipped};
use crate::{ledger, turn};
use std::process::Command;
use syscost_experiment::run::audit::Balance;

/// Two namespaces joined by a link whose near end is narrow; gone when dropped.
struct Narrow {
    near: String,
    far: String,
}

impl Narrow {
    fn new() -> Result<Narrow, String> {
        let name = |side: &str| format!("scl{side}{}", std::process::id());
        let narrow = Narrow { near: name("a"), far: name("b") };
        let (near, far) = (narrow.near.as_str(), narrow.far.as_str());
        let steps = [
            format!("ip netns add {near}"),
            format!("ip netns add {far}"),
            format!("ip link add v0 netns {near} type veth peer name v1 netns {far}"),
            format!("ip -n {near} address add 192.0.2.1/24 dev v0"),
            format!("ip -n {far} address add 192.0.2.2/24 dev v1"),
            format!("ip -n {near} link set v0 up"),
            format!("ip -n {far} link set v1 up"),
            // Less room than a large segment has: of its parts some are queued and some are not.
            format!("ip netns exec {near} tc qdisc add dev v0 root tbf rate 400mbit burst 16k limit 32k"),
        ];
        steps.iter().try_for_each(|step| run(step)).map(|()| narrow)
    }
}

impl Drop for Narrow {
    fn drop(&mut self) {
        for name in [&self.near, &self.far] {
            let _ = run(&format!("ip netns del {name}"));
        }
    }
}

fn run(step: &str) -> Result<(), String> {
    let mut words = step.split(' ');
    let mut command = Command::new(words.next().expect("a program"));
    let output = command.args(words).output().map_err(|error| format!("{step}: {error}"))?;
    if output.status.success() { Ok(()) } else { Err(format!("{step}: {}", said(&output))) }
}

#[test]
fn what_a_queue_drops_before_the_device_is_named_and_adds_up() {
    const TEST: &str = "what_a_queue_drops_before_the_device_is_named_and_adds_up";
    let _turn = turn();
    if !is_root(TEST) || ledger(TEST).is_none() {
        return;
    }
    let narrow = match Narrow::new() {
        Ok(narrow) => narrow,
        Err(why) => return skipped(TEST, &why),
    };
    let path = format!("netns:{},{}", narrow.near, narrow.far);
    let arguments = ["--mechanism", "send,msg_zerocopy", "--size", "64K", "--threads", "1", "--path", &path];
    let audits = audits(&mut Command::new(SYSCOST), &arguments);
    assert_eq!(audits.len(), 2);
    for audit in &audits {
        let counts = audit.counts.expect("counted");
        assert!(counts.dropped > 0 && counts.dropped_segments > 0, "the queue was large enough: {audit:?}");
        assert_eq!(audit.balance(), Some(Balance { sent: 0, delivered: 0, readings: 0 }), "{audit:?}");
    }
    // Which parts of a segment are dropped is a matter of chance: of some tries one shows them.
    let told = (0..5).any(|_| {
        let output = Command::new(SYSCOST).arg("audit").args(arguments).output().expect("the binary starts");
        let table = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && !table.contains("does not balance"), "{}", said(&output));
        table.contains("a queue or packet filter dropped")
    });
    assert!(told, "no try named what the queue dropped");
}
