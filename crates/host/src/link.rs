//! The network device at one end of a path, as the kernel describes it in this thread's namespace.
//!
//! It only reads, and what a device does not tell is left out. Sources: rtnetlink(7), ip(7),
//! include/uapi/linux/ethtool.h.

use super::packet_sockets;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use syscost_sys::ethtool;
use syscost_sys::netlink::Netlink;

const LOOPBACK: &str = "lo";
/// discard(9): nothing is ever sent there, the kernel only looks for the route.
const ANY_PORT: u16 = 9;

/// The address from which this host sends to another one.
pub fn source_toward(address: IpAddr) -> io::Result<IpAddr> {
    let any: IpAddr =
        if address.is_ipv4() { Ipv4Addr::UNSPECIFIED.into() } else { Ipv6Addr::UNSPECIFIED.into() };
    let socket = UdpSocket::bind(SocketAddr::new(any, 0))?;
    socket.connect(SocketAddr::new(address, ANY_PORT))?;
    Ok(socket.local_addr()?.ip())
}

/// The device that has this address, if any.
pub fn owner_of(address: IpAddr) -> io::Result<Option<String>> {
    if address.is_loopback() {
        return Ok(Some(LOOPBACK.to_string()));
    }
    let links = Netlink::open()?.addresses()?;
    let owns = |addresses: &[(IpAddr, u8)]| addresses.iter().any(|(own, _)| *own == address);
    Ok(links.into_iter().find(|link| owns(&link.addresses)).map(|link| link.name))
}

/// Every address that a peer could reach, for a message.
pub fn addresses() -> Vec<IpAddr> {
    let links = Netlink::open().and_then(|mut netlink| netlink.addresses()).unwrap_or_default();
    let all = links.into_iter().flat_map(|link| link.addresses).map(|(address, _)| address);
    all.filter(|address| !link_local(address)).collect()
}

/// An IPv6 address of the link alone needs the name of a device beside it.
pub fn link_local(address: &IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

/// How packets to this address leave: directly, or by the first router on the way; `None` where the kernel
/// does not tell.
pub fn route_to(address: IpAddr) -> Option<String> {
    let gateway = Netlink::open().and_then(|mut netlink| netlink.gateway_to(address)).ok()?;
    Some(gateway.map_or_else(|| "direct".to_string(), |router| format!("by {router}")))
}

/// `interface`, `mtu`, `offloads`, `driver`, `scatter_gather`, `bits_per_second`.
pub fn describe(interface: &str) -> io::Result<BTreeMap<String, String>> {
    let link = Netlink::open()?.link(interface)?;
    let on = |on: bool| if on { "on" } else { "off" }.to_string();
    let told = [
        ("interface", Some(interface.to_string())),
        ("mtu", Some(link.mtu_bytes.to_string())),
        ("offloads", ethtool::offloads(interface).ok().map(|all| ethtool::show(&all))),
        ("driver", ethtool::driver(interface).ok()),
        ("scatter_gather", ethtool::scatter_gather(interface).ok().map(on)),
        (packet_sockets::FACT, packet_sockets::on(Some(link.index))),
        ("bits_per_second", ethtool::bits_per_second(interface).map(|rate| rate.to_string())),
    ];
    let told = told.into_iter().filter_map(|(name, value)| Some((name.to_string(), value?)));
    Ok(told.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_an_end_like_any_other() {
        let address: IpAddr = "127.0.0.1".parse().unwrap();
        assert_eq!(source_toward(address).unwrap(), address);
        assert_eq!(owner_of(address).unwrap().as_deref(), Some(LOOPBACK));
        assert_eq!(route_to(address).as_deref(), Some("direct"));
        let told = describe(LOOPBACK).unwrap();
        assert!(told["mtu"].parse::<u32>().unwrap() >= 1280, "{told:?}");
        assert!(told["offloads"].contains("gso"), "{told:?}");
        assert!(!told.contains_key("bits_per_second"), "no hardware, no speed: {told:?}");
        // TEST-NET-3 (RFC 5737): nobody's.
        assert_eq!(owner_of("203.0.113.9".parse().unwrap()).unwrap(), None);
    }
}
