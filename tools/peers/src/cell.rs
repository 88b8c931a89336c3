//! A cell of the comparison: one path, message size, number of streams and TCP_NODELAY setting,
//! the same for every tool. An operation has one cell, without any of them.

use serde::{Deserialize, Serialize};
use std::fmt;

#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, clap::ValueEnum,
)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// A veth pair between two network namespaces.
    Veth,
    /// The loopback of one private network namespace.
    Loopback,
    /// Where this program is: an operation that sends to nobody.
    #[default]
    #[value(skip)]
    Here,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Path::Veth => "veth",
            Path::Loopback => "loopback",
            Path::Here => "here",
        })
    }
}

/// Field order is the order of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cell {
    pub path: Path,
    pub nodelay: bool,
    pub streams: u32,
    pub message_bytes: u64,
}

impl Cell {
    pub fn nodelay_text(&self) -> &'static str {
        if self.nodelay { "on" } else { "off" }
    }
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path == Path::Here {
            return f.write_str("here");
        }
        let size = syscost_core::units::short_bytes(self.message_bytes);
        write!(f, "{} {size} x{} nodelay {}", self.path, self.streams, self.nodelay_text())
    }
}
