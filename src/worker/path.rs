//! Paths: where the roles of a case run and by which address they reach each other.

use crate::axis::Point;
use crate::host::Unavailable;
use crate::host::namespaces::{LinkSettings, Pair, Side};
use crate::sys::namespace;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::AsFd;

/// Where a worker runs.
#[derive(Clone, Copy)]
pub enum Place<'a> {
    /// This host, this namespace.
    Here,
    Namespace(&'a Side),
}

impl Place<'_> {
    /// The number by which the kernel tells its network namespace from others.
    pub fn net_namespace(&self) -> io::Result<u32> {
        match self {
            Place::Here => namespace::number(namespace::current_net()?.as_fd()),
            Place::Namespace(side) => namespace::number(side.net_ns.as_fd()),
        }
    }
}

/// The place and address of a role.
pub struct Seat<'a> {
    pub place: Place<'a>,
    pub address: String,
}

/// The links that a run has made so far; all go when it is dropped (or killed: the kernel removes
/// a namespace that nothing holds).
pub struct Paths {
    run_id: String,
    pairs: BTreeMap<(u64, bool), Pair>,
}

impl Paths {
    pub fn new(run_id: &str) -> Paths {
        Paths { run_id: run_id.to_string(), pairs: BTreeMap::new() }
    }

    /// Uses a link that was made elsewhere for points with these settings.
    pub fn lend(&mut self, settings: &LinkSettings, pair: Pair) {
        self.pairs.insert((settings.mtu.into(), settings.offloads), pair);
    }

    /// Where a role of a case at this point runs, on this side of the path or the far one. A point
    /// without a path runs here.
    pub fn seat(&mut self, point: &Point, far: bool) -> Result<Seat<'_>, Unavailable> {
        if point.text("path") != Some("veth") {
            return Ok(Seat { place: Place::Here, address: "127.0.0.1".into() });
        }
        let pair = self.pair(point)?;
        let side = if far { &pair.receiver } else { &pair.sender };
        Ok(Seat { place: Place::Namespace(side), address: side.address.to_string() })
    }

    /// The link of this point as the kernel reports it back.
    pub fn facts(&self, point: &Point) -> BTreeMap<String, String> {
        self.pairs.get(&key(point)).map(|pair| pair.facts.clone()).unwrap_or_default()
    }

    fn pair(&mut self, point: &Point) -> Result<&Pair, Unavailable> {
        let key = key(point);
        if !self.pairs.contains_key(&key) {
            let settings = LinkSettings { mtu: key.0 as u32, offloads: key.1 };
            self.pairs.insert(key, Pair::create(&self.run_id, &settings)?);
        }
        Ok(&self.pairs[&key])
    }
}

fn key(point: &Point) -> (u64, bool) {
    (point.int("mtu").unwrap_or(1500), point.text("offloads") != Some("off"))
}
