//! The axes of remote reads. Values and flags are those of the other probes that read files or
//! cross a link.

use super::super::{directory, transfer};
use super::server;
use crate::probe::file_read::axes::{FILE_BYTES, PAGE_CACHE, READ_PATTERN};
use crate::probe::transfer::axes::PATH;
use syscost_core::axis::{Axis, Kind, NameAxis, Value};
use syscost_core::units::Unit;

pub const FILE_SERVER: NameAxis = NameAxis::new("file_server");
pub const VETH: &str = "veth";
pub const WARM: &str = "warm";
pub const DROPPED: &str = "dropped";
pub const SEQUENTIAL: &str = "sequential";
pub const RANDOM: &str = "random";

fn texts(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| Value::text(*name)).collect()
}

fn servers() -> Vec<Value> {
    server::ALL.iter().map(|server| Value::text(server.id)).collect()
}

fn path_kind() -> Kind {
    let axis = transfer::axes::COMMON.iter().find(|axis| axis.id == PATH.id);
    axis.expect("a transfer has a path").kind
}

pub fn all() -> Vec<Axis> {
    vec![
        Axis {
            id: FILE_SERVER.id,
            flag: "file-server",
            title: "file server",
            help: "which protocol and server the file is read through",
            unit: Unit::Name,
            kind: Kind::Name { names: || server::ALL.iter().map(|s| s.id).collect(), aliases: Vec::new },
            default: servers,
            quick: servers,
        },
        Axis {
            id: PATH.id,
            flag: "path",
            title: "path",
            help: "veth: server and reader each in a network namespace",
            unit: Unit::Name,
            // Every path of a transfer is understood, so that one flag goes for all; see `available`.
            kind: path_kind(),
            default: || texts(&[VETH]),
            quick: || texts(&[VETH]),
        },
        directory::axis(),
        Axis {
            id: PAGE_CACHE.id,
            flag: "page-cache",
            title: "page cache",
            help: "of the server. dropped: the file's pages are dropped before each pass; warm: all of it is cached",
            unit: Unit::Name,
            kind: Kind::Name { names: || vec![DROPPED, WARM], aliases: || vec![("cold", DROPPED)] },
            default: || texts(&[WARM]),
            quick: || texts(&[WARM]),
        },
        Axis {
            id: READ_PATTERN.id,
            flag: "read-pattern",
            title: "order of reads",
            help: "sequential: block after block; random: each block once a pass, in an order of the round's own",
            unit: Unit::Name,
            kind: Kind::Name { names: || vec![SEQUENTIAL, RANDOM], aliases: Vec::new },
            default: || texts(&[SEQUENTIAL, RANDOM]),
            quick: || texts(&[SEQUENTIAL, RANDOM]),
        },
        Axis {
            id: FILE_BYTES.id,
            flag: "file-size",
            title: "file size",
            help: "bytes of the file that is read",
            unit: Unit::Bytes,
            kind: Kind::Bytes { min: 4096, max: 1 << 44 },
            default: || vec![Value::Int(16 << 20)],
            quick: || vec![Value::Int(16 << 20)],
        },
    ]
}
