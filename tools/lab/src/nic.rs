//! The network devices that the emulator has, and what their drivers do with scattered memory.

use super::Arch;

/// How many of them the guest gets: a sender's and a receiver's.
pub const LINKS: usize = 2;

/// A model of network device.
#[derive(Debug)]
pub struct Nic {
    /// As a user names it.
    pub name: &'static str,
    /// What makes it worth choosing.
    pub help: &'static str,
    /// What the emulator calls it.
    pub device: &'static str,
    /// Its driver.
    pub module: &'static str,
    /// Do Debian's kernels for clouds, which are smaller, have the driver?
    in_cloud_kernel: bool,
}

impl Nic {
    pub const ALL: &[Nic] = &[
        Nic {
            name: "vmxnet3",
            help: "gathers and segments: zero-copy is real",
            device: "vmxnet3",
            module: "vmxnet3",
            in_cloud_kernel: true,
        },
        Nic {
            name: "e1000e",
            help: "likewise; needs the larger kernel package (100 MB)",
            device: "e1000e",
            module: "e1000e",
            in_cloud_kernel: false,
        },
        // Joined without a host that takes part, the kernel copies every packet together before it sends it,
        // and flags only part of the completions.
        Nic {
            name: "virtio",
            help: "without scatter-gather here: everything is copied, whatever completions say",
            device: "virtio-net-pci",
            module: "virtio_net",
            in_cloud_kernel: true,
        },
    ];

    /// Which build of Debian's kernel has that driver: the smallest that does.
    pub fn flavour(&self, arch: &Arch) -> String {
        format!("{}{}", if self.in_cloud_kernel { "cloud-" } else { "" }, arch.debian)
    }
}
