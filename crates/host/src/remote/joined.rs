//! The way of the data between two ends: which addresses they have for each other, tried by one real connection.
//!
//! The far side says which addresses it has. None is guessed: the first that the near side connects to, with the
//! round's token, is taken, and the others are recorded.

use super::agent::{self, MOST_ADDRESSES};
use super::elsewhere::Elsewhere;
use super::frame::{self, AgentQuestion};
use super::reach::NoConnection;
use super::target::{Route, Target};
use super::{plain, refusal};
use crate::{Unavailable, link, namespaces};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};

/// A dropped packet costs five seconds: so many addresses are tried.
const MOST_TRIED: usize = 6;

/// The near side: this process, or a place elsewhere.
#[derive(Clone, Copy)]
pub struct NearSide<'a>(pub Option<&'a Elsewhere>);

impl NearSide<'_> {
    fn ask<T: DeserializeOwned>(&self, question: AgentQuestion) -> io::Result<T> {
        match self.0 {
            None => frame::typed(agent::answer(question)?),
            Some(there) => there.ask(question),
        }
    }

    fn name(&self) -> String {
        self.0.map_or_else(|| "this host".to_string(), |there| there.target.to_string())
    }

    fn has(&self, address: &IpAddr) -> bool {
        match self.0 {
            None => link::addresses().contains(address),
            Some(there) => there.addresses.contains(address),
        }
    }

    /// Its device toward the far address, and the TCP settings around it, which have bare names wherever the near side is.
    fn end(&self, near: IpAddr, far: IpAddr) -> Result<BTreeMap<String, String>, Unavailable> {
        let told = match self.0 {
            None => agent::end(near, Some(far)).unwrap_or_default(),
            Some(there) => there.end(near, Some(far))?,
        };
        Ok(of_role("sender", near, told, &namespaces::carried::recorded_settings()))
    }
}

/// Facts of an end, by its role but for those that are `bare`.
fn of_role(
    role: &str,
    address: IpAddr,
    told: BTreeMap<String, String>,
    bare: &BTreeMap<String, String>,
) -> BTreeMap<String, String> {
    let own = |name: String| if bare.contains_key(&name) { name } else { format!("{role}_{name}") };
    let address = ("address".to_string(), address.to_string());
    told.into_iter().chain([address]).map(|(name, value)| (own(name), value)).collect()
}

/// Two ends that data has gone between.
pub struct Joined {
    pub near: IpAddr,
    pub far: IpAddr,
    pub facts: BTreeMap<String, String>,
}

/// Finds the addresses, tries them, and describes both ends.
pub fn join(route: &Route, near: NearSide<'_>, far: &Elsewhere) -> Result<Joined, Unavailable> {
    let (found, named) = candidates(route, far)?;
    let own = |address: &IpAddr| !named && near.has(address);
    let mut refused: Option<Unavailable> = None;
    let reachable: Vec<IpAddr> = found.iter().copied().filter(|address| !own(address)).collect();
    for address in reachable.iter().copied().take(MOST_TRIED) {
        match try_address(route, near, far, address) {
            Ok(mut joined) => {
                let others: Vec<String> =
                    found.iter().filter(|other| **other != address).map(ToString::to_string).collect();
                if !others.is_empty() {
                    joined.facts.insert("receiver_other_addresses".into(), others.join(" "));
                }
                return Ok(joined);
            }
            Err(why) => drop(refused.get_or_insert(why)),
        }
    }
    let Some(mut why) = refused else { return Err(same_network(route, near)) };
    if reachable.len() > 1 {
        let all: Vec<String> = reachable.iter().take(MOST_TRIED).map(ToString::to_string).collect();
        why.reason.push_str(&format!("; tried: {}", all.join(", ")));
    }
    Err(why)
}

/// Addresses of the far side in the order in which they are tried, and whether the user or the transport named them.
fn candidates(route: &Route, far: &Elsewhere) -> Result<(Vec<IpAddr>, bool), Unavailable> {
    if let Some(address) = route.data {
        return Ok((vec![address], true));
    }
    // `CLIENT CLIENT_PORT SERVER SERVER_PORT`
    let told = far.connection.split_whitespace().nth(2).and_then(|text| text.parse().ok());
    if let Some(address) = told.filter(|address| !link::link_local(address)).filter(|_| route.near.is_none())
    {
        return Ok((vec![address], true));
    }
    let mut own: Vec<IpAddr> =
        told.into_iter().chain(far.addresses.iter().copied().take(MOST_ADDRESSES)).collect();
    own.retain(|address| !address.is_loopback() && !link::link_local(address));
    // ICMP echoes are timed over IPv4 only.
    own.sort_by_key(IpAddr::is_ipv6);
    own.dedup();
    if own.is_empty() {
        return Err(no_address(&route.far, &far.connection));
    }
    Ok((own, false))
}

fn no_address(target: &Target, connection: &str) -> Unavailable {
    let ssh = if connection.is_empty() {
        String::new()
    } else {
        format!(" (SSH_CONNECTION: {:?})", plain(connection))
    };
    Unavailable {
        reason: format!("{target} has no address by which data could reach it{ssh}"),
        remedy: "give it a network, or name one of its addresses: ?data=ADDRESS".into(),
    }
}

fn same_network(route: &Route, near: NearSide<'_>) -> Unavailable {
    Unavailable {
        reason: format!(
            "every address of {} is one of {} too: they share one network, in which data goes by loopback",
            route.far,
            near.name()
        ),
        remedy: "measure that with --path loopback; or name the address of another device: ?data=ADDRESS"
            .into(),
    }
}

/// One connection as data will go.
fn try_address(
    route: &Route,
    near: NearSide<'_>,
    far: &Elsewhere,
    address: IpAddr,
) -> Result<Joined, Unavailable> {
    let source = near.ask::<IpAddr>(AgentQuestion::Source { toward: address });
    let there = far.end(address, source.as_ref().ok().copied())?;
    let mut facts = of_role("receiver", address, there, &BTreeMap::new());
    let source = source.map_err(|error| Unavailable {
        reason: format!(
            "{} has no route to {address}, the address of {} for data: {error}",
            near.name(),
            route.far
        ),
        remedy: "name another address of it: ?data=ADDRESS".into(),
    })?;
    facts.extend(near.end(source, address)?);
    let mtu = try_data(route, near, far, source, address)?;
    facts.extend(mtu.map(|mtu| ("mtu".to_string(), mtu.to_string())));
    Ok(Joined { near: source, far: address, facts })
}

/// The path's MTU, or why no figure can be had.
fn try_data(
    route: &Route,
    near: NearSide<'_>,
    far: &Elsewhere,
    from: IpAddr,
    address: IpAddr,
) -> Result<Option<u32>, Unavailable> {
    let token = syscost_sys::random::token().map_err(|error| Unavailable {
        reason: format!("the kernel gives no random numbers: {error}"),
        remedy: "allow getrandom in the sandbox, or mount /dev with its urandom".into(),
    })?;
    let (target, ports) = (&route.far, route.ports);
    let asked = far.ask::<u16>(AgentQuestion::Listen { address, ports, token: token.clone() });
    let port = asked.map_err(|error| Unavailable {
        reason: format!("{target} cannot listen on {address}: {error}"),
        remedy: "name other ports, ports=FROM-TO, or another address, data=ADDRESS".into(),
    })?;
    let to = SocketAddr::new(address, port);
    let made: io::Result<Result<Option<u32>, (NoConnection, String)>> =
        near.ask(AgentQuestion::Connect { from, to, token });
    let (because, words) = match made {
        Ok(Ok(mtu)) => return Ok(mtu),
        Ok(Err((because, words))) => (because, plain(&words)),
        Err(error) => (NoConnection::Other, error.to_string()),
    };
    Err(refusal::no_data(target, &near.name(), from, to, ports, (because, &words)))
}
