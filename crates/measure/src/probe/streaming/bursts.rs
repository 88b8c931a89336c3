//! Bursts: what a window is made of where clocks count instructions, so that every window does the same work.
//!
//! A sender and a receiver on one CPU change places where one of them sleeps, and where a timer interrupt comes. The second would
//! be somewhere else after any change of a few instructions. So the sender hands over a burst and sleeps; meanwhile the
//! receiver reads all of it, and sleeps too. Each burst begins at a place of the clock that is soon after an interrupt, and most
//! are over before the next. Idle time costs nothing there: it is skipped.

use crate::mechanism::{connections, per_call};
use crate::message::MESSAGE_BYTES;
use anyhow::Result;
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_host::settings::clock_counts_instructions;
use syscost_host::{clock, modelled};
use syscost_sys::sleep::sleep;

/// Of a connection in a burst: less than what a timer's period (4 ms, 1 ms in some kernels) has instructions for.
const BURST_BYTES: u64 = 256 << 10;
const MOST_MESSAGES: u64 = 24;
const BURSTS: u64 = 8;
/// Until windows and buffers have grown, and pages are there. While its receive window grows, a kernel since 6.12 acknowledges each
/// segment: of bursts of 24 KiB the first 28.
const WARM_UP: u64 = 36;
/// So many bytes of a connection are enough, which large messages have in a few bursts. Where an emulator models caches it takes
/// six times as long, and does not send more than that.
const WARM_UP_BYTES: u64 = WARM_UP * (24 << 10);
const LEAST_WARM_UP: u64 = 6;

/// Places are so far apart. TCP forgets its congestion window after 200 ms without data.
const PLACES_NS: u64 = 100_000_000;
/// After a timer interrupt and what it wakes.
const PLACE_NS: u64 = 500_000;
/// A delayed acknowledgement comes within 40 ms, and so before the next burst.
const LEAST_PAUSE_NS: u64 = 60_000_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bursts {
    /// Of a burst, of all connections of a thread.
    messages: u64,
    /// Bursts before the first window, and in each.
    warm_up: u64,
    window: u64,
}

impl Bursts {
    /// `None`: windows are times.
    pub fn of(point: &Point) -> Option<Bursts> {
        let modelled = || modelled::here().is_some();
        clock_counts_instructions()
            .then(|| if modelled() { Bursts::sized(point).shortened(point) } else { Bursts::sized(point) })
    }

    fn shortened(self, point: &Point) -> Bursts {
        let bytes = self.messages / connections(point) * point.int(MESSAGE_BYTES).unwrap_or(1);
        Bursts {
            warm_up: (WARM_UP_BYTES / bytes.max(1)).clamp(LEAST_WARM_UP, WARM_UP),
            window: BURSTS / 2,
            ..self
        }
    }

    fn sized(point: &Point) -> Bursts {
        let bytes = point.int(MESSAGE_BYTES).unwrap_or(1).max(1);
        let messages = (BURST_BYTES / bytes).clamp(1, MOST_MESSAGES).next_multiple_of(per_call(point));
        Bursts { messages: messages * connections(point), warm_up: WARM_UP, window: BURSTS }
    }

    /// Messages of a connection's thread until the warm-up is over, or so many windows after it.
    pub fn messages_until(self, windows: usize) -> u64 {
        self.messages * (self.warm_up + self.window * windows as u64)
    }

    pub fn warm_up(self, hand_over: impl FnMut(u64) -> Result<()>) -> Result<()> {
        self.play(self.warm_up, hand_over)
    }

    pub fn window(self, hand_over: impl FnMut(u64) -> Result<()>) -> Result<()> {
        self.play(self.window, hand_over)
    }

    /// Each burst at its place.
    fn play(self, bursts: u64, mut hand_over: impl FnMut(u64) -> Result<()>) -> Result<()> {
        (0..bursts).try_for_each(|_| {
            let now = clock::monotonic_ns();
            sleep(Duration::from_nanos(place_after(now) - now));
            hand_over(self.messages)
        })
    }
}

fn place_after(now: u64) -> u64 {
    (now + LEAST_PAUSE_NS).next_multiple_of(PLACES_NS) + PLACE_NS
}
