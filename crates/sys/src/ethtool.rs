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
    Ok(ioctl(interface, EthtoolValue { command: ETHTOOL_GSG, data: 0 })? != 0)
}

/// `struct ethtool_drvinfo`.
#[repr(C)]
struct DriverInfo {
    command: u32,
    driver: [u8; 32],
    others: [u8; 160],
}

fn driver_info(interface: &str) -> io::Result<DriverInfo> {
    const ETHTOOL_GDRVINFO: u32 = 0x3;
    let mut info = DriverInfo { command: ETHTOOL_GDRVINFO, driver: [0; 32], others: [0; 160] };
    request(interface, &mut info).map(|()| info)
}

/// The driver's name, also of a device without hardware: `veth`, `bridge`, `tun`.
pub fn driver(interface: &str) -> io::Result<String> {
    let info = driver_info(interface)?;
    let name = info.driver.split(|byte| *byte == 0).next().unwrap_or_default();
    Ok(String::from_utf8_lossy(name).into_owned())
}

/// The firmware of the device, as its driver names it; `None`: it has none, or does not say.
pub fn firmware(interface: &str) -> Option<String> {
    /// Behind the driver's version.
    const FIRMWARE: std::ops::Range<usize> = 32..64;
    let info = driver_info(interface).ok()?;
    let text = info.others[FIRMWARE].split(|byte| *byte == 0).next().unwrap_or_default();
    let text = String::from_utf8_lossy(text).trim().to_string();
    (!text.is_empty() && text != "N/A").then_some(text)
}

/// `struct ethtool_ringparam`: four limits, then four sizes.
#[repr(C)]
struct RingSizes([u32; 9]);

/// Descriptors of a queue: received, sent. `None`: the device has no rings, or does not say.
pub fn rings(interface: &str) -> Option<(u32, u32)> {
    const ETHTOOL_GRINGPARAM: u32 = 0x10;
    let mut rings = RingSizes([0; 9]);
    rings.0[0] = ETHTOOL_GRINGPARAM;
    request(interface, &mut rings).ok()?;
    (rings.0[5] > 0).then_some((rings.0[5], rings.0[8]))
}

/// The start of `struct ethtool_cmd`, in 32-bit words: the lower half of the speed lies in the fourth,
/// the upper half in the eighth.
#[repr(C)]
struct LinkSettings([u32; 11]);

/// The rate that the link was brought up with. `None` without one, and of a device without hardware
/// behind it: what those say is made up.
pub fn bits_per_second(interface: &str) -> Option<u64> {
    const ETHTOOL_GSET: u32 = 0x1;
    /// Where the bus address lies behind the driver's name and two versions.
    const BUS_INFO: usize = 64;
    /// -1 in the 16 bits of drivers that know no more.
    const UNKNOWN_OF_OLD: u32 = 0xffff;
    if driver_info(interface).ok()?.others[BUS_INFO] == 0 {
        return None;
    }
    let mut settings = LinkSettings([0; 11]);
    settings.0[0] = ETHTOOL_GSET;
    request(interface, &mut settings).ok()?;
    let half = |word: usize| {
        let bytes = settings.0[word].to_ne_bytes();
        u32::from(u16::from_ne_bytes([bytes[0], bytes[1]]))
    };
    let megabits = half(7) << 16 | half(3);
    // A link that is down, or that does not know, says -1.
    let unknown = matches!(megabits, 0 | UNKNOWN_OF_OLD | u32::MAX);
    (!unknown).then_some(u64::from(megabits) * 1_000_000)
}

fn ioctl(interface: &str, mut value: EthtoolValue) -> io::Result<u32> {
    request(interface, &mut value)?;
    Ok(value.data)
}

/// The structures that the ioctl fills in, each beginning with its command.
trait EthtoolCommand {}
impl EthtoolCommand for EthtoolValue {}
impl EthtoolCommand for DriverInfo {}
impl EthtoolCommand for LinkSettings {}
impl EthtoolCommand for RingSizes {}

fn request(interface: &str, command: &mut impl EthtoolCommand) -> io::Result<()> {
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
    request.ifr_ifru.ifru_data = (&raw mut *command).cast();
    // SAFETY: SIOCETHTOOL reads the name and reads and writes the structure that ifru_data points
    // to, as large as its command says; both live through the call.
    let result = unsafe { libc::ioctl(socket.as_raw_fd(), SIOCETHTOOL as _, &raw mut request) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
