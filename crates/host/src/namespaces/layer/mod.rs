//! Ways to join two network namespaces, as container networks do: one file each, one visible list.
//!
//! A layer makes the two ends and what lies between them. Addresses, offloads and the wait until links run are the
//! builder's. Source: ip-link(8), rtnetlink(7).

use super::build::{At, BuildStep, RefusedStep};
use super::{RECEIVER, SENDER};
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, OwnedFd};
use syscost_core::registry;
use syscost_sys::namespace;
use syscost_sys::netlink::{LinkKind, Netlink};

registry! {
    /// Every layer, in the order that reports show them.
    pub static ALL: dyn NetworkLayer = [
        veth::Veth,
        bridge::Bridge,
        macvlan::MacVlan,
        ipvlan::IpVlan,
        vxlan::Vxlan,
        wireguard::WireGuard,
    ];
}

pub trait NetworkLayer: Sync {
    fn about(&self) -> LayerAbout;

    /// Makes both ends, by their names, and all that is between them.
    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep>;
}

/// What a layer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerAbout {
    /// The value of the axis, and the kernel's name of the kind of link.
    pub id: &'static str,
    pub title: &'static str,
    /// Bytes that its headers take from a packet of the wire, over IPv4.
    pub header_bytes: u32,
}

pub fn find(id: &str) -> Option<&'static dyn NetworkLayer> {
    ALL.iter().copied().find(|layer| layer.about().id == id)
}

/// Addresses below an encapsulation: TEST-NET-2 (RFC 5737).
const BELOW: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 51, 100, 1), Ipv4Addr::new(198, 51, 100, 2)];
/// What carries an encapsulation, in both namespaces.
const WIRE: &str = "wire0";

/// A namespace of the site with its links.
pub struct SiteSpace {
    pub namespace: OwnedFd,
    pub netlink: Netlink,
    /// The end that connections use: its name; no other namespace than the two outer ones has one.
    pub end: String,
    /// Links that packets pass besides.
    pub passed: Vec<String>,
}

impl SiteSpace {
    /// A new namespace, which this thread is in afterwards.
    pub fn make(end: &str) -> Result<SiteSpace, RefusedStep> {
        namespace::unshare_net().at(BuildStep::NetworkNamespace, "make a network namespace")?;
        let namespace =
            namespace::current("net").at(BuildStep::Configure, "open the new network namespace")?;
        let netlink = Netlink::open().at(BuildStep::Configure, "open a netlink socket")?;
        Ok(SiteSpace { namespace, netlink, end: end.to_string(), passed: Vec::new() })
    }

    /// Moves this thread there: ioctl(2) and generic netlink speak of the thread's own namespace.
    pub fn enter(&self) -> Result<(), RefusedStep> {
        namespace::enter_net(self.namespace.as_fd())
            .at(BuildStep::NetworkNamespace, "enter a network namespace")
    }

    fn set_up(&mut self, name: &str) -> Result<(), RefusedStep> {
        self.netlink.set_up(name).at(BuildStep::Configure, &format!("set {name} up"))
    }
}

/// Where a layer is built.
pub struct LinkSite {
    pub sender: SiteSpace,
    pub receiver: SiteSpace,
    /// Between the two: where a host has its bridge.
    pub hub: Option<SiteSpace>,
    pub wire_mtu_bytes: u32,
    /// Of both ends.
    pub mtu_bytes: u32,
    /// The kind of link that is being made.
    pub kind: &'static str,
}

impl LinkSite {
    /// A namespace between the two.
    fn hub(&mut self) -> Result<&mut SiteSpace, RefusedStep> {
        let hub = SiteSpace::make("")?;
        Ok(self.hub.insert(hub))
    }

    /// A veth pair from one outer namespace to the other.
    fn wire(&mut self, near: &str, far: &str) -> Result<(), RefusedStep> {
        let (sender, receiver) = (&mut self.sender, &self.receiver);
        sender
            .netlink
            .create_veth(near, far, receiver.namespace.as_fd(), self.wire_mtu_bytes)
            .at(BuildStep::Link("veth".into()), "make a veth pair")
    }

    /// A wire with addresses of its own, for what encapsulates.
    fn addressed_wire(&mut self) -> Result<(), RefusedStep> {
        self.wire(WIRE, WIRE)?;
        for (space, address) in [&mut self.sender, &mut self.receiver].into_iter().zip(BELOW) {
            let addressed = space.netlink.add_address(WIRE, address.into(), 24);
            addressed.at(BuildStep::Configure, &format!("address {WIRE}"))?;
            space.set_up(WIRE)?;
            space.passed.push(WIRE.into());
        }
        Ok(())
    }

    /// Both ends as children of one link between them.
    fn children(&mut self, kind: impl Fn(&'static str) -> LinkKind<'static>) -> Result<(), RefusedStep> {
        const PARENTS: [&str; 2] = ["parent0", "parent1"];
        let (mtu, name) = (self.mtu_bytes, self.kind);
        self.hub()?;
        let (Some(hub), sender, receiver) = (&mut self.hub, &self.sender, &self.receiver) else {
            return Ok(());
        };
        hub.netlink
            .create_veth(PARENTS[0], PARENTS[1], hub.namespace.as_fd(), self.wire_mtu_bytes)
            .at(BuildStep::Link("veth".into()), "make a veth pair")?;
        for parent in PARENTS {
            hub.set_up(parent)?;
        }
        for outer in [sender, receiver] {
            hub.netlink
                .create(&outer.end, &kind(PARENTS[0]), mtu, Some(outer.namespace.as_fd()))
                .at(BuildStep::Link(name.into()), &format!("make a {name} link"))?;
        }
        Ok(())
    }
}

/// The address of each end.
pub fn addresses() -> [Ipv4Addr; 2] {
    [SENDER, RECEIVER]
}
