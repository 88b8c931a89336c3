//! The axes of reading files.

use super::super::directory;
use syscost_core::axis::{Axis, IntAxis, Kind, NameAxis, Point, Value};
use syscost_core::units::Unit;

pub const READ_MODE: NameAxis = NameAxis::new("read_mode");
pub const PAGE_CACHE: NameAxis = NameAxis::new("page_cache");
pub const READ_PATTERN: NameAxis = NameAxis::new("read_pattern");
pub const FILE_BYTES: IntAxis = IntAxis::new("file_bytes");

pub const BUFFERED: &str = "buffered";
pub const DIRECT: &str = "direct";
pub const DIRECT_LARGE: &str = "direct_1mib";
pub const DROPPED: &str = "dropped";
pub const WARM: &str = "warm";
pub const SEQUENTIAL: &str = "sequential";
pub const RANDOM: &str = "random";

/// A file of this size, or the part of a larger one that is read.
pub const FILE_SIZE: Axis = Axis {
    id: FILE_BYTES.id,
    flag: "file-size",
    title: "file size",
    help: "bytes of the file that is read",
    unit: Unit::Bytes,
    kind: Kind::Bytes { min: 4096, max: 1 << 44 },
    default: || [40 << 10, 1 << 20, 16 << 20, 64 << 20].map(Value::Int).to_vec(),
    quick: || [1 << 20, 64 << 20].map(Value::Int).to_vec(),
};

fn texts(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| Value::text(*name)).collect()
}

pub fn all() -> Vec<Axis> {
    vec![
        directory::axis(),
        Axis {
            id: READ_MODE.id,
            flag: "read-mode",
            title: "way of reading",
            help: "buffered: read(2) through the page cache; direct: past it (O_DIRECT); direct_1mib: so, 1 MiB at a time, \
                   which is the device's own rate",
            unit: Unit::Name,
            kind: Kind::Name { names: || vec![BUFFERED, DIRECT, DIRECT_LARGE], aliases: Vec::new },
            default: || texts(&[BUFFERED, DIRECT, DIRECT_LARGE]),
            quick: || texts(&[BUFFERED, DIRECT, DIRECT_LARGE]),
        },
        Axis {
            id: PAGE_CACHE.id,
            flag: "page-cache",
            title: "page cache",
            help: "dropped: the file's pages are dropped before each pass; warm: all of it is cached",
            unit: Unit::Name,
            kind: Kind::Name { names: || vec![DROPPED, WARM], aliases: || vec![("cold", DROPPED)] },
            default: || texts(&[DROPPED, WARM]),
            quick: || texts(&[DROPPED, WARM]),
        },
        Axis {
            id: READ_PATTERN.id,
            flag: "read-pattern",
            title: "order of reads",
            help: "sequential: block after block with the default read-ahead; random: each block at most once, without \
                   read-ahead",
            unit: Unit::Name,
            kind: Kind::Name { names: || vec![SEQUENTIAL, RANDOM], aliases: Vec::new },
            default: || texts(&[SEQUENTIAL, RANDOM]),
            quick: || texts(&[SEQUENTIAL, RANDOM]),
        },
        FILE_SIZE,
    ]
}

/// The case among the operations: `random, page cache dropped`.
pub fn label(point: &Point) -> String {
    let cache = match point.text(PAGE_CACHE) {
        Some(DROPPED) => "page cache dropped",
        Some(WARM) => "from the page cache",
        _ => "past the page cache",
    };
    match point.text(READ_PATTERN) {
        Some(pattern) => format!("{pattern}, {cache}"),
        None => format!("1 MiB at a time, {cache}"),
    }
}
