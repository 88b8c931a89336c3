//! `ready_descriptor`: finding the one descriptor that can be read among many that cannot.
//!
//! The last one is ready, and the call may sleep: so select and poll put themselves on the waiting list of every
//! other first, as they do in a server. Sources: select(2), poll(2), epoll(7); McVoy and Staelin, "lmbench" (1996),
//! lat_select; Banga, Mogul and Druschel, "A scalable and explicit event delivery mechanism for UNIX" (1999).

use super::operation::{OS_MORE_SUITE, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::row::{Drawing, Row};
use super::{Figures, OtherWay, Window, system_call, trap};
use anyhow::{Context, Result, ensure};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_host::Unavailable;
use syscost_sys::call;
use syscost_sys::epoll::Epoll;
use syscost_sys::readiness::{PollList, SelectSet};

const WAIT_CALL: NameAxis = NameAxis::new("wait_call");
const DESCRIPTORS: IntAxis = IntAxis::new("descriptors");

/// Finds what can be read, and says whether it is the right one.
type Find = Box<dyn FnMut() -> bool>;

/// A call that finds what can be read.
struct WaitCall {
    id: &'static str,
    /// Of these descriptors, the last of which is ready: what finds it.
    over: fn(&[OwnedFd]) -> Result<Find>,
    /// Does it look at each descriptor, or at those alone that have become ready?
    looks_at_all: bool,
}

const CALLS: &[WaitCall] = &[
    WaitCall { id: "select", over: by_select, looks_at_all: true },
    WaitCall { id: "poll", over: by_poll, looks_at_all: true },
    WaitCall { id: "epoll_wait", over: by_epoll, looks_at_all: false },
];

fn find(point: &Point) -> Option<&'static WaitCall> {
    CALLS.iter().find(|c| Some(c.id) == point.text(WAIT_CALL))
}

fn numbers(events: &[OwnedFd]) -> impl Iterator<Item = RawFd> {
    events.iter().map(AsRawFd::as_raw_fd)
}

fn last(events: &[OwnedFd]) -> Result<RawFd> {
    Ok(events.last().context("no descriptors")?.as_raw_fd())
}

fn by_select(events: &[OwnedFd]) -> Result<Find> {
    let ready = last(events)?;
    let set = SelectSet::of(numbers(events)).ok_or_else(|| Unavailable {
        reason: format!("select(2) knows descriptors below {} only", libc::FD_SETSIZE),
        remedy: "--descriptors with a smaller number; poll and epoll_wait have no such limit".into(),
    })?;
    Ok(Box::new(move || set.only(ready)))
}

fn by_poll(events: &[OwnedFd]) -> Result<Find> {
    let ready = last(events)?;
    let mut list = PollList::of(numbers(events));
    Ok(Box::new(move || list.wait() == Some(ready)))
}

fn by_epoll(events: &[OwnedFd]) -> Result<Find> {
    let mut epoll = Epoll::new().context("cannot make an epoll")?;
    for (number, event) in events.iter().enumerate() {
        epoll.add(event.as_raw_fd(), number).context("cannot add a descriptor")?;
    }
    let ready = events.len() - 1;
    Ok(Box::new(move || epoll.wait().is_ok_and(|found| found == 1) && epoll.number(0) == ready))
}

/// So many descriptors of which the last can be read, and no other.
fn events(count: usize) -> Result<Vec<OwnedFd>> {
    let events: Vec<OwnedFd> = (0..count).map(|_| one_event(count)).collect::<Result<_>>()?;
    let ready = PollList::of(numbers(&events)).ready_now()?;
    ensure!(ready == 0, "{ready} descriptors can be read before anything was written");
    let last = events.last().context("no descriptors")?;
    ensure!(call::write(last, &1u64.to_ne_bytes()) == 8, "cannot write to an eventfd");
    Ok(events)
}

fn one_event(of: usize) -> Result<OwnedFd> {
    match eventfd(0, EventfdFlags::CLOEXEC) {
        Ok(event) => Ok(event),
        Err(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE) => Err(Unavailable {
            reason: format!("this process may not have {of} descriptors open"),
            remedy: "raise the limit: ulimit -n".into(),
        }
        .into()),
        Err(error) => Err(error).context("cannot make an eventfd"),
    }
}

pub static READY_DESCRIPTOR: SystemOperation = SystemOperation {
    id: "ready_descriptor",
    title: "waiting for descriptors",
    method: "Of so many eventfds the last can be read; batches of the call, which may sleep, have to return this one and \
             no other. The cost is the 5 % quantile over batches, less the same loop without the call.",
    source: "select(2), poll(2), epoll(7); lmbench lat_select; Banga et al. (USENIX 1999)",
    roles: &["waiter"],
    suite: OS_MORE_SUITE,
    axes,
    figures: Figures::of_batches,
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    drawings: &[Drawing::of_cost("Finding a ready descriptor, by how many are waited for", DESCRIPTORS.id)],
    other_ways: &[
        OtherWay { axis: WAIT_CALL.id, from: "select", to: "epoll_wait", how: "epoll_wait(2)" },
        OtherWay { axis: WAIT_CALL.id, from: "poll", to: "epoll_wait", how: "epoll_wait(2)" },
    ],
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        WAIT_CALL
            .names(|| CALLS.iter().map(|c| c.id).collect())
            .flag("wait-call", "call")
            .help("which call finds the descriptor"),
        DESCRIPTORS
            .count(1, 1 << 20)
            .help("how many are waited for; one of them is ready")
            .default_on(Ints(&[1, 10, 100, 1000]))
            .quick_on(Ints(&[1, 100])),
    ]
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let call = find(round.point()).with_context(|| format!("no call at {}", round.point()))?;
    let count = round.point().int(DESCRIPTORS).context("no number of descriptors")?;
    let events = events(count as usize)?;
    let finds_it = (call.over)(&events)?;
    round.checked("a call did not return the one descriptor that can be read", finds_it)
}

fn row(point: &Point) -> Option<Row> {
    let (call, count) = (find(point)?.id, point.int(DESCRIPTORS)?);
    Some(Row::listed(if count == 1 {
        format!("{call}, 1 descriptor")
    } else {
        format!("{call}, one of {count} descriptors")
    }))
}

/// At each descriptor that is looked at the caller puts itself on a list under the eventfd's lock and leaves it
/// under the same lock: what a write and a read of an eventfd do beyond their entries.
fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let visited = if find(point)?.looks_at_all { point.int(DESCRIPTORS)? as f64 } else { 1.0 };
    inputs.row("trap", trap());
    inputs.row("eventfd_pair", system_call::cost_of("eventfd_write_read"));
    inputs.constant("visited", visited, Unit::Count, "descriptors that the call looks at");
    Some(inputs.software("trap + visited * (eventfd_pair - 2 * trap)"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use crate::probe::Probe;
    use syscost_core::axis::Value;

    #[test]
    fn every_call_finds_the_one_that_is_ready_and_says_when_another_is() {
        for call in CALLS {
            let events = events(20).unwrap();
            let mut finds_it = (call.over)(&events).unwrap();
            assert!(finds_it() && finds_it(), "{}", call.id);
            assert_eq!(call::write(&events[4], &1u64.to_ne_bytes()), 8);
            assert!(!finds_it(), "{}: two are ready", call.id);
        }
    }

    #[test]
    fn epoll_looks_at_one_and_the_others_at_all() {
        let known = Costs::of(&[("system_call", 200.0)]);
        for call in CALLS {
            let mut point = Point::default();
            point.set(WAIT_CALL.id, Value::text(call.id));
            point.set(DESCRIPTORS.id, Value::Int(100));
            let cost = READY_DESCRIPTOR.predict(&point, Inputs::new(&known)).unwrap();
            let visited = cost.inputs.iter().find(|input| input.name == "visited").unwrap().value;
            assert_eq!(visited, Some(if call.looks_at_all { 100.0 } else { 1.0 }));
            let each = 200.0 - 2.0 * 200.0;
            assert_eq!(cost.predicted, Some(200.0 + visited.unwrap() * each));
        }
    }
}
