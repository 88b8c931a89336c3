//! Builds a joined pair of network namespaces in a thread that gives itself up to them.
//!
//! The thread moves from namespace to namespace and must end afterwards: nothing else may run on
//! it. It must hold CAP_SYS_ADMIN and CAP_NET_ADMIN over the namespaces it makes.

use super::carried::{CarriedSettings, StackSettings, recorded_settings};
use super::layer::{self, LinkSite, SiteSpace};
use super::refusal::{At, BuildStep, RefusedStep};
use super::{NamespacePair, NamespaceSide, PairSettings};
use crate::Unavailable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use syscost_sys::ethtool::{self, Offload};
use syscost_sys::netlink::{Netlink, NetlinkLink};
use syscost_sys::sleep::sleep;

/// MTUs that IPv6 allows and IPv4 can use.
const MTU_BYTES: std::ops::RangeInclusive<u32> = 1280..=65535;
/// The kernel starts a link's queue from a work item: normally within a millisecond or two.
const LINK_PATIENCE: Duration = Duration::from_secs(5);

/// What to build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The id of a layer.
    pub layer: String,
    pub sender_interface: String,
    pub receiver_interface: String,
    /// Of the wire; the ends have less by what the layer's headers take.
    pub mtu_bytes: u32,
    pub offloads: bool,
}

impl Request {
    pub fn new(run_id: &str, settings: &PairSettings) -> Result<Request, Unavailable> {
        if !MTU_BYTES.contains(&settings.mtu) {
            return Err(Unavailable {
                reason: format!("an MTU of {} bytes is not possible on such a link", settings.mtu),
                remedy: format!("choose one from {} to {}", MTU_BYTES.start(), MTU_BYTES.end()),
            });
        }
        // A link's name has at most 15 bytes: two for us, one for the side, the rest of the run id.
        let id: String = run_id.chars().filter(char::is_ascii_alphanumeric).take(12).collect();
        Ok(Request {
            layer: settings.layer.into(),
            sender_interface: format!("sc{id}s"),
            receiver_interface: format!("sc{id}r"),
            mtu_bytes: settings.mtu,
            offloads: settings.offloads,
        })
    }

    /// What was built of it, held by these descriptors only.
    pub fn pair(
        self,
        sender: OwnedFd,
        receiver: OwnedFd,
        hub: Option<OwnedFd>,
        (facts, carried): (BTreeMap<String, String>, CarriedSettings),
    ) -> NamespacePair {
        let side = |net_ns, address, interface| NamespaceSide {
            user_ns: None,
            net_ns,
            address: IpAddr::V4(address),
            interface,
        };
        let [near, far] = layer::ENDS;
        NamespacePair {
            sender: side(sender, near, self.sender_interface),
            receiver: side(receiver, far, self.receiver_interface),
            hub,
            facts,
            carried,
        }
    }
}

/// Builds in a thread of its own.
pub fn in_thread(request: Request) -> Result<NamespacePair, RefusedStep> {
    let thread = std::thread::Builder::new().name("namespaces".into());
    let handle = thread.spawn(move || build(request)).at(BuildStep::Configure, "start a thread")?;
    handle.join().unwrap_or_else(|_| {
        Err(io::Error::other("the thread panicked")).at(BuildStep::Configure, "build the namespaces")
    })
}

/// Builds in this thread, which ends up in the sender's namespace.
pub fn build(request: Request) -> Result<NamespacePair, RefusedStep> {
    let unknown = || io::Error::from(io::ErrorKind::Unsupported);
    let layer = layer::find(&request.layer).ok_or_else(unknown).at(BuildStep::Configure, "find the layer")?;
    let settings = StackSettings::here();
    let mut site = LinkSite {
        receiver: SiteSpace::make(&request.receiver_interface, &settings)?,
        sender: SiteSpace::make(&request.sender_interface, &settings)?,
        hub: None,
        settings,
        wire_mtu_bytes: request.mtu_bytes,
        mtu_bytes: request.mtu_bytes.saturating_sub(layer.header_bytes),
        kind: layer.id,
    };
    (layer.join)(&mut site)?;
    let mut offloads = Vec::new();
    for (space, address) in [&mut site.sender, &mut site.receiver].into_iter().zip(layer::ENDS) {
        configure(space, address, request.offloads)?;
    }
    if let Some(hub) = site.hub.as_mut().filter(|_| !request.offloads) {
        turn_offloads_off(hub)?;
    }
    let (mut links, mut stacks) = (Vec::new(), Vec::new());
    for space in [&mut site.receiver, &mut site.sender] {
        links.push(wait_until_running(&mut space.netlink, &space.end)?);
        wait_for_passed(space)?;
        space.enter()?;
        offloads.push(read_offloads(&space.end)?);
        stacks.push(recorded_settings());
    }
    if let Some(hub) = &mut site.hub {
        wait_for_passed(hub)?;
    }
    verify(site.mtu_bytes, request.offloads, &links, &offloads)?;

    let mut facts = stacks.pop().unwrap_or_default();
    facts.extend(stacks.into_iter().flatten().map(|(name, value)| (format!("receiver_{name}"), value)));
    // The same came of it in each of the namespaces: one kernel was asked the same by one process.
    let carried = site.sender.carried;
    facts.extend(carried.facts());
    facts.insert("sender_interface".into(), request.sender_interface.clone());
    facts.insert("receiver_interface".into(), request.receiver_interface.clone());
    facts.insert("mtu".into(), site.mtu_bytes.to_string());
    facts.insert("sender_offloads".into(), ethtool::show(&offloads[1]));
    facts.insert("receiver_offloads".into(), ethtool::show(&offloads[0]));
    let hub = site.hub.map(|hub| hub.namespace);
    Ok(request.pair(site.sender.namespace, site.receiver.namespace, hub, (facts, carried)))
}

/// Settings that a device takes only while it is down come before it is set up.
fn configure(space: &mut SiteSpace, address: Ipv4Addr, offloads: bool) -> Result<(), RefusedStep> {
    if !offloads {
        turn_offloads_off(space)?;
    }
    let SiteSpace { netlink, end, .. } = space;
    netlink.add_address(end, IpAddr::V4(address), 24).at(BuildStep::Configure, &format!("address {end}"))?;
    for link in ["lo", end] {
        netlink.set_up(link).at(BuildStep::Configure, &format!("set {link} up"))?;
    }
    Ok(())
}

/// Of the end, where there is one, and of everything that packets pass besides.
fn turn_offloads_off(space: &SiteSpace) -> Result<(), RefusedStep> {
    space.enter()?;
    for name in space.passed.iter().chain([&space.end]).filter(|name| !name.is_empty()) {
        for offload in Offload::ALL {
            ethtool::set(name, offload, false)
                .at(BuildStep::Offload, &format!("turn {} off on {name}", offload.name()))?;
        }
    }
    Ok(())
}

fn wait_for_passed(space: &mut SiteSpace) -> Result<(), RefusedStep> {
    let SiteSpace { netlink, passed, .. } = space;
    passed.iter().try_for_each(|name| wait_until_running(netlink, name).map(drop))
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
    mtu_bytes: u32,
    wants_offloads: bool,
    links: &[NetlinkLink],
    offloads: &[Vec<(Offload, bool)>],
) -> Result<(), RefusedStep> {
    if let Some(link) = links.iter().find(|link| link.mtu_bytes != mtu_bytes) {
        let error = format!("asked for {mtu_bytes} bytes, the kernel set {}", link.mtu_bytes);
        return Err(io::Error::other(error)).at(BuildStep::Configure, "set the MTU");
    }
    match offloads.iter().flatten().find(|(_, on)| *on) {
        Some((offload, _)) if !wants_offloads => Err(io::Error::other("the device keeps it on"))
            .at(BuildStep::Offload, &format!("turn {} off", offload.name())),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_the_kernel_and_carry_the_run() {
        let settings = PairSettings::veth(1500, true);
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
            let error = Request::new("x", &PairSettings::veth(mtu, true)).unwrap_err();
            assert!(error.remedy.contains("1280 to 65535"), "{error:?}");
        }
    }

    #[test]
    fn a_setting_that_did_not_take_is_an_error() {
        let link = |mtu_bytes| NetlinkLink { index: 2, mtu_bytes, running: true };
        let off: Vec<_> = Offload::ALL.into_iter().map(|o| (o, false)).collect();
        let on = vec![(Offload::Gso, true)];
        let verify =
            |mtu, side: &Vec<_>| verify(1500, false, &[link(1500), link(mtu)], &[off.clone(), side.clone()]);
        assert!(verify(1500, &off).is_ok() && verify(1400, &off).is_err() && verify(1500, &on).is_err());
    }
}
