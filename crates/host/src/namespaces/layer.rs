//! Ways to join two network namespaces, as container networks do: one visible list.
//!
//! A layer makes the two ends and what lies between them. Addresses, offloads and the wait until links run are the
//! builder's. Sources: ip-link(8), rtnetlink(7), veth(4), Documentation/networking (bridge, ipvlan, vxlan), RFC 7348.

use super::carried::{CarriedSettings, StackSettings};
use super::refusal::{At, BuildStep, RefusedStep};
use super::{RECEIVER, SENDER};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use syscost_sys::namespace;
use syscost_sys::netlink::{LinkKind, Netlink};

/// A way to join two namespaces.
pub struct NetworkLayer {
    /// The value of the axis, and the kernel's name of the kind of link.
    pub id: &'static str,
    pub title: &'static str,
    /// Bytes that its headers take from a packet of the wire, over IPv4.
    pub header_bytes: u32,
    /// Makes both ends, by their names, and all that is between them.
    pub join: fn(&mut LinkSite) -> Result<(), RefusedStep>,
}

/// Every layer, in the order that reports show them.
pub static ALL: &[NetworkLayer] = &[
    NetworkLayer {
        id: "veth",
        title: "a pair of virtual devices",
        header_bytes: 0,
        join: |site| site.wire(&site.sender.end.clone(), &site.receiver.end.clone()),
    },
    NetworkLayer {
        id: "bridge",
        title: "two veth pairs and a bridge between them",
        header_bytes: 0,
        join: LinkSite::bridge,
    },
    NetworkLayer {
        id: "macvlan",
        title: "two macvlan children of one device",
        header_bytes: 0,
        join: |site| site.children(LinkKind::MacVlan { parent: PARENTS[0] }),
    },
    NetworkLayer {
        id: "ipvlan",
        title: "two ipvlan children of one device",
        header_bytes: 0,
        join: |site| site.children(LinkKind::IpVlan { parent: PARENTS[0] }),
    },
    NetworkLayer {
        id: "vxlan",
        title: "VXLAN over a veth pair",
        // IPv4, UDP, VXLAN and the inner Ethernet header.
        header_bytes: 20 + 8 + 8 + 14,
        join: LinkSite::vxlan,
    },
];

pub fn find(id: &str) -> Option<&'static NetworkLayer> {
    ALL.iter().find(|layer| layer.id == id)
}

/// Addresses below an encapsulation: TEST-NET-2 (RFC 5737).
const BELOW: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)];
/// What carries an encapsulation, in both namespaces.
const WIRE: &str = "wire0";
const BRIDGE: &str = "bridge0";
/// A veth pair between the two, whose children the ends are.
const PARENTS: [&str; 2] = ["parent0", "parent1"];
const VXLAN_NETWORK: u32 = 42;
/// IANA's.
const VXLAN_PORT: u16 = 4789;

/// A namespace of the site with its links.
pub struct SiteSpace {
    pub namespace: OwnedFd,
    pub netlink: Netlink,
    /// The end that connections use: its name; no other namespace than the two outer ones has one.
    pub end: String,
    /// Links that packets pass besides.
    pub passed: Vec<String>,
    pub carried: CarriedSettings,
}

impl SiteSpace {
    /// A new namespace with the caller's settings, which this thread is in afterwards.
    pub fn make(end: &str, settings: &StackSettings) -> Result<SiteSpace, RefusedStep> {
        namespace::unshare_net().at(BuildStep::NetworkNamespace, "make a network namespace")?;
        let namespace =
            namespace::current("net").at(BuildStep::Configure, "open the new network namespace")?;
        let netlink = Netlink::open().at(BuildStep::Configure, "open a netlink socket")?;
        let (passed, carried) = (Vec::new(), settings.carry());
        Ok(SiteSpace { namespace, netlink, end: end.to_string(), passed, carried })
    }

    /// Moves this thread there: ioctl(2) speaks of the thread's own namespace.
    pub fn enter(&self) -> Result<(), RefusedStep> {
        namespace::enter_net(self.namespace.as_fd())
            .at(BuildStep::NetworkNamespace, "enter a network namespace")
    }

    fn set_up(&mut self, name: &str) -> Result<(), RefusedStep> {
        self.netlink.set_up(name).at(BuildStep::Configure, &format!("set {name} up"))
    }

    /// A veth pair from here to that namespace.
    fn veth(&mut self, near: &str, far: &str, to: BorrowedFd<'_>, mtu: u32) -> Result<(), RefusedStep> {
        let made = self.netlink.create_veth(near, far, to, mtu);
        made.at(BuildStep::Link("veth".into()), "make a veth pair")
    }

    /// A link of another kind, here or in that namespace.
    fn link(
        &mut self,
        name: &str,
        (kind, called): (&LinkKind<'_>, &str),
        mtu: u32,
        to: Option<BorrowedFd<'_>>,
    ) -> Result<(), RefusedStep> {
        let made = self.netlink.create(name, kind, mtu, to);
        made.at(BuildStep::Link(called.into()), &format!("make a {called} link"))
    }
}

/// Where a layer is built.
pub struct LinkSite {
    pub sender: SiteSpace,
    pub receiver: SiteSpace,
    /// Between the two: where a host has its bridge.
    pub hub: Option<SiteSpace>,
    /// The settings of the network namespace that asked for the pair.
    pub settings: StackSettings,
    pub wire_mtu_bytes: u32,
    /// Of both ends.
    pub mtu_bytes: u32,
    /// The kind of link that is being made.
    pub kind: &'static str,
}

impl LinkSite {
    /// A veth pair from one outer namespace to the other.
    fn wire(&mut self, near: &str, far: &str) -> Result<(), RefusedStep> {
        self.sender.veth(near, far, self.receiver.namespace.as_fd(), self.wire_mtu_bytes)
    }

    /// A veth pair from each namespace to a third one, whose bridge joins them, as the default networks of docker and podman
    /// do.
    fn bridge(&mut self) -> Result<(), RefusedStep> {
        let mtu = self.wire_mtu_bytes;
        let hub = self.hub.insert(SiteSpace::make("", &self.settings)?);
        hub.link(BRIDGE, (&LinkKind::Bridge, self.kind), mtu, None)?;
        for (space, port) in [&mut self.sender, &mut self.receiver].into_iter().zip(["port0", "port1"]) {
            space.veth(&space.end.clone(), port, hub.namespace.as_fd(), mtu)?;
            hub.netlink.join_bridge(port, BRIDGE).at(BuildStep::Configure, &format!("bridge {port}"))?;
            hub.set_up(port)?;
            hub.passed.push(port.into());
        }
        hub.set_up(BRIDGE)
    }

    /// Both ends as children of one link between them. Those of macvlan have MAC addresses of their own and reach each other
    /// in mode bridge; those of ipvlan share one, and the IP address decides.
    fn children(&mut self, kind: LinkKind<'_>) -> Result<(), RefusedStep> {
        let hub = self.hub.insert(SiteSpace::make("", &self.settings)?);
        let own = hub.namespace.try_clone().at(BuildStep::Configure, "duplicate a descriptor")?;
        hub.veth(PARENTS[0], PARENTS[1], own.as_fd(), self.wire_mtu_bytes)?;
        PARENTS.iter().try_for_each(|parent| hub.set_up(parent))?;
        for outer in [&self.sender, &self.receiver] {
            hub.link(&outer.end, (&kind, self.kind), self.mtu_bytes, Some(outer.namespace.as_fd()))?;
        }
        Ok(())
    }

    /// Ethernet frames in UDP over a wire with addresses of its own, as overlay networks between hosts send them.
    fn vxlan(&mut self) -> Result<(), RefusedStep> {
        self.wire(WIRE, WIRE)?;
        let [near, far] = BELOW;
        for (space, local, remote) in [(&mut self.sender, near, far), (&mut self.receiver, far, near)] {
            let addressed = space.netlink.add_address(WIRE, local.into(), 24);
            addressed.at(BuildStep::Configure, &format!("address {WIRE}"))?;
            space.set_up(WIRE)?;
            space.passed.push(WIRE.into());
            let kind = LinkKind::Vxlan { id: VXLAN_NETWORK, local, remote, port: VXLAN_PORT };
            space.link(&space.end.clone(), (&kind, self.kind), self.mtu_bytes, None)?;
        }
        Ok(())
    }
}

/// The address of each end.
pub const ENDS: [Ipv4Addr; 2] = [SENDER, RECEIVER];
