//! Where a cell runs: sender and receiver each with a namespace and a CPU, one route, cubic.
//!
//! The namespaces are those of syscost's own paths. The congestion control is a property of the route (`congctl`), so that
//! tools without a flag for it get it too and the host's default stays what it is; what the kernel holds is
//! read back. Nothing outside the private namespaces is changed. Source: ip-route(8), tcp(7).

use crate::cell::Path;
use crate::process::{self, Seat};
use anyhow::{Context, Result, ensure};
use std::net::{IpAddr, Ipv4Addr};
use syscost_host::files::Root;
use syscost_host::fingerprint;
use syscost_host::namespaces::{NamespacePair, NamespaceSide, PairSettings};
use syscost_host::topology::{Placement, Topology};

pub const CONGESTION_CONTROL: &str = "cubic";
/// The kernel's own of a veth pair.
const MTU_BYTES: u32 = 1500;
/// What the page says about the machine, as runs of syscost record it.
const FACTS: [&str; 7] = [
    "cpu_model",
    "cpus_online",
    "hypervisor",
    "kernel_release",
    "distribution",
    "tcp_wmem_bytes",
    "tcp_rmem_bytes",
];

/// Both ends of a path.
pub struct Place {
    pair: NamespacePair,
    pub settings: PairSettings,
    /// Of the sender, of the receiver.
    pub cpus: (usize, usize),
}

impl Place {
    /// With a veth pair of this MTU; a loopback keeps the kernel's.
    pub fn new(path: Path, mtu: Option<u32>, cpus: (usize, usize)) -> Result<Place> {
        let settings = PairSettings::veth(mtu.unwrap_or(MTU_BYTES), true);
        let mut pair = NamespacePair::create("peers", &settings)?;
        if path == Path::Loopback {
            pair.sender.address = IpAddr::V4(Ipv4Addr::LOCALHOST);
            pair.sender.interface = "lo".into();
            // The pair stays: getaddrinfo(3) with AI_ADDRCONFIG, as netperf calls it, wants an address beside 127/8.
            let far = std::mem::replace(&mut pair.receiver, pair.sender.try_clone()?);
            pair.hub = Some(far.net_ns);
        }
        let place = Place { pair, settings, cpus };
        place.lay(place.sender(), &place.pair.sender, &place.pair.receiver)?;
        place.lay(place.receiver(), &place.pair.receiver, &place.pair.sender)?;
        Ok(place)
    }

    pub fn sender(&self) -> Seat<'_> {
        Seat { side: Some(&self.pair.sender), cpus: vec![self.cpus.0] }
    }

    pub fn receiver(&self) -> Seat<'_> {
        Seat { side: Some(&self.pair.receiver), cpus: vec![self.cpus.1] }
    }

    pub fn receiver_address(&self) -> IpAddr {
        self.pair.receiver.address
    }

    /// The same pair, for workers of ours.
    pub fn lent(&self) -> Result<NamespacePair> {
        Ok(NamespacePair {
            sender: self.pair.sender.try_clone()?,
            receiver: self.pair.receiver.try_clone()?,
            hub: None,
            facts: self.pair.facts.clone(),
            carried: self.pair.carried.clone(),
        })
    }

    /// A route from one end to the other with the congestion control, read back.
    fn lay(&self, seat: Seat<'_>, own: &NamespaceSide, peer: &NamespaceSide) -> Result<()> {
        let (own, peer, device) = (own.address, peer.address, own.interface.as_str());
        let kind = if device == "lo" { "local " } else { "" };
        let table = if device == "lo" { "table local proto kernel scope host " } else { "" };
        let route = format!("{kind}{peer}/32 dev {device} {table}src {own} congctl {CONGESTION_CONTROL}");
        ip(&seat, &format!("route replace {route}"))?;
        let shown = ip(&seat, &format!("route show table all {peer}/32"))?;
        let wanted = format!("congctl {CONGESTION_CONTROL}");
        ensure!(shown.contains(&wanted), "connections to {peer} do not use {CONGESTION_CONTROL}: {shown}");
        Ok(())
    }
}

/// Runs ip(8) in a seat's namespace.
fn ip(seat: &Seat<'_>, arguments: &str) -> Result<String> {
    let mut command = process::command("ip", seat);
    let output = command.args(arguments.split_whitespace()).output().context("cannot run ip (iproute2)")?;
    ensure!(output.status.success(), "ip {arguments}: {}", String::from_utf8_lossy(&output.stderr).trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A CPU for the sender and one for the receiver that this process may use: on different cores
/// where there are two, else different threads of one, else the same.
pub fn two_cpus() -> Result<(usize, usize)> {
    let topology = Topology::read();
    let pins = topology.place(&Placement::Different, 1).or_else(|_| topology.place(&Placement::Same, 1))?;
    let pair = pins.first().and_then(|pinned| Some((pinned.sender?, pinned.receiver?)));
    pair.context("no CPU to run on")
}

/// Label and value, in the order of the page. A value this machine does not tell is left out.
pub fn machine() -> Vec<(String, String)> {
    let facts = fingerprint::facts_of(&Root::here());
    let of = |id: &&str| facts.iter().find(|fact| fact.id == **id).cloned();
    let told = FACTS.iter().filter_map(of).filter_map(|fact| Some((fact.title, fact.value?)));
    let load = Root::here().text("proc/loadavg").map(|text| ("load average at the start".into(), text));
    told.chain(load).collect()
}
