//! What this machine, and a host that is elsewhere, can of a case: asked before anything is planned.

use super::{MECHANISM, RECEIVER, receiving, sending, tcp, way_of};
use crate::probe::transfer::far;
use std::net::UdpSocket;
use std::os::fd::{AsRawFd, RawFd};
use syscost_core::axis::Point;
use syscost_host::Unavailable;

/// Asks each end where it is.
pub fn asked(point: &Point) -> Result<(), Unavailable> {
    if tcp::is(point) {
        // Its way to send and to receive is there on every host.
        return far::ends(&point.without(MECHANISM.id).without(RECEIVER.id));
    }
    tried(|socket| {
        if !far::both(point) {
            way_of(point).map_or(Ok(()), |way| (way.available)(socket))?;
        }
        let receives = point.text(RECEIVER).filter(|_| far::host(point).is_none()).and_then(receiving::find);
        receives.map_or(Ok(()), |way| (way.available)(socket))
    })?;
    far::ends(point)
}

/// On a socket that is then thrown away.
fn tried(ways: impl FnOnce(RawFd) -> Result<(), Unavailable>) -> Result<(), Unavailable> {
    UdpSocket::bind("127.0.0.1:0").map_or(Ok(()), |socket| ways(socket.as_raw_fd()))
}

/// The answer, on the host that is asked: ways of datagrams are tried here, and the rest is that of a transfer over TCP.
pub fn allows(wanted: &serde_json::Value) -> Result<(), Unavailable> {
    let mut rest = wanted.clone();
    let mut name = |id: &str, known: fn(&str) -> bool| {
        let words = rest.as_object_mut()?;
        words.get(id)?.as_str().filter(|name| known(name))?;
        words.remove(id)?.as_str().map(str::to_string)
    };
    let sends = name(MECHANISM.id, |name| sending::find(name).is_some());
    let receives = name(RECEIVER.id, |name| receiving::find(name).is_some());
    tried(|socket| {
        sends.as_deref().and_then(sending::find).map_or(Ok(()), |way| (way.available)(socket))?;
        receives.as_deref().and_then(receiving::find).map_or(Ok(()), |way| (way.available)(socket))
    })?;
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
