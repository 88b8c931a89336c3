//! The steps of a transfer over TCP, each with what a turn of it does: accounts are made of them by these names, whoever
//! measures them. One visible list.

/// How a turn's calls hand over their bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// send(2) or sendmsg(2): the kernel copies.
    Copied,
    /// The same, saying that more follows: nothing leaves until the turn's end.
    Held,
    /// MSG_ZEROCOPY: the kernel pins the pages and says when it needs them no more.
    Lent,
}

/// Who sleeps when bytes come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleeper {
    Nobody,
    /// Whenever it has taken all that has come, as in a stream whose sender never sleeps.
    Receiver,
    /// Each answers the other and sleeps until the next one comes: for as long as it takes the other to wake up and do its part.
    Both,
}

/// One step.
#[derive(Clone, Copy, Debug)]
pub struct PathStep {
    pub id: &'static str,
    /// What its cost is, for reports.
    pub title: &'static str,
    /// Bytes that one call sends, in so many pieces.
    pub bytes: usize,
    pub pieces: usize,
    /// Calls of a turn.
    pub calls: usize,
    pub how: StepKind,
    pub asleep: Sleeper,
    /// Are the bytes dropped in the kernel rather than copied to the receiver?
    pub dropped: bool,
    /// Bytes that one receive call asks for at most.
    pub read_bytes: usize,
}

/// What is known of a step: CPU time of a call of the sender, of a receive call, and of a completion; how often the receiver
/// was called in a turn, and how often it slept.
pub const SENDER: &str = "cost";
pub const RECEIVER: &str = "receiver_cost";
pub const COMPLETION: &str = "completion_cost";
pub const RECEIVE_CALLS: &str = "receive_calls";
pub const SLEEPS: &str = "sleeps";

/// A message of a few bytes; and the sizes between which a byte's own cost is told from a call's.
pub const SMALL_BYTES: usize = 64;
pub const MIDDLE_BYTES: usize = 8 * 1024;
/// Below what one segment of the largest size carries; two of them fill a receiver's buffer.
pub const LARGE_BYTES: usize = 60 * 1024;
pub const LONG_BYTES: usize = 2 * LARGE_BYTES;
/// Pieces of a gathered call.
pub const PIECES: usize = 8;

const PLAIN: PathStep = PathStep {
    id: "transmit",
    title: "a call that sends a small segment",
    bytes: SMALL_BYTES,
    pieces: 1,
    calls: 8,
    how: StepKind::Copied,
    asleep: Sleeper::Nobody,
    dropped: false,
    read_bytes: usize::MAX,
};

/// One such call a turn: the receiver takes a single segment.
pub const SINGLE: &str = "single";
/// A call that adds bytes to a segment which does not leave.
pub const APPEND: &str = "append";
/// A call whose bytes leave at once, in one small segment.
pub const TRANSMIT: &str = PLAIN.id;
/// The same from eight pieces.
pub const GATHER: &str = "gather";
/// One call of [`MIDDLE_BYTES`], and of [`LARGE_BYTES`].
pub const MIDDLE: &str = "middle";
pub const LARGE: &str = "large";
/// One call of [`LONG_BYTES`]: the kernel makes two segments of it.
pub const LONG: &str = "long";
/// The largest, received without a copy.
pub const DROPPED: &str = "dropped";
/// The largest, received by calls of [`SIP_BYTES`]: most take the rest of a segment and answer with no acknowledgement.
pub const SIPS: &str = "sips";
pub const SIP_BYTES: usize = 4096;
/// Small segments to a receiver that sleeps whenever it has caught up. How long it has slept when the next one comes decides
/// what waking it costs, and waking it decides when the next one comes: that is left to the two of them.
pub const CAUGHT_UP: &str = "caught_up";
/// What runs before [`CAUGHT_UP`] have in its place: one small segment to a receiver that sleeps.
pub const WAKE: &str = "wake";
/// A small segment each way, to a side that has to be woken.
pub const ALTERNATE: &str = "alternate";
/// Zero-copy: one small piece, eight of them, and the largest.
pub const LENT: &str = "lent";
pub const LENT_PIECES: &str = "lent_pieces";
pub const LENT_LARGE: &str = "lent_large";

#[rustfmt::skip]
pub static ALL: &[PathStep] = &[
    PLAIN,
    PathStep { id: SINGLE, title: "a small segment by itself", calls: 1, ..PLAIN },
    PathStep { id: APPEND, title: "a call that adds to a held segment", calls: 16, how: StepKind::Held, ..PLAIN },
    PathStep { id: GATHER, title: "a small segment from eight pieces", pieces: PIECES, ..PLAIN },
    PathStep { id: MIDDLE, title: "a call of 8 KiB", bytes: MIDDLE_BYTES, calls: 4, ..PLAIN },
    PathStep { id: LARGE, title: "a call of 60 KiB", bytes: LARGE_BYTES, calls: 2, ..PLAIN },
    PathStep { id: LONG, title: "a call of 120 KiB", bytes: LONG_BYTES, calls: 1, ..PLAIN },
    PathStep { id: DROPPED, title: "a call of 60 KiB, dropped by the receiver", bytes: LARGE_BYTES, calls: 2, dropped: true, ..PLAIN },
    PathStep { id: SIPS, title: "a call of 60 KiB, received 4 KiB at a time", bytes: LARGE_BYTES, calls: 2, read_bytes: SIP_BYTES, ..PLAIN },
    PathStep { id: CAUGHT_UP, title: "a small segment to a receiver that sleeps when it has none", calls: 16, asleep: Sleeper::Receiver, ..PLAIN },
    PathStep { id: ALTERNATE, title: "a small segment each way, both sides asleep", calls: 4, asleep: Sleeper::Both, ..PLAIN },
    PathStep { id: LENT, title: "a small segment lent", calls: 1, how: StepKind::Lent, ..PLAIN },
    PathStep { id: LENT_PIECES, title: "a small segment lent in eight pieces", pieces: PIECES, calls: 1, how: StepKind::Lent, ..PLAIN },
    PathStep { id: LENT_LARGE, title: "60 KiB lent", bytes: LARGE_BYTES, calls: 2, how: StepKind::Lent, ..PLAIN },
];
