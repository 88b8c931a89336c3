//! What is to be measured, on the command line of whatever measures.

use crate::axes::OpenNames;
use clap::Args;
use syscost_experiment::spec::Spec;

/// What to measure.
#[derive(Args, Debug, Clone, Default)]
pub struct ExperimentArgs {
    /// A TOML file, or the name of a built-in experiment or probe (see `syscost list`)
    #[arg(value_name = "SPEC.toml|NAME", value_parser = OpenNames(Spec::names()), hide_possible_values = true)]
    pub experiment: Option<String>,
    /// Fewer values on the axes that you do not name, and a limit of 25 s
    #[arg(long)]
    pub quick: bool,
    /// A case is done when the 95 % confidence interval of its median is this narrow, as a share of
    /// the median [default: 5%]
    #[arg(long, value_name = "SHARE")]
    pub precision: Option<String>,
    /// Measuring ends here, at any precision [default: 60s; `ways`, `os` and others name their own]
    #[arg(long, value_name = "TIME")]
    pub time_limit: Option<String>,
    /// Measure sizes and thread counts between those where the answer changes, in half as much time again
    #[arg(long, hide_short_help = true)]
    pub refine: bool,
    /// What starts a process elsewhere on paths rsh:HOST and rsh:HOST,HOST: a command in which {host} stands for the
    /// place, or ssh, srun, kubectl, docker, podman or nsenter [default: ssh]
    #[arg(long, value_name = "COMMAND")]
    pub rsh: Option<String>,
    /// Know the code of this shared object, for an experiment's file that names it; may be given several times
    #[arg(long, value_name = "FILE.so", hide_short_help = true)]
    pub own: Vec<String>,
    /// Order of the cases in each round [default: from the clock; always recorded]
    #[arg(long, value_name = "N")]
    pub seed: Option<String>,
}
