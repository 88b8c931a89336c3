//! Links, addresses and routes of the calling thread's network namespace, by rtnetlink.
//!
//! It never calls `ip`, and it names links that it was told to make or asked about, nothing else.
//! Source: netlink(7), rtnetlink(7), veth(4), include/uapi/linux/if_link.h.

use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, SocketFlags, SocketType, connect, socket_with};
use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsRawFd, BorrowedFd};

/// What libc lacks of linux/veth.h and linux/if_link.h: attributes and modes of the kinds of links.
const VETH_INFO_PEER: u16 = 1;
const MACVLAN_MODE: u16 = 1;
const MACVLAN_MODE_BRIDGE: u32 = 4;
const IPVLAN_MODE: u16 = 1;
const IPVLAN_MODE_L2: u16 = 0;
const VXLAN_ID: u16 = 1;
const VXLAN_GROUP: u16 = 2;
const VXLAN_LOCAL: u16 = 4;
const VXLAN_PORT: u16 = 15;
/// Operational states of RFC 2863. The loopback device has none: its kind of up is "unknown".
const STATE_UNKNOWN: u8 = 0;
const STATE_UP: u8 = 6;

/// `struct nlmsghdr`, `ifinfomsg`, `ifaddrmsg` and `rtmsg`, in bytes.
const HEADER: usize = 16;
const LINK_HEADER: usize = 16;
const ADDRESS_HEADER: usize = 8;
const ROUTE_HEADER: usize = 12;
/// The kernel makes no larger datagrams.
const LARGEST_ANSWER: usize = 64 << 10;

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

/// `struct ifinfomsg`: this link, with these flags set.
fn link_header(index: u32, flags: u32) -> Vec<u8> {
    [[0; 4], index.to_ne_bytes(), flags.to_ne_bytes(), flags.to_ne_bytes()].concat()
}

/// `struct rtattr` and its value, padded.
fn attribute(message: &mut Vec<u8>, kind: u16, value: &[u8]) {
    message.extend(((4 + value.len()) as u16).to_ne_bytes());
    message.extend(kind.to_ne_bytes());
    message.extend(value);
    message.resize(message.len().next_multiple_of(4), 0);
}

fn text(message: &mut Vec<u8>, kind: u16, text: &str) {
    attribute(message, kind, &[text.as_bytes(), b"\0"].concat());
}

/// The attributes behind a header of so many bytes.
fn attributes(message: &[u8], header: usize) -> impl Iterator<Item = (u16, &[u8])> {
    let mut rest = message.get(header..).unwrap_or_default();
    std::iter::from_fn(move || {
        let number = |at: usize| Some(u16::from_ne_bytes(rest.get(at..at + 2)?.try_into().ok()?));
        let (length, kind) = (usize::from(number(0)?), number(2)? & libc::NLA_TYPE_MASK as u16);
        let value = rest.get(4..length)?;
        rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, value))
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|word| word.try_into().ok()).map_or(0, u32::from_ne_bytes)
}

fn octets(address: IpAddr) -> Vec<u8> {
    match address {
        IpAddr::V4(address) => address.octets().into(),
        IpAddr::V6(address) => address.octets().into(),
    }
}

fn address(octets: &[u8]) -> Option<IpAddr> {
    let four = <[u8; 4]>::try_from(octets).map(IpAddr::from);
    four.or_else(|_| <[u8; 16]>::try_from(octets).map(IpAddr::from)).ok()
}

/// The family and the bits of an address.
fn family(address: IpAddr) -> (u8, u8) {
    if address.is_ipv4() { (libc::AF_INET as u8, 32) } else { (libc::AF_INET6 as u8, 128) }
}

/// This side's address: `IFA_LOCAL` on a link between two points, where `IFA_ADDRESS` is the other's.
fn own_address(message: &[u8]) -> Option<IpAddr> {
    let find = |wanted| attributes(message, ADDRESS_HEADER).find(|(kind, _)| *kind == wanted);
    let (_, octets) = find(libc::IFA_LOCAL).or_else(|| find(libc::IFA_ADDRESS))?;
    address(octets)
}

/// A socket in the network namespace that the thread was in when it opened it.
pub struct Netlink {
    socket: File,
    sequence: u32,
}

impl Netlink {
    pub fn open() -> io::Result<Netlink> {
        // NETLINK_ROUTE is protocol 0, that of no protocol named.
        let socket = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
        connect(&socket, &SocketAddrNetlink::new(0, 0))?;
        Ok(Netlink { socket: socket.into(), sequence: 0 })
    }

    /// Makes a veth pair: `name` here, `peer` in the other namespace.
    pub fn create_veth(
        &mut self,
        name: &str,
        peer: &str,
        peer_namespace: BorrowedFd<'_>,
        mtu_bytes: u32,
    ) -> io::Result<()> {
        let mut far = link_header(0, 0);
        text(&mut far, libc::IFLA_IFNAME, peer);
        attribute(&mut far, libc::IFLA_MTU, &mtu_bytes.to_ne_bytes());
        attribute(&mut far, libc::IFLA_NET_NS_FD, &peer_namespace.as_raw_fd().to_ne_bytes());
        let mut data = Vec::new();
        attribute(&mut data, VETH_INFO_PEER, &far);
        self.make(name, mtu_bytes, link_header(0, 0), "veth", &data)
    }

    /// Makes a link in another namespace, or in this one; its parent is here.
    pub fn create(
        &mut self,
        name: &str,
        kind: &LinkKind<'_>,
        mtu_bytes: u32,
        namespace: Option<BorrowedFd<'_>>,
    ) -> io::Result<()> {
        let (mut link, mut data) = (link_header(0, 0), Vec::new());
        if let Some(there) = namespace {
            attribute(&mut link, libc::IFLA_NET_NS_FD, &there.as_raw_fd().to_ne_bytes());
        }
        if let LinkKind::MacVlan { parent } | LinkKind::IpVlan { parent } = kind {
            attribute(&mut link, libc::IFLA_LINK, &self.link(parent)?.index.to_ne_bytes());
        }
        let called = match *kind {
            LinkKind::Bridge => "bridge",
            LinkKind::MacVlan { .. } => {
                attribute(&mut data, MACVLAN_MODE, &MACVLAN_MODE_BRIDGE.to_ne_bytes());
                "macvlan"
            }
            LinkKind::IpVlan { .. } => {
                attribute(&mut data, IPVLAN_MODE, &IPVLAN_MODE_L2.to_ne_bytes());
                "ipvlan"
            }
            LinkKind::Vxlan { id, local, remote, port } => {
                attribute(&mut data, VXLAN_ID, &id.to_ne_bytes());
                attribute(&mut data, VXLAN_LOCAL, &local.octets());
                attribute(&mut data, VXLAN_GROUP, &remote.octets());
                attribute(&mut data, VXLAN_PORT, &port.to_be_bytes());
                "vxlan"
            }
        };
        self.make(name, mtu_bytes, link, called, &data)
    }

    fn make(&mut self, name: &str, mtu: u32, mut link: Vec<u8>, kind: &str, data: &[u8]) -> io::Result<()> {
        text(&mut link, libc::IFLA_IFNAME, name);
        attribute(&mut link, libc::IFLA_MTU, &mtu.to_ne_bytes());
        let mut info = Vec::new();
        text(&mut info, libc::IFLA_INFO_KIND, kind);
        if !data.is_empty() {
            attribute(&mut info, libc::IFLA_INFO_DATA, data);
        }
        attribute(&mut link, libc::IFLA_LINKINFO, &info);
        self.call(libc::RTM_NEWLINK, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &link).map(drop)
    }

    /// Sets an attribute of a link.
    fn change(&mut self, name: &str, kind: u16, value: &[u8]) -> io::Result<()> {
        let mut link = link_header(self.link(name)?.index, 0);
        attribute(&mut link, kind, value);
        self.call(libc::RTM_SETLINK, 0, &link).map(drop)
    }

    /// Makes a link a port of a bridge.
    pub fn join_bridge(&mut self, name: &str, bridge: &str) -> io::Result<()> {
        let bridge = self.link(bridge)?.index;
        self.change(name, libc::IFLA_MASTER, &bridge.to_ne_bytes())
    }

    pub fn link(&mut self, name: &str) -> io::Result<NetlinkLink> {
        let mut query = link_header(0, 0);
        text(&mut query, libc::IFLA_IFNAME, name);
        let answers = self.call(libc::RTM_GETLINK, 0, &query)?;
        let link = answers
            .first()
            .ok_or_else(|| io::Error::other(format!("the kernel did not describe link {name}")))?;
        let find = |wanted| attributes(link, LINK_HEADER).find(|(kind, _)| *kind == wanted);
        let mtu_bytes = find(libc::IFLA_MTU).map_or(0, |(_, value)| word(value, 0));
        let operational = find(libc::IFLA_OPERSTATE)
            .is_some_and(|(_, value)| matches!(value.first(), Some(&(STATE_UP | STATE_UNKNOWN))));
        let up = word(link, 8) & libc::IFF_UP as u32 != 0;
        Ok(NetlinkLink { index: word(link, 4), mtu_bytes, running: up && operational })
    }

    pub fn set_up(&mut self, name: &str) -> io::Result<()> {
        let link = link_header(self.link(name)?.index, libc::IFF_UP as u32);
        self.call(libc::RTM_SETLINK, 0, &link).map(drop)
    }

    /// Moves a link into another network namespace, where it arrives down and without addresses.
    pub fn move_to(&mut self, name: &str, namespace: BorrowedFd<'_>) -> io::Result<()> {
        self.change(name, libc::IFLA_NET_NS_FD, &namespace.as_raw_fd().to_ne_bytes())
    }

    /// Every link and its addresses, loopback excluded, in the kernel's order.
    pub fn addresses(&mut self) -> io::Result<Vec<Addressed>> {
        let links = self.call(libc::RTM_GETLINK, libc::NLM_F_DUMP, &link_header(0, 0))?;
        let addresses = self.call(libc::RTM_GETADDR, libc::NLM_F_DUMP, &[0; ADDRESS_HEADER])?;
        let described = |link: &Vec<u8>| {
            let (_, name) = attributes(link, LINK_HEADER).find(|(kind, _)| *kind == libc::IFLA_IFNAME)?;
            let of_this_link = |message: &&Vec<u8>| word(message, 4) == word(link, 4);
            let own = addresses.iter().filter(of_this_link);
            let addresses =
                own.filter_map(|message| Some((own_address(message)?, *message.get(1)?))).collect();
            Some(Addressed {
                name: String::from_utf8_lossy(name.strip_suffix(b"\0")?).into_owned(),
                addresses,
            })
        };
        let real = |link: &&Vec<u8>| word(link, 8) & libc::IFF_LOOPBACK as u32 == 0;
        Ok(links.iter().filter(real).filter_map(described).collect())
    }

    /// The router that packets to this address go to first; `None` where they go to it directly.
    pub fn gateway_to(&mut self, to: IpAddr) -> io::Result<Option<IpAddr>> {
        let mut query = vec![0; ROUTE_HEADER];
        (query[0], query[1]) = family(to);
        attribute(&mut query, libc::RTA_DST, &octets(to));
        let answers = self.call(libc::RTM_GETROUTE, 0, &query)?;
        let route = answers
            .first()
            .ok_or_else(|| io::Error::other(format!("the kernel did not describe the route to {to}")))?;
        Ok(attributes(route, ROUTE_HEADER).find_map(|(kind, value)| match kind {
            libc::RTA_GATEWAY => address(value),
            // Behind the family.
            libc::RTA_VIA => address(value.get(2..)?),
            _ => None,
        }))
    }

    /// Packets that the queue disciplines of all links have dropped: of each link's outermost, which counts those below it.
    pub fn queue_drops(&mut self) -> io::Result<u64> {
        const QUEUE_HEADER: usize = 20;
        const PARENT: usize = 12;
        const OUTERMOST: u32 = u32::MAX;
        const TCA_STATS2: u16 = 7;
        const TCA_STATS_QUEUE: u16 = 3;
        const DROPS: usize = 8;
        let queues = self.call(libc::RTM_GETQDISC, libc::NLM_F_DUMP, &[0; QUEUE_HEADER])?;
        let outermost = queues.iter().filter(|queue| word(queue, PARENT) == OUTERMOST);
        let of = |queue: &Vec<u8>| {
            let (_, all) = attributes(queue, QUEUE_HEADER).find(|(kind, _)| *kind == TCA_STATS2)?;
            let (_, counts) = attributes(all, 0).find(|(kind, _)| *kind == TCA_STATS_QUEUE)?;
            Some(u64::from(word(counts, DROPS)))
        };
        Ok(outermost.filter_map(of).sum())
    }

    pub fn add_address(&mut self, name: &str, address: IpAddr, prefix_bits: u8) -> io::Result<()> {
        let index = self.link(name)?.index;
        let mut message = vec![family(address).0, prefix_bits, 0, 0];
        message.extend(index.to_ne_bytes());
        attribute(&mut message, libc::IFA_LOCAL, &octets(address));
        attribute(&mut message, libc::IFA_ADDRESS, &octets(address));
        self.call(libc::RTM_NEWADDR, libc::NLM_F_CREATE | libc::NLM_F_EXCL, &message).map(drop)
    }

    /// One request and everything that answers it, without headers of netlink, until the kernel's acknowledgement.
    fn call(&mut self, kind: u16, flags: i32, body: &[u8]) -> io::Result<Vec<Vec<u8>>> {
        self.sequence += 1;
        let length = (HEADER + body.len()) as u32;
        let flags = (flags | libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
        let kind = [kind.to_ne_bytes(), flags.to_ne_bytes()].concat();
        // The kernel fills in the port.
        let header = [&length.to_ne_bytes()[..], &kind, &self.sequence.to_ne_bytes(), &[0; 4]].concat();
        self.socket.write_all(&[&header[..], body].concat())?;
        let (mut answers, mut room) = (Vec::new(), vec![0; LARGEST_ANSWER]);
        loop {
            let got = self.socket.read(&mut room)?;
            let mut rest = &room[..got];
            while rest.len() >= HEADER {
                // Messages are padded to four bytes; a length of 0 would never end.
                let length = (word(rest, 0) as usize).clamp(HEADER, rest.len());
                let (kind, ours) = (i32::from(word(rest, 4) as u16), word(rest, 8) == self.sequence);
                let body = &rest[HEADER..length];
                rest = rest.get(length.next_multiple_of(4)..).unwrap_or_default();
                match (kind, word(body, 0) as i32) {
                    _ if !ours => {}
                    (libc::NLMSG_DONE, _) | (libc::NLMSG_ERROR, 0) => return Ok(answers),
                    (libc::NLMSG_ERROR, code) => return Err(io::Error::from_raw_os_error(-code)),
                    _ => answers.push(body.to_vec()),
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
}
