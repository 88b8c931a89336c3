//! Hosts that are network namespaces of this machine, joined by a bridge: for a first look at a fleet.
//!
//! Their names are in mounts of this process and its children alone. All of it ends with the last of them, whatever ends
//! it. Sources: mount_namespaces(7), network_namespaces(7), ip-netns(8).

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use syscost_host::namespaces::named::FOLDER;
use syscost_sys::mount;
use syscost_sys::namespace;
use syscost_sys::netlink::{LinkKind, Netlink};

/// Ports of one bridge, and a network of 16 bits, would allow more; one machine is busy with these.
pub const MOST: usize = 250;
const BRIDGE: &str = "br0";
const LINK: &str = "eth0";
const MTU_BYTES: u32 = 1500;
const PREFIX_BITS: u8 = 16;

/// Held open: the bridge lives in none of the hosts.
pub struct LocalHosts {
    _hub: OwnedFd,
}

/// Makes them. The process must have one thread only: its mounts become its own.
pub fn make(hosts: &[String]) -> Result<LocalHosts> {
    if hosts.len() > MOST {
        bail!("--engine local takes up to {MOST} hosts");
    }
    mount::own_mounts().context(
        "hosts of this machine need mounts of their own: run as root, or as `unshare --map-root-user --net syscost fleet submit DIR`",
    )?;
    private_names()?;
    std::thread::scope(|scope| scope.spawn(|| joined(hosts)).join().expect("the thread ends"))
}

/// An empty folder of names, in place of the machine's.
fn private_names() -> Result<()> {
    let folder = Path::new(FOLDER);
    let hidden = if folder.is_dir() { folder } else { Path::new("/run") };
    mount::mount_new("tmpfs", hidden).with_context(|| format!("cannot hide {}", hidden.display()))?;
    fs::create_dir_all(folder).with_context(|| format!("cannot make {FOLDER}"))
}

/// In a thread that moves from namespace to namespace.
fn joined(hosts: &[String]) -> Result<LocalHosts> {
    let hub = fresh().context("cannot make a network namespace")?;
    let mut bridge = Netlink::open()?;
    bridge.create(BRIDGE, &LinkKind::Bridge, 1500, None).context("cannot make a bridge")?;
    bridge.set_up(BRIDGE)?;
    for (number, host) in hosts.iter().enumerate() {
        let inside = fresh().with_context(|| format!("cannot make a network namespace for {host}"))?;
        let name = Path::new(FOLDER).join(host);
        File::create(&name).with_context(|| format!("cannot name the namespace of {host}"))?;
        mount::bind(Path::new("/proc/thread-self/ns/net"), &name)
            .with_context(|| format!("cannot name the namespace of {host}"))?;
        let port = format!("h{number}");
        bridge
            .create_veth(&port, LINK, inside.as_fd(), MTU_BYTES)
            .with_context(|| format!("cannot link {host}"))?;
        let mut own = Netlink::open()?;
        let number = u16::try_from(number + 1).expect("few hosts").to_be_bytes();
        own.add_address(LINK, IpAddr::V4(Ipv4Addr::new(10, 77, number[0], number[1])), PREFIX_BITS)?;
        for link in ["lo", LINK] {
            own.set_up(link)?;
        }
        bridge.join_bridge(&port, BRIDGE)?;
        bridge.set_up(&port)?;
    }
    Ok(LocalHosts { _hub: hub })
}

fn fresh() -> std::io::Result<OwnedFd> {
    namespace::unshare_net()?;
    namespace::current("net")
}

/// The namespace of a host, to start a process in.
pub fn of(host: &str) -> Result<File> {
    let name = Path::new(FOLDER).join(host);
    File::open(&name).with_context(|| format!("{host} has no namespace here"))
}
