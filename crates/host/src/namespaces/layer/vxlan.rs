//! `vxlan`: Ethernet frames in UDP over a veth pair, as overlay networks between hosts send them.
//! Source: RFC 7348, Documentation/networking/vxlan.rst.

use super::super::build::{At, BuildStep, RefusedStep};
use super::{BELOW, LayerAbout, LinkSite, NetworkLayer};
use syscost_sys::netlink::LinkKind;

pub struct Vxlan;

const NETWORK: u32 = 42;
/// IANA's.
const PORT: u16 = 4789;

impl NetworkLayer for Vxlan {
    fn about(&self) -> LayerAbout {
        // IPv4, UDP, VXLAN and the inner Ethernet header.
        LayerAbout { id: "vxlan", title: "VXLAN over a veth pair", header_bytes: 20 + 8 + 8 + 14 }
    }

    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep> {
        site.addressed_wire()?;
        let [near, far] = BELOW;
        let mtu = site.mtu_bytes;
        for (space, local, remote) in [(&mut site.sender, near, far), (&mut site.receiver, far, near)] {
            let kind = LinkKind::Vxlan { id: NETWORK, local, remote, port: PORT };
            space
                .netlink
                .create(&space.end, &kind, mtu, None)
                .at(BuildStep::Link(self.about().id.into()), "make a vxlan link")?;
        }
        Ok(())
    }
}
