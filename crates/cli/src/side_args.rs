//! Options of what compares runs with runs.

use clap::Args;
use std::path::PathBuf;

/// What `run.json` keeps of what the user calls a run.
#[derive(Args, Debug)]
pub struct NameArgs {
    /// What you call this side of a comparison: "base", "linux-6.12"
    #[arg(long, value_name = "NAME", conflicts_with = "resume", value_parser = short_name, hide_short_help = true)]
    pub label: Option<String>,
    /// The group that this run belongs to [default: with --repeat, the run's directory]
    #[arg(long, value_name = "NAME", conflicts_with = "resume", value_parser = short_name, hide_short_help = true)]
    pub group: Option<String>,
    /// The git revision or version of what is measured
    #[arg(long, value_name = "REVISION", conflicts_with = "resume", value_parser = short_name, hide_short_help = true)]
    pub revision: Option<String>,
}

/// A name goes into tables and file names of others.
fn short_name(text: &str) -> Result<String, String> {
    const MOST: usize = 80;
    let good = !text.trim().is_empty() && text.chars().count() <= MOST && !text.chars().any(char::is_control);
    if good { Ok(text.into()) } else { Err(format!("a name has 1 to {MOST} printable characters")) }
}

pub const COMPARE_EXAMPLES: &str = "\
Examples:
  syscost run os --repeat 8 --label base --out base
  syscost run os --repeat 8 --label new --out new
  syscost compare base -- new
  syscost compare --out DIR base-1 base-2 -- new-1 new-2

The replicate is the run, or the boot where the sides ran on different boots.
One boot a side is undecided. An answer is one of: worse, better, same (within
3 %), undecided.";

#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Directories of runs or groups to compare with
    #[arg(value_name = "BASE", required = true)]
    pub base: Vec<PathBuf>,
    /// Directories of runs or groups that may have changed, after --
    #[arg(value_name = "CANDIDATE", required = true, last = true)]
    pub candidate: Vec<PathBuf>,
    /// Write comparisons.csv into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}
