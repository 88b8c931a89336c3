//! Options of what compares runs with runs.

use crate::export::ExportArgs;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use syscost_core::axis::suggest;
use syscost_core::units::parse_fraction;
use syscost_report::gate::{FORMATS, GateFormat};

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
    /// Keep the run as one of this baseline: syscost-runs/baselines/NAME. A baseline of several runs decides more
    #[arg(long, value_name = "NAME", conflicts_with_all = ["resume", "out", "repeat"], value_parser = baseline_name, hide_short_help = true)]
    pub save_baseline: Option<String>,
    /// Compare the run with this baseline (or directory) at the end
    #[arg(long, value_name = "NAME", conflicts_with = "repeat", hide_short_help = true)]
    pub baseline: Option<PathBuf>,
    /// Builds, environments or settings that are measured side by side, --repeat times each (TOML,
    /// see docs/comparing.md): DIR/LABEL/run-1 ..
    #[arg(long, value_name = "FILE", requires = "repeat", conflicts_with_all = ["label", "revision"], hide_short_help = true)]
    pub variants: Option<PathBuf>,
    /// Which runs were measured next to each other: --variants sets it
    #[arg(long, value_name = "TURN", conflicts_with = "resume", value_parser = short_name, hide = true)]
    pub turn: Option<String>,
    /// The descriptor by which this run takes turns with another: --variants sets it
    #[arg(long, value_name = "FD", conflicts_with = "resume", hide = true)]
    pub baton: Option<i32>,
}

/// A name goes into tables and file names of others.
pub fn short_name(text: &str) -> Result<String, String> {
    const MOST: usize = 80;
    let good = !text.trim().is_empty() && text.chars().count() <= MOST && !text.chars().any(char::is_control);
    if good { Ok(text.into()) } else { Err(format!("a name has 1 to {MOST} printable characters")) }
}

/// It becomes a directory's name.
fn baseline_name(text: &str) -> Result<String, String> {
    let name = short_name(text)?;
    let plain = !name.starts_with(['.', '-']) && !name.contains('/');
    if plain { Ok(name) } else { Err("a baseline's name has no / and begins with neither . nor -".into()) }
}

pub const COMPARE_EXAMPLES: &str = "\
Examples:
  syscost run os --repeat 8 --label base --out base
  syscost run os --repeat 8 --label new --out new
  syscost compare base new
  syscost compare --out DIR base-1 base-2 -- new-1 new-2
  syscost run os --save-baseline main      later: syscost compare main RUN
  syscost compare GROUP        the two variants of `run --variants`

The replicate is the run, or the boot where the sides ran on different boots.
One boot a side is undecided. An answer is one of: worse, better, same (within
3 %), undecided.";

#[derive(Args, Debug)]
pub struct CompareArgs {
    /// Directories of runs or groups, or names of baselines: the base and the candidate, or several of the base
    #[arg(value_name = "BASE", required = true)]
    pub base: Vec<PathBuf>,
    /// Directories of what may have changed, after -- where a side has several; none: the second BASE, or the
    /// second variant of a group of two
    #[arg(value_name = "CANDIDATE", last = true)]
    pub candidate: Vec<PathBuf>,
    /// Show every case and every fact that differs
    #[arg(long)]
    pub all: bool,
    /// Write comparison.html and comparisons.csv into this directory
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    #[command(flatten)]
    pub exports: ExportArgs,
}

pub const GATE_EXAMPLES: &str = "\
Examples:
  syscost gate --baseline base --budget 5% new
  syscost gate --baseline base --budget cpu=5% --budget system_call=10% \\
      --write junit=gate.xml new

A budget is over where the whole interval lies above it, corrected over all
cases; it is kept where the whole interval lies below it. A higher rate is a
lower cost. With --budget=-10% costs must fall by a tenth.

Exit status:
  0    every case is within its budget
  1    a case is over its budget
  2    wrong usage, or a file could not be read or written
  3    the runs cannot be compared, or no case has a budget
  4    undecided: more runs would decide; see --undecided
  125  undecided or not comparable, with --undecided skip: git bisect passes
       such commits over";

#[derive(Args, Debug)]
pub struct GateArgs {
    /// A directory of a run or group to compare with, or a baseline's name (repeat it for more)
    #[arg(long, value_name = "BASE", required = true)]
    pub baseline: Vec<PathBuf>,
    /// By how much costs may grow: 5%, or of a probe or `cpu` (CPU time of a message) alone: cpu=5%
    #[arg(long, value_name = "[KIND=]SHARE", required = true, value_parser = budget)]
    pub budget: Vec<(Option<String>, f64)>,
    /// Directories of what may have become dearer
    #[arg(value_name = "CANDIDATE", required = true)]
    pub candidate: Vec<PathBuf>,
    /// What an undecided gate ends with
    #[arg(long, value_enum, value_name = "END", default_value = "exit")]
    pub undecided: WhenUndecided,
    /// Write the answer for another program; FILE - is stdout
    #[arg(long, value_name = "FORMAT=FILE", value_parser = target, long_help = formats())]
    pub write: Vec<(&'static GateFormat, PathBuf)>,
}

#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum WhenUndecided {
    /// Exit status 4
    Exit,
    /// Exit status 0
    Pass,
    /// Exit status 1
    Fail,
    /// Exit status 125
    Skip,
}

fn formats() -> String {
    let lines: String =
        FORMATS.iter().map(|format| format!("  {:<18}{}\n", format.name, format.help)).collect();
    format!("Write the answer for another program; FILE - is stdout. FORMAT is one of:\n{lines}")
}

/// `5%`, `0%`, `-10%`, `cpu=5%`.
fn budget(text: &str) -> Result<(Option<String>, f64), String> {
    let (kind, share) = match text.split_once('=') {
        Some((kind, share)) => (Some(kind.trim().to_string()), share),
        None => (None, text),
    };
    let share = share.trim();
    let (sign, size) = share.strip_prefix('-').map_or((1.0, share), |size| (-1.0, size));
    let size = if ["0", "0%"].contains(&size) {
        0.0
    } else {
        parse_fraction(size).map_err(|error| format!("{error}: write 5% or cpu=5%"))?
    };
    Ok((kind, sign * size))
}

fn target(text: &str) -> Result<(&'static GateFormat, PathBuf), String> {
    let named = |name: &str| FORMATS.iter().find(|format| format.name == name);
    let known: Vec<&str> = FORMATS.iter().map(|format| format.name).collect();
    let (name, file) = text.split_once('=').ok_or("write FORMAT=FILE, for example junit=gate.xml")?;
    let format =
        named(name).ok_or_else(|| format!("there is no format {name:?}: {}", suggest(name, &known, &[])))?;
    if file.is_empty() { Err("the file has no name".into()) } else { Ok((format, file.into())) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn budgets_are_shares_of_all_or_of_one_kind() {
        assert_eq!(budget("5%"), Ok((None, 0.05)));
        assert_eq!(budget("cpu=-10%"), Ok((Some("cpu".into()), -0.1)));
        assert_eq!(budget("0%"), Ok((None, 0.0)));
        for bad in ["", "cpu", "cpu=", "5", "--5%", "100%", "nan%"] {
            assert!(budget(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_format_is_named_with_its_file() {
        assert_eq!(target("junit=a=b.xml").unwrap().1, PathBuf::from("a=b.xml"));
        assert!(target("junit").is_err() && target("junit=").is_err());
        assert!(target("xml=a").unwrap_err().contains("junit, markdown"));
    }
}
