//! The axes of reading files.

use super::super::directory;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, IntAxis, Kind, NameAxis, Point};

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
pub const FILE_SIZE: Axis = FILE_BYTES
    .bytes(4096, 1 << 44)
    .flag("file-size", "file size")
    .help("bytes of the file that is read")
    .default_on(Ints(&[40 << 10, 1 << 20, 16 << 20, 64 << 20]))
    .quick_on(Ints(&[1 << 20, 64 << 20]));

pub const PAGE_CACHE_AXIS: Axis = PAGE_CACHE
    .of_kind(Kind::Name { names: || vec![DROPPED, WARM], aliases: || vec![("cold", DROPPED)] })
    .flag("page-cache", "page cache")
    .help("dropped: the file's pages are dropped before each pass; warm: all of it is cached");

pub const READ_PATTERN_AXIS: Axis =
    READ_PATTERN.names(|| vec![SEQUENTIAL, RANDOM]).flag("read-pattern", "order of reads").help(
        "sequential: block after block with the default read-ahead; random: each block at most \
         once, without read-ahead",
    );

pub fn all() -> Vec<Axis> {
    vec![
        directory::axis(),
        READ_MODE.names(|| vec![BUFFERED, DIRECT, DIRECT_LARGE]).flag("read-mode", "way of reading").help(
            "buffered: read(2) through the page cache; direct: past it (O_DIRECT); direct_1mib: \
                 so, 1 MiB at a time, which is the device's own rate",
        ),
        PAGE_CACHE_AXIS,
        READ_PATTERN_AXIS,
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
