//! The axes of a transfer.

use crate::message::{self, MessageShape};
use crate::{mechanism, receiver};
use syscost_core::axis::DefaultValues::{Ints, Names, Of};
use syscost_core::axis::{Axis, IntAxis, Kind, NameAxis, Value};
use syscost_host::namespaces::{layer, named};
use syscost_host::remote::target;
use syscost_host::topology::{Placement, Topology};

pub use crate::mechanism::{SOCKET_BUFFER_BYTES, THREADS};
pub use crate::message::{ALIGNMENT, FIELDS, MESSAGE_BYTES};

pub const MECHANISM: NameAxis = NameAxis::new("mechanism");
pub const RECEIVER: NameAxis = NameAxis::new("receiver");
pub const PATH: NameAxis = NameAxis::new("path");
pub const NODELAY: NameAxis = NameAxis::new("nodelay");
pub const CONGESTION_CONTROL: NameAxis = NameAxis::new("congestion_control");
pub const PLACEMENT: NameAxis = NameAxis::new("placement");
pub const MTU: IntAxis = IntAxis::new("mtu");
pub const OFFLOADS: NameAxis = NameAxis::new("offloads");

pub const LOOPBACK: &str = "loopback";

/// Where every piece has a size, the message has their sum.
pub const SIZE_IS_SAID: &str = "--fields gives every piece its size, so --size (message_bytes) has nothing to say: leave out \
                                one of them, or let a piece take what is left of the size, as in --fields 24,rest";

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
        Err("write the name of a congestion control, as in net.ipv4.tcp_available_congestion_control, or kernel".into())
    }
}

/// A placement by name, or CPUs that exist: a list with one that does not is a mistake, not a skip.
fn check_placement(text: &str) -> Result<(), String> {
    match Placement::parse(text)? {
        placement @ Placement::Explicit { .. } => {
            let placed = Topology::read().place(&placement, 1);
            placed.map(|_| ()).map_err(|why| format!("{}: {}", why.reason, why.remedy))
        }
        _ => Ok(()),
    }
}

/// Is this text meant as a path to somewhere: namespaces or a host?
fn leads_somewhere(text: &str) -> bool {
    named::is_meant(text) || target::is_meant(text)
}

/// Can it be one?
fn check_path(text: &str) -> Result<(), String> {
    if target::is_meant(text) { target::check(text) } else { named::check(text) }
}

/// What a user writes to name a path of his own.
const PATH_FORM: &str = "netns:NAME, netns:SENDER,RECEIVER, ssh://[USER@]HOST[:PORT], srun:NODE, \
                         kubectl:[NAMESPACE/]POD[:CONTAINER], docker:NAME, podman:NAME, nsenter:PID, rsh:HOST (by --rsh), \
                         two of all but ssh:// with a comma between, and ?data=ADDRESS&ports=FROM-TO";

/// One of [`COMMON`].
pub fn find(id: &str) -> Axis {
    *COMMON.iter().find(|axis| axis.id == id).expect("a transfer has this axis; tests plan every probe")
}

/// Every layer that can join two namespaces, after the first of them no link at all.
fn path_names() -> Vec<&'static str> {
    let mut names: Vec<&str> = layer::ALL.iter().map(|layer| layer.id).collect();
    names.insert(1, LOOPBACK);
    names
}

/// The axes that every transfer has, in column order; mechanisms and receivers add theirs.
pub const COMMON: &[Axis] = &[
    MECHANISM
        .of_kind(Kind::Name {
            names: || mechanism::known().map(|m| m.about().id).collect(),
            aliases: mechanism_aliases,
        })
        .help("how the sender moves a message; your own: ./mine.so, program:COMMAND")
        .default_on(Of(default_mechanisms)),
    RECEIVER
        .names(|| receiver::known().map(|r| r.about().id).collect())
        .help("how the receiver takes the stream; your own: ./mine.so")
        .default_on(Of(default_receivers)),
    FIELDS
        .of_kind(Kind::Parts { canonical: |text| MessageShape::parse(text).map(|shape| shape.to_string()) })
        .flag("fields", "fields")
        .help(
            "the pieces of a message, each in memory of its own: 3 of equal size, 24,512K, 8x64, or 24,rest, of which --size \
             says the sum; several shapes are separated by /",
        )
        .default_on(Names(&["8"]))
        .unsaid(),
    MESSAGE_BYTES
        .bytes(message::SMALLEST, message::LARGEST)
        .flag("size", "message size")
        .help("bytes in a message, spread over its fields")
        .default_on(Ints(&[64, 256, 1024, 4096, 16384, 65536, 262144, 1048576]))
        .quick_on(Ints(&[64, 4096, 65536, 1048576])),
    THREADS
        .count(1, 1024)
        .help("sender threads, each with a receiver thread and connections of its own")
        .default_on(Ints(&[1, 2, 4, 8]))
        // One: half a minute is enough for rounds to claim something by, or for threads.
        .quick_on(Ints(&[1])),
    mechanism::CONNECTIONS,
    PATH.of_kind(Kind::NameOr {
        names: path_names,
        aliases: || vec![("netns", "veth"), ("lo", "loopback")],
        form: PATH_FORM,
        begins: leads_somewhere,
        check: check_path,
    })
    .help(
        "veth, bridge, macvlan, ipvlan, vxlan: sender and receiver each in a network namespace, joined \
         so; loopback: both on 127.0.0.1; \
         netns: the receiver in a namespace of your own, or both; ssh, srun, kubectl, docker, \
         podman, nsenter, rsh: the receiver on another host or in a container, or both",
    )
    .default_on(Names(&["veth"])),
    NODELAY
        .switch()
        .flag("nodelay", "TCP_NODELAY")
        .help("on: every message leaves at once; off: Nagle's algorithm may hold and merge small ones")
        .default_on(Names(&["on"])),
    CONGESTION_CONTROL
        .checked_text(check_congestion)
        .flag("congestion", "congestion control")
        .help("TCP_CONGESTION of both sockets; kernel leaves it to the kernel")
        .default_on(Names(&["cubic"])),
    SOCKET_BUFFER_BYTES
        .bytes(0, 1 << 30)
        .flag("socket-buffer", "socket buffer")
        .words(&[("autotuned", 0)])
        .help("SO_SNDBUF and SO_RCVBUF as asked; autotuned (or 0) leaves them to the kernel")
        .default_on(Ints(&[0])),
    ALIGNMENT
        .names(|| vec!["heap", "page"])
        .flag("alignment", "field alignment")
        .help("heap: fields where the allocator puts them; page: every field starts a page")
        .default_on(Names(&["heap"])),
    PLACEMENT
        .checked_text(check_placement)
        .flag("placement", "CPU placement")
        .help(
            "different: sender and receiver on different cores; same: one core for both; none: \
             unpinned; or S:R, lists of CPUs (0,2:1,3)",
        )
        .default_on(Names(&["different"])),
    MTU.bytes(1280, 65535)
        .flag("mtu", "MTU")
        .help(
            "MTU of the wire between namespaces; headers of vxlan are within it (loopback keeps the host's)",
        )
        .default_on(Ints(&[1500])),
    OFFLOADS
        .switch()
        .help("segmentation and receive offloads (TSO, GSO, GRO) of the link between namespaces")
        .default_on(Names(&["on"])),
];
