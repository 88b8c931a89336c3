//! The command line of the comparison of operations.

use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// Compares the costs of operations with lmbench, perf bench, fio and others, alternately in one run.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Times that every tool visits every row; six is the fewest with a 95 % interval
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Rounds of fresh workers whose median is one figure of ours
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub our_rounds: u32,
    /// Compare these rows only
    #[arg(long, value_delimiter = ',', value_name = "ROW")]
    pub rows: Vec<String>,
    /// Compare with these peers only
    #[arg(long, value_delimiter = ',', value_name = "PEER")]
    pub only: Vec<String>,
    /// Where the files that are read are made: it decides the disk
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,
    /// Stop after this long, with what there is by then
    #[arg(long, default_value = "10m", value_parser = syscost_core::units::parse_duration)]
    pub time_limit: Duration,
    /// Seed of the order of rows and tools
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where every figure is recorded
    #[arg(long, default_value = "target/peers/operations.csv", value_name = "FILE")]
    pub record: PathBuf,
    /// Go on with the record: rounds are added to those that it has, from the same binary on the same machine
    #[arg(long)]
    pub add: bool,
    /// Measure nothing: make the page from the record
    #[arg(long)]
    pub rebuild: bool,
    /// Put the result between the markers of this page
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Say which rows and peers there are and end
    #[arg(long)]
    pub list: bool,
}
