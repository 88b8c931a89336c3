//! `syscost audit`: the table of every mechanism, to the byte; and the honest one of an ordinary user.

use crate::support::{SYSCOST, as_nobody, is_root, open_to_all, said, skipped, soon};
use crate::{ledger, turn};
use aya::programs::loaded_programs;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::MutexGuard;
use syscost_experiment::run::Audit;
use syscost_experiment::run::audit::Balance;
use syscost_host::namespaces;
use syscost_measure::ledger::Tier;
use syscost_measure::mechanism::{self, Handover, Reuse};
use syscost_measure::receiver;
use syscost_sys::{mount, program};

pub fn audits(command: &mut Command, arguments: &[&str]) -> Vec<Audit> {
    let output = command.args(["audit", "--json"]).args(arguments).output().expect("the binary starts");
    assert!(output.status.success(), "{}", said(&output));
    let last = output.stdout.split(|b| *b == b'\n').rfind(|line| !line.is_empty()).expect("a last line");
    let document: serde_json::Value = serde_json::from_slice(last).expect("one JSON object a line");
    assert_eq!(document["failures"], serde_json::json!([]), "{document}");
    serde_json::from_value(document["audits"].clone()).expect("audits")
}

/// Every mechanism, whatever it is called: a new one has to balance as well. Of an encoded stream other
/// bytes travel than are delivered.
fn every_mechanism() -> String {
    let available = mechanism::ALL
        .iter()
        .filter(|m| m.available().is_ok() && m.about().facts.handover != Handover::Encrypted);
    available.map(|m| m.about().id).collect::<Vec<_>>().join(",")
}

/// A turn in which this program counts, where this machine lets it.
pub fn counting(test: &str) -> Option<MutexGuard<'static, ()>> {
    let turn = turn();
    ledger(test)?;
    program::set(SYSCOST);
    Some(turn)
}

pub fn assert_balances(audit: &Audit) {
    let nothing_missing = Some(Balance { sent: 0, delivered: 0, readings: 0 });
    assert_eq!(audit.balance(), nothing_missing, "{}: {audit:?}", audit.point);
}

#[test]
fn every_mechanism_is_counted_to_the_byte() {
    const TEST: &str = "every_mechanism_is_counted_to_the_byte";
    let Some(_turn) = counting(TEST) else { return };
    let mut paths = vec!["loopback"];
    match namespaces::available() {
        Ok(_) => paths.push("veth"),
        Err(why) => skipped(TEST, &format!("veth: {}", why.reason)),
    }
    let mechanisms = every_mechanism();
    for path in paths {
        let arguments = ["--mechanism", &mechanisms, "--size", "64,4K,64K,1M", "--path", path];
        let audits = audits(&mut Command::new(SYSCOST), &arguments);
        assert_eq!(audits.len(), mechanisms.split(',').count() * 4);
        for audit in &audits {
            let place = audit.point.to_string();
            let (all, counts) = (audit.delivered_bytes, audit.counts.expect("counted"));
            assert!(all > 0, "{place}");
            assert_balances(audit);
            // The second reading is there, or it is said why not; there is no third case.
            let second =
                if audit.no_functions.is_some() { (Tier::Traced, false) } else { (Tier::Agreed, true) };
            assert_eq!((audit.tier, audit.functions.is_some()), second, "{place}: {audit:?}");
            assert_eq!(counts.device_fetched, 0, "{place}: no device has hardware");
            let cpu = audit.cpu.expect("who paid for it");
            let spent = cpu.softirqs;
            assert!(cpu.bytes > 0 && cpu.sender_cpu_ns > 0 && cpu.receiver_cpu_ns > 0, "{place}: {cpu:?}");
            // Nothing arrives without a receive softirq, on whichever thread it ran.
            let received = spent.sender_net_rx_ns + spent.receiver_net_rx_ns + spent.elsewhere_net_rx_ns;
            assert!(received > 0, "{place}: {cpu:?}");
            if counts.retransmitted == 0 {
                // Lent pages are all copied on the way to a socket of the same machine, and no others: a
                // file's or a pipe's pages are not lent, nobody is told when they are free.
                let lent = if audit.completions > 0 { counts.uncopied_in } else { 0 };
                assert_eq!(counts.orphan_copied, lent, "{place}: {audit:?}");
            }
        }
        let of = |id: &str| {
            let audits: Vec<&Audit> =
                audits.iter().filter(|audit| audit.point.text_at("mechanism") == Some(id)).collect();
            assert_eq!(audits.len(), 4, "{id}");
            audits.into_iter().map(|audit| (audit, audit.delivered_bytes, audit.counts.expect("counted")))
        };
        for (audit, all, counts) in of("pack_send") {
            assert_eq!((audit.user_copied, counts.copied_in, counts.copied_out), (all, all, all));
        }
        for id in ["send", "sendmsg", "writev", "send_fields"] {
            for (audit, all, counts) in of(id) {
                assert_eq!((audit.user_copied, counts.copied_in, counts.copied_out), (0, all, all), "{id}");
            }
        }
        for id in ["sendfile", "splice", "vmsplice"] {
            for (audit, all, counts) in of(id) {
                let moved = (counts.copied_in, counts.uncopied_in, counts.copied_out);
                assert_eq!(
                    (audit.user_copied, moved),
                    (0, (0, all, all)),
                    "{id}: by reference, up to the user"
                );
            }
        }
        for (audit, all, counts) in of("msg_zerocopy") {
            assert_eq!((audit.user_copied, counts.copied_in, counts.uncopied_in), (0, 0, all));
            assert_eq!(audit.completions_copied, audit.completions, "every completion is flagged copied");
        }
    }
}

/// Two pieces of very different size: each byte is copied as often as in equal pieces.
#[test]
fn pieces_of_any_size_are_counted_to_the_byte() {
    const TEST: &str = "pieces_of_any_size_are_counted_to_the_byte";
    let Some(_turn) = counting(TEST) else { return };
    let mechanisms = every_mechanism();
    let arguments = ["--mechanism", &mechanisms, "--fields", "24,512K/3x100,1", "--path", "loopback"];
    let audits = audits(&mut Command::new(SYSCOST), &arguments);
    assert_eq!(audits.len(), mechanisms.split(',').count() * 2);
    for audit in &audits {
        assert_balances(audit);
        let (mechanism, shape) =
            (audit.point.text_at("mechanism").unwrap(), audit.point.text_at("fields").unwrap());
        let (all, counts) = (audit.delivered_bytes, audit.counts.expect("counted"));
        let message: u64 = if shape == "24,512K" { 24 + (512 << 10) } else { 301 };
        assert!(all > 0 && all % message == 0, "{mechanism} {shape}: {all}");
        let moved = (audit.user_copied, counts.copied_in, counts.uncopied_in);
        match mechanism {
            "pack_send" => assert_eq!(moved, (all, all, 0), "{shape}"),
            "send" | "send_fields" | "sendmsg" | "writev" => {
                assert_eq!(moved, (0, all, 0), "{mechanism} {shape}")
            }
            "msg_zerocopy" | "vmsplice" => assert_eq!(moved, (0, 0, all), "{mechanism} {shape}"),
            _ => {}
        }
    }
}

#[test]
fn threads_and_links_without_offloads_balance_too() {
    const TEST: &str = "threads_and_links_without_offloads_balance_too";
    let Some(_turn) = counting(TEST) else { return };
    if let Err(why) = namespaces::available() {
        return skipped(TEST, &why.reason);
    }
    let arguments = ["--mechanism", "send,msg_zerocopy", "--path", "veth", "--threads", "1,3"];
    let links = ["--mtu", "1500,4148", "--offloads", "on,off"];
    for audit in &audits(&mut Command::new(SYSCOST), &[&arguments[..], &links].concat()) {
        assert_balances(audit);
    }
}

/// A packet within a packet passes two devices of the sender: it left once.
#[test]
fn every_layer_between_namespaces_balances_too() {
    const TEST: &str = "every_layer_between_namespaces_balances_too";
    let Some(_turn) = counting(TEST) else { return };
    for layer in namespaces::layer::ALL.iter().map(|layer| layer.id) {
        if let Err(why) = namespaces::layer_available(layer) {
            skipped(TEST, &why.reason);
            continue;
        }
        let arguments = ["--mechanism", "send,msg_zerocopy", "--size", "4K,64K", "--path", layer];
        for audit in &audits(&mut Command::new(SYSCOST), &arguments) {
            let counts = audit.counts.expect("counted");
            assert_balances(audit);
            assert_eq!(counts.copied_in + counts.uncopied_in, audit.delivered_bytes, "{audit:?}");
        }
    }
}

#[test]
fn several_connections_of_a_thread_balance_too() {
    let Some(_turn) = counting("several_connections_of_a_thread_balance_too") else { return };
    let mechanisms = every_mechanism();
    let many = ["--mechanism", &mechanisms, "--path", "loopback", "--threads", "2", "--connections", "8"];
    let audits = audits(&mut Command::new(SYSCOST), &[&many[..], &["--size", "64K"]].concat());
    assert_eq!(audits.len(), mechanisms.split(',').count());
    for audit in &audits {
        let (all, counts) = (audit.delivered_bytes, audit.counts.expect("counted"));
        assert_balances(audit);
        assert!(all > 0 && counts.copied_out == all, "{audit:?}");
        let lends = audit.completions > 0;
        assert!(!lends || counts.uncopied_in == all, "every byte that was lent is counted: {audit:?}");
    }
}

#[test]
fn an_ordinary_user_is_told_what_is_not_verified() {
    if !is_root("an_ordinary_user_is_told_what_is_not_verified") {
        return;
    }
    let (_directory, program) = open_to_all();
    let as_nobody = || {
        let mut command = Command::new(&program);
        as_nobody(&mut command);
        command
    };
    let arguments = ["--mechanism", "pack_send,msg_zerocopy", "--path", "loopback"];
    let audits = audits(&mut as_nobody(), &arguments);
    assert_eq!(audits.len(), 2);
    for audit in &audits {
        assert_eq!((audit.tier, audit.counts, audit.balanced()), (Tier::Told, None, None));
        assert_eq!(audit.cpu, None, "softirqs cannot be seen either");
        assert!(audit.uncounted.as_ref().is_some_and(|why| why.remedy.contains("cap_bpf")), "{audit:?}");
    }
    assert_eq!(audits[0].user_copied, audits[0].delivered_bytes, "the mechanism counts its own copy");
    assert!(audits[1].completions > 0);
    let output = as_nobody().arg("audit").args(arguments).output().expect("the binary starts");
    let table = String::from_utf8_lossy(&output.stdout);
    assert!(table.contains("not verified") && table.contains('?'), "{table}");
    assert!(!table.contains("exact"), "nothing that was not counted balances: {table}");
}

/// Programs of a ledger that the kernel holds.
fn programs() -> BTreeSet<u32> {
    let ours = |name: Option<&str>| {
        name.is_some_and(|name| {
            ["left", "arrived", "copied_out", "taken", "entered", "ended"].contains(&name)
        })
    };
    let loaded = loaded_programs().filter_map(Result::ok);
    loaded.filter(|p| ours(p.name_as_str())).map(|p| p.id()).collect()
}

#[test]
fn nothing_stays_in_the_kernel_after_kill_9() {
    let _turn = turn();
    if ledger("nothing_stays_in_the_kernel_after_kill_9").is_none() {
        return;
    }
    soon("end of that ledger", || programs().is_empty());
    let mut child = Command::new(SYSCOST)
        .args(["audit", "--size", "64,4K,64K,1M", "--threads", "1,2,4", "--path", "loopback"])
        .stdout(Stdio::null())
        .spawn()
        .expect("the binary starts");
    // One of them is attached only where the kernel has its tracepoint.
    soon("ledger in the kernel", || programs().len() >= 5);
    child.kill().expect("it still runs");
    child.wait().expect("it ended");
    soon("end of the killed one's programs", || programs().is_empty());
    assert!(!Path::new("/sys/fs/bpf/syscost").exists());
}

/// Pairs that balance whatever each of them does with the bytes: nothing here knows what they are called.
#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_pair_balances_also_with_several_messages_a_call() {
    let Some(_turn) = counting("every_pair_balances_also_with_several_messages_a_call") else { return };
    let path = if namespaces::available().is_ok() { "veth" } else { "loopback" };
    let arguments =
        ["--mechanism", "all", "--receiver", "all", "--batch", "8", "--size", "4K", "--path", path];
    let audits = audits(&mut Command::new(SYSCOST), &arguments);
    let able = receiver::ALL.iter().filter(|r| r.available().is_ok()).count();
    assert!(audits.len() >= every_mechanism().split(',').count() * able.min(2), "{}", audits.len());
    for audit in &audits {
        let place = audit.point.to_string();
        let counts = audit.counts.expect("counted");
        assert_balances(audit);
        let receiver = audit.point.text_at("receiver").and_then(receiver::find).expect("it has a receiver");
        if !receiver.delivers() {
            assert_eq!((counts.copied_out, audit.uncopied_out), (0, audit.delivered_bytes), "{place}");
        }
        let mechanism =
            audit.point.text_at("mechanism").and_then(mechanism::find).expect("it has a mechanism");
        if mechanism.about().facts.reuse == Reuse::File && audit.framing_bytes == 0 {
            assert_eq!((audit.user_copied, counts.copied_in, counts.orphan_copied), (0, 0, 0), "{place}");
        }
    }
}

#[test]
fn a_kernel_that_hides_its_types_is_no_count_of_zero() {
    if !is_root("a_kernel_that_hides_its_types_is_no_count_of_zero") {
        return;
    }
    let mut command = Command::new(SYSCOST);
    mount::seclude_on_exec(&mut command, &[Path::new("/sys")]).expect("names without a NUL");
    let arguments = ["--mechanism", "send", "--size", "64K", "--path", "loopback"];
    let [audit] = &audits(&mut command, &arguments)[..] else { panic!("one audit") };
    assert!(audit.delivered_bytes > 0 && audit.counts.is_none(), "{audit:?}");
    assert_eq!(audit.tier, Tier::Told);
    let why = audit.uncounted.as_ref().expect("a reason");
    assert!(why.reason.contains("/sys/kernel/btf/vmlinux") || why.reason.contains("rights"), "{why:?}");
}
