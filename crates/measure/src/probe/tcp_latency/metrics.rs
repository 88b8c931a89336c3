//! The raw quantities of a latency sample, and the figures computed from them.

use super::axes;
use crate::probe::transfer::metrics as transfer;
use crate::probe::{metrics, quantities};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Metric, Quantity, Sample};
use syscost_core::stats::histogram::Histogram;
use syscost_core::stats::times::TimesFigure;

const OWN: &[Quantity] = quantities! {
    "latency_count", Count, "messages or round trips that were timed, each for itself";
    "latency_p50_ns", Nanoseconds, "the time that half of them took at most";
    "latency_p90_ns", Nanoseconds, "nine in ten; empty with fewer than ten beyond";
    "latency_p99_ns", Nanoseconds, "99 in a hundred; empty with fewer than ten beyond";
    "latency_p999_ns", Nanoseconds, "999 in a thousand; empty with fewer than ten beyond";
    "latency_max_ns", Nanoseconds, "the longest";
    "latency_mean_ns", Nanoseconds, "the mean";
    "beyond_p90", Count, "how many took longer than the 0.9 quantile: what it stands on";
    "beyond_p99", Count, "how many took longer than the 0.99 quantile";
    "beyond_p999", Count, "how many took longer than the 0.999 quantile";
    "lateness_p50_ns", Nanoseconds, "open loop: how late half of the messages were sent at most; part of their latency";
    "lateness_p99_ns", Nanoseconds, "open loop: how late 99 in a hundred were sent at most";
    "lateness_max_ns", Nanoseconds, "open loop: how late the latest was sent";
};

/// Those of both sides as a transfer has them, then those of the times.
pub fn quantities() -> Vec<Quantity> {
    transfer::QUANTITIES.iter().chain(OWN).copied().collect()
}

/// The quantities of the times of one sample, and of how late its sender was.
pub fn of_times(times: &Histogram, lateness: Option<&Histogram>) -> BTreeMap<String, Option<f64>> {
    let beyond = |q: f64| Some(times.beyond(q) as f64);
    let late = |figure: TimesFigure| lateness.and_then(|h| figure.pooled(h));
    let counts = [
        ("latency_count", Some(times.count() as f64)),
        ("beyond_p90", beyond(0.9)),
        ("beyond_p99", beyond(0.99)),
        ("beyond_p999", beyond(0.999)),
        ("lateness_p50_ns", late(TimesFigure::Quantile(0.5))),
        ("lateness_p99_ns", late(TimesFigure::Quantile(0.99))),
        ("lateness_max_ns", late(TimesFigure::Longest)),
    ]
    .map(|(id, value)| (id.to_string(), value));
    let figures = OF_TIMES.iter().map(|(id, figure)| (format!("{id}_ns"), figure.pooled(times)));
    figures.chain(counts).collect()
}

fn per(s: &Sample, quantity: &str, of: &str) -> Option<f64> {
    let count = s.get(of)?;
    if count > 0.0 { Some(s.get(quantity)? / count) } else { None }
}

/// The sender of an open loop passes its time waiting: its CPU time says nothing of a message.
fn asking_cpu(s: &Sample, p: &Point) -> Option<f64> {
    if axes::is_open(p) { None } else { per(s, "sender_cpu_ns", "sender_messages") }
}

/// What is asked of the times of a round, and of all times of a case.
const OF_TIMES: &[(&str, TimesFigure)] = &[
    ("latency_p50", TimesFigure::Quantile(0.5)),
    ("latency_p90", TimesFigure::Quantile(0.9)),
    ("latency_p99", TimesFigure::Quantile(0.99)),
    ("latency_p999", TimesFigure::Quantile(0.999)),
    ("latency_max", TimesFigure::Longest),
    ("latency_mean", TimesFigure::Mean),
];

/// In the order of `results.csv`. Closed loop: of a round trip; open loop: one way, from when the message
/// was due.
const TIMES: &[Metric] = metrics! {
    "latency_p50", Nanoseconds, Lower, "p50 latency",
        "closed loop: the median round trip; open loop: the median time from when a message was due to its last byte";
    "latency_p90", Nanoseconds, Lower, "p90 latency",
        "nine in ten took no longer";
    "latency_p99", Nanoseconds, Lower, "p99 latency",
        "99 in a hundred took no longer";
    "latency_p999", Nanoseconds, Lower, "p99.9 latency",
        "999 in a thousand took no longer; absent with fewer than ten beyond it";
    "latency_max", Nanoseconds, Neither, "longest latency",
        "the longest of all: it grows with how many there are";
    "latency_mean", Nanoseconds, Lower, "mean latency",
        "the mean of all";
    "latency_count", Count, Neither, "timed messages",
        "messages or round trips of a sample, each timed for itself";
    "asked_rate", PerSecond, Neither, "asked rate",
        "open loop: messages a second that were asked for, over all threads",
        |s, p| s.get("latency_count").and(axes::rate(p)).map(|rate| rate as f64);
    "achieved_rate", PerSecond, Higher, "achieved rate",
        "messages, or exchanges, a second that arrived; an open loop that stays more than 1 % below what was asked is \
         saturated, and its latencies grow with the length of the test",
        |s, _| (s.elapsed_ns > 0.0).then(|| s.ops * 1e9 / s.elapsed_ns);
    "lateness_p99", Nanoseconds, Lower, "p99 lateness",
        "open loop: how late 99 in a hundred messages were sent at most; part of their latency";
    "sender_cpu_ns_per_message", Nanoseconds, Lower, "sender CPU per exchange",
        "closed loop: CPU time of the asking threads per exchange; an open loop's sender waits on the CPU",
        asking_cpu;
    "receiver_cpu_ns_per_message", Nanoseconds, Lower, "receiver CPU per message",
        "CPU time of the receiving threads per message; in a closed loop they answer each",
        |s, _| per(s, "receiver_cpu_ns", "receiver_messages");
};

/// Figures that mean what they mean of a transfer.
const SHARED: &[&str] = &[
    "sender_system_calls_per_message",
    "receiver_system_calls_per_message",
    "sender_voluntary_switches_per_message",
    "sender_involuntary_switches_per_message",
    "receiver_voluntary_switches_per_message",
    "receiver_involuntary_switches_per_message",
    "retransmits",
    "completions_per_message",
    "copied_fraction",
    "queue_entries_per_message",
    "enobufs_per_message",
];

pub fn metrics() -> Vec<Metric> {
    let shared = transfer::METRICS.iter().filter(|metric| SHARED.contains(&metric.id));
    let of_times = |id: &str| OF_TIMES.iter().find(|(of, _)| *of == id).map(|(_, figure)| *figure);
    TIMES.iter().chain(shared).map(|metric| Metric { of_times: of_times(metric.id), ..*metric }).collect()
}
