//! Builds a joined pair of network namespaces in a thread that gives itself up to them.
//!
//! The thread moves from namespace to namespace and must end afterwards: nothing else may run on
//! it. It must hold CAP_SYS_ADMIN and CAP_NET_ADMIN over the namespaces it makes.

use super::{RECEIVER, SENDER, VethSettings};
use crate::Unavailable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};
use syscost_sys::ethtool::{self, Offload};
use syscost_sys::namespace;
use syscost_sys::netlink::{Netlink, NetlinkLink};
use syscost_sys::sleep::sleep;

/// MTUs that IPv6 allows and IPv4 can use.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 1280..=65535;
/// The kernel starts a link's queue from a work item: normally within a millisecond or two.
const LINK_PATIENCE: Duration = Duration::from_secs(5);

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    pub sender_interface: String,
    pub receiver_interface: String,
    pub mtu_bytes: u32,
    pub offloads: bool,
}

impl Request {
    pub fn new(run_id: &str, settings: &VethSettings) -> Result<Request, Unavailable> {
        if !MTU_BYTES.contains(&settings.mtu) {
            return Err(Unavailable {
                reason: format!("an MTU of {} bytes is not possible on a veth pair", settings.mtu),
                remedy: format!("choose one from {} to {}", MTU_BYTES.start(), MTU_BYTES.end()),
            });
        }
        // A link's name has at most 15 bytes: two for us, one for the side, the rest of the run id.
        let id: String = run_id.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
        Ok(Request {
            sender_interface: format!("sc{id}s"),
            receiver_interface: format!("sc{id}r"),
            mtu_bytes: settings.mtu,
            offloads: settings.offloads,
        })
    }
}

/// What was built, held by these descriptors only.
#[derive(Debug)]
pub struct Built {
    pub request: Request,
    pub sender_ns: OwnedFd,
    pub receiver_ns: OwnedFd,
    pub facts: BTreeMap<String, String>,
}

/// Which step the kernel refused: reasons and remedies differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BuildStep {
    UserNamespace,
    NetworkNamespace,
    Veth,
    Configure,
}

/// A refused step, in a form that crosses a process boundary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct RefusedStep {
    pub step: BuildStep,
    pub errno: Option<i32>,
    pub message: String,
}

impl RefusedStep {
    pub fn is_permission(&self) -> bool {
        matches!(self.errno, Some(libc::EPERM | libc::EACCES))
    }
}

pub trait At<T> {
    /// Names the step in which an error happened.
    fn at(self, step: BuildStep, doing: &str) -> Result<T, RefusedStep>;
}

impl<T> At<T> for io::Result<T> {
    fn at(self, step: BuildStep, doing: &str) -> Result<T, RefusedStep> {
        self.map_err(|e| RefusedStep { step, errno: e.raw_os_error(), message: format!("{doing}: {e}") })
    }
}

/// Builds in a thread of its own.
pub fn in_thread(request: Request) -> Result<Built, RefusedStep> {
    let thread = std::thread::Builder::new().name("namespaces".into());
    let handle = thread.spawn(move || build(request)).at(BuildStep::Configure, "start a thread")?;
    handle.join().unwrap_or_else(|_| {
        Err(io::Error::other("the thread panicked")).at(BuildStep::Configure, "build the namespaces")
    })
}

/// Builds in this thread, which ends up in the receiver's namespace.
pub fn build(request: Request) -> Result<Built, RefusedStep> {
    let receiver_ns = fresh_namespace()?;
    let sender_ns = fresh_namespace()?;
    let (near, far) = (&request.sender_interface, &request.receiver_interface);
    let mut sender = Netlink::open().at(BuildStep::Configure, "open a netlink socket")?;
    sender
        .create_veth(near, far, receiver_ns.as_fd(), request.mtu_bytes)
        .at(BuildStep::Veth, "make a veth pair")?;
    configure(&mut sender, near, SENDER, request.offloads)?;

    namespace::enter_net(receiver_ns.as_fd()).at(BuildStep::NetworkNamespace, "enter a network namespace")?;
    let mut receiver = Netlink::open().at(BuildStep::Configure, "open a netlink socket")?;
    configure(&mut receiver, far, RECEIVER, request.offloads)?;

    let links = [wait_until_running(&mut sender, near)?, wait_until_running(&mut receiver, far)?];
    let receiver_offloads = read_offloads(far)?;
    let tcp = tcp_settings();
    namespace::enter_net(sender_ns.as_fd()).at(BuildStep::NetworkNamespace, "enter a network namespace")?;
    let sender_offloads = read_offloads(near)?;
    verify(&request, &links, &[&sender_offloads, &receiver_offloads])?;

    let mut facts = tcp;
    facts.insert("sender_interface".into(), near.clone());
    facts.insert("receiver_interface".into(), far.clone());
    facts.insert("mtu".into(), links[0].mtu_bytes.to_string());
    facts.insert("sender_offloads".into(), ethtool::show(&sender_offloads));
    facts.insert("receiver_offloads".into(), ethtool::show(&receiver_offloads));
    Ok(Built { request, sender_ns, receiver_ns, facts })
}

fn fresh_namespace() -> Result<OwnedFd, RefusedStep> {
    namespace::unshare_net().at(BuildStep::NetworkNamespace, "make a network namespace")?;
    namespace::current("net").at(BuildStep::Configure, "open the new network namespace")
}

/// Settings that a device takes only while it is down come before it is set up.
fn configure(
    netlink: &mut Netlink,
    name: &str,
    address: Ipv4Addr,
    offloads: bool,
) -> Result<(), RefusedStep> {
    if !offloads {
        for offload in Offload::ALL {
            ethtool::set(name, offload, false)
                .at(BuildStep::Configure, &format!("turn {} off on {name}", offload.name()))?;
        }
    }
    netlink
        .add_address(name, IpAddr::V4(address), 24)
        .at(BuildStep::Configure, &format!("address {name}"))?;
    for link in ["lo", name] {
        netlink.set_up(link).at(BuildStep::Configure, &format!("set {link} up"))?;
    }
    Ok(())
}

/// Until a link's queue is started the kernel drops what is sent: a first SYN would be repeated a
/// whole second later, inside somebody's measurement.
fn wait_until_running(netlink: &mut Netlink, name: &str) -> Result<NetlinkLink, RefusedStep> {
    let start = Instant::now();
    loop {
        let link = netlink.link(name).at(BuildStep::Configure, &format!("read {name} back"))?;
        if link.running {
            return Ok(link);
        }
        if start.elapsed() > LINK_PATIENCE {
            return Err(io::Error::from(io::ErrorKind::TimedOut))
                .at(BuildStep::Configure, &format!("wait for {name} to come up"));
        }
        sleep(Duration::from_micros(500));
    }
}

fn read_offloads(name: &str) -> Result<Vec<(Offload, bool)>, RefusedStep> {
    ethtool::offloads(name).at(BuildStep::Configure, &format!("read the offloads of {name} back"))
}

/// What was asked must be what the kernel says: a figure under another MTU would be a lie.
fn verify(
    request: &Request,
    links: &[NetlinkLink],
    offloads: &[&[(Offload, bool)]],
) -> Result<(), RefusedStep> {
    if let Some(link) = links.iter().find(|l| l.mtu_bytes != request.mtu_bytes) {
        let error = format!("asked for {} bytes, the kernel set {}", request.mtu_bytes, link.mtu_bytes);
        return Err(io::Error::other(error)).at(BuildStep::Configure, "set the MTU");
    }
    let still_on = offloads.iter().flat_map(|side| side.iter()).find(|(_, on)| *on);
    if let (false, Some((offload, _))) = (request.offloads, still_on) {
        return Err(io::Error::other("the device keeps it on"))
            .at(BuildStep::Configure, &format!("turn {} off", offload.name()));
    }
    Ok(())
}

/// TCP settings of the namespace that this thread is in: a new one copies some and not others.
pub fn tcp_settings() -> BTreeMap<String, String> {
    let mut facts = BTreeMap::new();
    for name in ["tcp_rmem", "tcp_wmem", "tcp_timestamps", "tcp_sack", "tcp_congestion_control"] {
        if let Ok(text) = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")) {
            facts.insert(name.to_string(), text.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel_and_carry_the_run() {
        let settings = VethSettings { mtu: 1500, offloads: true };
        let request = Request::new("20261121-2150-4f/a9c2e1", &settings).unwrap();
        assert_eq!(request.sender_interface, "sc202611212150s");
        assert_eq!(request.receiver_interface, "sc202611212150r");
        assert!(request.sender_interface.len() <= 15);
        let odd = Request::new("é/../\0 %d", &settings).unwrap();
        assert_eq!(odd.sender_interface, "scds");
    }

    #[test]
    fn an_impossible_mtu_is_refused_with_the_range() {
        for mtu in [0, 1279, 65536] {
            let error = Request::new("x", &VethSettings { mtu, offloads: true }).unwrap_err();
            assert!(error.remedy.contains("1280 to 65535"), "{error:?}");
        }
    }

    #[test]
    fn a_setting_that_did_not_take_is_an_error() {
        let request = Request::new("x", &VethSettings { mtu: 1500, offloads: false }).unwrap();
        let link = |mtu_bytes| NetlinkLink { index: 2, mtu_bytes, running: true };
        let off: Vec<_> = Offload::ALL.into_iter().map(|o| (o, false)).collect();
        let on = [(Offload::Gso, true)];
        assert!(verify(&request, &[link(1500), link(1500)], &[&off, &off]).is_ok());
        assert!(verify(&request, &[link(1500), link(1400)], &[&off, &off]).is_err());
        assert!(verify(&request, &[link(1500), link(1500)], &[&off, &on]).is_err());
    }
}
