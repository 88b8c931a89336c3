//! Which metrics slices tell, and what each is called where a case has it by a steady window too.

use syscost_core::units::Unit;
use syscost_experiment::run::{RoundRatio, SliceFigure};

/// A metric that slices tell.
pub struct TurnMetric {
    pub id: &'static str,
    /// The same by a steady window.
    pub steady: &'static str,
    pub figure: SliceFigure,
    pub unit: Unit,
    /// Nanoseconds a message of so many bytes to the metric: it is that over bytes, or a rate.
    by: fn(f64) -> f64,
    is_rate: bool,
}

const fn by_message(_: f64) -> f64 {
    1.0
}

const fn by_byte(bytes: f64) -> f64 {
    bytes
}

const fn turn_metric(id: &'static str, steady: &'static str, figure: SliceFigure) -> TurnMetric {
    TurnMetric { id, steady, figure, unit: Unit::Nanoseconds, by: by_message, is_rate: false }
}

const fn over_bytes(of: TurnMetric) -> TurnMetric {
    TurnMetric { unit: Unit::NanosecondsPerByte, by: by_byte, ..of }
}

const fn rate(of: TurnMetric, unit: Unit, by: fn(f64) -> f64) -> TurnMetric {
    TurnMetric { unit, by, is_rate: true, ..of }
}

pub const METRICS: &[TurnMetric] = {
    use SliceFigure::{ReceiverCpu, SenderCpu, TotalCpu, Wall};
    &[
        rate(turn_metric("throughput", "steady_throughput", Wall), Unit::BitsPerSecond, |bytes| 8e9 * bytes),
        rate(turn_metric("messages_per_second", "steady_messages_per_second", Wall), Unit::PerSecond, |_| {
            1e9
        }),
        turn_metric("sender_cpu_ns_per_message", "steady_sender_cpu_ns_per_message", SenderCpu),
        turn_metric("receiver_cpu_ns_per_message", "steady_receiver_cpu_ns_per_message", ReceiverCpu),
        turn_metric("total_cpu_ns_per_message", "steady_total_cpu_ns_per_message", TotalCpu),
        over_bytes(turn_metric("sender_cpu_ns_per_byte", "steady_sender_cpu_ns_per_byte", SenderCpu)),
        over_bytes(turn_metric("receiver_cpu_ns_per_byte", "steady_receiver_cpu_ns_per_byte", ReceiverCpu)),
        over_bytes(turn_metric("total_cpu_ns_per_byte", "steady_total_cpu_ns_per_byte", TotalCpu)),
    ]
};

impl TurnMetric {
    pub fn value(&self, log_ns: f64, bytes: f64) -> f64 {
        let by = (self.by)(bytes);
        if self.is_rate { by / log_ns.exp() } else { log_ns.exp() / by }
    }

    /// A ratio of nanoseconds as one of the metric.
    pub fn ratio(&self, ratio: RoundRatio) -> RoundRatio {
        if self.is_rate { RoundRatio { log: -ratio.log, ..ratio } } else { ratio }
    }
}

/// `None`: slices say nothing of the metric.
pub fn of_slices(metric: &str) -> Option<&'static TurnMetric> {
    METRICS.iter().find(|turn| turn.id == metric)
}

/// The name of the metric for steady windows, if slices tell it too.
pub fn steady_id(metric: &str) -> Option<&'static str> {
    of_slices(metric).map(|turn| turn.steady)
}

/// The metric that a steady one is by another regime.
pub fn of_steady(id: &str) -> Option<&'static str> {
    METRICS.iter().find(|turn| turn.steady == id).map(|turn| turn.id)
}
