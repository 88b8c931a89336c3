//! Links, addresses and routes of the calling thread's network namespace, by rtnetlink.
//!
//! It never calls `ip`, and it names links that it was told to make or asked about, nothing else.
//! Source: rtnetlink(7), veth(4), include/uapi/linux/if_link.h.

use netlink_packet_core::{
    NLM_F_ACK, NLM_F_CREATE, NLM_F_DUMP, NLM_F_EXCL, NLM_F_REQUEST, NetlinkHeader, NetlinkMessage,
    NetlinkPayload,
};
use netlink_packet_route::address::{AddressAttribute, AddressMessage};
use netlink_packet_route::link::{
    InfoData, InfoIpVlan, InfoKind, InfoMacVlan, InfoVeth, InfoVxlan, IpVlanMode, LinkAttribute, LinkFlags,
    LinkInfo, LinkMessage, MacVlanMode, State,
};
use netlink_packet_route::route::{RouteAddress, RouteAttribute, RouteMessage, RouteVia};
use netlink_packet_route::{AddressFamily, RouteNetlinkMessage};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_ROUTE};
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// A link as the kernel describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NetlinkLink {
    pub index: u32,
    pub mtu_bytes: u32,
    /// Administratively up, with a carrier, and its queue started.
    pub running: bool,
}

/// A link with the addresses that it has: each with the length of its prefix in bits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Addressed {
    pub name: String,
    pub addresses: Vec<(IpAddr, u8)>,
}

/// A link that has no other end: what it needs to know of the link or host below it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkKind<'a> {
    Bridge,
    /// Children of one parent reach each other (mode bridge).
    MacVlan {
        parent: &'a str,
    },
    /// Switched by MAC address (mode L2).
    IpVlan {
        parent: &'a str,
    },
    Vxlan {
        id: u32,
        local: Ipv4Addr,
        remote: Ipv4Addr,
        port: u16,
    },
}

/// This side's address: `Local` on a link between two points, where `Address` is the other's.
fn own_address(message: &AddressMessage) -> Option<IpAddr> {
    let known = message.attributes.iter().filter_map(|attribute| match attribute {
        AddressAttribute::Local(address) => Some((0, *address)),
        AddressAttribute::Address(address) => Some((1, *address)),
        _ => None,
    });
    known.min_by_key(|(rank, _)| *rank).map(|(_, address)| address)
}

/// A socket in the network namespace that the thread was in when it opened it.
pub struct Netlink {
    socket: Socket,
    sequence: u32,
}

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        let mut socket = Socket::new(NETLINK_ROUTE)?;
        socket.bind_auto()?;
        socket.connect(&SocketAddr::new(0, 0))?;
        Ok(Netlink { socket, sequence: 0 })
    }

    /// Makes a veth pair: `name` here, `peer` in the other namespace.
    pub fn create_veth(
        &mut self,
        name: &str,
        peer: &str,
        peer_namespace: BorrowedFd<'_>,
        mtu_bytes: u32,
    ) -> io::Result<()> {
        let mut far = LinkMessage::default();
        far.attributes = vec![
            LinkAttribute::IfName(peer.into()),
            LinkAttribute::Mtu(mtu_bytes),
            LinkAttribute::NetNsFd(peer_namespace.as_raw_fd()),
        ];
        let mut near = LinkMessage::default();
        near.attributes = vec![
            LinkAttribute::IfName(name.into()),
            LinkAttribute::Mtu(mtu_bytes),
            LinkAttribute::LinkInfo(vec![
                LinkInfo::Kind(InfoKind::Veth),
                LinkInfo::Data(InfoData::Veth(InfoVeth::Peer(far))),
            ]),
        ];
        self.call(RouteNetlinkMessage::NewLink(near), NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Makes a link in another namespace, or in this one; its parent is here.
    pub fn create(
        &mut self,
        name: &str,
        kind: &LinkKind<'_>,
        mtu_bytes: u32,
        namespace: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.attributes = vec![LinkAttribute::IfName(name.into()), LinkAttribute::Mtu(mtu_bytes)];
        link.attributes.extend(namespace.map(|there| LinkAttribute::NetNsFd(there.as_raw_fd())));
        let (kind, data) = match *kind {
            LinkKind::Bridge => (InfoKind::Bridge, None),
            LinkKind::MacVlan { parent } => {
                link.attributes.push(LinkAttribute::Link(self.link(parent)?.index));
                let mode = InfoMacVlan::Mode(MacVlanMode::Bridge);
                (InfoKind::MacVlan, Some(InfoData::MacVlan(vec![mode])))
            }
            LinkKind::IpVlan { parent } => {
                link.attributes.push(LinkAttribute::Link(self.link(parent)?.index));
                (InfoKind::IpVlan, Some(InfoData::IpVlan(vec![InfoIpVlan::Mode(IpVlanMode::L2)])))
            }
            LinkKind::Vxlan { id, local, remote, port } => {
                let data = vec![
                    InfoVxlan::Id(id),
                    InfoVxlan::Local(local),
                    InfoVxlan::Group(remote),
                    InfoVxlan::Port(port),
                ];
                (InfoKind::Vxlan, Some(InfoData::Vxlan(data)))
            }
        };
        let mut info = vec![LinkInfo::Kind(kind)];
        info.extend(data.map(LinkInfo::Data));
        link.attributes.push(LinkAttribute::LinkInfo(info));
        self.call(RouteNetlinkMessage::NewLink(link), NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// Makes a link a port of a bridge.
    pub fn join_bridge(&mut self, name: &str, bridge: &str) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = self.link(name)?.index;
        link.attributes.push(LinkAttribute::Controller(self.link(bridge)?.index));
        self.call(RouteNetlinkMessage::SetLink(link), 0).map(drop)
    }

    pub fn link(&mut self, name: &str) -> io::Result<NetlinkLink> {
        let mut query = LinkMessage::default();
        query.attributes.push(LinkAttribute::IfName(name.into()));
        let answers = self.call(RouteNetlinkMessage::GetLink(query), 0)?;
        let link = answers.into_iter().find_map(|message| match message {
            RouteNetlinkMessage::NewLink(link) => Some(link),
            _ => None,
        });
        let link =
            link.ok_or_else(|| io::Error::other(format!("the kernel did not describe link {name}")))?;
        let mut mtu_bytes = 0;
        let mut operational = false;
        for attribute in &link.attributes {
            match attribute {
                LinkAttribute::Mtu(bytes) => mtu_bytes = *bytes,
                // The loopback device has no operational state: its kind of up is `Unknown`.
                LinkAttribute::OperState(state) => operational = matches!(state, State::Up | State::Unknown),
                _ => {}
            }
        }
        let up = link.header.flags.contains(LinkFlags::Up);
        Ok(NetlinkLink { index: link.header.index, mtu_bytes, running: up && operational })
    }

    pub fn set_up(&mut self, name: &str) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = self.link(name)?.index;
        link.header.flags = LinkFlags::Up;
        link.header.change_mask = LinkFlags::Up;
        self.call(RouteNetlinkMessage::SetLink(link), 0).map(drop)
    }

    /// Moves a link into another network namespace, where it arrives down and without addresses.
    pub fn move_to(&mut self, name: &str, namespace: BorrowedFd<'_>) -> io::Result<()> {
        let mut link = LinkMessage::default();
        link.header.index = self.link(name)?.index;
        link.attributes.push(LinkAttribute::NetNsFd(namespace.as_raw_fd()));
        self.call(RouteNetlinkMessage::SetLink(link), 0).map(drop)
    }

    /// Every link and its addresses, loopback excluded, in the kernel's order.
    pub fn addresses(&mut self) -> io::Result<Vec<Addressed>> {
        let links = self.call(RouteNetlinkMessage::GetLink(LinkMessage::default()), NLM_F_DUMP)?;
        let addresses = self.call(RouteNetlinkMessage::GetAddress(AddressMessage::default()), NLM_F_DUMP)?;
        let mut found = Vec::new();
        for message in links {
            let RouteNetlinkMessage::NewLink(link) = message else { continue };
            let name = link.attributes.iter().find_map(|attribute| match attribute {
                LinkAttribute::IfName(name) => Some(name.clone()),
                _ => None,
            });
            let Some(name) = name.filter(|_| !link.header.flags.contains(LinkFlags::Loopback)) else {
                continue;
            };
            let of_this_link = |message: &RouteNetlinkMessage| match message {
                RouteNetlinkMessage::NewAddress(address) if address.header.index == link.header.index => {
                    Some((own_address(address)?, address.header.prefix_len))
                }
                _ => None,
            };
            found.push(Addressed { name, addresses: addresses.iter().filter_map(of_this_link).collect() });
        }
        Ok(found)
    }

    /// The router that packets to this address go to first; `None` where they go to it directly.
    pub fn gateway_to(&mut self, address: IpAddr) -> io::Result<Option<IpAddr>> {
        let mut query = RouteMessage::default();
        (query.header.address_family, query.header.destination_prefix_length) =
            if address.is_ipv4() { (AddressFamily::Inet, 32) } else { (AddressFamily::Inet6, 128) };
        query.attributes.push(RouteAttribute::Destination(address.into()));
        let answers = self.call(RouteNetlinkMessage::GetRoute(query), 0)?;
        let route = answers.into_iter().find_map(|message| match message {
            RouteNetlinkMessage::NewRoute(route) => Some(route),
            _ => None,
        });
        let route = route
            .ok_or_else(|| io::Error::other(format!("the kernel did not describe the route to {address}")))?;
        Ok(route.attributes.iter().find_map(|attribute| match attribute {
            RouteAttribute::Gateway(RouteAddress::Inet(router)) => Some(IpAddr::V4(*router)),
            RouteAttribute::Gateway(RouteAddress::Inet6(router)) => Some(IpAddr::V6(*router)),
            RouteAttribute::Via(RouteVia::Inet(router)) => Some(IpAddr::V4(*router)),
            RouteAttribute::Via(RouteVia::Inet6(router)) => Some(IpAddr::V6(*router)),
            _ => None,
        }))
    }

    pub fn add_address(&mut self, name: &str, address: IpAddr, prefix_bits: u8) -> io::Result<()> {
        let mut message = AddressMessage::default();
        message.header.family = if address.is_ipv4() { AddressFamily::Inet } else { AddressFamily::Inet6 };
        message.header.prefix_len = prefix_bits;
        message.header.index = self.link(name)?.index;
        message.attributes = vec![AddressAttribute::Local(address), AddressAttribute::Address(address)];
        self.call(RouteNetlinkMessage::NewAddress(message), NLM_F_CREATE | NLM_F_EXCL).map(drop)
    }

    /// One request and everything that answers it, until the kernel's acknowledgement.
    fn call(&mut self, message: RouteNetlinkMessage, flags: u16) -> io::Result<Vec<RouteNetlinkMessage>> {
        self.sequence += 1;
        let mut request = NetlinkMessage::new(NetlinkHeader::default(), NetlinkPayload::from(message));
        request.header.flags = flags | NLM_F_REQUEST | NLM_F_ACK;
        request.header.sequence_number = self.sequence;
        request.finalize();
        let mut bytes = vec![0; request.buffer_len()];
        request.serialize(&mut bytes);
        self.socket.send(&bytes, 0)?;
        let mut answers = Vec::new();
        loop {
            let (datagram, _) = self.socket.recv_from_full()?;
            let mut rest = &datagram[..];
            while !rest.is_empty() {
                let answer = NetlinkMessage::<RouteNetlinkMessage>::deserialize(rest)
                    .map_err(|e| io::Error::new(io::ErrorKind::InvalidData, e.to_string()))?;
                // Messages are padded to four bytes; a length of 0 would never end.
                let length = (answer.header.length as usize).max(16).next_multiple_of(4);
                rest = rest.get(length..).unwrap_or_default();
                if answer.header.sequence_number != self.sequence {
                    continue;
                }
                match answer.payload {
                    NetlinkPayload::Done(_) => return Ok(answers),
                    NetlinkPayload::Error(error) if error.code.is_none() => return Ok(answers),
                    NetlinkPayload::Error(error) => return Err(error.to_io()),
                    NetlinkPayload::InnerMessage(inner) => answers.push(inner),
                    _ => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_is_described_without_privilege() {
        let mut netlink = Netlink::open().expect("a netlink socket needs no privilege");
        let lo = netlink.link("lo").expect("every network namespace has lo");
        assert!(lo.index > 0 && lo.mtu_bytes >= 1280, "{lo:?}");
    }

    #[test]
    fn to_oneself_no_router_is_on_the_way() {
        for own in ["127.0.0.1", "127.1.2.3"] {
            assert_eq!(Netlink::open().unwrap().gateway_to(own.parse().unwrap()).unwrap(), None);
        }
    }

    #[test]
    fn an_unknown_link_is_an_error_with_the_kernels_number() {
        let error = Netlink::open().unwrap().link("no-such-link0").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV), "{error}");
    }
}
