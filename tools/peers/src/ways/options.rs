//! The command line of the comparison of ways to move data.

use crate::cell::Path;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Compares each way to send, to receive and to wait with the programs that use the same one,
/// alternately in one run.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Times that every tool visits every cell; six is the fewest with a 95 % interval
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Length of one visit of a tool, in whole seconds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub seconds: u32,
    /// Message sizes; a contest leaves out those that it does not have, and cuts the largest to what
    /// its programs can send
    #[arg(long, value_delimiter = ',', value_parser = crate::options::size, default_value = "64,1K,16K,64K,1M")]
    pub sizes: Vec<u64>,
    /// Paths: veth, loopback
    #[arg(long, value_delimiter = ',', default_value = "veth,loopback")]
    pub paths: Vec<Path>,
    /// These contests only
    #[arg(long, value_delimiter = ',', value_name = "CONTEST")]
    pub contests: Vec<String>,
    /// CPU of the sender and CPU of the receiver, as 0,1; two different cores unless named
    #[arg(long, value_parser = crate::options::cpus, value_name = "S,R")]
    pub cpus: Option<(usize, usize)>,
    /// Stop after this long, with what there is by then
    #[arg(long, default_value = "60m", value_parser = syscost_core::units::parse_duration)]
    pub time_limit: Duration,
    /// Seed of the order of cells and tools
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where every figure is recorded
    #[arg(long, default_value = "target/peers/ways.csv", value_name = "FILE")]
    pub record: PathBuf,
    /// Keep what the record has of contests that this run leaves out
    #[arg(long)]
    pub add: bool,
    /// Measure nothing: make the page from the record
    #[arg(long)]
    pub rebuild: bool,
    /// Put the result between the markers of this page
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Say which contests and programs there are and end
    #[arg(long)]
    pub list: bool,
}
