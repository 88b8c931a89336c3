//! What was measured of the commands: every run of every round, before anything is decided.

use crate::asked::AskedCommand;
use crate::first_look::FirstLook;
use std::time::Duration;
use syscost_core::stats::median;
use syscost_sys::command::CommandUsage;

pub const CONFIDENCE: f64 = 0.95;

/// The least peak memory varies by a few pages from start to start.
const JITTER: f64 = 1.03;

/// What was measured, and of what.
pub struct CommandTurns {
    pub commands: Vec<AskedCommand>,
    pub shell: Option<String>,
    pub looks: Vec<FirstLook>,
    /// By round, command and turn.
    pub rounds: Vec<Vec<Vec<CommandUsage>>>,
    /// Of a program that does nothing, started in the same way; empty where no command is short.
    pub starts_ns: Vec<f64>,
    /// What the kernel says is the peak memory of a program that has none: this process's, which made it.
    pub least_bytes: f64,
    pub elapsed: Duration,
    pub precision: f64,
    pub failed_runs: u64,
    pub interrupted: bool,
}

impl CommandTurns {
    /// Is a peak of so much a command's own, and no program's without any?
    pub fn is_own_memory(&self, bytes: f64) -> bool {
        bytes > JITTER * self.least_bytes
    }

    /// The figure of each round: the median over its turns.
    pub fn by_round(&self, command: usize, figure: fn(&CommandUsage) -> f64) -> Vec<f64> {
        let of_round = |round: &Vec<Vec<CommandUsage>>| {
            let turns: Vec<f64> = round[command].iter().map(figure).collect();
            median(&turns).unwrap_or(0.0)
        };
        self.rounds.iter().map(of_round).collect()
    }
}
