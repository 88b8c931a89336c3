//! The command line.

use crate::cell::Path;
use crate::contest::ENTRIES;
use crate::planted::PlantedOptions;
use crate::record::splice;
use crate::sink;
use clap::builder::PossibleValuesParser;
use clap::{Args, Parser, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// Compares syscost with other benchmarks on equal terms: plain sends and round trips beside netperf, iperf3, nuttcp and
/// others, in the same namespaces and on the same CPUs, alternately in the same run.
#[derive(Clone, Debug, Parser)]
#[command(name = "peers", version, args_conflicts_with_subcommands = true)]
pub struct CommandLine {
    #[command(subcommand)]
    pub what: Option<What>,
    #[command(flatten)]
    pub plain: Options,
}

/// Other comparisons than that of plain sends.
#[derive(Clone, Debug, Subcommand)]
pub enum What {
    /// Compares the costs of operations with lmbench, perf bench, fio and others
    Os(Options),
    /// Compares every other way to send, to receive and to wait with the programs that use the same one
    Ways(Options),
    /// Compares the rate of datagrams that hardly any is lost of, and their CPU time, with iperf3 and others
    Datagrams(Options),
    /// Compares `syscost cmp` with hyperfine, on pairs of commands whose difference is planted
    Commands(PlantedOptions),
    /// Compares `syscost run --operation` with criterion, on pairs of functions whose difference is planted
    Functions(PlantedOptions),
    #[command(hide = true)]
    Sink(sink::Options),
}

#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Times that every program is compared with ours, by four visits of every cell: one, the other, the other, one
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000), default_value_t = 3)]
    pub rounds: u32,
    /// Message sizes; a contest leaves out those that it does not have, and cuts the largest to what
    /// its programs can send
    #[arg(long, value_delimiter = ',', value_parser = size, default_value = "64,1K,16K,256K,1M")]
    pub sizes: Vec<u64>,
    /// Paths of transfers
    #[arg(long, value_enum, value_delimiter = ',', default_value = "veth,loopback")]
    pub paths: Vec<Path>,
    /// These contests only
    #[arg(long, value_delimiter = ',', value_name = "CONTEST", visible_alias = "rows", value_parser = contests())]
    pub contests: Vec<String>,
    /// Compare with these programs only
    #[arg(long, value_delimiter = ',', value_name = "PROGRAM", value_parser = programs())]
    pub only: Vec<String>,
    /// Where the files that are read are made: it decides the disk
    #[arg(long, default_value = ".", value_name = "DIR")]
    pub dir: PathBuf,
    /// Stop after this long, with what there is by then
    #[arg(long, default_value = "60m", value_parser = syscost_core::units::parse_duration)]
    pub time_limit: Duration,
    /// Say which contests or rows and which programs there are, and end
    #[arg(long)]
    pub list: bool,
    #[command(flatten)]
    pub output: Output,
}

#[derive(Clone, Debug, Args)]
pub struct Output {
    /// Where every figure is recorded
    #[arg(long, default_value = "target/peers/record.csv", value_name = "FILE")]
    pub record: PathBuf,
    /// Measure nothing: make the page from the record
    #[arg(long)]
    pub rebuild: bool,
    /// Put the result between the markers of this page, instead of printing it
    #[arg(long, value_name = "FILE")]
    pub page: Option<PathBuf>,
}

impl Output {
    /// Puts what was made from the record where it belongs.
    pub fn show(&self, mark: &str, text: &str) -> anyhow::Result<()> {
        match &self.page {
            Some(page) => splice(page, mark, text),
            None => {
                print!("{text}");
                Ok(())
            }
        }
    }
}

fn contests() -> PossibleValuesParser {
    ENTRIES.contest.iter().map(|contest| contest.id.as_str()).into()
}

fn programs() -> PossibleValuesParser {
    ENTRIES.program.iter().map(|program| program.id.as_str()).into()
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = syscost_core::units::parse_bytes(text).map_err(|e| e.to_string())?;
    if (8..=1 << 30).contains(&bytes) { Ok(bytes) } else { Err("write a size from 8 bytes to 1 GiB".into()) }
}
