//! `devmem`: device memory TCP: the network device writes payload into a dmabuf, and the receiver gets
//! references to it. Only its question is here: see [`super::device`].
//!
//! Source: Documentation/networking/devmem.rst.

use super::device::{self, DeviceQueue};
use super::{About, Delivery, MemoryOwner, Receiving};
use syscost_host::Unavailable;
use syscost_sys::devmem;

pub static DEVMEM: DeviceQueue = DeviceQueue {
    about: About {
        id: "devmem",
        title: "device memory TCP",
        summary: "recvmsg(2) with MSG_SOCK_DEVMEM from a dmabuf; asked for, and refused where no device takes one",
        source: "Documentation/networking/devmem.rst",
        ..About::of(Receiving::of(Delivery::ByDevice, MemoryOwner::Device))
    },
    why_not,
};

fn why_not() -> Unavailable {
    let family = match devmem::family() {
        Ok(family) => family,
        Err(error) => {
            return Unavailable {
                reason: format!("the kernel has no netlink family netdev ({error})"),
                remedy: "use Linux 6.12 or later".into(),
            };
        }
    };
    match devmem::udmabuf() {
        Ok(dmabuf) => device::nobody(|interface| devmem::ask(family, interface, &dmabuf)),
        Err(error) => Unavailable {
            reason: format!("no memory can be made a dmabuf (/dev/udmabuf: {error})"),
            remedy:
                "modprobe udmabuf (CONFIG_UDMABUF), as root, on a machine whose network device takes dmabufs"
                    .into(),
        },
    }
}
