//! The axes of a transfer.

use crate::message;
use crate::{mechanism, receiver};
use syscost_core::axis::{Axis, IntAxis, Kind, NameAxis, Value};
use syscost_core::units::Unit;
use syscost_host::topology::Placement;

use super::available;

pub use crate::mechanism::{SOCKET_BUFFER_BYTES, THREADS};
pub use crate::message::{ALIGNMENT, MESSAGE_BYTES};

pub const MECHANISM: NameAxis = NameAxis::new("mechanism");
pub const RECEIVER: NameAxis = NameAxis::new("receiver");
pub const PATH: NameAxis = NameAxis::new("path");
pub const NODELAY: NameAxis = NameAxis::new("nodelay");
pub const CONGESTION_CONTROL: NameAxis = NameAxis::new("congestion_control");
pub const PLACEMENT: NameAxis = NameAxis::new("placement");
pub const MTU: IntAxis = IntAxis::new("mtu");
pub const OFFLOADS: NameAxis = NameAxis::new("offloads");

fn ints(values: &[u64]) -> Vec<Value> {
    values.iter().map(|n| Value::Int(*n)).collect()
}

fn one(text: &str) -> Vec<Value> {
    vec![Value::text(text)]
}

fn mechanism_aliases() -> Vec<(&'static str, &'static str)> {
    mechanism::ALL.iter().flat_map(|m| m.about().aliases.iter().map(|a| (*a, m.about().id))).collect()
}

fn default_mechanisms() -> Vec<Value> {
    mechanism::ALL.iter().map(|m| m.about()).filter(|a| a.in_default).map(|a| Value::text(a.id)).collect()
}

fn default_receivers() -> Vec<Value> {
    receiver::ALL.iter().map(|r| r.about()).filter(|a| a.in_default).map(|a| Value::text(a.id)).collect()
}

/// A congestion control is the name of a kernel module: letters, digits, underscores.
fn check_congestion(text: &str) -> Result<(), String> {
    if !text.is_empty() && text.len() < 16 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        Ok(())
    } else {
        Err("write the name of a congestion control, as in net.ipv4.tcp_available_congestion_control".into())
    }
}

/// A placement by name, or CPUs that exist: a list with one that does not is a mistake, not a skip.
fn check_placement(text: &str) -> Result<(), String> {
    match Placement::parse(text)? {
        Placement::Explicit { .. } => {
            available::placement(text).map_err(|why| format!("{}: {}", why.reason, why.remedy))
        }
        _ => Ok(()),
    }
}

/// What a user writes to name a path of his own.
const PATH_FORM: &str =
    "netns:NAME, netns:SENDER,RECEIVER or ssh://[USER@]HOST[:PORT][?data=ADDRESS&ports=FROM-TO]";

/// The axes that every transfer has, in column order; mechanisms and receivers add theirs.
pub const COMMON: &[Axis] = &[
    Axis {
        id: MECHANISM.id,
        flag: "mechanism",
        title: "mechanism",
        help: "how the sender moves a message",
        unit: Unit::Name,
        kind: Kind::Name {
            names: || mechanism::ALL.iter().map(|m| m.about().id).collect(),
            aliases: mechanism_aliases,
        },
        default: default_mechanisms,
        quick: default_mechanisms,
    },
    Axis {
        id: RECEIVER.id,
        flag: "receiver",
        title: "receiver",
        help: "how the receiver takes the stream",
        unit: Unit::Name,
        kind: Kind::Name {
            names: || receiver::ALL.iter().map(|r| r.about().id).collect(),
            aliases: Vec::new,
        },
        default: default_receivers,
        quick: default_receivers,
    },
    Axis {
        id: MESSAGE_BYTES.id,
        flag: "size",
        title: "message size",
        help: "bytes in a message, spread over eight fields",
        unit: Unit::Bytes,
        kind: Kind::Bytes { min: message::SMALLEST, max: 1 << 30 },
        default: || ints(&[64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]),
        quick: || ints(&[64, 4096, 65536, 1048576]),
    },
    Axis {
        id: THREADS.id,
        flag: "threads",
        title: "threads",
        help: "sender threads, each with a receiver thread and connections of its own",
        unit: Unit::Count,
        kind: Kind::Int { min: 1, max: 1024 },
        default: || ints(&[1, 2, 4, 8]),
        // One: half a minute is enough for rounds to claim something by, or for threads.
        quick: || ints(&[1]),
    },
    mechanism::CONNECTIONS,
    Axis {
        id: PATH.id,
        flag: "path",
        title: "path",
        help: "veth: sender and receiver each in a network namespace; loopback: both on 127.0.0.1; netns: the receiver in a namespace of your own, or both; ssh: the receiver on another host",
        unit: Unit::Name,
        kind: Kind::NameOr {
            names: || vec!["veth", "loopback"],
            aliases: || vec![("netns", "veth"), ("lo", "loopback")],
            form: PATH_FORM,
            begins: available::leads_somewhere,
            check: available::check_path,
        },
        default: || one("veth"),
        quick: || one("veth"),
    },
    Axis {
        id: NODELAY.id,
        flag: "nodelay",
        title: "TCP_NODELAY",
        help: "on: every message leaves at once; off: Nagle's algorithm may hold and merge small ones",
        unit: Unit::Name,
        kind: Kind::Switch,
        default: || one("on"),
        quick: || one("on"),
    },
    Axis {
        id: CONGESTION_CONTROL.id,
        flag: "congestion",
        title: "congestion control",
        help: "TCP_CONGESTION of both sockets",
        unit: Unit::Name,
        kind: Kind::Text { check: check_congestion },
        default: || one("cubic"),
        quick: || one("cubic"),
    },
    Axis {
        id: SOCKET_BUFFER_BYTES.id,
        flag: "socket-buffer",
        title: "socket buffer",
        help: "SO_SNDBUF and SO_RCVBUF as asked; 0 leaves them to the kernel's autotuning",
        unit: Unit::Bytes,
        kind: Kind::Bytes { min: 0, max: 1 << 30 },
        default: || ints(&[0]),
        quick: || ints(&[0]),
    },
    Axis {
        id: ALIGNMENT.id,
        flag: "alignment",
        title: "field alignment",
        help: "heap: fields where the allocator puts them; page: every field starts a page",
        unit: Unit::Name,
        kind: Kind::Name { names: || vec!["heap", "page"], aliases: Vec::new },
        default: || one("heap"),
        quick: || one("heap"),
    },
    Axis {
        id: PLACEMENT.id,
        flag: "placement",
        title: "CPU placement",
        help: "different: sender and receiver on different cores; same: one core for both; none: unpinned; or S:R, lists of CPUs (0,2:1,3)",
        unit: Unit::Name,
        kind: Kind::Text { check: check_placement },
        default: || one("different"),
        quick: || one("different"),
    },
    Axis {
        id: MTU.id,
        flag: "mtu",
        title: "MTU",
        help: "MTU of the veth pair (loopback keeps the host's)",
        unit: Unit::Bytes,
        kind: Kind::Bytes { min: 1280, max: 65535 },
        default: || ints(&[1500]),
        quick: || ints(&[1500]),
    },
    Axis {
        id: OFFLOADS.id,
        flag: "offloads",
        title: "offloads",
        help: "segmentation and receive offloads (TSO, GSO, GRO) of the veth pair",
        unit: Unit::Name,
        kind: Kind::Switch,
        default: || one("on"),
        quick: || one("on"),
    },
];
