//! `veth`: a pair of devices, one in each namespace; a packet that leaves one arrives at the other.
//! Source: veth(4).

use super::super::build::RefusedStep;
use super::{LayerAbout, LinkSite, NetworkLayer};

pub struct Veth;

impl NetworkLayer for Veth {
    fn about(&self) -> LayerAbout {
        LayerAbout { id: "veth", title: "a pair of virtual devices", header_bytes: 0 }
    }

    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep> {
        let (near, far) = (site.sender.end.clone(), site.receiver.end.clone());
        site.wire(&near, &far)
    }
}
