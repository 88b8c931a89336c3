//! The axes of latency: those of a transfer, the loop, and the rate of the open one.

use crate::mechanism::{CONNECTIONS, MESSAGES_PER_CALL, MSG_MORE};
use crate::probe::Probe;
use crate::probe::transfer::Transfer;
use crate::probe::transfer::axes::{MESSAGE_BYTES, THREADS};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point};

pub const LOOP: NameAxis = NameAxis::new("loop");
pub const RATE: IntAxis = IntAxis::new("rate");

pub const CLOSED: &str = "closed";
pub const OPEN: &str = "open";

const LOOP_AXIS: Axis = LOOP.names(|| vec![CLOSED, OPEN]).help(
    "closed: a request, its answer of the same size, then the next; open: messages one \
         way at a fixed rate, timed from when each was due",
);

/// From a rate at which every message finds an idle path to one that no small machine reaches.
const RATE_AXIS: Axis = RATE
    .count(1, 10_000_000)
    .help("messages a second that an open loop asks for, over all threads together")
    .default_on(Ints(&[2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000]))
    .quick_on(Ints(&[5_000, 50_000, 500_000]));

/// In column order: the loop first, since the rate depends on it.
pub fn all() -> Vec<Axis> {
    let mut axes = vec![LOOP_AXIS];
    for axis in Transfer.axes() {
        match axis.id {
            // One message at a time is what is timed, on one connection.
            id if id == MESSAGES_PER_CALL.id || id == CONNECTIONS.id => {}
            id if id == MESSAGE_BYTES.id => {
                let sizes = Ints(&[64, 1 << 10, 16 << 10, 64 << 10]);
                axes.push(axis.default_on(sizes).quick_on(Ints(&[1 << 10, 64 << 10])));
            }
            id if id == THREADS.id => axes.extend([axis.default_on(Ints(&[1])), RATE_AXIS]),
            _ => axes.push(axis),
        }
    }
    axes
}

pub fn is_open(point: &Point) -> bool {
    point.text(LOOP) == Some(OPEN)
}

/// Messages a second, where the loop is open.
pub fn rate(point: &Point) -> Option<u64> {
    if is_open(point) { point.int(RATE) } else { None }
}

pub fn applies(axis: &str, point: &Point) -> bool {
    match axis {
        id if id == LOOP.id => true,
        id if id == RATE.id => is_open(point),
        // A request that says that more follows is held back, and nothing follows.
        id if id == MSG_MORE.id => is_open(point) && Transfer.applies(axis, point),
        _ => Transfer.applies(axis, point),
    }
}
