//! The network devices that the emulator has, and what their drivers do with scattered memory.

use super::Arch;

/// How many of them the guest gets: a sender's and a receiver's.
pub const LINKS: usize = 2;

/// A model of network device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// Gathers a packet from pages wherever they are, and segments it: zero-copy is real.
    Vmxnet3,
    /// The same of Intel's; its driver is not in kernels made for clouds.
    E1000e,
    /// Joined without a host that takes part, it has no scatter-gather: the kernel copies every
    /// packet together before it sends it, and flags only part of the completions.
    Virtio,
}

impl Nic {
    pub const ALL: [Nic; 3] = [Nic::Vmxnet3, Nic::E1000e, Nic::Virtio];

    /// As a user names it.
    pub fn name(self) -> &'static str {
        match self {
            Nic::Vmxnet3 => "vmxnet3",
            Nic::E1000e => "e1000e",
            Nic::Virtio => "virtio",
        }
    }

    /// What makes it worth choosing.
    pub fn help(self) -> &'static str {
        match self {
            Nic::Vmxnet3 => "gathers and segments: zero-copy is real",
            Nic::E1000e => "likewise; needs the larger kernel package (100 MB)",
            Nic::Virtio => "without scatter-gather here: everything is copied, whatever completions say",
        }
    }

    /// What the emulator calls it.
    pub fn device(self) -> &'static str {
        match self {
            Nic::Virtio => "virtio-net-pci",
            other => other.name(),
        }
    }

    /// Its driver.
    pub fn modules(self) -> &'static [&'static str] {
        match self {
            Nic::Vmxnet3 => &["vmxnet3"],
            Nic::E1000e => &["e1000e"],
            Nic::Virtio => &["virtio_net"],
        }
    }

    /// Which build of Debian's kernel has that driver: the smallest that does.
    pub fn flavour(self, arch: Arch) -> String {
        match self {
            Nic::E1000e => arch.debian().to_string(),
            _ => format!("cloud-{}", arch.debian()),
        }
    }
}
