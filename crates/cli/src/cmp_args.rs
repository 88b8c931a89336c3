//! Options of `cmp`.

use crate::export::ExportArgs;
use crate::side_args::short_name;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use syscost_commands::asked::{CommandList, CommandShell, values};
use syscost_core::units::{parse_duration, parse_fraction};

pub const CMP_EXAMPLES: &str = "\
Examples:
  syscost cmp 'grep -c x data' 'rg -c x data'
  syscost cmp --prepare 'make clean' 'make -j2' 'make -j4'
  syscost cmp -L n 1,2,..8 'make -j{n}' --export-markdown answer.md
  syscost cmp 'sleep 0.1'                 how long does it take?
  syscost cmp 'make -j2' --out today      later: syscost compare last-week today

Fresh processes take turns in random order. Measuring ends when every command is
decided against the first: faster, slower, or the same within 3 %.

Exit status: 0 measured; 1 Ctrl-C; 2 a command failed or cannot be started.";

#[derive(Args, Debug)]
pub struct CmpArgs {
    /// Commands, each in quotes; the others are compared with the first
    #[arg(value_name = "COMMAND", required = true)]
    pub commands: Vec<String>,
    /// A name for each command, in their order
    #[arg(long, short = 'n', value_name = "NAME")]
    pub name: Vec<String>,
    /// Values of {NAME} in the commands: -L threads 1..8, -L cc gcc,clang
    #[arg(long, short = 'L', num_args = 2, value_names = ["NAME", "VALUES"], action = clap::ArgAction::Append)]
    pub list: Vec<String>,
    /// Measuring ends here, decided or not; no single run may take longer
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse_duration)]
    pub time_limit: Duration,
    /// So many rounds, decided before or not
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: Option<u32>,
    /// A single command is done when its 95 % confidence interval is this narrow
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = parse_fraction)]
    pub precision: f64,
    /// Runs of each command before the first that counts
    #[arg(long, short, value_name = "N", default_value = "2", value_parser = clap::value_parser!(u32).range(1..))]
    pub warmup: u32,
    /// Run this once before a command's first run; given once, or once for each command
    #[arg(long, value_name = "COMMAND")]
    pub setup: Vec<String>,
    /// Run this before each run, untimed
    #[arg(long, short, value_name = "COMMAND")]
    pub prepare: Vec<String>,
    /// Run this after a command's last run
    #[arg(long, short, value_name = "COMMAND")]
    pub cleanup: Vec<String>,
    /// The reader of the commands: none, a shell, or auto: sh where one of them is more than words
    #[arg(long, short = 'S', value_name = "SHELL", default_value = "auto")]
    pub shell: CommandShell,
    /// Let the commands write where you see it
    #[arg(long)]
    pub show_output: bool,
    /// Go on where a command fails
    #[arg(long, short)]
    pub ignore_failure: bool,
    /// Order of the commands in each round [default: from the clock]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// Keep every run as a record, which report, compare and gate take
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// What you call this side of a comparison of records: "base", "today"
    #[arg(long, value_name = "NAME", requires = "out", value_parser = short_name)]
    pub label: Option<String>,
    #[command(flatten)]
    pub export: ExportArgs,
}

impl CmpArgs {
    pub fn lists(&self) -> anyhow::Result<Vec<CommandList>> {
        let list = |pair: &[String]| {
            let values =
                values(&pair[1]).map_err(|why| anyhow::anyhow!("--list {} {}: {why}", pair[0], pair[1]))?;
            Ok(CommandList { name: pair[0].clone(), values })
        };
        self.list.chunks_exact(2).map(list).collect()
    }
}
