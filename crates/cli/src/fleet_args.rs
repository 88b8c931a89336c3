//! Options of what measures many hosts.

use clap::{Args, Subcommand};
use std::path::PathBuf;
use syscost_fleet::plan::PAIR_RUN;

pub const FLEET_EXAMPLES: &str = "\
Examples:
  syscost fleet plan --hosts 'n[1-4]' --pairs all --engine local
                                  a first look, on this machine alone
  syscost fleet plan --hosts 'n[1-500]' --each os --pairs matchings:8 \\
      --engine slurm
  syscost fleet submit fleet      into the queue; again: what is missing
  syscost fleet status fleet
  syscost fleet collect fleet
  syscost fleet report fleet      which host is slow, by how much, how sure

Slurm places, retries and limits the steps. Every step is an ordinary run in
DIR/runs/STEP/run. See docs/hosts.md.";

#[derive(Args, Debug)]
pub struct FleetArgs {
    #[command(subcommand)]
    pub command: FleetCommand,
}

#[derive(Subcommand, Debug)]
pub enum FleetCommand {
    /// Write fleet.toml and what the engine takes
    Plan(FleetPlanArgs),
    /// Hand the fleet to its engine; again: only what is missing
    Submit(FleetDir),
    /// What the engine says, and which steps are done
    Status(FleetDir),
    /// Read the runs of all steps into tables
    Collect(FleetDir),
    /// Say which host is slow, from the collected tables
    Report(FleetDir),
    /// Measure one step here: what an engine starts
    #[command(hide = true)]
    Step {
        /// The fleet's directory
        dir: PathBuf,
        /// The step's number
        number: usize,
    },
}

#[derive(Args, Debug)]
pub struct FleetDir {
    /// The fleet's directory
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
}

#[derive(Args, Debug)]
pub struct FleetPlanArgs {
    /// Names as Slurm writes them: n[1-500],login1
    #[arg(long, value_name = "LIST")]
    pub hosts: String,
    /// What each host runs by itself: arguments of `syscost run`
    #[arg(long, value_name = "RUN")]
    pub each: Option<String>,
    /// Which pairs: all (both directions), matchings:N (hosts send and receive in turns), to=HOST
    #[arg(long, value_name = "WHICH")]
    pub pairs: Option<String>,
    /// What each pair runs: arguments of `syscost run`
    #[arg(long, value_name = "RUN", default_value = PAIR_RUN)]
    pub pair_run: String,
    /// How often every step is measured: repeats give the noise floor
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub repeat: u32,
    /// Who starts the steps: slurm, or local (namespaces of this machine)
    #[arg(long, value_name = "ENGINE")]
    pub engine: String,
    /// The program on every host [default: this one]
    #[arg(long, value_name = "FILE")]
    pub binary: Option<String>,
    /// A CSV file of host,kind: hosts are compared with their kind [default: what the engine tells of
    /// switches]
    #[arg(long, value_name = "FILE")]
    pub stratum: Option<PathBuf>,
    /// Draws who meets whom [default: 1]
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Directory to write, new or empty
    #[arg(long, value_name = "DIR", default_value = "fleet")]
    pub out: PathBuf,
}
