//! A pair of anonymous network namespaces, joined by a veth pair or another [layer].
//!
//! Anonymous on purpose: no name under /run/netns, no process lives in them but workers; file
//! descriptors alone hold them, so whatever ends this process (kill -9 included) the kernel
//! removes namespaces, links and addresses, and nothing is ever left to sweep. It forwards
//! nothing, and touches no setting of the host's own network.
//! Source: network_namespaces(7), user_namespaces(7), veth(4).

mod build;
pub mod carried;
mod holder;
pub mod layer;
pub mod named;
mod refusal;

use super::Unavailable;
use build::Request;
use carried::CarriedSettings;
use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, OwnedFd};
use std::process::Command;
use std::sync::{Mutex, OnceLock, PoisonError};
use syscost_sys::namespace;

pub use holder::{SUBCOMMAND as HOLDER_SUBCOMMAND, main as holder_main};

/// TEST-NET-1 (RFC 5737): no real peer has such an address.
const SENDER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const RECEIVER: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 2);

/// What is asked of the link.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PairSettings {
    /// The id of a [layer].
    pub layer: &'static str,
    /// Of the wire, in bytes, 1280 to 65535.
    pub mtu: u32,
    /// `true` leaves the kernel's defaults; `false` turns TSO, GSO and GRO off on both ends.
    pub offloads: bool,
}

impl PairSettings {
    pub fn veth(mtu: u32, offloads: bool) -> PairSettings {
        PairSettings { layer: "veth", mtu, offloads }
    }
}

/// One end: a network namespace with one address on one interface (and its own loopback).
#[derive(Debug)]
pub struct NamespaceSide {
    /// Where an ordinary user made the pair: the user namespace that owns it.
    pub user_ns: Option<OwnedFd>,
    pub net_ns: OwnedFd,
    pub address: IpAddr,
    pub interface: String,
}

impl NamespaceSide {
    /// The same side, for another user of it.
    pub fn try_clone(&self) -> std::io::Result<NamespaceSide> {
        Ok(NamespaceSide {
            user_ns: self.user_ns.as_ref().map(OwnedFd::try_clone).transpose()?,
            net_ns: self.net_ns.try_clone()?,
            address: self.address,
            interface: self.interface.clone(),
        })
    }

    /// Makes the command start inside this side.
    pub fn enter_on_exec(&self, command: &mut Command) {
        namespace::enter_on_exec(command, self.user_ns.as_ref().map(AsFd::as_fd), self.net_ns.as_fd());
    }
}

/// Both ends. Dropping it (and ending what runs inside) removes everything.
#[derive(Debug)]
pub struct NamespacePair {
    pub sender: NamespaceSide,
    pub receiver: NamespaceSide,
    /// What lies between them lives as long as this is open.
    pub hub: Option<OwnedFd>,
    /// MTU, offloads, names and settings of both ends as the kernel reports them back.
    pub facts: BTreeMap<String, String>,
    pub carried: CarriedSettings,
}

impl NamespacePair {
    /// Makes a pair whose links carry the run's id in their names.
    pub fn create(run_id: &str, settings: &PairSettings) -> Result<NamespacePair, Unavailable> {
        let request = Request::new(run_id, settings)?;
        build_by(available()?, request)
    }
}

/// By which right pairs can be made here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NamespaceRights {
    /// CAP_SYS_ADMIN and CAP_NET_ADMIN are ours.
    Root,
    /// The kernel lets an ordinary user own namespaces.
    UserNamespace,
}

fn build_by(rights: NamespaceRights, request: Request) -> Result<NamespacePair, Unavailable> {
    match rights {
        NamespaceRights::Root => build::in_thread(request).map_err(refusal::explain_here),
        NamespaceRights::UserNamespace => holder::create(&request),
    }
}

/// Can pairs be made? One is really made, the first time.
pub fn available() -> Result<NamespaceRights, Unavailable> {
    tried().as_ref().map(|(rights, _)| *rights).map_err(Unavailable::clone)
}

/// What comes of the caller's settings in a pair, where one can be made.
pub fn carried() -> Option<&'static CarriedSettings> {
    tried().as_ref().ok().map(|(_, carried)| carried)
}

type Tried = Result<(NamespaceRights, CarriedSettings), Unavailable>;

fn tried() -> &'static Tried {
    static ANSWER: OnceLock<Tried> = OnceLock::new();
    ANSWER.get_or_init(try_once)
}

/// Can pairs be joined by this layer? One is really made, the first time.
pub fn layer_available(layer: &'static str) -> Result<(), Unavailable> {
    static ANSWERS: Mutex<BTreeMap<&str, Result<(), Unavailable>>> = Mutex::new(BTreeMap::new());
    let rights = available()?;
    let mut answers = ANSWERS.lock().unwrap_or_else(PoisonError::into_inner);
    let try_it = || {
        let request = Request::new("try", &PairSettings { layer, ..PairSettings::veth(1500, true) })?;
        build_by(rights, request).map(drop)
    };
    answers.entry(layer).or_insert_with(try_it).clone()
}

fn try_once() -> Tried {
    let request = Request::new("try", &PairSettings::veth(1500, false))?;
    match build::in_thread(request.clone()) {
        Ok(pair) => Ok((NamespaceRights::Root, pair.carried)),
        Err(error) if error.is_permission() => {
            holder::create(&request).map(|pair| (NamespaceRights::UserNamespace, pair.carried))
        }
        Err(error) => Err(refusal::explain_here(error)),
    }
}
