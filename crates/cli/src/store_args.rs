//! Options of what keeps runs, and of what reads them over time.

use clap::{Args, Subcommand};
use std::path::PathBuf;

/// Where a store is, when nobody says.
pub const STORE: &str = "syscost-store";

pub const STORE_EXAMPLES: &str = "\
Examples:
  syscost store add syscost-runs/*
  syscost store add --samples --store /srv/runs base new
  duckdb -c \"FROM 'syscost-store/months/**/*.parquet' WHERE probe = 'timer'\"

Adding a run again replaces it. Several may add at once. A crash leaves a store
that can be read.";

#[derive(Args, Debug)]
pub struct StoreArgs {
    #[command(subcommand)]
    pub command: StoreCommand,
}

#[derive(Subcommand, Debug)]
pub enum StoreCommand {
    /// Add runs, or all runs of groups
    Add(StoreAddArgs),
}

#[derive(Args, Debug)]
pub struct StoreAddArgs {
    /// Directories of runs or groups
    #[arg(value_name = "DIR", required = true)]
    pub dirs: Vec<PathBuf>,
    /// The store's directory
    #[arg(long, value_name = "DIR", default_value = STORE)]
    pub store: PathBuf,
    /// Add every sample too
    #[arg(long)]
    pub samples: bool,
}

pub const HISTORY_EXAMPLES: &str = "\
Examples:
  syscost history timer
  syscost history transfer mechanism=send size=64K --machine 3f2a
  syscost history --csv --metric throughput transfer mechanism=send

A boot is one point, however many its runs. Where Apache Otava is installed
(pip install apache-otava), it looks for change points over the boots.";

#[derive(Args, Debug)]
pub struct HistoryArgs {
    /// A probe, by its id (syscost list)
    #[arg(value_name = "PROBE")]
    pub probe: String,
    /// Which case: options and values, as size=64K
    #[arg(value_name = "AXIS=VALUE")]
    pub axes: Vec<String>,
    /// The figure, by its id [default: what `compare` compares]
    #[arg(long, value_name = "METRIC")]
    pub metric: Option<String>,
    /// Only machines whose hash begins so
    #[arg(long, value_name = "HASH", default_value = "")]
    pub machine: String,
    /// The store's directory
    #[arg(long, value_name = "DIR", default_value = STORE)]
    pub store: PathBuf,
    /// Every run as CSV
    #[arg(long)]
    pub csv: bool,
}
