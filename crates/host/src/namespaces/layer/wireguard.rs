//! `wireguard`: IP packets encrypted in UDP over a veth pair, with keys that no other run has.
//! Source: wg(8), include/uapi/linux/wireguard.h.

use super::super::build::{At, BuildStep, RefusedStep};
use super::{BELOW, LayerAbout, LinkSite, NetworkLayer, addresses};
use std::net::SocketAddrV4;
use syscost_sys::netlink::LinkKind;
use syscost_sys::random;
use syscost_sys::wireguard::{self, WireGuardPeer};

pub struct WireGuard;

const PORT: u16 = 51820;

impl NetworkLayer for WireGuard {
    fn about(&self) -> LayerAbout {
        // IPv4, UDP, WireGuard's header and its authentication tag.
        LayerAbout { id: "wireguard", title: "WireGuard over a veth pair", header_bytes: 20 + 8 + 16 + 16 }
    }

    fn join(&self, site: &mut LinkSite) -> Result<(), RefusedStep> {
        site.addressed_wire()?;
        let mtu = site.mtu_bytes;
        let mut public = Vec::new();
        for space in [&mut site.sender, &mut site.receiver] {
            space
                .netlink
                .create(&space.end, &LinkKind::WireGuard, mtu, None)
                .at(BuildStep::Link(self.about().id.into()), "make a wireguard link")?;
            let mut private = [0; 32];
            random::fill(&mut private).at(BuildStep::Configure, "draw a key")?;
            space.enter()?;
            let key = wireguard::set_key(&space.end, private, PORT);
            public.push(key.at(BuildStep::Configure, "set a key of WireGuard")?);
        }
        let inner = addresses();
        for (space, other) in [(&site.sender, 1), (&site.receiver, 0)] {
            let endpoint = SocketAddrV4::new(BELOW[other], PORT);
            let peer = WireGuardPeer { public: public[other], endpoint, address: inner[other] };
            space.enter()?;
            wireguard::set_peer(&space.end, &peer).at(BuildStep::Configure, "set a peer of WireGuard")?;
        }
        Ok(())
    }
}
