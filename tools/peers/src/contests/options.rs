//! The command line of a page of contests.

use crate::cell::{Nodelay, Path};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Times that every program is compared with ours in every cell; each is four visits: one, the other, the other, one
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: u32,
    /// Length of one visit of a tool, in whole seconds
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub seconds: u32,
    /// Message sizes; a contest leaves out those that it does not have, and cuts the largest to what
    /// its programs can send
    #[arg(long, value_delimiter = ',', value_parser = size, default_value = "64,1K,16K,256K,1M")]
    pub sizes: Vec<u64>,
    /// TCP streams at a time, in contests that have several
    #[arg(long, value_delimiter = ',', default_value = "1,2", value_parser = clap::value_parser!(u32).range(1..=64))]
    pub streams: Vec<u32>,
    /// Paths: veth, loopback
    #[arg(long, value_delimiter = ',', default_value = "veth,loopback")]
    pub paths: Vec<Path>,
    /// TCP_NODELAY: on, off or both, in contests that have both
    #[arg(long, default_value = "both")]
    pub nodelay: Nodelay,
    /// These contests only
    #[arg(long, value_delimiter = ',', value_name = "CONTEST")]
    pub contests: Vec<String>,
    /// Compare with these programs only
    #[arg(long, value_delimiter = ',', value_name = "PROGRAM")]
    pub only: Vec<String>,
    /// An answer in three minutes: one stream of 64 B, 16 KiB and 256 KiB on loopback with TCP_NODELAY, as often as fits
    #[arg(long)]
    pub quick: bool,
    /// CPU of the sender and CPU of the receiver, as 0,1; two different cores unless named
    #[arg(long, value_parser = cpus, value_name = "S,R")]
    pub cpus: Option<(usize, usize)>,
    /// Stop after this long, with what there is by then
    #[arg(long, default_value = "60m", value_parser = syscost_core::units::parse_duration)]
    pub time_limit: Duration,
    /// Seed of the order of cells and programs
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
    /// Where every figure is recorded
    #[arg(long, default_value = "target/peers/contests.csv", value_name = "FILE")]
    pub record: PathBuf,
    /// Go on with the record, which the same build of syscost has to have made
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

/// What `--quick` takes at most, with what starts and ends it.
const QUICK: Duration = Duration::from_secs(165);

impl Options {
    /// With what `--quick` stands for.
    pub fn settled(&self) -> Options {
        if !self.quick {
            return self.clone();
        }
        Options {
            rounds: 1000,
            seconds: 1,
            sizes: vec![64, 16 << 10, 256 << 10],
            streams: vec![1],
            paths: vec![Path::Loopback],
            nodelay: Nodelay::On,
            contests: match self.contests.is_empty() {
                true => vec!["send".into()],
                false => self.contests.clone(),
            },
            time_limit: QUICK.min(self.time_limit),
            ..self.clone()
        }
    }
}

fn size(text: &str) -> Result<u64, String> {
    let bytes = syscost_core::units::parse_bytes(text).map_err(|e| e.to_string())?;
    if (8..=1 << 30).contains(&bytes) { Ok(bytes) } else { Err("write a size from 8 bytes to 1 GiB".into()) }
}

fn cpus(text: &str) -> Result<(usize, usize), String> {
    let error = || "write two CPU numbers, as 0,1".to_string();
    let (sender, receiver) = text.split_once(',').ok_or_else(error)?;
    let number =
        |s: &str| s.trim().parse().ok().filter(|n| *n < libc::CPU_SETSIZE as usize).ok_or_else(error);
    Ok((number(sender)?, number(receiver)?))
}
