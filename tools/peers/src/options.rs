//! The command line of the comparison.

use crate::cell::{Nodelay, Path};
use crate::{os, sink, stamped, ways};
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Compares the throughput of syscost's `send` with other network benchmarks on equal terms:
/// same namespaces, message sizes, streams, CPUs, socket buffers (autotuned), congestion control
/// and TCP_NODELAY, alternately in the same run.
#[derive(Clone, Debug, Parser)]
#[command(name = "peers", version, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub what: Option<What>,
    #[command(flatten)]
    pub transfers: Options,
}

/// Other comparisons than that of transfers.
#[derive(Clone, Debug, Subcommand)]
pub enum What {
    /// Compares the costs of operations with lmbench, perf bench, fio and others
    Os(os::Options),
    /// Compares each way to send, to receive and to wait with the programs that use the same one
    Ways(ways::Options),
    #[command(hide = true)]
    Sink(sink::Options),
    #[command(hide = true)]
    Stamped(stamped::Options),
}

/// The comparison of transfers.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Times that every tool visits every cell; six is the fewest with a 95 % interval
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Length of one visit of a tool, in whole seconds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub seconds: u32,
    /// Message sizes
    #[arg(long, value_delimiter = ',', value_parser = size, default_value = "64,256,1K,4K,16K,64K,256K,1M")]
    pub sizes: Vec<u64>,
    /// Concurrent TCP streams
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub streams: Vec<u32>,
    /// Paths: veth, loopback
    #[arg(long, value_delimiter = ',', default_value = "veth,loopback")]
    pub paths: Vec<Path>,
    /// TCP_NODELAY: on, off or both
    #[arg(long, default_value = "both")]
    pub nodelay: Nodelay,
    /// Compare with these tools only (the subject is always run)
    #[arg(long, value_delimiter = ',', value_name = "PEER")]
    pub only: Vec<String>,
    /// The tool that the others are compared with; the first of the list unless named
    #[arg(long, value_name = "PEER")]
    pub subject: Option<String>,
    /// CPU of the sender and CPU of the receiver, as 0,1; two different cores unless named
    #[arg(long, value_parser = cpus, value_name = "S,R")]
    pub cpus: Option<(usize, usize)>,
    /// Stop after this long, with the rounds that are complete by then
    #[arg(long, default_value = "60m", value_parser = syscost_core::units::parse_duration)]
    pub time_limit: Duration,
    /// Seed of the order of cells and tools
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Directory of runs.csv, ratios.csv and peers.md
    #[arg(long, default_value = "target/peers")]
    pub out: PathBuf,
    /// Also put the result between the markers of this page
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
    /// Say which tools are here and end
    #[arg(long)]
    pub list: bool,
}

pub fn size(text: &str) -> Result<u64, String> {
    let bytes = syscost_core::units::parse_bytes(text).map_err(|e| e.to_string())?;
    if (8..=1 << 30).contains(&bytes) { Ok(bytes) } else { Err("write a size from 8 bytes to 1 GiB".into()) }
}

pub fn cpus(text: &str) -> Result<(usize, usize), String> {
    let error = || "write two CPU numbers, as 0,1".to_string();
    let (sender, receiver) = text.split_once(',').ok_or_else(error)?;
    let number =
        |s: &str| s.trim().parse().ok().filter(|n| *n < libc::CPU_SETSIZE as usize).ok_or_else(error);
    Ok((number(sender)?, number(receiver)?))
}
