//! Checks that this machine and the host that is elsewhere can run a case, before anything is planned.

use super::way::{ReceiveWay, SendWay};
use super::{MECHANISM, RECEIVER, receiving, sending, tcp, way_of};
use crate::probe::transfer::far;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;
use syscost_core::axis::Point;
use syscost_host::Unavailable;

/// Asks each end where it is.
pub fn asked(point: &Point) -> Result<(), Unavailable> {
    if tcp::is(point) {
        // Its way to send and to receive is there on every host.
        return far::ends(&point.without(MECHANISM.id).without(RECEIVER.id));
    }
    here(
        way_of(point).filter(|_| !far::both(point)),
        point.text(RECEIVER).and_then(receiving::find).filter(|_| far::host(point).is_none()),
    )?;
    far::ends(point)
}

/// Tries the ways of this machine on a socket that is then thrown away.
fn here(sends: Option<&SendWay>, receives: Option<&ReceiveWay>) -> Result<(), Unavailable> {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return Ok(()) };
    sends.map_or(Ok(()), |way| (way.available)(socket.as_raw_fd()))?;
    receives.map_or(Ok(()), |way| (way.available)(socket.as_raw_fd()))
}

/// The answer, on the host that is asked: ways of datagrams are tried here, and the rest is that of a transfer over TCP.
pub fn allows(wanted: &serde_json::Value) -> Result<(), Unavailable> {
    let named = |id: &str| wanted.get(id).and_then(serde_json::Value::as_str);
    let sends = named(MECHANISM.id).and_then(sending::find);
    let receives = named(RECEIVER.id).and_then(receiving::find);
    here(sends, receives)?;
    let mut rest = wanted.clone();
    if let Some(words) = rest.as_object_mut() {
        let known = [(MECHANISM.id, sends.is_some()), (RECEIVER.id, receives.is_some())];
        words.retain(|id, _| !known.contains(&(id.as_str(), true)));
    }
    far::allows(&rest)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ways_of_datagrams_are_known_and_others_are_asked_of_tcp() {
        assert_eq!(allows(&json!({ "mechanism": "udp_send", "receiver": "udp_recv" })), Ok(()));
        assert_eq!(allows(&json!({ "mechanism": "send", "receiver": "recv" })), Ok(()));
        for unknown in
            [json!({ "mechanism": "udp_none" }), json!({ "mechanism": "udp_send", "receiver": "udp_none" })]
        {
            assert!(allows(&unknown).unwrap_err().reason.contains("udp_none"));
        }
    }
}
