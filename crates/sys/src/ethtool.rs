//! Offload switches of a network device, by the SIOCETHTOOL ioctl.
//!
//! It acts on the network namespace in which the calling thread is, on the named device only.
//! Source: include/uapi/linux/ethtool.h, netdevice(7).

use crate::status::done;
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

pub fn get(interface: &str, offload: Offload) -> io::Result<bool> {
    is_on(interface, offload.commands().0)
}

pub fn set(interface: &str, offload: Offload, on: bool) -> io::Result<()> {
    request(interface, [offload.commands().1, u32::from(on)]).map(drop)
}

/// `struct ethtool_value`: a command, and what it says.
fn is_on(interface: &str, command: u32) -> io::Result<bool> {
    let [_, on] = request(interface, [command, 0])?;
    Ok(on != 0)
}

/// Every offload of the device, and whether it is on.
pub fn offloads(interface: &str) -> io::Result<Vec<(Offload, bool)>> {
    Offload::ALL.into_iter().map(|offload| Ok((offload, get(interface, offload)?))).collect()
}

/// `tso on, gso on, gro off`
pub fn show(offloads: &[(Offload, bool)]) -> String {
    let each = offloads.iter().map(|(o, on)| format!("{} {}", o.name(), if *on { "on" } else { "off" }));
    each.collect::<Vec<_>>().join(", ")
}

/// Can the device gather a packet from scattered memory? One that cannot has every packet copied
/// together before it is sent, whatever was asked for.
pub fn scatter_gather(interface: &str) -> io::Result<bool> {
    const ETHTOOL_GSG: u32 = 0x18;
    is_on(interface, ETHTOOL_GSG)
}

/// `struct ethtool_drvinfo`, behind its command: texts of 32 bytes, each ended by a zero where it is shorter.
fn driver_text(interface: &str, number: usize) -> io::Result<String> {
    const ETHTOOL_GDRVINFO: u32 = 0x3;
    const TEXT: usize = 32;
    let mut info = [0; 49];
    info[0] = ETHTOOL_GDRVINFO;
    let bytes: Vec<u8> = request(interface, info)?[1..].iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = bytes[number * TEXT..][..TEXT].split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(text).trim().into())
}

/// The driver's name, also of a device without hardware: `veth`, `bridge`, `tun`.
pub fn driver(interface: &str) -> io::Result<String> {
    driver_text(interface, 0)
}

/// The firmware of the device, as its driver names it; `None`: it has none, or does not say.
pub fn firmware(interface: &str) -> Option<String> {
    // Behind the driver's version.
    driver_text(interface, 2).ok().filter(|text| !text.is_empty() && text != "N/A")
}

/// Descriptors of a queue: received, sent. `None`: the device has no rings, or does not say.
pub fn rings(interface: &str) -> Option<(u32, u32)> {
    const ETHTOOL_GRINGPARAM: u32 = 0x10;
    // `struct ethtool_ringparam`: four limits, then four sizes.
    let [_, _, _, _, _, received, _, _, sent] =
        request(interface, [ETHTOOL_GRINGPARAM, 0, 0, 0, 0, 0, 0, 0, 0]).ok()?;
    (received > 0).then_some((received, sent))
}

/// The rate that the link was brought up with. `None` without one, and of a device without hardware
/// behind it: what those say is made up.
pub fn bits_per_second(interface: &str) -> Option<u64> {
    const ETHTOOL_GSET: u32 = 0x1;
    /// The bus address lies behind the driver's name and two versions.
    const BUS_INFO: usize = 3;
    /// -1 in the 16 bits of drivers that know no more.
    const UNKNOWN_OF_OLD: u32 = 0xffff;
    driver_text(interface, BUS_INFO).ok().filter(|address| !address.is_empty())?;
    // The start of `struct ethtool_cmd`, in 32-bit words: the lower half of the speed lies in the fourth, the upper half in the
    // eighth.
    let settings = request(interface, [ETHTOOL_GSET, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]).ok()?;
    let half = |word: u32| {
        let [first, second, ..] = word.to_ne_bytes();
        u32::from(u16::from_ne_bytes([first, second]))
    };
    let megabits = half(settings[7]) << 16 | half(settings[3]);
    // A link that is down, or that does not know, says -1.
    let unknown = matches!(megabits, 0 | UNKNOWN_OF_OLD | u32::MAX);
    (!unknown).then_some(u64::from(megabits) * 1_000_000)
}

/// What the device answers in the words of a structure that begins with its command, and is as long as the command has it.
fn request<const WORDS: usize>(interface: &str, mut command: [u32; WORDS]) -> io::Result<[u32; WORDS]> {
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
    request.ifr_ifru.ifru_data = (&raw mut command).cast();
    // SAFETY: SIOCETHTOOL reads the name and reads and writes the structure that ifru_data points
    // to, as large as its command says; both live through the call.
    done(unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) }).map(|()| command)
}
