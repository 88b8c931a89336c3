//! `ipvlan`: each namespace has a child of one device; children share its MAC address, and the IP address
//! decides. Source: Documentation/networking/ipvlan.rst.

use super::super::build::RefusedStep;
use super::{LayerAbout, LinkSite, NetworkLayer};
use syscost_sys::netlink::LinkKind;

pub struct IpVlan;

impl NetworkLayer for IpVlan {
    fn about(&self) -> LayerAbout {
        LayerAbout { id: "ipvlan", title: "two ipvlan children of one device", header_bytes: 0 }
    }

    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep> {
        site.children(|parent| LinkKind::IpVlan { parent })
    }
}
