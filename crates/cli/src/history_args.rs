//! Options of what follows one case over runs.

use clap::Args;
use std::path::PathBuf;

pub const HISTORY_EXAMPLES: &str = "\
Examples:
  syscost history nightly --probe timer
  syscost history runs/* --probe transfer --at mechanism=send --at size=64K
  syscost history base new newer --at threads=1 --machine 3f2a

Runs of one label, revision and group are compared with those of the one before;
runs without any with those of the boot before. What changed is decided as
`compare` decides it: worse, better, same (within 3 %), undecided.";

#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// Directories of runs or groups, or of what holds them
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// A probe, by its id (syscost list) [default: any]
    #[arg(long, value_name = "PROBE")]
    pub probe: Option<String>,
    /// Which case: an option and its value, as size=64K (repeat it for more)
    #[arg(long = "at", value_name = "AXIS=VALUE")]
    pub axes: Vec<String>,
    /// Only machines whose hash begins so
    #[arg(long, value_name = "HASH", default_value = "")]
    pub machine: String,
}
