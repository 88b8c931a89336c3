//! What each receiver takes is counted to the byte: copied to its memory, or by its own word not.

use crate::audits::{assert_balances, audits, counting};
use crate::support::{SYSCOST, skipped};
use std::process::Command;
use syscost_host::namespaces;
use syscost_measure::receiver;

#[test]
fn every_receiver_is_counted_to_the_byte() {
    const TEST: &str = "every_receiver_is_counted_to_the_byte";
    let Some(_turn) = counting(TEST) else { return };
    let mut paths = "loopback".to_string();
    match namespaces::available() {
        Ok(_) => paths += ",veth",
        Err(why) => skipped(TEST, &format!("veth: {}", why.reason)),
    }
    let arguments =
        ["--receiver", "all", "--mechanism", "sendmsg,msg_zerocopy", "--size", "64,64K,1M", "--path", &paths];
    let audits = audits(&mut Command::new(SYSCOST), &arguments);
    for audit in &audits {
        let (place, all) = (audit.point.to_string(), audit.delivered_bytes);
        let counts = audit.counts.expect("counted");
        assert_balances(audit);
        assert!(all > 0 && counts.copied_out + audit.uncopied_out == all, "{place}: {audit:?}");
        let receive = audit.point.text_at("receiver").and_then(receiver::find).expect("it was named");
        if !receive.delivers() {
            assert_eq!((audit.uncopied_out, counts.copied_out), (all, 0), "{place}: {audit:?}");
        } else if receive.copies_because().is_none() {
            assert_eq!((audit.uncopied_out, counts.copied_out), (0, all), "{place}: {audit:?}");
        }
    }
    for receive in receiver::ALL.iter().filter(|r| r.available().is_ok()) {
        let id = receive.about().id;
        assert!(
            audits.iter().any(|audit| audit.point.text_at("receiver") == Some(id)),
            "{id} was not audited"
        );
    }
}
