//! Paths: where the roles of a case run and by which address they reach each other.

use crate::axis::Point;
use crate::host::Unavailable;
use crate::host::namespaces::{LinkSettings, Pair, Side, named};
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
    pairs: BTreeMap<Link, Pair>,
}

/// What tells the links of a run apart.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Link {
    /// Made by us.
    Veth { mtu: u32, offloads: bool },
    /// Two namespaces that were there before us.
    Named(String),
}

impl Paths {
    pub fn new(run_id: &str) -> Paths {
        Paths { run_id: run_id.to_string(), pairs: BTreeMap::new() }
    }

    /// Uses a link that was made elsewhere for points with these settings.
    pub fn lend(&mut self, settings: &LinkSettings, pair: Pair) {
        self.pairs.insert(Link::Veth { mtu: settings.mtu, offloads: settings.offloads }, pair);
    }

    /// Where a role of a case at this point runs, on this side of the path or the far one. A point
    /// without a path runs here.
    pub fn seat(&mut self, point: &Point, far: bool) -> Result<Seat<'_>, Unavailable> {
        let Some(link) = link(point) else {
            return Ok(Seat { place: Place::Here, address: "127.0.0.1".into() });
        };
        let pair = self.pair(link)?;
        let side = if far { &pair.receiver } else { &pair.sender };
        Ok(Seat { place: Place::Namespace(side), address: side.address.to_string() })
    }

    /// The link of this point as the kernel reports it back.
    pub fn facts(&self, point: &Point) -> BTreeMap<String, String> {
        let pair = link(point).and_then(|link| self.pairs.get(&link));
        pair.map(|pair| pair.facts.clone()).unwrap_or_default()
    }

    fn pair(&mut self, link: Link) -> Result<&Pair, Unavailable> {
        if !self.pairs.contains_key(&link) {
            let pair = match &link {
                Link::Veth { mtu, offloads } => {
                    Pair::create(&self.run_id, &LinkSettings { mtu: *mtu, offloads: *offloads })?
                }
                Link::Named(path) => named::open(path)?,
            };
            self.pairs.insert(link.clone(), pair);
        }
        Ok(&self.pairs[&link])
    }
}

/// The link of this point, if its roles are not both here.
fn link(point: &Point) -> Option<Link> {
    match point.text("path")? {
        "veth" => {
            let mtu = point.int("mtu").unwrap_or(1500) as u32;
            Some(Link::Veth { mtu, offloads: point.text("offloads") != Some("off") })
        }
        path => named::is_meant(path).then(|| Link::Named(path.to_string())),
    }
}
