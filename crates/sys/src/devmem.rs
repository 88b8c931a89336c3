//! Device memory TCP: asks whether a network device would receive into a dmabuf.
//!
//! It must not bind a queue: that restarts it, and other traffic with it. So it asks for a queue that no
//! device has, and the kernel's answer tells a device that could (ERANGE) from one that cannot.
//! Sources: Documentation/networking/devmem.rst, include/uapi/linux/{netdev,genetlink,udmabuf}.h.

use super::mapping::page_bytes;
use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED, NlasIterator};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

/// The family that finds others: GENL_ID_CTRL, its CTRL_CMD_GETFAMILY and attributes.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Of the family netdev: NETDEV_CMD_BIND_RX, NETDEV_A_DMABUF_*, NETDEV_A_QUEUE_*.
const BIND_RX: u8 = 13;
const DMABUF_INTERFACE: u16 = 1;
const DMABUF_QUEUES: u16 = 2;
const DMABUF_FD: u16 = 3;
const QUEUE_ID: u16 = 1;
const QUEUE_TYPE: u16 = 3;
const QUEUE_TYPE_RX: u32 = 0;
/// `UDMABUF_CREATE`: _IOW('u', 0x42, struct udmabuf_create).
const UDMABUF_CREATE: libc::c_ulong = 0x4018_7542;
const NO_SUCH_QUEUE: u32 = u32::MAX - 1;
/// Headers of netlink and of generic netlink.
const HEADERS: usize = 16 + 4;

/// `struct udmabuf_create`.
#[repr(C)]
struct UdmabufCreate {
    memory: u32,
    flags: u32,
    offset: u64,
    size: u64,
}

/// Ordinary memory as a dmabuf (the driver udmabuf).
pub fn udmabuf() -> io::Result<OwnedFd> {
    let driver = File::options().read(true).write(true).open("/dev/udmabuf")?;
    let memory = memfd_create("syscost", MemfdFlags::ALLOW_SEALING | MemfdFlags::CLOEXEC)?;
    let size = 16 * page_bytes() as u64;
    ftruncate(&memory, size)?;
    // The driver insists on memory that cannot shrink.
    fcntl_add_seals(&memory, SealFlags::SHRINK)?;
    let request = UdmabufCreate { memory: memory.as_raw_fd() as u32, flags: 0, offset: 0, size };
    // SAFETY: the request is a live struct of the layout that this ioctl reads.
    let made = unsafe { libc::ioctl(driver.as_raw_fd(), UDMABUF_CREATE as _, &raw const request) };
    if made < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: fresh, and owned by nobody else.
    Ok(unsafe { OwnedFd::from_raw_fd(made) })
}

/// The kernel's number of the generic netlink family that manages queues; ENOENT: it has none.
pub fn family() -> io::Result<u16> {
    let name = DefaultNla::new(FAMILY_NAME, b"netdev\0".to_vec());
    let answer = call(CONTROL, GET_FAMILY, 1, &[name])?;
    let found = find(answer.get(HEADERS..).unwrap_or_default(), FAMILY_ID);
    let number = found.and_then(|bytes| Some(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?)));
    number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel named no family"))
}

/// `Ok`: the device manages its queues for others. Else the kernel's refusal.
pub fn ask(family: u16, interface: u32, dmabuf: &OwnedFd) -> io::Result<()> {
    let number = |kind: u16, value: u32| DefaultNla::new(kind, value.to_ne_bytes().to_vec());
    let queue = [number(QUEUE_ID, NO_SUCH_QUEUE), number(QUEUE_TYPE, QUEUE_TYPE_RX)];
    let request = [
        number(DMABUF_INTERFACE, interface),
        DefaultNla::new(DMABUF_QUEUES | NLA_F_NESTED, emitted(&queue)),
        number(DMABUF_FD, dmabuf.as_raw_fd() as u32),
    ];
    match call(family, BIND_RX, 1, &request) {
        Err(error) if error.raw_os_error() == Some(libc::ERANGE) => Ok(()),
        answer => answer.map(drop),
    }
}

/// One request of a generic netlink family, and the datagram that answers it.
fn call(family: u16, command: u8, version: u8, attributes: &[DefaultNla]) -> io::Result<Vec<u8>> {
    let attributes = emitted(attributes);
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let length = (HEADERS + attributes.len()) as u32;
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16;
    let mut request = Vec::with_capacity(length as usize);
    request.extend_from_slice(&length.to_ne_bytes());
    request.extend_from_slice(&family.to_ne_bytes());
    request.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number, and the port that the kernel fills in.
    request.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    request.extend_from_slice(&[command, version, 0, 0]);
    request.extend_from_slice(&attributes);
    socket.send(&request, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    match refusal(&answer) {
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Ok(answer),
    }
}

/// The error number of a datagram that is a refusal.
fn refusal(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (i32::from(kind) == libc::NLMSG_ERROR && code != 0).then_some(-code)
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// The value of the first attribute of this kind.
fn find(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut whole = NlasIterator::new(attributes).map_while(Result::ok);
    whole.find(|attribute| attribute.kind() == kind).map(|attribute| attribute.value().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_again() {
        let attributes = [(7, b"abcde".to_vec()), (FAMILY_ID, 29u16.to_ne_bytes().to_vec())];
        let bytes = emitted(&attributes.map(|(kind, value)| DefaultNla::new(kind, value)));
        assert_eq!(bytes.len(), 12 + 8, "padded");
        assert_eq!(find(&bytes, FAMILY_ID), Some(29u16.to_ne_bytes().to_vec()));
        assert_eq!(find(&bytes, 9), None);
        assert_eq!(find(&[0; 8], 9), None, "a length of nothing does not loop");
    }

    #[test]
    fn the_kernel_refuses_what_is_no_dmabuf() {
        let family = match family() {
            Ok(family) => family,
            Err(error) => return eprintln!("skipped: no family netdev: {error}"),
        };
        let null: OwnedFd = File::open("/dev/null").unwrap().into();
        let error = ask(family, 1, &null).expect_err("/dev/null is no dmabuf");
        eprintln!("the kernel says: {error}");
        assert!(error.raw_os_error().is_some());
    }
}
