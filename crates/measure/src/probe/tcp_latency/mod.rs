//! `tcp_latency`: how long a message or an exchange takes over TCP, as a distribution, by mechanism.
//!
//! Its own experiment: a latency is measured for each message, never 1/throughput. A closed loop has one
//! exchange outstanding; an open loop asks for a rate and times from when each message was due.

pub mod axes;
pub mod carrier;
mod closed;
mod metrics;
mod open;
mod schedule;
mod side;
mod wait;

use super::rights::{COUNT_IN_THE_KERNEL, NETWORK_SETTINGS, Rights};
use super::streaming::{self, RECEIVER, SENDER};
use super::transfer::{Transfer, far, held, own_is_here};
use super::{Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing, Window, own_code};
use crate::mechanism::{self, Sending};
use crate::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};
use carrier::{LatencyCarrier, OVER_TCP};
use syscost_core::axis::{Axis, Point};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;

pub struct TcpLatency;

/// One window a round, so many times as long as a transfer's: a quantile needs many times, and rounds,
/// not windows, are the replicates.
const STRETCH: u64 = 16;
/// Messages that an open loop's window has room for at its rate, where it would be as long as this
/// otherwise: a p99 that ten lie beyond.
const WANTED: f64 = 1_100.0;
const LONGEST_STRETCH: u64 = 100;
/// Memory of a histogram while it is recorded, generously.
const RECORDER_BYTES: u64 = 256 << 10;

impl Probe for TcpLatency {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "tcp_latency",
            title: "latency over TCP",
            method: "Closed loop: a request and its answer of the same size by the same mechanism, one outstanding, each \
                     round trip timed for itself. Open loop: messages one way at a fixed rate over all threads together, \
                     each timed from when it was due by the schedule to its last byte at the receiver, so that waiting \
                     behind a late sender counts; both sides are on one host and read one clock (CLOCK_MONOTONIC). Every \
                     time is kept in a histogram of three significant digits.",
            source: "Tene, \"How NOT to measure latency\" and HdrHistogram; tcp(7)",
            roles: &[RECEIVER, SENDER],
            far_role: Some(RECEIVER),
            adjacent: Some(MECHANISM.id),
            compared: true,
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        axes::all()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        if own_code(point).iter().any(|code| code.object.is_program()) {
            return Err(Unavailable {
                reason: "a program's turns are handed over, which would be part of each time".into(),
                remedy: "measure what sends as a shared object, or its throughput: syscost run transfer"
                    .into(),
            });
        }
        let answers_elsewhere = !axes::is_open(point) && far::host(point).is_some();
        let mechanism = point.text(MECHANISM).and_then(mechanism::find);
        if answers_elsewhere && mechanism.is_some_and(|m| m.about().facts == Sending::UNSEEN) {
            return Err(own_is_here(
                "the side that answers is",
                "a path whose ends are here, such as veth; or measure one way: --loop open",
            ));
        }
        Transfer.available(point)?;
        if answers_elsewhere { far::can_answer(point) } else { Ok(()) }
    }

    fn needs(&self, point: &Point) -> Needs {
        let threads = point.int(THREADS).unwrap_or(1);
        let sides = if axes::is_open(point) { 1 } else { 2 };
        let recorders = threads.saturating_mul(2 * RECORDER_BYTES);
        Needs::memory(Transfer.needs(point).memory_bytes.saturating_mul(sides).saturating_add(recorders))
    }

    fn figures(&self) -> Figures {
        Figures {
            quantities: metrics::quantities(),
            metrics: metrics::metrics(),
            decisive: &["latency_p50", "latency_p99"],
        }
    }

    fn rights(&self, _: &str) -> Rights {
        Rights(vec![COUNT_IN_THE_KERNEL, NETWORK_SETTINGS])
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        play(task, channel, OVER_TCP)
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let [received, sent] = reports else {
            return Err(format!("latency has two sides, not {}", reports.len()));
        };
        for total in ["bytes", closed::ANSWERED] {
            let (got, gave) = (received.totals.get(total), sent.totals.get(total));
            if got != gave {
                return Err(format!("{total}: the sender says {gave:?} and the receiver {got:?}"));
            }
        }
        streaming::within_totals(reports)?;
        if far::host(point).is_some() {
            held(point, received, sent)?;
        }
        let pairs = received.windows.iter().zip(&sent.windows).enumerate();
        pairs.map(|(index, windows)| sample(point, index, windows)).collect()
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        let plain = base.window_ns.saturating_mul(STRETCH);
        let wanted = axes::rate(point).map_or(0.0, |rate| {
            // In proportion to what was asked of every probe: a check is short.
            let share = base.window_ns as f64 / 12e6;
            WANTED * share * 1e9 / rate as f64
        });
        let longest = base.window_ns.saturating_mul(LONGEST_STRETCH);
        Timing { window_ns: plain.max((wanted as u64).min(longest)), windows: 1, ..base }
    }

    fn axes_as(&self) -> Option<&'static dyn Probe> {
        Some(&Transfer)
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        axes::applies(axis, point)
    }
}

/// Either loop, over this carrier.
pub fn play(task: &Task, channel: &mut dyn Channel, carrier: LatencyCarrier) -> anyhow::Result<RoleReport> {
    match (task.role == RECEIVER, axes::is_open(&task.point)) {
        (true, true) => open::play_receiving(task, channel, carrier),
        (false, true) => open::play_sending(task, channel, carrier),
        (_, false) => closed::play(task, channel, carrier),
    }
}

/// The window of an answering side on another host holds all exchanges but the first, and so the asking side's. Times of an
/// open loop are the receiver's, which reads our clock.
fn held(point: &Point, received: &RoleReport, sent: &RoleReport) -> Result<(), String> {
    let before = closed::BEFORE * point.int(THREADS).unwrap_or(1) * point.int(MESSAGE_BYTES).unwrap_or(1);
    let known = sent.totals.get("bytes").copied().unwrap_or(0.0) - before as f64;
    for (answering, asking) in received.windows.iter().zip(&sent.windows) {
        if axes::is_open(point) {
            if (answering.ops, answering.bytes) != (asking.ops, asking.bytes) {
                let [theirs, ours] = [answering, asking].map(|window| window.ops);
                return Err(format!("the receiver took {theirs} messages of the {ours} that were sent"));
            }
            continue;
        }
        held::carried(point, answering, known, 0.0)?;
        let [theirs, ours] = [answering, asking].map(|window| held::quantity(window, "elapsed_ns"));
        held::worked(point, answering, theirs)?;
        if theirs < ours / held::CLOCKS {
            return Err(format!(
                "the answering side's window of {theirs:.0} ns cannot hold the asking side's of {ours:.0}"
            ));
        }
    }
    Ok(())
}

/// The time is the receiver's in an open loop, the asking side's in a closed one.
fn sample(point: &Point, index: usize, (received, sent): (&Window, &Window)) -> Result<Sample, String> {
    let open = axes::is_open(point);
    let timed = if open { received } else { sent };
    let times = timed.histogram.as_ref().ok_or("the side that takes the time brought no histogram")?;
    if times.count() as f64 != timed.ops {
        return Err(format!("{} messages in a window with {} times", timed.ops, times.count()));
    }
    let Sample { start_ns, marks, quantities, .. } = streaming::sample((index, (received, sent)));
    let mut sample = Sample { start_ns, marks, quantities, ..timed.sample(index) };
    let lateness = if open { sent.histogram.as_ref() } else { None };
    sample.quantities.extend(metrics::of_times(times, lateness));
    Ok(sample)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::own;
    use crate::probe::transfer::axes::PATH;
    use std::collections::BTreeMap;
    use syscost_core::axis::Value;
    use syscost_core::stats::histogram::Histogram;

    fn point(loop_: &str) -> Point {
        let mut point = Point::default();
        point.set("loop", Value::text(loop_));
        point.set("rate", Value::Int(10_000));
        point
    }

    fn report(bytes: f64, ops: f64, times: &str) -> RoleReport {
        let histogram: Option<Histogram> = Some(times.parse().unwrap());
        RoleReport {
            windows: vec![Window { elapsed_ns: 1e9, ops, bytes: ops * 64.0, histogram, ..Window::default() }],
            totals: BTreeMap::from([("bytes".to_string(), bytes)]),
            ..RoleReport::default()
        }
    }

    #[test]
    fn an_open_loop_is_timed_by_its_receiver_and_late_by_its_sender() {
        let merged = TcpLatency
            .merge(
                &point(axes::OPEN),
                &[report(64e3, 1000.0, "50:900 70:100"), report(64e3, 1000.0, "2:1000")],
            )
            .unwrap();
        let sample = &merged[0];
        assert_eq!(sample.get("latency_p50_ns"), Some(50.0));
        assert_eq!(sample.get("latency_p99_ns"), Some(70.0));
        assert_eq!((sample.get("beyond_p99"), sample.get("latency_p999_ns")), (Some(10.0), None));
        assert_eq!(sample.get("lateness_p50_ns"), Some(2.0));
        let rate = metrics::metrics().into_iter().find(|m| m.id == "achieved_rate").unwrap();
        assert_eq!((rate.of)(sample, &point(axes::OPEN)), Some(1000.0));
    }

    #[test]
    fn a_closed_loop_is_timed_by_who_asks() {
        let merged = TcpLatency
            .merge(&point(axes::CLOSED), &[report(64e3, 990.0, ""), report(64e3, 1000.0, "50:1000")])
            .unwrap();
        assert_eq!((merged[0].ops, merged[0].get("latency_p50_ns")), (1000.0, Some(50.0)));
        assert_eq!(merged[0].get("lateness_p50_ns"), None);
    }

    #[test]
    fn lost_bytes_and_missing_times_are_no_measurement() {
        let merge = |a, b| TcpLatency.merge(&point(axes::OPEN), &[a, b]);
        assert!(merge(report(64.0, 1.0, "5:1"), report(128.0, 2.0, "1:1")).unwrap_err().contains("128"));
        assert!(merge(report(64.0, 2.0, "5:1"), report(64.0, 1.0, "1:1")).is_err(), "two messages, one time");
    }

    #[test]
    fn a_closed_loop_has_no_code_of_ones_own_on_the_other_host() {
        let name = "own_test_answers";
        own::register(&[own::fixture(name, &[])]);
        let of = |loop_: &str| {
            let mut point = point(loop_);
            // Nothing is there: whoever asks it has another reason.
            point.set(PATH.id, Value::text("ssh://-"));
            point.set(MECHANISM.id, Value::text(name));
            TcpLatency.available(&point).unwrap_err()
        };
        let closed = of(axes::CLOSED);
        assert!(closed.reason.contains("the side that answers is elsewhere"), "{closed:?}");
        assert!(closed.remedy.contains("--loop open"), "{closed:?}");
        assert!(!of(axes::OPEN).reason.contains("answers"));
    }

    #[test]
    fn a_slow_rate_has_a_longer_window() {
        let base = Timing { warmup_ns: 0, window_ns: 12_000_000, windows: 3 };
        let window = |rate| {
            let mut point = point(axes::OPEN);
            point.set("rate", Value::Int(rate));
            TcpLatency.timing(&point, base).window_ns
        };
        assert_eq!(window(100_000), 192_000_000);
        assert_eq!(window(2_000), 550_000_000);
        assert_eq!(window(1), 1_200_000_000);
    }
}
