//! The network devices that the emulator has, and what their drivers do with scattered memory.

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
}

impl Nic {
    pub const ALL: &[Nic] = &[
        Nic {
            name: "vmxnet3",
            help: "gathers and segments: zero-copy is real",
            device: "vmxnet3",
            module: "vmxnet3",
        },
        // Joined without a host that takes part, the kernel copies every packet together before it sends it,
        // and flags only part of the completions.
        Nic {
            name: "virtio",
            help: "without scatter-gather here: everything is copied, whatever completions say",
            device: "virtio-net-pci",
            module: "virtio_net",
        },
    ];
}
