//! A cell of the comparison: one path, message size, number of streams and TCP_NODELAY setting,
//! the same for every tool.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Path {
    /// A veth pair between two network namespaces.
    Veth,
    /// The loopback of one private network namespace.
    Loopback,
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Path::Veth => "veth",
            Path::Loopback => "loopback",
        })
    }
}

impl FromStr for Path {
    type Err = String;

    fn from_str(text: &str) -> Result<Path, String> {
        match text {
            "veth" => Ok(Path::Veth),
            "loopback" | "lo" => Ok(Path::Loopback),
            _ => Err("write veth or loopback".into()),
        }
    }
}

/// Field order is the order of tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
        let size = syscost_core::units::short_bytes(self.message_bytes);
        write!(f, "{} {size} x{} nodelay {}", self.path, self.streams, self.nodelay_text())
    }
}
