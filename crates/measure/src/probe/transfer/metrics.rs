//! The raw quantities of a transfer's samples, and the figures computed from them.

use crate::probe::transfer::axes::MESSAGE_BYTES;
use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric, Quantity, Sample};
use syscost_core::units::Unit;

const fn q(id: &'static str, unit: Unit, help: &'static str) -> Quantity {
    Quantity { id, unit, help }
}

/// Both sides' own quantities; `merge` prefixes them with the role. `*_multiplexing` is the share
/// of the window in which the group really counted (1 = always); counts are already scaled by it. The hardware
/// counters are those of [`syscost_host::counters::ids`].
macro_rules! sides {
    ($($role:literal),*) => {
        &[$(
            q(concat!($role, "_elapsed_ns"), Unit::Nanoseconds, "mean over threads of the length of this side's window"),
            q(concat!($role, "_messages"), Unit::Count, "messages this side handled in its window"),
            q(concat!($role, "_cpu_ns"), Unit::Nanoseconds, "CPU time of this side's data threads (CLOCK_THREAD_CPUTIME_ID), summed"),
            q(concat!($role, "_system_calls"), Unit::Count, "system calls that moved data or reaped completions"),
            q(concat!($role, "_voluntary_switches"), Unit::Count, "voluntary context switches (getrusage)"),
            q(concat!($role, "_involuntary_switches"), Unit::Count, "involuntary context switches (getrusage)"),
            q(concat!($role, "_tsc_cycles"), Unit::Count, "CPU time in time-stamp-counter cycles: reference cycles, not core cycles"),
            q(concat!($role, "_cycles_user"), Unit::Count, "core cycles in user mode"),
            q(concat!($role, "_cycles_kernel"), Unit::Count, "core cycles in the kernel"),
            q(concat!($role, "_instructions_user"), Unit::Count, "instructions in user mode"),
            q(concat!($role, "_instructions_kernel"), Unit::Count, "instructions in the kernel"),
            q(concat!($role, "_cache_references_user"), Unit::Count, "cache references in user mode"),
            q(concat!($role, "_cache_references_kernel"), Unit::Count, "cache references in the kernel"),
            q(concat!($role, "_cache_misses_user"), Unit::Count, "cache misses in user mode"),
            q(concat!($role, "_cache_misses_kernel"), Unit::Count, "cache misses in the kernel"),
            q(concat!($role, "_l1d_loads_user"), Unit::Count, "L1 data cache loads in user mode"),
            q(concat!($role, "_l1d_loads_kernel"), Unit::Count, "L1 data cache loads in the kernel"),
            q(concat!($role, "_l1d_misses_user"), Unit::Count, "L1 data cache load misses in user mode"),
            q(concat!($role, "_l1d_misses_kernel"), Unit::Count, "L1 data cache load misses in the kernel"),
            q(concat!($role, "_llc_loads_user"), Unit::Count, "last-level cache loads in user mode"),
            q(concat!($role, "_llc_loads_kernel"), Unit::Count, "last-level cache loads in the kernel"),
            q(concat!($role, "_llc_misses_user"), Unit::Count, "last-level cache load misses in user mode"),
            q(concat!($role, "_llc_misses_kernel"), Unit::Count, "last-level cache load misses in the kernel"),
            q(concat!($role, "_multiplexing"), Unit::Ratio, "share of the window in which the least-scheduled counter group counted"),
        )*
            q("sender_completions", Unit::Count, "zero-copy completions reaped (sends; a message each, or as many as a call takes)"),
            q("sender_completions_copied", Unit::Count, "of those, flagged copied by the kernel"),
            q("sender_queue_entries", Unit::Count, "completion queue entries reaped (io_uring)"),
            q("sender_enobufs", Unit::Count, "times the kernel refused for want of buffers (ENOBUFS)"),
            q("sender_data_segments", Unit::Count, "segments sent with payload (TCP_INFO), each of at most the maximum segment size"),
            q("sender_segments_received", Unit::Count, "segments that came back to the sender (TCP_INFO): acknowledgements"),
            q("receiver_uncopied_bytes", Unit::Bytes, "bytes taken without a copy to the receiver's memory: mapped, dropped, or moved on in the kernel"),
            q("retransmits", Unit::Count, "segments retransmitted (TCP_INFO), all connections"),
        ]
    };
}

pub const QUANTITIES: &[Quantity] = sides!("sender", "receiver");

fn per(sample: &Sample, quantity: &str, base: &str) -> Option<f64> {
    let base = sample.get(base).filter(|n| *n > 0.0)?;
    Some(sample.get(quantity)? / base)
}

/// What was received without a copy, of what the same window received.
fn uncopied_fraction(s: &Sample, _: &Point) -> Option<f64> {
    let bytes = Some(s.bytes).filter(|n| *n > 0.0)?;
    Some(s.get("receiver_uncopied_bytes")? / bytes)
}

fn message_bytes(point: &Point) -> Option<f64> {
    point.int(MESSAGE_BYTES).map(|n| n as f64)
}

fn sender_cpu(s: &Sample, _: &Point) -> Option<f64> {
    per(s, "sender_cpu_ns", "sender_messages")
}

fn receiver_cpu(s: &Sample, _: &Point) -> Option<f64> {
    per(s, "receiver_cpu_ns", "receiver_messages")
}

fn total_cpu(s: &Sample, p: &Point) -> Option<f64> {
    Some(sender_cpu(s, p)? + receiver_cpu(s, p)?)
}

/// Counts in user mode and in the kernel, and the messages that they belong to, of both sides.
type Counted = [[&'static str; 3]; 2];

/// The columns of one counter; names are made at compile time, since a large report asks for
/// millions of them.
macro_rules! counter {
    ($id:literal) => {
        [
            [concat!("sender_", $id, "_user"), concat!("sender_", $id, "_kernel"), "sender_messages"],
            [concat!("receiver_", $id, "_user"), concat!("receiver_", $id, "_kernel"), "receiver_messages"],
        ]
    };
}

/// User plus kernel of both sides per message, where the machine counts it.
fn counted(s: &Sample, columns: &Counted) -> Option<f64> {
    let mut total = 0.0;
    for [user, kernel, messages] in columns {
        total += per(s, user, messages)? + per(s, kernel, messages)?;
    }
    Some(total)
}

macro_rules! metric {
    ($id:literal, $title:literal, $unit:ident, $better:ident, $help:literal, $of:expr) => {
        Metric { id: $id, title: $title, unit: Unit::$unit, better: Better::$better, help: $help, of: $of }
    };
}

/// The figures of a transfer, in the order of `results.csv`.
pub const METRICS: &[Metric] = &[
    metric!(
        "throughput",
        "throughput",
        BitsPerSecond,
        Higher,
        "payload bits received per second, all connections (goodput)",
        |s, _| (s.elapsed_ns > 0.0).then(|| s.bytes * 8e9 / s.elapsed_ns)
    ),
    metric!(
        "messages_per_second",
        "messages per second",
        PerSecond,
        Higher,
        "messages received per second, all connections",
        |s, _| (s.elapsed_ns > 0.0).then(|| s.ops * 1e9 / s.elapsed_ns)
    ),
    metric!(
        "sender_cpu_ns_per_message",
        "sender CPU per message",
        Nanoseconds,
        Lower,
        "CPU time of the sender's threads per message sent; on loopback and veth it includes most of the receive softirq",
        sender_cpu
    ),
    metric!(
        "receiver_cpu_ns_per_message",
        "receiver CPU per message",
        Nanoseconds,
        Lower,
        "CPU time of the receiver's threads per message received",
        receiver_cpu
    ),
    metric!(
        "total_cpu_ns_per_message",
        "CPU per message",
        Nanoseconds,
        Lower,
        "sender plus receiver CPU time per message: the figure that ranks mechanisms",
        total_cpu
    ),
    metric!(
        "sender_cpu_ns_per_byte",
        "sender CPU per byte",
        NanosecondsPerByte,
        Lower,
        "sender CPU time per payload byte",
        |s, p| Some(sender_cpu(s, p)? / message_bytes(p)?)
    ),
    metric!(
        "receiver_cpu_ns_per_byte",
        "receiver CPU per byte",
        NanosecondsPerByte,
        Lower,
        "receiver CPU time per payload byte",
        |s, p| Some(receiver_cpu(s, p)? / message_bytes(p)?)
    ),
    metric!(
        "total_cpu_ns_per_byte",
        "CPU per byte",
        NanosecondsPerByte,
        Lower,
        "sender plus receiver CPU time per payload byte",
        |s, p| Some(total_cpu(s, p)? / message_bytes(p)?)
    ),
    metric!(
        "tsc_cycles_per_byte",
        "TSC reference cycles per byte",
        TscCyclesPerByte,
        Lower,
        "total CPU time in time-stamp-counter reference cycles per payload byte (not core cycles)",
        |s, p| Some(
            (per(s, "sender_tsc_cycles", "sender_messages")?
                + per(s, "receiver_tsc_cycles", "receiver_messages")?)
                / message_bytes(p)?
        )
    ),
    metric!(
        "cycles_per_byte",
        "cycles per byte",
        CyclesPerByte,
        Lower,
        "core cycles of both sides, user and kernel, per payload byte",
        |s, p| Some(counted(s, &counter!("cycles"))? / message_bytes(p)?)
    ),
    metric!(
        "instructions_per_message",
        "instructions per message",
        Count,
        Lower,
        "instructions of both sides, user and kernel, per message",
        |s, _| counted(s, &counter!("instructions"))
    ),
    metric!(
        "cache_references_per_message",
        "cache references per message",
        Count,
        Neither,
        "cache references of both sides per message",
        |s, _| counted(s, &counter!("cache_references"))
    ),
    metric!(
        "cache_misses_per_message",
        "cache misses per message",
        Count,
        Lower,
        "cache misses of both sides per message",
        |s, _| counted(s, &counter!("cache_misses"))
    ),
    metric!(
        "l1d_loads_per_message",
        "L1d loads per message",
        Count,
        Neither,
        "L1 data cache loads of both sides per message",
        |s, _| counted(s, &counter!("l1d_loads"))
    ),
    metric!(
        "l1d_misses_per_message",
        "L1d misses per message",
        Count,
        Lower,
        "L1 data cache load misses of both sides per message",
        |s, _| counted(s, &counter!("l1d_misses"))
    ),
    metric!(
        "llc_loads_per_message",
        "LLC loads per message",
        Count,
        Neither,
        "last-level cache loads of both sides per message",
        |s, _| counted(s, &counter!("llc_loads"))
    ),
    metric!(
        "llc_misses_per_message",
        "LLC misses per message",
        Count,
        Lower,
        "last-level cache load misses of both sides per message",
        |s, _| counted(s, &counter!("llc_misses"))
    ),
    metric!(
        "sender_system_calls_per_message",
        "sender system calls per message",
        Count,
        Lower,
        "system calls of the sender that moved data or reaped completions, per message",
        |s, _| per(s, "sender_system_calls", "sender_messages")
    ),
    metric!(
        "receiver_system_calls_per_message",
        "receiver system calls per message",
        Count,
        Lower,
        "receive calls per message",
        |s, _| per(s, "receiver_system_calls", "receiver_messages")
    ),
    metric!(
        "sender_voluntary_switches_per_message",
        "sender voluntary switches per message",
        Count,
        Lower,
        "times per message that the sender slept",
        |s, _| per(s, "sender_voluntary_switches", "sender_messages")
    ),
    metric!(
        "sender_involuntary_switches_per_message",
        "sender involuntary switches per message",
        Count,
        Lower,
        "times per message that the sender was preempted",
        |s, _| per(s, "sender_involuntary_switches", "sender_messages")
    ),
    metric!(
        "receiver_voluntary_switches_per_message",
        "receiver voluntary switches per message",
        Count,
        Lower,
        "times per message that the receiver slept",
        |s, _| per(s, "receiver_voluntary_switches", "receiver_messages")
    ),
    metric!(
        "receiver_involuntary_switches_per_message",
        "receiver involuntary switches per message",
        Count,
        Lower,
        "times per message that the receiver was preempted",
        |s, _| per(s, "receiver_involuntary_switches", "receiver_messages")
    ),
    metric!(
        "retransmits",
        "retransmitted segments",
        Count,
        Lower,
        "segments retransmitted in a sample",
        |s, _| s.get("retransmits")
    ),
    metric!(
        "data_segments_per_message",
        "segments per message",
        Count,
        Lower,
        "segments of at most the maximum segment size that carried the message (the kernel may handle many at once)",
        |s, _| per(s, "sender_data_segments", "sender_messages")
    ),
    metric!(
        "acknowledgements_per_message",
        "acknowledgements per message",
        Count,
        Neither,
        "segments that came back to the sender per message",
        |s, _| per(s, "sender_segments_received", "sender_messages")
    ),
    metric!(
        "completions_per_message",
        "completions per message",
        Count,
        Neither,
        "zero-copy completions reaped per message (one per call when none is lost: 1 where a call takes one message)",
        |s, _| per(s, "sender_completions", "sender_messages")
    ),
    metric!(
        "copied_fraction",
        "copied fraction",
        Ratio,
        Neither,
        "share of zero-copy completions that the kernel flagged as copied after all",
        |s, _| per(s, "sender_completions_copied", "sender_completions")
    ),
    metric!(
        "uncopied_fraction",
        "received without a copy",
        Ratio,
        Neither,
        "share of the received bytes that were not copied to the receiver's memory: mapped, dropped, or moved on in the kernel",
        uncopied_fraction
    ),
    metric!(
        "queue_entries_per_message",
        "queue entries per message",
        Count,
        Neither,
        "completion queue entries reaped per message (io_uring)",
        |s, _| per(s, "sender_queue_entries", "sender_messages")
    ),
    metric!(
        "enobufs_per_message",
        "ENOBUFS per message",
        Count,
        Lower,
        "times per message that the kernel refused for want of buffers",
        |s, _| per(s, "sender_enobufs", "sender_messages")
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_hardware_counter_has_its_columns() {
        for counter in syscost_host::counters::ids() {
            for role in ["sender", "receiver"] {
                let column = format!("{role}_{counter}");
                assert!(QUANTITIES.iter().any(|q| q.id == column), "no column {column}");
            }
        }
    }
}
