//! What the network probes share: a client and a server on a path, each on its own CPU.
//!
//! Paths and placements are those of [`transfer`](super::transfer); TCP options are set alike for
//! every probe. Sources: tcp(7), sched_setaffinity(2).

use super::transfer::{available, axes, connection};
use super::{Channel, RoleReport, Task, samples_of_one_role};
pub use crate::probe::transfer::axes::LOOPBACK;
use crate::probe::transfer::axes::{CONGESTION_CONTROL, NODELAY, PATH, PLACEMENT};
use anyhow::{Context, Result, anyhow};
use std::collections::BTreeMap;
use std::io;
use std::net::TcpStream;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::Unavailable;
use syscost_host::topology::{Placement, Topology, pin_this_thread};
use syscost_sys::optional;

pub const CLIENT: &str = "client";
pub const SERVER: &str = "server";
/// The server starts first: it offers where it listens.
pub const ROLES: &[&str] = &[SERVER, CLIENT];

/// Both paths: what the stack costs alone, and with a link between two namespaces.
pub fn path_axis() -> Axis {
    axes::find(PATH.id).default_on(Names(&[LOOPBACK, available::VETH]))
}

pub fn placement_axis() -> Axis {
    axes::find(PLACEMENT.id).default_on(Names(&["different"]))
}

/// May this path and placement be used here?
pub fn allowed(point: &Point) -> Result<(), Unavailable> {
    point.text(PATH).map_or(Ok(()), available::path)?;
    point.text(PLACEMENT).map_or(Ok(()), available::placement)
}

/// One core instead of two where this process has one; a path that is not possible is skipped.
pub fn placed_instead(axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
    if axis != PLACEMENT.id {
        return None;
    }
    let why = available::placement(value.as_text()?).err()?;
    Some((Value::text(available::instead_of(axis)?), why))
}

/// Pins the calling thread where the case's placement wants this side; says where.
pub fn settle(task: &Task, receives: bool) -> Result<BTreeMap<String, String>> {
    let text = task.point.text(PLACEMENT).unwrap_or("none");
    let placement = Placement::parse(text).map_err(|reason| anyhow!(reason))?;
    let pins = Topology::read().place(&placement, 1)?;
    let pin = pins.first().copied().unwrap_or_default();
    let cpu = if receives { pin.receiver } else { pin.sender };
    if let Some(cpu) = cpu {
        pin_this_thread(cpu)?;
    }
    let cpu = cpu.map_or_else(|| "any".to_string(), |cpu| cpu.to_string());
    Ok(BTreeMap::from([("cpus".to_string(), cpu)]))
}

/// The TCP options of every connection here: no delay, and the congestion control of a transfer
/// where the kernel has it, since one that paces its segments would be timed instead of the stack.
pub fn tcp_options() -> Point {
    let mut options = Point::default();
    type Check = fn(&str) -> Result<(), Unavailable>;
    for (axis, value, check, call) in [
        (NODELAY, "on", available::nodelay as Check, &optional::NODELAY),
        (CONGESTION_CONTROL, "cubic", available::congestion_control, &optional::CONGESTION),
    ] {
        match check(value) {
            Ok(()) => options.set(axis.id, Value::text(value)),
            Err(why) => call.refused(&io::Error::other(why.reason)),
        }
    }
    options
}

/// The server's end of one proven connection.
pub fn accept_one(task: &Task, channel: &mut dyn Channel) -> Result<TcpStream> {
    let listener = connection::offer_listener(task, channel, &tcp_options(), 1)?;
    let mut streams = connection::accept(&listener, &task.token, &tcp_options(), 1)?;
    streams.pop().context("no connection arrived")
}

/// The client's end of one proven connection.
pub fn connect_one(task: &Task) -> Result<TcpStream> {
    connection::connect(connection::offered_address(task)?, &task.token, &tcp_options(), 0)
}

/// The client's windows are the samples.
pub fn client_samples(reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
    samples_of_one_role(reports.get(1..).unwrap_or_default())
}

/// Did both roles count the same number of operations?
pub fn counts_agree(reports: &[RoleReport], total: &str) -> Result<(), String> {
    let counts: Vec<Option<f64>> = reports.iter().map(|report| report.totals.get(total).copied()).collect();
    let alike = counts.windows(2).all(|pair| pair[0] == pair[1]);
    if alike && counts.iter().all(|count| count.is_some()) {
        Ok(())
    } else {
        Err(format!("the two sides counted {counts:?} {total}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_sides_that_count_differently_are_an_error() {
        let report = |n: f64| RoleReport {
            totals: BTreeMap::from([("connections".to_string(), n)]),
            ..RoleReport::default()
        };
        assert_eq!(counts_agree(&[report(3.0), report(3.0)], "connections"), Ok(()));
        assert!(counts_agree(&[report(3.0), report(4.0)], "connections").is_err());
        assert!(counts_agree(&[RoleReport::default(), report(4.0)], "connections").is_err());
    }
}
