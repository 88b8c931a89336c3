//! What of a transfer this machine allows: tried, not guessed.

use super::axes::{CONGESTION_CONTROL, PATH, PLACEMENT};
use super::connection;
use crate::mechanism::{Handover, Mechanism};
use crate::receiver::Receive;
use syscost_core::axis::Point;
use syscost_host::files::Root;
use syscost_host::namespaces::{layer, named};
use syscost_host::remote::{self, target};
use syscost_host::topology::{Placement, Topology};
use syscost_host::{Unavailable, namespaces, settings};

/// Namespaces joined by a layer, those that are named, another host that lets us in; loopback always is.
pub fn path(path: &str) -> Result<(), Unavailable> {
    if let Some(layer) = layer::find(path) {
        return namespaces::layer_available(layer.id);
    }
    match path {
        path if named::is_meant(path) => named::open(path).map(|_| ()),
        path if target::is_meant(path) => remote::open(path).map(|_| ()),
        _ => Ok(()),
    }
}

/// A stream that has to be decoded, and a receiver for which the kernel does that.
pub fn together(mechanism: &dyn Mechanism, receiver: &dyn Receive) -> Result<(), Unavailable> {
    if mechanism.about().facts.handover != Handover::Encrypted || receiver.decodes() {
        return Ok(());
    }
    let (sent, taken) = (mechanism.about().id, receiver.about().id);
    Err(Unavailable {
        reason: format!("the kernel does not decode the stream of {sent} for {taken}"),
        remedy: "use a receiver that reads into its own memory by recv(2) or recvmsg(2)".into(),
    })
}

/// CPUs for the placement of one pair.
pub fn placement(text: &str) -> Result<(), Unavailable> {
    let placement = Placement::parse(text)
        .map_err(|reason| Unavailable { reason, remedy: "syscost list names the placements".into() })?;
    Topology::read().place(&placement, 1).map(|_| ())
}

/// The congestion control, on a socket of this namespace.
pub fn congestion_control(name: &str) -> Result<(), Unavailable> {
    connection::try_congestion_control(name).map_err(|error| Unavailable {
        reason: format!("the kernel refuses congestion control {name} ({error})"),
        remedy: settings::congestion_control_remedy(&Root::here(), name, error.raw_os_error()),
    })
}

/// What of this point's sockets the kernel grants here: it caps some values, and says so only when asked.
pub fn options(point: &Point, receives_here: bool) -> Result<(), Unavailable> {
    connection::try_options(point, receives_here).or_else(|error| error.downcast().map_or(Ok(()), Err))
}

/// What is measured instead of a default that is refused.
pub fn instead_of(axis: &str) -> Option<&'static str> {
    match axis {
        _ if axis == PATH.id => Some("loopback"),
        _ if axis == PLACEMENT.id => Some("same"),
        // Compiled into every kernel.
        _ if axis == CONGESTION_CONTROL.id => Some("reno"),
        _ => None,
    }
}

/// The path that needs namespaces.
pub const VETH: &str = "veth";
