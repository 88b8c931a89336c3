//! Network namespaces that were there before us: the `netns:SENDER,RECEIVER` path, and `netns:RECEIVER`,
//! whose near side is the namespace that we run in.
//!
//! They have names as `ip netns add` gives them, and whoever made them keeps them: nothing in them
//! is changed or removed. The addresses by which they reach each other are read from their links.
//! Source: ip-netns(8), network_namespaces(7).

use super::carried::{CarriedSettings, recorded_settings};
use super::refusal::{At, BuildStep, RefusedStep};
use super::{NamespacePair, NamespaceSide};
use crate::{Unavailable, link};
use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use syscost_sys::namespace;
use syscost_sys::netlink::{Addressed, Netlink};

/// What a user writes.
pub const FORM: &str = "netns:NAME or netns:SENDER,RECEIVER";
const PREFIX: &str = "netns:";
/// Where `ip netns` keeps names.
pub const FOLDER: &str = "/run/netns";

/// The path between two namespaces of these names, as a value of an axis.
pub fn path(sender: &str, receiver: &str) -> String {
    format!("{PREFIX}{sender},{receiver}")
}

/// Is this text such a path, right or wrong?
pub fn is_meant(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// One name, or two different ones, that can be files of [`FOLDER`].
pub fn check(text: &str) -> Result<(), String> {
    names(text).map(|_| ())
}

/// The sender's, unless that is where we are, and the receiver's.
fn names(text: &str) -> Result<(Option<&str>, &str), String> {
    let names = text.strip_prefix(PREFIX).unwrap_or_default();
    let both = names.split_once(',').map_or((None, names), |(near, far)| (Some(near), far));
    let valid = |name: &str| {
        let plain = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !name.is_empty() && !name.starts_with('.') && name.len() < 256 && name.chars().all(plain)
    };
    match both {
        (None, receiver) if valid(receiver) => Ok(both),
        (Some(sender), receiver) if valid(sender) && valid(receiver) && sender != receiver => Ok(both),
        _ => Err(format!("write {FORM}: different names that `ip netns list` shows")),
    }
}

/// Opens both and finds the link between them.
pub fn open(path: &str) -> Result<NamespacePair, Unavailable> {
    let (sender, receiver) = names(path).map_err(|reason| Unavailable {
        reason: format!("{path:?} names no path between two namespaces"),
        remedy: reason,
    })?;
    let near = sender.map_or_else(look_here, look_into)?;
    let far = look_into(receiver)?;
    let (near_end, far_end) =
        common_link(&near.links, &far.links).ok_or_else(|| not_joined(sender, receiver))?;
    let mut facts = near.stack;
    facts.extend(far.stack.into_iter().map(|(name, value)| (format!("receiver_{name}"), value)));
    describe(&mut facts, "sender", &near.namespace, &near_end)?;
    describe(&mut facts, "receiver", &far.namespace, &far_end)?;
    let side = |net_ns, end: LinkEnd| NamespaceSide {
        user_ns: None,
        net_ns,
        address: end.address,
        interface: end.interface,
    };
    Ok(NamespacePair {
        sender: side(near.namespace, near_end),
        receiver: side(far.namespace, far_end),
        hub: None,
        facts,
        carried: CarriedSettings::default(),
    })
}

fn not_joined(sender: Option<&str>, receiver: &str) -> Unavailable {
    let (near, here, there) = match sender {
        Some(name) => (format!("the namespace {name}"), format!(" netns {name}"), format!("-n {name} ")),
        None => ("the namespace that syscost runs in".to_string(), String::new(), String::new()),
    };
    let link = format!("{}0", sender.unwrap_or("to-far").chars().take(12).collect::<String>());
    Unavailable {
        reason: format!("{near} and the namespace {receiver} have no addresses in one subnet"),
        remedy: format!(
            "join and address them: ip link add {link}{here} type veth peer name eth0 netns {receiver}; ip {there}address \
             add 192.0.2.1/24 dev {link}; ip -n {receiver} address add 192.0.2.2/24 dev eth0; set both up"
        ),
    }
}

/// One end of the link between the two.
#[derive(Clone, Debug, PartialEq, Eq)]
struct LinkEnd {
    interface: String,
    address: IpAddr,
}

struct NamespaceView {
    namespace: OwnedFd,
    links: Vec<Addressed>,
    stack: BTreeMap<String, String>,
}

/// The namespace that we run in: its interfaces are not changed either.
fn look_here() -> Result<NamespaceView, Unavailable> {
    let look = || Ok((namespace::current("net")?, Netlink::open()?.addresses()?));
    let (namespace, links) = look().map_err(|error: io::Error| Unavailable {
        reason: format!("cannot read the addresses of this network namespace: {error}"),
        remedy: "look at them with `ip address`, or use --path veth".into(),
    })?;
    Ok(NamespaceView { namespace, links, stack: recorded_settings() })
}

fn look_into(name: &str) -> Result<NamespaceView, Unavailable> {
    let file: PathBuf = Path::new(FOLDER).join(name);
    let namespace: OwnedFd = File::open(&file).map(OwnedFd::from).map_err(|error| Unavailable {
        reason: format!("there is no network namespace {name} ({}: {error})", file.display()),
        remedy: format!("sudo ip netns add {name}; `ip netns list` shows those there are"),
    })?;
    let looked = inside(&namespace, || {
        let mut netlink = Netlink::open().at(BuildStep::Configure, "open a netlink socket")?;
        let links = netlink.addresses().at(BuildStep::Configure, "read the addresses")?;
        Ok((links, recorded_settings()))
    });
    let (links, stack) = looked.map_err(|refused| entering_failed(name, &refused))?;
    Ok(NamespaceView { namespace, links, stack })
}

fn entering_failed(name: &str, refused: &RefusedStep) -> Unavailable {
    let remedy = if refused.is_permission() {
        "run as root (or with CAP_SYS_ADMIN), or use --path veth"
    } else {
        "look into it with `ip -n NAME address`, or use --path veth"
    };
    Unavailable {
        reason: format!("cannot look into network namespace {name}: {refused}"),
        remedy: remedy.into(),
    }
}

/// What `look` sees in the namespace, from a thread that ends there.
fn inside<T: Send>(
    namespace: &OwnedFd,
    look: impl FnOnce() -> Result<T, RefusedStep> + Send,
) -> Result<T, RefusedStep> {
    let enter_and_look = || {
        namespace::enter_net(namespace.as_fd())
            .at(BuildStep::NetworkNamespace, "enter a network namespace")?;
        look()
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().spawn_scoped(scope, enter_and_look);
        thread.at(BuildStep::Configure, "start a thread")?.join().unwrap_or_else(|_| {
            Err(io::Error::other("the thread panicked")).at(BuildStep::Configure, "look into the namespace")
        })
    })
}

/// The first addresses of the two sides that share a subnet.
fn common_link(near: &[Addressed], far: &[Addressed]) -> Option<(LinkEnd, LinkEnd)> {
    let ends = |links: &[Addressed]| -> Vec<(LinkEnd, u8)> {
        let of_link = |link: &Addressed| -> Vec<(LinkEnd, u8)> {
            let end = |(address, bits): &(IpAddr, u8)| {
                (LinkEnd { interface: link.name.clone(), address: *address }, *bits)
            };
            link.addresses.iter().filter(|(address, _)| usable(address)).map(end).collect()
        };
        links.iter().flat_map(of_link).collect()
    };
    let far = ends(far);
    ends(near).into_iter().find_map(|(here, bits)| {
        let (there, _) = far.iter().find(|(there, _)| share_subnet(here.address, there.address, bits))?;
        Some((here, there.clone()))
    })
}

fn usable(address: &IpAddr) -> bool {
    !address.is_loopback() && !link::link_local(address)
}

fn share_subnet(a: IpAddr, b: IpAddr, prefix_bits: u8) -> bool {
    let bits_of = |address: IpAddr| match address {
        IpAddr::V4(address) => (32, u128::from(address.to_bits())),
        IpAddr::V6(address) => (128, address.to_bits()),
    };
    let ((width, a), (other_width, b)) = (bits_of(a), bits_of(b));
    let host_bits = width - u32::from(prefix_bits).clamp(1, width);
    width == other_width && a != b && a >> host_bits == b >> host_bits
}

/// The end as the kernel describes it; what a device does not tell is left out.
fn describe(
    facts: &mut BTreeMap<String, String>,
    role: &str,
    namespace: &OwnedFd,
    end: &LinkEnd,
) -> Result<(), Unavailable> {
    let name = end.interface.as_str();
    let told =
        inside(namespace, || link::describe(name).at(BuildStep::Configure, &format!("read the link {name}")));
    for (fact, value) in told.map_err(|refused| entering_failed(name, &refused))? {
        if fact == "mtu" {
            facts.entry(fact).or_insert(value);
        } else {
            facts.insert(format!("{role}_{fact}"), value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_one_namespace_or_two() {
        assert_eq!(names(&path("a", "b-1.x")), Ok((Some("a"), "b-1.x")));
        assert_eq!(names("netns:a"), Ok((None, "a")));
        for wrong in ["netns:", "netns:a,a", "netns:,b", "netns:a,../b", "netns:a,.b", "netns:a,b,c", "veth"]
        {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert!(is_meant("netns:a") && !is_meant("netns"));
    }

    #[test]
    fn the_ends_of_a_link_share_a_subnet() {
        let link = |name: &str, addresses: &[(&str, u8)]| Addressed {
            name: name.into(),
            addresses: addresses.iter().map(|(text, bits)| (text.parse().unwrap(), *bits)).collect(),
        };
        let near = [
            link("lan", &[("fe80::1", 64), ("10.0.0.1", 8)]),
            link("eth1", &[("fd00::1", 64), ("192.0.2.1", 30)]),
        ];
        let far = [link("eth9", &[("fe80::2", 64), ("192.0.2.2", 30), ("192.0.2.6", 30)])];
        let (here, there) = common_link(&near, &far).unwrap();
        assert_eq!((here.interface.as_str(), there.interface.as_str()), ("eth1", "eth9"));
        assert_eq!(there.address.to_string(), "192.0.2.2");
        assert_eq!(common_link(&near[..1], &far), None, "link-local addresses make no path");
        let six = [link("eth9", &[("fd00::2", 64)])];
        assert_eq!(common_link(&near, &six).unwrap().1.address.to_string(), "fd00::2");
    }

    #[test]
    fn a_namespace_that_is_not_there_says_how_to_make_it() {
        let why = open("netns:no-such-a,no-such-b").unwrap_err();
        assert!(why.reason.contains("no-such-a") && why.remedy.contains("ip netns add no-such-a"), "{why:?}");
    }
}
