//! Paths: where the roles of a case run and by which address they reach each other.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use syscost_core::axis::Point;
use syscost_experiment::run::Run;
use syscost_host::namespaces::{NamespacePair, NamespaceSide, PairSettings, layer, named};
use syscost_host::remote::{self, Elsewhere, Host, target};
use syscost_host::{Unavailable, packet_sockets};
use syscost_measure::probe::transfer::axes::{LOOPBACK, MTU, OFFLOADS, PATH};
use syscost_sys::namespace;

/// Where a worker runs.
#[derive(Clone, Copy)]
pub enum WorkerPlace<'a> {
    /// This host, this namespace.
    Here,
    Namespace(&'a NamespaceSide),
    /// Another host.
    Remote(&'a Elsewhere),
}

impl WorkerPlace<'_> {
    /// The number by which this kernel tells its network namespace from others; none on another host.
    pub fn net_namespace(&self) -> io::Result<Option<u32>> {
        match self {
            WorkerPlace::Here => namespace::number(namespace::current("net")?.as_fd()).map(Some),
            WorkerPlace::Namespace(side) => namespace::number(side.net_ns.as_fd()).map(Some),
            WorkerPlace::Remote(_) => Ok(None),
        }
    }

    /// The rate of the time-stamp counter there, where that of this host is known.
    pub fn tsc_hz(&self, here: Option<f64>) -> Option<f64> {
        match self {
            WorkerPlace::Here | WorkerPlace::Namespace(_) => here,
            WorkerPlace::Remote(host) => here.and(host.tsc_hz),
        }
    }
}

/// The place and address of a role.
pub struct RoleAddress<'a> {
    pub place: WorkerPlace<'a>,
    pub address: String,
    /// Ports that a listener there has to be on.
    pub ports: Option<(u16, u16)>,
}

/// The links that a run has made so far; all go when it is dropped (or killed: the kernel removes
/// a namespace that nothing holds).
pub struct Paths {
    run_id: String,
    pairs: BTreeMap<PathLink, NamespacePair>,
    hosts: BTreeMap<String, Arc<Host>>,
    /// What an earlier session recorded of the host at each path.
    before: BTreeMap<String, BTreeMap<String, String>>,
}

/// What tells the links of a run apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum PathLink {
    /// Made by us.
    Made(PairSettings),
    /// Two namespaces that were there before us.
    Named(String),
}

impl Paths {
    pub fn new(run_id: &str) -> Paths {
        Paths {
            run_id: run_id.to_string(),
            pairs: BTreeMap::new(),
            hosts: BTreeMap::new(),
            before: BTreeMap::new(),
        }
    }

    /// For a run that goes on: the machines behind its paths have to be those that it was measured with.
    pub fn recalling(mut self, run: &Run) -> Paths {
        for (case, settings) in &run.record.settings {
            let path = run.case(*case).and_then(|case| another_host(&case.point));
            if let Some(path) = path {
                self.before.entry(path.to_string()).or_insert_with(|| {
                    settings.iter().map(|(id, value)| (id.to_string(), value.to_string())).collect()
                });
            }
        }
        self
    }

    /// Uses a link that was made elsewhere for points with these settings.
    pub fn lend(&mut self, settings: PairSettings, pair: NamespacePair) {
        self.pairs.insert(PathLink::Made(settings), pair);
    }

    /// Where a role of a case at this point runs, on this side of the path or the far one. A point
    /// without a path runs here.
    pub fn seat(&mut self, point: &Point, far: bool) -> Result<RoleAddress<'_>, Unavailable> {
        if let Some(path) = another_host(point) {
            return self.seat_at(path, far);
        }
        let Some(link) = link(point) else {
            return Ok(RoleAddress { place: WorkerPlace::Here, address: "127.0.0.1".into(), ports: None });
        };
        let pair = self.pair(link)?;
        let side = if far { &pair.receiver } else { &pair.sender };
        Ok(RoleAddress {
            place: WorkerPlace::Namespace(side),
            address: side.address.to_string(),
            ports: None,
        })
    }

    /// The near role runs here or elsewhere too, with the address that leads to the far side.
    fn seat_at(&mut self, path: &str, far: bool) -> Result<RoleAddress<'_>, Unavailable> {
        if !self.hosts.contains_key(path) {
            let host = remote::open(path)?;
            if let Some(facts) = self.before.get(path) {
                host.is_still(facts).map_err(|reason| Unavailable {
                    reason,
                    remedy: "measure apart from it: syscost run --out NEW_DIR".into(),
                })?;
            }
            self.hosts.insert(path.to_string(), host);
        }
        let host = &self.hosts[path];
        let (near_address, far_address) = host.addresses;
        let near = host.near.as_ref().map_or(WorkerPlace::Here, WorkerPlace::Remote);
        let (place, address) =
            if far { (WorkerPlace::Remote(&host.far), far_address) } else { (near, near_address) };
        Ok(RoleAddress { place, address: address.to_string(), ports: host.ports })
    }

    /// The link of this point as the kernel reports it back.
    pub fn facts(&self, point: &Point) -> BTreeMap<String, String> {
        let host = another_host(point).and_then(|path| self.hosts.get(path));
        let pair = link(point).and_then(|link| self.pairs.get(&link));
        let facts = host.map(|host| &host.facts).or(pair.map(|pair| &pair.facts)).cloned();
        let on_loopback = || (point.text(PATH) == Some(LOOPBACK)).then(here);
        facts.or_else(on_loopback).unwrap_or_default()
    }

    fn pair(&mut self, link: PathLink) -> Result<&NamespacePair, Unavailable> {
        if !self.pairs.contains_key(&link) {
            let pair = match &link {
                PathLink::Made(settings) => NamespacePair::create(&self.run_id, settings)?,
                PathLink::Named(path) => named::open(path)?,
            };
            self.pairs.insert(link.clone(), pair);
        }
        Ok(&self.pairs[&link])
    }
}

/// What is known of this path before anything is measured over it: none of one that is still to be made.
pub fn facts_before(path: &str) -> BTreeMap<String, String> {
    if target::is_meant(path) {
        return remote::open(path).map(|host| host.facts.clone()).unwrap_or_default();
    }
    if named::is_meant(path) {
        return named::open(path).map(|pair| pair.facts).unwrap_or_default();
    }
    here()
}

/// Both ends on loopback: who sees what passes there.
fn here() -> BTreeMap<String, String> {
    let holders = packet_sockets::on(Some(packet_sockets::LOOPBACK));
    holders.into_iter().map(|holders| (format!("sender_{}", packet_sockets::FACT), holders)).collect()
}

/// Is its link made for the run?
pub fn is_made(point: &Point) -> bool {
    matches!(link(point), Some(PathLink::Made(_)))
}

/// The host on the far side of this point's path, as the user wrote it.
pub fn another_host(point: &Point) -> Option<&str> {
    point.text(PATH).filter(|path| target::is_meant(path))
}

/// Are its roles in namespaces that are made for it, or named?
pub fn has_link(point: &Point) -> bool {
    link(point).is_some()
}

/// The link of this point, if its roles are not both here.
fn link(point: &Point) -> Option<PathLink> {
    let path = point.text(PATH)?;
    if let Some(layer) = layer::find(path) {
        let mtu = point.int(MTU).unwrap_or(1500) as u32;
        let offloads = point.text(OFFLOADS) != Some("off");
        return Some(PathLink::Made(PairSettings { layer: layer.id, mtu, offloads }));
    }
    named::is_meant(path).then(|| PathLink::Named(path.to_string()))
}
