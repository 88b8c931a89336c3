//! `macvlan`: each namespace has a child of one device, with a MAC address of its own; children in mode bridge reach
//! each other without leaving it. Source: ip-link(8), drivers/net/macvlan.c.

use super::super::build::RefusedStep;
use super::{LayerAbout, LinkSite, NetworkLayer};
use syscost_sys::netlink::LinkKind;

pub struct MacVlan;

impl NetworkLayer for MacVlan {
    fn about(&self) -> LayerAbout {
        LayerAbout { id: "macvlan", title: "two macvlan children of one device", header_bytes: 0 }
    }

    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep> {
        site.children(|parent| LinkKind::MacVlan { parent })
    }
}
