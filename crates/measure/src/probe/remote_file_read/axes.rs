//! The axes of remote reads. Values and flags are those of the other probes that read files or
//! cross a link.

use super::super::{directory, transfer};
use super::server;
use crate::probe::file_read::axes::{FILE_SIZE, PAGE_CACHE_AXIS, READ_PATTERN_AXIS};
pub use crate::probe::file_read::axes::{RANDOM, WARM};
use crate::probe::transfer::axes::PATH;
use syscost_core::axis::DefaultValues::{Ints, Names};
use syscost_core::axis::{Axis, NameAxis};

pub const FILE_SERVER: NameAxis = NameAxis::new("file_server");
pub const VETH: &str = "veth";

pub fn all() -> Vec<Axis> {
    vec![
        FILE_SERVER
            .names(|| vec![server::ID])
            .flag("file-server", "file server")
            .help("which protocol and server the file is read through"),
        // Every path of a transfer is understood, so that one flag goes for all; see `available`.
        transfer::axes::find(PATH.id)
            .help("veth: server and reader each in a network namespace")
            .default_on(Names(&[VETH])),
        directory::axis(),
        PAGE_CACHE_AXIS
            .help(
                "of the server. dropped: the file's pages are dropped before each pass; warm: all of \
                 it is cached",
            )
            .default_on(Names(&[WARM])),
        READ_PATTERN_AXIS.help(
            "sequential: block after block; random: each block once a pass, in an order of the \
             round's own",
        ),
        FILE_SIZE.default_on(Ints(&[16 << 20])),
    ]
}
