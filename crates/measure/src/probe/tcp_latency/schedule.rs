//! The schedule of an open loop, and what arrived of it: latency from the intended start.
//!
//! Message i is due at start + i x interval, whatever became of the ones before it. Its latency is its
//! arrival less that moment, so the time that it waited behind a late sender counts (no coordinated
//! omission). Both sides read CLOCK_MONOTONIC of one host: an arrival before its due time shows that the
//! clocks are not one, and is an error. Pure. Source: Tene, "How NOT to measure latency".

use crate::probe::Timing;
use anyhow::{Context, Result};
use syscost_core::stats::histogram::HistogramRecorder;

/// Bytes of a schedule on its way to the receiver.
pub const WIRE_BYTES: usize = 16;
/// A warm-up of more messages than this warms nothing further, and a sender that cannot keep up
/// would be busy with it for long.
const MOST_WARM: u64 = 2_000;

/// When the messages of one connection are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ArrivalSchedule {
    /// CLOCK_MONOTONIC.
    pub start_ns: u64,
    pub interval_ns: f64,
}

impl ArrivalSchedule {
    /// That of connection `number` of so many that share a rate: their messages take turns.
    pub fn of(start_ns: u64, rate: u64, number: usize, connections: usize) -> ArrivalSchedule {
        let step_ns = 1e9 / rate.max(1) as f64;
        ArrivalSchedule {
            start_ns: start_ns + (step_ns * number as f64) as u64,
            interval_ns: step_ns * connections as f64,
        }
    }

    #[inline]
    pub fn due_ns(&self, message: u64) -> u64 {
        self.start_ns + (message as f64 * self.interval_ns) as u64
    }

    pub fn to_wire(self) -> [u8; WIRE_BYTES] {
        let mut wire = [0; WIRE_BYTES];
        wire[..8].copy_from_slice(&self.start_ns.to_le_bytes());
        wire[8..].copy_from_slice(&self.interval_ns.to_le_bytes());
        wire
    }

    pub fn from_wire(wire: [u8; WIRE_BYTES]) -> ArrivalSchedule {
        let (start, interval) = wire.split_at(8);
        ArrivalSchedule {
            start_ns: u64::from_le_bytes(start.try_into().expect("eight bytes")),
            interval_ns: f64::from_le_bytes(interval.try_into().expect("eight bytes")),
        }
    }

    /// Messages before the window, at least one; and up to its end.
    pub fn span(&self, timing: Timing) -> (u64, u64) {
        let in_time = |ns: u64| (ns as f64 / self.interval_ns).ceil() as u64;
        let warm = in_time(timing.warmup_ns).clamp(1, MOST_WARM);
        (warm, warm + in_time(timing.window_ns).max(1))
    }
}

/// What a receiver saw of a schedule.
pub struct Arrivals {
    schedule: ArrivalSchedule,
    message_bytes: u64,
    warm: u64,
    end: u64,
    /// Whole messages so far.
    pub seen: u64,
    times: HistogramRecorder,
    /// When the last message before the window, and the last one in it, were there.
    before_ns: u64,
    last_ns: u64,
}

impl Arrivals {
    pub fn new(schedule: ArrivalSchedule, timing: Timing, message_bytes: u64) -> Arrivals {
        let (warm, end) = schedule.span(timing);
        let times = HistogramRecorder::default();
        Arrivals { schedule, message_bytes, warm, end, seen: 0, times, before_ns: 0, last_ns: 0 }
    }

    /// Takes in that so many bytes of the stream were there at this time: every message whose last byte
    /// is among them has arrived.
    #[inline]
    pub fn took(&mut self, stream_bytes: u64, now_ns: u64) -> Result<()> {
        let whole = stream_bytes / self.message_bytes;
        while self.seen < whole {
            let message = self.seen;
            self.seen += 1;
            let latency_ns = now_ns.checked_sub(self.schedule.due_ns(message)).context(
                "a message arrived before it was due: the clocks of the two sides are not one clock",
            )?;
            if message < self.warm {
                self.before_ns = now_ns;
            } else if message < self.end {
                self.times.record(latency_ns);
                self.last_ns = now_ns;
            }
        }
        Ok(())
    }

    /// Is everything before the window here?
    pub fn warm(&self) -> bool {
        self.seen >= self.warm
    }

    /// Is everything of the window here?
    pub fn complete(&self) -> bool {
        self.seen >= self.end
    }

    /// Has the time come when everything should have been sent?
    pub fn is_over(&self, now_ns: u64) -> bool {
        now_ns >= self.schedule.due_ns(self.end)
    }

    /// Messages of the window that arrived.
    pub fn counted(&self) -> u64 {
        self.seen.min(self.end).saturating_sub(self.warm)
    }

    /// The time in which they arrived: from the message before the first of them.
    pub fn elapsed_ns(&self) -> u64 {
        self.last_ns.saturating_sub(self.before_ns)
    }

    pub fn times(&self) -> &HistogramRecorder {
        &self.times
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::histogram::Histogram;

    const MS: u64 = 1_000_000;
    const TIMING: Timing = Timing { warmup_ns: 10 * MS, window_ns: 1_000 * MS, windows: 1 };

    #[test]
    fn connections_share_the_rate_and_take_turns() {
        let all: Vec<ArrivalSchedule> = (0..4).map(|i| ArrivalSchedule::of(1_000, 1_000_000, i, 4)).collect();
        let mut due: Vec<u64> = all.iter().flat_map(|s| (0..3).map(|i| s.due_ns(i))).collect();
        due.sort_unstable();
        assert_eq!(due, (0..12).map(|i| 1_000 + i * 1_000).collect::<Vec<u64>>());
        assert_eq!(ArrivalSchedule::from_wire(all[3].to_wire()), all[3]);
    }

    #[test]
    fn a_slow_schedule_has_a_warm_up_and_a_window_too() {
        let slow = ArrivalSchedule::of(0, 1, 0, 8);
        assert_eq!(slow.span(TIMING), (1, 2));
        let fast = ArrivalSchedule::of(0, 10_000_000, 0, 1);
        assert_eq!(fast.span(TIMING), (MOST_WARM, MOST_WARM + 10_000_000));
    }

    /// A receiver of messages that take 20 us each, from a sender that stands still for `stall_ns` once.
    fn stalled(stall_ns: u64) -> (Histogram, Histogram) {
        let schedule = ArrivalSchedule::of(5 * MS, 10_000, 0, 1);
        let mut arrivals = Arrivals::new(schedule, TIMING, 64);
        let mut from_sending = HistogramRecorder::default();
        let (warm, end) = schedule.span(TIMING);
        let mut free_ns = 0;
        for message in 0..end {
            if message == warm + 4_000 {
                free_ns += stall_ns;
            }
            let sent_ns = schedule.due_ns(message).max(free_ns);
            free_ns = sent_ns + 5_000;
            let arrived_ns = sent_ns + 20_000;
            arrivals.took((message + 1) * 64, arrived_ns).unwrap();
            if message >= warm {
                from_sending.record(arrived_ns - sent_ns);
            }
        }
        assert!(arrivals.complete() && arrivals.counted() == 10_000);
        (arrivals.times().histogram(), from_sending.histogram())
    }

    /// The messages that wait behind a stall of 50 ms are five in a hundred: from the intended start
    /// p99 is tens of milliseconds, from the moment of sending it is as if nothing had happened.
    #[test]
    fn a_stalled_sender_shows() {
        let (intended, sending) = stalled(50 * MS);
        let p99 = |h: &Histogram| h.quantile(0.99).unwrap();
        assert!(p99(&intended) > 35 * MS && p99(&intended) < 51 * MS, "{}", p99(&intended));
        assert!(p99(&sending) < 21_000, "{}", p99(&sending));
        assert!(intended.max().unwrap() > 49 * MS);
        let (calm, _) = stalled(0);
        assert!(p99(&calm) < 21_000, "{}", p99(&calm));
    }

    #[test]
    fn the_time_of_a_message_is_that_of_its_last_byte() {
        let schedule = ArrivalSchedule { start_ns: 0, interval_ns: 1_000_000.0 };
        let timing = Timing { warmup_ns: MS, window_ns: 3 * MS, windows: 1 };
        let mut arrivals = Arrivals::new(schedule, timing, 100);
        arrivals.took(100, 500_000).unwrap();
        assert!(arrivals.warm() && arrivals.counted() == 0);
        arrivals.took(199, 1_100_000).unwrap();
        assert_eq!(arrivals.counted(), 0, "one byte is missing");
        arrivals.took(350, 2_500_000).unwrap();
        assert_eq!((arrivals.counted(), arrivals.elapsed_ns()), (2, 2_000_000));
        let histogram = arrivals.times().histogram();
        assert_eq!(histogram.count(), 2);
        assert!(histogram.max().unwrap() >= 1_500_000, "that of the first of the two");
        arrivals.took(500, 4_000_000).unwrap();
        assert!(arrivals.complete() && arrivals.counted() == 3, "what follows the window is not counted");
    }

    #[test]
    fn an_arrival_before_its_time_is_an_error() {
        let mut arrivals = Arrivals::new(ArrivalSchedule::of(1_000, 1_000, 0, 1), TIMING, 8);
        assert!(arrivals.took(8, 999).is_err());
    }
}
