//! What of a transfer's copies only its own two sides know: where the connections go, and what each
//! side did with memory of its own.

use super::super::streaming::{
    COMPLETIONS, COMPLETIONS_COPIED, CPU, FRAMING, RECEIVER, SENDER, UNCOPIED, USER_COPIED,
};
use super::axes;
use crate::mechanism::all_connections;
use crate::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, MTU, OFFLOADS, PATH};
use crate::probe::{Copies, CopyTotals};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use syscost_core::axis::Point;

/// The axes that decide which copies are made; a device without segmentation may need others. Registered
/// buffers take another way into a segment. How many messages a call takes decides nothing: each of
/// their bytes is copied as often as in a call of its own.
const WAY: [&str; 6] = [MECHANISM.id, axes::RECEIVER.id, PATH.id, MTU.id, OFFLOADS.id, "registered"];
/// 64 KiB: large enough that zero-copy is worth asking for.
const TYPICAL_LOG2: u64 = 16;

pub struct TransferCopies;

impl Copies for TransferCopies {
    fn same_way(&self, one: &Point, other: &Point) -> bool {
        WAY.iter().all(|axis| one.get(axis) == other.get(axis))
    }

    fn distance(&self, point: &Point) -> u64 {
        let size = u64::from(point.int(MESSAGE_BYTES).unwrap_or(1).max(1).ilog2());
        // A size one step away is nearer than a connection more.
        size.abs_diff(TYPICAL_LOG2) + (all_connections(point) - 1) * 64
    }

    fn port(&self, offers: &[serde_json::Value]) -> Option<u16> {
        let address: SocketAddr = offers.first()?["address"].as_str()?.parse().ok()?;
        Some(address.port())
    }

    fn known(&self, totals: &BTreeMap<String, f64>) -> Option<CopyTotals> {
        let total = |role: &str, id: &str| totals.get(&format!("{role}.{id}")).map(|n| *n as u64);
        Some(CopyTotals {
            delivered_bytes: total(RECEIVER, "bytes")?,
            user_copied: total(SENDER, USER_COPIED)? + total(RECEIVER, USER_COPIED)?,
            framing_bytes: total(SENDER, FRAMING)?,
            uncopied_out: total(RECEIVER, UNCOPIED)?,
            completions: total(SENDER, COMPLETIONS)?,
            completions_copied: total(SENDER, COMPLETIONS_COPIED)?,
            sender_cpu_ns: total(SENDER, CPU)?,
            receiver_cpu_ns: total(RECEIVER, CPU)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_the_receivers_and_the_totals_are_those_of_their_sides() {
        let offer = |text: &str| serde_json::json!({ "address": text });
        assert_eq!(TransferCopies.port(&[offer("127.0.0.1:4711")]), Some(4711));
        assert_eq!(TransferCopies.port(&[offer("[::1]:4712")]), Some(4712));
        assert_eq!(TransferCopies.port(&[]), None);
        let names = [
            ("receiver.bytes", 64.0),
            ("receiver.uncopied_bytes", 1.0),
            ("receiver.user_copied_bytes", 10.0),
            ("sender.bytes", 65.0),
            ("sender.user_copied_bytes", 2.0),
            ("sender.framing_bytes", 7.0),
            ("sender.completions", 3.0),
            ("sender.completions_copied", 4.0),
            ("sender.cpu_ns", 5.0),
            ("receiver.cpu_ns", 6.0),
        ];
        let mut totals: BTreeMap<String, f64> = names.map(|(id, n)| (id.to_string(), n)).into();
        let known = TransferCopies.known(&totals).expect("every total is there");
        assert_eq!((known.delivered_bytes, known.uncopied_out, known.user_copied), (64, 1, 12));
        assert_eq!((known.completions, known.completions_copied, known.framing_bytes), (3, 4, 7));
        assert_eq!((known.sender_cpu_ns, known.receiver_cpu_ns), (5, 6));
        totals.remove("sender.user_copied_bytes");
        assert_eq!(TransferCopies.known(&totals), None, "what a side did not say is not known");
    }
}
