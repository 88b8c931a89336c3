//! The raw quantities of a transfer's samples, and the figures computed from them.

use crate::probe::cost::CLOCK_INSTRUCTIONS;
use crate::probe::row::{Drawing, Shape};
use crate::probe::transfer::axes::{MESSAGE_BYTES, THREADS};
use crate::probe::{metrics, quantities};
use syscost_core::axis::Point;
use syscost_core::sample::{Better, Metric, Quantity, Sample};
use syscost_core::units::Unit;

/// Figures that only TCP or zero-copy has.
pub const OF_TCP: &[&str] = &[
    "retransmits",
    "data_segments_per_message",
    "acknowledgements_per_message",
    "completions_per_message",
    "copied_fraction",
    "queue_entries_per_message",
    "enobufs_per_message",
];

/// Both sides' own quantities; `merge` prefixes them with the role. The hardware counters are those of
/// [`syscost_host::counters::ids`].
macro_rules! sides {
    ($($role:literal),*) => {
        quantities! { $(
            concat!($role, "_elapsed_ns"), Nanoseconds, "mean over threads of the length of this side's window";
            concat!($role, "_messages"), Count, "messages this side handled in its window";
            concat!($role, "_cpu_ns"), Nanoseconds, "CPU time of this side's data threads (CLOCK_THREAD_CPUTIME_ID), summed";
            concat!($role, "_system_calls"), Count, "system calls that moved data or reaped completions";
            concat!($role, "_voluntary_switches"), Count, "voluntary context switches (getrusage)";
            concat!($role, "_involuntary_switches"), Count, "involuntary context switches (getrusage)";
            concat!($role, "_tsc_cycles"), Count, "CPU time in time-stamp-counter cycles: reference cycles, not core cycles";
            concat!($role, "_cycles_user"), Count, "core cycles in user mode";
            concat!($role, "_cycles_kernel"), Count, "core cycles in the kernel";
            concat!($role, "_instructions_user"), Count, "instructions in user mode";
            concat!($role, "_instructions_kernel"), Count, "instructions in the kernel";
            concat!($role, "_instructions_softirq"), Count, "of those, in softirqs (an emulator tells)";
            concat!($role, "_cache_references_user"), Count, "cache references in user mode";
            concat!($role, "_cache_references_kernel"), Count, "cache references in the kernel";
            concat!($role, "_cache_misses_user"), Count, "cache misses in user mode";
            concat!($role, "_cache_misses_kernel"), Count, "cache misses in the kernel";
            concat!($role, "_l1i_misses_user"), Count, "L1 instruction cache misses in user mode (of a modelled cache)";
            concat!($role, "_l1i_misses_kernel"), Count, "L1 instruction cache misses in the kernel (of a modelled cache)";
            concat!($role, "_l1i_misses_softirq"), Count, "of those, in softirqs";
            concat!($role, "_l1d_loads_user"), Count, "L1 data cache loads in user mode";
            concat!($role, "_l1d_loads_kernel"), Count, "L1 data cache loads in the kernel";
            concat!($role, "_l1d_misses_user"), Count, "L1 data cache load misses in user mode (of a modelled cache: of stores too)";
            concat!($role, "_l1d_misses_kernel"), Count, "L1 data cache load misses in the kernel (of a modelled cache: of stores too)";
            concat!($role, "_l1d_misses_softirq"), Count, "of those, in softirqs (of a modelled cache)";
            concat!($role, "_l2_misses_user"), Count, "L2 cache misses in user mode, of data and instructions (of a modelled cache)";
            concat!($role, "_l2_misses_kernel"), Count, "L2 cache misses in the kernel, of data and instructions (of a modelled cache)";
            concat!($role, "_l2_misses_softirq"), Count, "of those, in softirqs";
            concat!($role, "_llc_loads_user"), Count, "last-level cache loads in user mode";
            concat!($role, "_llc_loads_kernel"), Count, "last-level cache loads in the kernel";
            concat!($role, "_llc_misses_user"), Count, "last-level cache load misses in user mode";
            concat!($role, "_llc_misses_kernel"), Count, "last-level cache load misses in the kernel";
            concat!($role, "_llc_misses_softirq"), Count, "of those, in softirqs (of a modelled cache)";
            concat!($role, "_multiplexing"), Ratio, "share of the time in which the counters counted: the least of the groups";
        )*
            "sender_completions", Count, "zero-copy completions reaped (sends; a message each, or as many as a call takes)";
            "sender_completions_copied", Count, "of those, flagged copied by the kernel";
            "sender_queue_entries", Count, "completion queue entries reaped (io_uring)";
            "sender_enobufs", Count, "times the kernel refused because it had no buffers (ENOBUFS)";
            "sender_data_segments", Count, "segments sent with payload (TCP_INFO), each of at most the maximum segment size";
            "sender_segments_received", Count, "segments that came back to the sender (TCP_INFO): acknowledgements";
            "receiver_uncopied_bytes", Bytes, "bytes taken without a copy to the receiver's memory: mapped, dropped, or moved on in the kernel";
            "retransmits", Count, "segments retransmitted (TCP_INFO), all connections";
        }
    };
}

pub const QUANTITIES: &[Quantity] = sides!("sender", "receiver");

fn per(sample: &Sample, quantity: &str, base: &str) -> Option<f64> {
    let base = sample.get(base).filter(|n| *n > 0.0)?;
    Some(sample.get(quantity)? / base)
}

fn per_second(sample: &Sample, quantity: &str, elapsed_ns: &str) -> Option<f64> {
    Some(per(sample, quantity, elapsed_ns)? * 1e9)
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

/// Each side's counts in softirqs, which only an emulator tells from the kernel's other ones.
macro_rules! softirqs {
    ($id:literal) => {
        [
            (concat!("sender_", $id, "_softirq"), "sender_messages"),
            (concat!("receiver_", $id, "_softirq"), "receiver_messages"),
        ]
    };
}

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
    columns.iter().map(|columns| of_side(s, columns)).sum()
}

/// One side's, user and kernel.
fn of_side(s: &Sample, [user, kernel, messages]: &[&str; 3]) -> Option<f64> {
    Some(per(s, user, messages)? + per(s, kernel, messages)?)
}

/// Of both sides, in one mode.
fn of_both(s: &Sample, columns: [(&str, &str); 2]) -> Option<f64> {
    columns.iter().map(|(count, messages)| per(s, count, messages)).sum()
}

/// Of an emulated machine whose clock counts instructions, else by hardware counters.
fn side_instructions(s: &Sample, cpu: Option<f64>, counter: &[&str; 3]) -> Option<f64> {
    match s.get(CLOCK_INSTRUCTIONS) {
        Some(rate) => Some(cpu? * rate),
        None => of_side(s, counter),
    }
}

fn instructions(s: &Sample, p: &Point) -> Option<f64> {
    match s.get(CLOCK_INSTRUCTIONS) {
        Some(rate) => Some(total_cpu(s, p)? * rate),
        None => counted(s, &counter!("instructions")),
    }
}

/// The figures of a transfer, in the order of `results.csv`.
pub const METRICS: &[Metric] = metrics! {
    "throughput", BitsPerSecond, Higher, "throughput",
        "payload bits received per second, all connections (goodput)",
        |s, _| (s.elapsed_ns > 0.0).then(|| s.bytes * 8e9 / s.elapsed_ns);
    "messages_per_second", PerSecond, Higher, "messages per second",
        "messages received per second, all connections",
        |s, _| (s.elapsed_ns > 0.0).then(|| s.ops * 1e9 / s.elapsed_ns);
    "sender_cpu_ns_per_message", Nanoseconds, Lower, "sender CPU per message",
        "CPU time of the sender's threads per message sent; on loopback and veth it includes most of the receive softirq",
        sender_cpu;
    "receiver_cpu_ns_per_message", Nanoseconds, Lower, "receiver CPU per message",
        "CPU time of the receiver's threads per message received",
        receiver_cpu;
    "total_cpu_ns_per_message", Nanoseconds, Lower, "CPU per message",
        "sender plus receiver CPU time per message: the figure that ranks mechanisms",
        total_cpu;
    "sender_cpu_ns_per_byte", NanosecondsPerByte, Lower, "sender CPU per byte",
        "sender CPU time per payload byte",
        |s, p| Some(sender_cpu(s, p)? / message_bytes(p)?);
    "receiver_cpu_ns_per_byte", NanosecondsPerByte, Lower, "receiver CPU per byte",
        "receiver CPU time per payload byte",
        |s, p| Some(receiver_cpu(s, p)? / message_bytes(p)?);
    "total_cpu_ns_per_byte", NanosecondsPerByte, Lower, "CPU per byte",
        "sender plus receiver CPU time per payload byte",
        |s, p| Some(total_cpu(s, p)? / message_bytes(p)?);
    "tsc_cycles_per_byte", TscCyclesPerByte, Lower, "TSC reference cycles per byte",
        "total CPU time in time-stamp-counter reference cycles per payload byte (not core cycles)",
        |s, p| Some((per(s, "sender_tsc_cycles", "sender_messages")? + per(s, "receiver_tsc_cycles", "receiver_messages")?) / message_bytes(p)?);
    "cycles_per_byte", CyclesPerByte, Lower, "cycles per byte",
        "core cycles of both sides, user and kernel, per payload byte",
        |s, p| Some(counted(s, &counter!("cycles"))? / message_bytes(p)?), true;
    "instructions_per_message", Count, Lower, "instructions per message",
        "instructions of both sides, user and kernel, per message",
        instructions, true;
    "sender_instructions_per_message", Count, Lower, "sender instructions per message",
        "instructions of the sender, user and kernel, per message, with the softirqs that ran on top of it",
        |s, p| side_instructions(s, sender_cpu(s, p), &counter!("instructions")[0]), true;
    "receiver_instructions_per_message", Count, Lower, "receiver instructions per message",
        "instructions of the receiver, user and kernel, per message, with the softirqs that ran on top of it",
        |s, p| side_instructions(s, receiver_cpu(s, p), &counter!("instructions")[1]), true;
    "cache_references_per_message", Count, Neither, "cache references per message",
        "cache references of both sides per message",
        |s, _| counted(s, &counter!("cache_references")), true;
    "cache_misses_per_message", Count, Lower, "cache misses per message",
        "cache misses of both sides per message",
        |s, _| counted(s, &counter!("cache_misses")), true;
    "l1i_misses_per_message", Count, Lower, "L1i misses per message",
        "L1 instruction cache misses of both sides per message",
        |s, _| counted(s, &counter!("l1i_misses")), true;
    "l1d_loads_per_message", Count, Neither, "L1d loads per message",
        "L1 data cache loads of both sides per message",
        |s, _| counted(s, &counter!("l1d_loads")), true;
    "l1d_misses_per_message", Count, Lower, "L1d misses per message",
        "L1 data cache load misses of both sides per message",
        |s, _| counted(s, &counter!("l1d_misses")), true;
    "l2_misses_per_message", Count, Lower, "L2 misses per message",
        "L2 cache misses of both sides per message, of data and instructions",
        |s, _| counted(s, &counter!("l2_misses")), true;
    "llc_loads_per_message", Count, Neither, "LLC loads per message",
        "last-level cache loads of both sides per message",
        |s, _| counted(s, &counter!("llc_loads")), true;
    "llc_misses_per_message", Count, Lower, "LLC misses per message",
        "last-level cache load misses of both sides per message",
        |s, _| counted(s, &counter!("llc_misses")), true;
    "counted_cpu_ns_per_message", Nanoseconds, Neither, "CPU per message while counting",
        "sender plus receiver CPU time per message in the rounds that counted: beside CPU per message it shows what counting costs",
        |s, p| s.is_counting().then(|| total_cpu(s, p))?, true;
    "sender_system_calls_per_message", Count, Lower, "sender system calls per message",
        "system calls of the sender that moved data or reaped completions, per message",
        |s, _| per(s, "sender_system_calls", "sender_messages");
    "receiver_system_calls_per_message", Count, Lower, "receiver system calls per message",
        "receive calls per message",
        |s, _| per(s, "receiver_system_calls", "receiver_messages");
    "sender_voluntary_switches_per_message", Count, Lower, "sender voluntary switches per message",
        "times per message that the sender slept",
        |s, _| per(s, "sender_voluntary_switches", "sender_messages");
    "sender_sleeps_per_second", PerSecond, Neither, "sender sleeps",
        "times a second that the sender's threads slept, all together",
        |s, _| per_second(s, "sender_voluntary_switches", "sender_elapsed_ns");
    "receiver_sleeps_per_second", PerSecond, Neither, "receiver sleeps",
        "times a second that the receiver's threads slept, all together",
        |s, _| per_second(s, "receiver_voluntary_switches", "receiver_elapsed_ns");
    "sender_involuntary_switches_per_message", Count, Lower, "sender involuntary switches per message",
        "times per message that the sender was preempted",
        |s, _| per(s, "sender_involuntary_switches", "sender_messages");
    "receiver_voluntary_switches_per_message", Count, Lower, "receiver voluntary switches per message",
        "times per message that the receiver slept",
        |s, _| per(s, "receiver_voluntary_switches", "receiver_messages");
    "receiver_involuntary_switches_per_message", Count, Lower, "receiver involuntary switches per message",
        "times per message that the receiver was preempted",
        |s, _| per(s, "receiver_involuntary_switches", "receiver_messages");
    "retransmits", Count, Lower, "retransmitted segments",
        "segments retransmitted in a sample";
    "data_segments_per_message", Count, Lower, "segments per message",
        "segments of at most the maximum segment size that carried the message (the kernel may handle many at once)",
        |s, _| per(s, "sender_data_segments", "sender_messages");
    "acknowledgements_per_message", Count, Neither, "acknowledgements per message",
        "segments that came back to the sender per message",
        |s, _| per(s, "sender_segments_received", "sender_messages");
    "completions_per_message", Count, Neither, "completions per message",
        "zero-copy completions reaped per message (one per call when none is lost: 1 where a call takes one message)",
        |s, _| per(s, "sender_completions", "sender_messages");
    "copied_fraction", Ratio, Neither, "copied fraction",
        "share of zero-copy completions that the kernel flagged as copied after all",
        |s, _| per(s, "sender_completions_copied", "sender_completions");
    "uncopied_fraction", Ratio, Neither, "received without a copy",
        "share of the received bytes that were not copied to the receiver's memory: mapped, dropped, or moved on in the kernel",
        uncopied_fraction;
    "queue_entries_per_message", Count, Neither, "queue entries per message",
        "completion queue entries reaped per message (io_uring)",
        |s, _| per(s, "sender_queue_entries", "sender_messages");
    "enobufs_per_message", Count, Lower, "ENOBUFS per message",
        "times per message that the kernel refused because it had no buffers",
        |s, _| per(s, "sender_enobufs", "sender_messages");
};

/// A metric that is part of another.
const fn part(
    id: &'static str,
    title: &'static str,
    help: &'static str,
    of: fn(&Sample, &Point) -> Option<f64>,
) -> Metric {
    let (unit, better) = (Unit::Count, Better::Lower);
    Metric { id, title, unit, better, help, of, counted: true, of_times: None }
}

/// Each counter by side and by mode; the sides of instructions are above.
macro_rules! parts {
    ($($id:literal, $title:literal $(, $side:literal, $at:literal)*;)+) => {
        &[$($(
            part(concat!($side, "_", $id, "_per_message"), concat!($side, " ", $title, " per message"),
                concat!($title, " of the ", $side, ", user and kernel, per message, with the softirqs that ran on top of it"),
                |s, _| of_side(s, &counter!($id)[$at])),
        )*
            part(concat!($id, "_user_per_message"), concat!($title, " in user mode per message"),
                concat!($title, " of both sides in user mode, per message"),
                |s, _| { let [a, b] = counter!($id); of_both(s, [(a[0], a[2]), (b[0], b[2])]) }),
            part(concat!($id, "_kernel_per_message"), concat!($title, " in the kernel per message"),
                concat!($title, " of both sides in the kernel, softirqs included, per message"),
                |s, _| { let [a, b] = counter!($id); of_both(s, [(a[1], a[2]), (b[1], b[2])]) }),
            part(concat!($id, "_softirq_per_message"), concat!($title, " in softirqs per message"),
                concat!($title, " of both sides in softirqs, per message (an emulator tells)"),
                |s, _| of_both(s, softirqs!($id))),
        )+]
    };
}

pub const PARTS: &[Metric] = parts! {
    "instructions", "instructions";
    "l1i_misses", "L1i misses", "sender", 0, "receiver", 1;
    "l1d_misses", "L1d misses", "sender", 0, "receiver", 1;
    "l2_misses", "L2 misses", "sender", 0, "receiver", 1;
    "llc_misses", "LLC misses", "sender", 0, "receiver", 1;
};

/// Misses by size, the nearest cache first, where anything counted them.
pub const DRAWINGS: &[Drawing] = &[
    drawing("L1 data cache misses", "l1d_misses_per_message"),
    drawing("L1 instruction cache misses", "l1i_misses_per_message"),
    drawing("L2 cache misses", "l2_misses_per_message"),
    drawing("last-level cache misses", "llc_misses_per_message"),
    drawing("instructions", "instructions_per_message"),
];

/// One thread stands for all: a line of each number of them would hide the ways to send.
const fn drawing(title: &'static str, metric: &'static str) -> Drawing {
    let shape = Shape { along: MESSAGE_BYTES.id, log_y: false, levels: false };
    Drawing { title, metric, shape, includes: |point| point.int(THREADS) == Some(1), holder: None }
}

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
