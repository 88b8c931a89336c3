//! A WireGuard device with one peer, in the calling thread's network namespace.
//!
//! The kernel derives the public key from the private one, so no cryptography is here.
//! Source: include/uapi/linux/wireguard.h, wg(8).

use super::generic_netlink::{self, find, nested};
use netlink_packet_core::DefaultNla;
use std::io;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Of Curve25519: a private or a public one.
pub type WireGuardKey = [u8; 32];

const FAMILY: &str = "wireguard";
const GET_DEVICE: u8 = 0;
const SET_DEVICE: u8 = 1;
/// WGDEVICE_A_*
const DEVICE_NAME: u16 = 2;
const DEVICE_PRIVATE_KEY: u16 = 3;
const DEVICE_PUBLIC_KEY: u16 = 4;
const DEVICE_LISTEN_PORT: u16 = 6;
const DEVICE_PEERS: u16 = 8;
/// WGPEER_A_*
const PEER_PUBLIC_KEY: u16 = 1;
const PEER_ENDPOINT: u16 = 4;
const PEER_ALLOWED_ADDRESSES: u16 = 9;
/// WGALLOWEDIP_A_*
const ALLOWED_FAMILY: u16 = 1;
const ALLOWED_ADDRESS: u16 = 2;
const ALLOWED_PREFIX: u16 = 3;

/// The other end.
#[derive(Clone, Copy, Debug)]
pub struct WireGuardPeer {
    pub public: WireGuardKey,
    pub endpoint: SocketAddrV4,
    /// What comes from it and goes to it.
    pub address: Ipv4Addr,
}

/// Sets a device's private key and port, and returns its public key.
pub fn set_key(device: &str, private: WireGuardKey, port: u16) -> io::Result<WireGuardKey> {
    let family = generic_netlink::family(FAMILY)?;
    let listen = DefaultNla::new(DEVICE_LISTEN_PORT, port.to_ne_bytes().to_vec());
    let key = DefaultNla::new(DEVICE_PRIVATE_KEY, private.to_vec());
    generic_netlink::call(family, SET_DEVICE, 0, &[name(device), key, listen])?;
    let device = generic_netlink::call(family, GET_DEVICE, libc::NLM_F_DUMP, &[name(device)])?;
    let public = find(&device, DEVICE_PUBLIC_KEY).and_then(|key| key.try_into().ok());
    public.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel named no public key"))
}

/// Adds the peer.
pub fn set_peer(device: &str, peer: &WireGuardPeer) -> io::Result<()> {
    let allowed = [
        DefaultNla::new(ALLOWED_FAMILY, (libc::AF_INET as u16).to_ne_bytes().to_vec()),
        DefaultNla::new(ALLOWED_ADDRESS, peer.address.octets().to_vec()),
        DefaultNla::new(ALLOWED_PREFIX, vec![32]),
    ];
    let attributes = [
        DefaultNla::new(PEER_PUBLIC_KEY, peer.public.to_vec()),
        DefaultNla::new(PEER_ENDPOINT, sockaddr(peer.endpoint)),
        nested(PEER_ALLOWED_ADDRESSES, &[nested(0, &allowed)]),
    ];
    let request = [name(device), nested(DEVICE_PEERS, &[nested(0, &attributes)])];
    generic_netlink::call(generic_netlink::family(FAMILY)?, SET_DEVICE, 0, &request).map(drop)
}

fn name(device: &str) -> DefaultNla {
    DefaultNla::new(DEVICE_NAME, [device.as_bytes(), b"\0"].concat())
}

/// `struct sockaddr_in`
fn sockaddr(address: SocketAddrV4) -> Vec<u8> {
    let family = (libc::AF_INET as u16).to_ne_bytes();
    [&family[..], &address.port().to_be_bytes(), &address.ip().octets(), &[0; 8]].concat()
}
