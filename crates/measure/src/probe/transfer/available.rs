//! What of a transfer this machine allows: tried, not guessed.

use super::axes::{CONGESTION_CONTROL, NODELAY, PATH, PLACEMENT};
use super::connection;
use crate::mechanism::{Handover, Mechanism};
use crate::receiver::Receive;
use std::net::{Ipv4Addr, UdpSocket};
use syscost_core::axis::{NameAxis, Point, Value};
use syscost_host::namespaces::{layer, named};
use syscost_host::remote::{self, target};
use syscost_host::topology::{self, Placement, Topology};
use syscost_host::{Unavailable, namespaces};

/// Namespaces joined by a layer, those that are named, another host that lets us in; loopback always is.
pub fn path(path: &str) -> Result<(), Unavailable> {
    if let Some(layer) = layer::find(path) {
        return namespaces::layer_available(layer.id);
    }
    match path {
        path if named::is_meant(path) => named::open(path).map(|_| ()),
        path if target::is_meant(path) => remote::open(path).map(|_| ()),
        _ => loopback(),
    }
}

/// It has no address, or its device is down, in namespaces that nobody set up.
fn loopback() -> Result<(), Unavailable> {
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0));
    let answer = socket.and_then(|socket| socket.connect(socket.local_addr()?));
    let (reason, remedy) = match answer.map_err(|error| error.raw_os_error()) {
        Err(Some(libc::EADDRNOTAVAIL)) => ("has no address 127.0.0.1", "ip address add 127.0.0.1/8 dev lo"),
        Err(Some(libc::ENETUNREACH)) => ("is down", "ip link set lo up"),
        _ => return Ok(()),
    };
    Err(Unavailable { reason: format!("the loopback device lo {reason}"), remedy: remedy.into() })
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
    let pins = Topology::read().place(&placement, 1)?;
    if pins.iter().any(|pin| pin.sender.or(pin.receiver).is_some()) { topology::may_pin() } else { Ok(()) }
}

/// The congestion control, on a socket of this namespace.
pub fn congestion_control(name: &str) -> Result<(), Unavailable> {
    option(CONGESTION_CONTROL, name)
}

/// The same of TCP_NODELAY.
pub fn nodelay(on: &str) -> Result<(), Unavailable> {
    option(NODELAY, on)
}

fn option(axis: NameAxis, value: &str) -> Result<(), Unavailable> {
    let mut point = Point::default();
    point.set(axis.id, Value::text(value));
    connection::try_options(&point, false)
}

/// What of this point's sockets the kernel grants here: it caps some values, and says so only when asked.
pub fn options(point: &Point, receives_here: bool) -> Result<(), Unavailable> {
    connection::try_options(point, receives_here)
}

/// What is measured instead of a default that is refused.
pub fn instead_of(axis: &str) -> Option<&'static str> {
    match axis {
        _ if axis == PATH.id => Some("loopback"),
        _ if axis == PLACEMENT.id => Some(if topology::may_pin().is_ok() { "same" } else { "none" }),
        _ if axis == CONGESTION_CONTROL.id => {
            let always = congestion_control(connection::ALWAYS).is_ok();
            Some(if always { connection::ALWAYS } else { connection::KERNELS })
        }
        _ if axis == NODELAY.id => Some("off"),
        _ => None,
    }
}

/// The path that needs namespaces.
pub const VETH: &str = "veth";
