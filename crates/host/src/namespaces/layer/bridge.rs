//! `bridge`: a veth pair from each namespace to a third one, whose bridge joins them, as the default networks of
//! docker and podman do. Source: ip-link(8), Documentation/networking/bridge.rst.

use super::super::build::{At, BuildStep, RefusedStep};
use super::{LayerAbout, LinkSite, NetworkLayer};
use std::os::fd::AsFd;
use syscost_sys::netlink::LinkKind;

pub struct Bridge;

const BRIDGE: &str = "bridge0";

impl NetworkLayer for Bridge {
    fn about(&self) -> LayerAbout {
        LayerAbout { id: "bridge", title: "two veth pairs and a bridge between them", header_bytes: 0 }
    }

    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep> {
        let mtu = site.wire_mtu_bytes;
        site.hub()?;
        let (Some(hub), outer) = (&mut site.hub, [&mut site.sender, &mut site.receiver]) else {
            return Ok(());
        };
        hub.netlink
            .create(BRIDGE, &LinkKind::Bridge, mtu, None)
            .at(BuildStep::Link(self.about().id.into()), "make a bridge")?;
        for (space, port) in outer.into_iter().zip(["port0", "port1"]) {
            space
                .netlink
                .create_veth(&space.end, port, hub.namespace.as_fd(), mtu)
                .at(BuildStep::Link("veth".into()), "make a veth pair")?;
            hub.netlink.join_bridge(port, BRIDGE).at(BuildStep::Configure, &format!("bridge {port}"))?;
            hub.set_up(port)?;
            hub.passed.push(port.into());
        }
        hub.set_up(BRIDGE)
    }
}
