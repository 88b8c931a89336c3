//! How often each thing happens for one message: by a rule where there is one, else as counted.
//!
//! A count is no time: how often the receiver was called or slept is the case's own counter.

use crate::CellRef;
use crate::cells::Cells;
use syscost_core::axis::Point;
use syscost_measure::mechanism::{self, Handling, Sending, per_call};
use syscost_measure::message::MessageShape;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, MTU, OFFLOADS};

/// Bytes of a packet that are not payload: IPv4, TCP and its timestamps.
const HEADERS: u64 = 20 + 20 + 12;
/// What the kernel puts into one segment at most, its own headers taken off (GSO_LEGACY_MAX_SIZE less
/// MAX_TCP_HEADER).
const LARGEST: u64 = 65_536 - 321;
const LOOPBACK_MTU: u64 = 65_536;

/// Who says how often.
#[derive(Clone, Debug, PartialEq)]
pub enum CountSource {
    MessageBytes,
    /// So many calls for so many messages.
    Calls {
        calls: u64,
        messages: u64,
    },
    /// Each call's bytes over those of the largest segment, rounded up.
    SegmentsOf {
        bytes: u64,
    },
    /// Calls less segments.
    CallsLessSegments(Box<CountSource>),
    /// A counter of the case.
    Counted,
    Unknown,
}

/// A number of things for one message, and who says so.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    pub n: f64,
    pub from: CountSource,
    /// Counters that it is taken from; counts, never times.
    pub cells: Vec<CellRef>,
}

impl Count {
    pub fn rule(n: f64, from: CountSource) -> Count {
        Count { n, from, cells: Vec::new() }
    }

    pub fn with(&self, n: f64) -> Count {
        Count { n, ..self.clone() }
    }
}

/// The counters that no rule gives.
pub const COUNTERS: [&str; 6] = [
    "sender_system_calls_per_message",
    "receiver_system_calls_per_message",
    "receiver_voluntary_switches_per_message",
    "data_segments_per_message",
    "completions_per_message",
    "sender_voluntary_switches_per_message",
];

/// What one message of a case takes.
#[derive(Clone, Debug)]
pub struct Subject {
    pub point: Point,
    pub handling: Handling,
    pub message_bytes: f64,
    /// Send calls for one message.
    pub calls: Count,
    pub call_bytes: f64,
    /// The share of calls whose payload fits into one packet.
    pub small_calls: f64,
    /// Segments that the kernel hands down, each at most of the largest size.
    pub segments: Count,
    /// Calls beside those that send: looks for completions.
    pub looks: Count,
    pub receive_calls: Count,
    pub sleeps: Count,
    /// Times that the sender slept: for room, or for completions.
    pub sender_sleeps: Count,
}

/// The account takes each system call that a user's own code counts for one that sends, because its counters say no more.
fn unseen_handling(completions: Option<Count>) -> Handling {
    Handling { calls: 1, pieces: 1, packs: false, lends: completions.is_some_and(|count| count.n > 0.0) }
}

fn uncounted() -> Count {
    Count::rule(0.0, CountSource::Unknown)
}

/// The payload of a packet, and of the largest segment that the kernel makes at once.
pub fn segment_bytes(point: &Point) -> (u64, u64) {
    let mtu = point.int(MTU).unwrap_or(LOOPBACK_MTU);
    let packet = mtu.saturating_sub(HEADERS).max(1);
    let whole = point.text(OFFLOADS) != Some("off");
    (packet, if whole { (LARGEST / packet).max(1) * packet } else { packet })
}

impl Subject {
    /// With the counters as `counted` gives them; `None`: the mechanism says not how it works, or a counter lacks.
    pub fn of(point: &Point, counted: impl Fn(&'static str) -> Option<Count>) -> Option<Subject> {
        let mechanism = mechanism::find(point.text(MECHANISM)?)?;
        let made = counted(COUNTERS[0])?;
        let unseen = mechanism.about().facts == Sending::UNSEEN;
        let handling = match Handling::of(mechanism, point) {
            None if unseen && made.n > 0.0 => unseen_handling(counted(COUNTERS[4])),
            handling => handling?,
        };
        let message_bytes = point.int(MESSAGE_BYTES)? as f64;
        let batch = per_call(point) as f64;
        let calls = if unseen { made.n } else { handling.calls as f64 / batch };
        let call_bytes = message_bytes / calls;
        let (packet, largest) = segment_bytes(point);
        // A call of the average size stands for all but where each sends a piece of its own.
        let lengths = MessageShape::of(point).lengths(message_bytes as u64);
        let of_calls = if handling.calls > 1 { lengths } else { vec![call_bytes as usize] };
        let share = |fits: &dyn Fn(u64) -> u64| {
            of_calls.iter().map(|bytes| fits(*bytes as u64)).sum::<u64>() as f64 / of_calls.len() as f64
        };
        let by_rule = calls * share(&|bytes| bytes.div_ceil(largest));
        let small_calls = share(&|bytes| u64::from(bytes <= packet));
        // TCP counts packets: that is more than segments where one holds several.
        let exact = packet == largest;
        let kernel = counted(COUNTERS[3]).filter(|count| count.n > 0.0 && (exact || count.n < by_rule));
        let rule = CountSource::SegmentsOf { bytes: largest };
        let segments = kernel.unwrap_or_else(|| Count::rule(by_rule, rule));
        let from = CountSource::Calls { calls: handling.calls, messages: batch as u64 };
        let of_rule = Count::rule(calls, from);
        Some(Subject {
            point: point.clone(),
            handling,
            message_bytes,
            calls: if unseen { made.clone() } else { of_rule },
            call_bytes,
            small_calls,
            segments,
            looks: made.with((made.n - calls).max(0.0)),
            receive_calls: counted(COUNTERS[1])?,
            sleeps: counted(COUNTERS[2]).unwrap_or_else(uncounted),
            sender_sleeps: counted(COUNTERS[5]).unwrap_or_else(uncounted),
        })
    }

    /// Of a case that was measured.
    pub fn measured(cells: &Cells, case: usize, point: &Point) -> Option<Subject> {
        Subject::of(point, |metric| {
            let cell = cells.cell(case, metric)?;
            let cells = vec![CellRef { case, metric: cell.metric }];
            Some(Count { n: cell.estimate.value, from: CountSource::Counted, cells })
        })
    }

    /// Segments that are the first of their call.
    pub fn first_segments(&self) -> f64 {
        self.segments.n.min(self.calls.n)
    }

    /// Receive calls that find no new segment, because each asked for less than one.
    pub fn further_receive_calls(&self) -> f64 {
        (self.receive_calls.n - self.segments.n).max(0.0)
    }
}
