//! Disturbances that look like none afterwards, or that nobody has to see: a partner process that was moved and put
//! back, an audit whose workers were stopped.

use super::held_up::{Held, here, move_to, two_cpus};
use super::left::{self, Marked};
use crate::common::{self, SYSCOST};
use std::process::{Command, Stdio};
use std::time::Duration;
use syscost_experiment::run::Audit;
use syscost_sys::affinity;

/// The one of two processes that the other made.
fn child_of_them(pair: &[u32]) -> u32 {
    let made = |pid: &&u32| common::parent(**pid).is_some_and(|parent| pair.contains(&parent));
    *pair.iter().find(made).expect("one is the other's child")
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn a_forked_partner_that_is_moved_and_put_back_marks_its_round() {
    let Some(cpus) = two_cpus("a_forked_partner_that_is_moved_and_put_back_marks_its_round") else { return };
    let probe =
        "[[probe]]\nid = \"context_switch\"\nbetween = \"process\"\nplacement = \"same\"\ntoken = \"pipe\"\n";
    let mut held = Held::start(probe, 6, here());
    let partner = child_of_them(&held.busy_workers());
    let own = affinity::allowed_to(partner).expect("sched_getaffinity(2)");
    let other = cpus.iter().copied().find(|cpu| !own.contains(cpu)).expect("it is pinned to one of two");
    move_to(partner, &[other]);
    syscost_sys::sleep::sleep(Duration::from_millis(20));
    move_to(partner, &own);
    held.ends_with_marked_rounds("unpinned");
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn an_audit_that_is_disturbed_all_the_time_says_so_and_keeps_no_times() {
    let mark = Marked::new();
    let mut command = Command::new(SYSCOST);
    command.args(["audit", "--json", "--mechanism", "send", "--size", "4K", "--path", "loopback"]);
    mark.put_on(&mut command);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the binary starts");
    while !left::has_ended(child.id()) {
        for worker in mark.processes().into_iter().filter(|pid| left::role(*pid) == "worker") {
            for signal in [libc::SIGSTOP, libc::SIGCONT] {
                common::signal(worker, signal);
            }
        }
        syscost_sys::sleep::sleep(Duration::from_millis(1));
    }
    let output = child.wait_with_output().expect("it ended");
    let last = output.stdout.split(|b| *b == b'\n').rfind(|line| !line.is_empty()).expect("a last line");
    let document: serde_json::Value = serde_json::from_slice(last).expect("one JSON object a line");
    let audits: Vec<Audit> = serde_json::from_value(document["audits"].clone()).expect("audits");
    assert_eq!(audits.len(), 1, "{document}");
    assert_eq!((&audits[0].marks[..], audits[0].cpu), (&["stopped".to_string()][..], None), "{document}");
    assert!(audits[0].delivered_bytes > 0 && audits[0].balanced() != Some(false), "{document}");
}
