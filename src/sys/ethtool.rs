//! Offload switches of a network device, by the SIOCETHTOOL ioctl.
//!
//! It acts on the network namespace in which the calling thread is, on the named device only.
//! Source: include/uapi/linux/ethtool.h, netdevice(7).

use std::io;
use std::net::UdpSocket;
use std::os::fd::AsRawFd;

/// An offload that can be read and switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offload {
    /// TCP segmentation by the device.
    Tso,
    /// Segmentation in software just before the device.
    Gso,
    /// Merging of received segments.
    Gro,
}

impl Offload {
    pub const ALL: [Offload; 3] = [Offload::Tso, Offload::Gso, Offload::Gro];

    /// `tso`, as `ethtool -k` abbreviates it.
    pub fn name(self) -> &'static str {
        match self {
            Offload::Tso => "tso",
            Offload::Gso => "gso",
            Offload::Gro => "gro",
        }
    }

    /// ETHTOOL_G... and ETHTOOL_S... of this offload.
    fn commands(self) -> (u32, u32) {
        match self {
            Offload::Tso => (0x1e, 0x1f),
            Offload::Gso => (0x23, 0x24),
            Offload::Gro => (0x2b, 0x2c),
        }
    }
}

/// `struct ethtool_value`.
#[repr(C)]
struct EthtoolValue {
    command: u32,
    data: u32,
}

pub fn get(interface: &str, offload: Offload) -> io::Result<bool> {
    Ok(ioctl(interface, EthtoolValue { command: offload.commands().0, data: 0 })? != 0)
}

pub fn set(interface: &str, offload: Offload, on: bool) -> io::Result<()> {
    ioctl(interface, EthtoolValue { command: offload.commands().1, data: u32::from(on) }).map(drop)
}

fn ioctl(interface: &str, mut value: EthtoolValue) -> io::Result<u32> {
    const SIOCETHTOOL: libc::c_ulong = 0x8946;
    if interface.is_empty() || interface.len() >= libc::IFNAMSIZ {
        return Err(io::Error::from_raw_os_error(libc::ENODEV));
    }
    // Any socket of this namespace will do; the wildcard address exists even where no link is up.
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    // SAFETY: an ifreq is plain data, for which zeroes are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_data = (&raw mut value).cast();
    // SAFETY: SIOCETHTOOL reads the name and reads and writes the ethtool_value that ifru_data
    // points to; both live through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(value.data) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_says_its_offloads() {
        for offload in Offload::ALL {
            get("lo", offload).expect("reading an offload needs no privilege");
        }
    }

    #[test]
    fn wrong_names_are_refused() {
        for name in ["", "no-such-link0", "a-name-longer-than-the-kernel-takes"] {
            assert_eq!(get(name, Offload::Tso).unwrap_err().raw_os_error(), Some(libc::ENODEV), "{name}");
        }
    }
}
