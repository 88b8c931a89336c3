//! Device memory TCP: asks whether a network device would receive into a dmabuf.
//!
//! It must not bind a queue: that restarts it, and other traffic with it. So it asks for a queue that no
//! device has, and the kernel's answer tells a device that could (ERANGE) from one that cannot.
//! Sources: Documentation/networking/devmem.rst, include/uapi/linux/{netdev,genetlink,udmabuf}.h.

use super::generic_netlink::{self, nested, number};
use super::mapping::page_bytes;
use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

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

/// The kernel's number of the family that manages queues; ENOENT: it has none.
pub fn family() -> io::Result<u16> {
    generic_netlink::family("netdev")
}

/// `Ok`: the device manages its queues for others. Else the kernel's refusal.
pub fn ask(family: u16, interface: u32, dmabuf: &OwnedFd) -> io::Result<()> {
    let queue = [number(QUEUE_ID, NO_SUCH_QUEUE), number(QUEUE_TYPE, QUEUE_TYPE_RX)];
    let request = [
        number(DMABUF_INTERFACE, interface),
        nested(DMABUF_QUEUES, &queue),
        number(DMABUF_FD, dmabuf.as_raw_fd() as u32),
    ];
    match generic_netlink::call(family, BIND_RX, 1, 0, &request) {
        Err(error) if error.raw_os_error() == Some(libc::ERANGE) => Ok(()),
        answer => answer.map(drop),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
