//! The answer: each command against the first, and against each other, by the inference of every comparison.

use crate::turns::{CONFIDENCE, CommandTurns};
use syscost_core::decide::{AGAINST_CONTROL, Contrast, Decision, Looks, Verdict, decide};
use syscost_core::stats::{Estimate, rounds_interval};
use syscost_core::units::Unit;
use syscost_sys::command::CommandUsage;

/// More commands are held against the first alone.
const ALL_PAIRS: usize = 12;

pub type CommandFigure = fn(&CommandUsage) -> f64;

pub const WALL: CommandFigure = |run| run.wall_ns;
pub const CPU: CommandFigure = |run| run.user_ns + run.system_ns;

/// What `of` takes over what `against` takes.
pub struct CommandPair {
    pub of: usize,
    pub against: usize,
    pub decision: Decision,
}

/// Those with the first command come first.
pub fn pairs(turns: &CommandTurns, figure: CommandFigure, looks: &Looks) -> Vec<CommandPair> {
    let commands = turns.commands.len();
    let rounds: Vec<Vec<f64>> = (0..commands).map(|at| turns.by_round(at, figure)).collect();
    let against_first = (1..commands).map(|of| (of, 0));
    let others =
        (1..commands).filter(|_| commands <= ALL_PAIRS).flat_map(|a| (a + 1..commands).map(move |b| (b, a)));
    let asked: Vec<(usize, usize)> = against_first.chain(others).collect();
    let contrast = |(of, against): &(usize, usize)| {
        let ratios = rounds[*of].iter().zip(&rounds[*against]).filter(|(a, b)| **a > 0.0 && **b > 0.0);
        let logs = ratios.map(|(a, b)| (a / b).ln()).collect();
        Contrast { weight: if *against == 0 { AGAINST_CONTROL } else { 1.0 }, ..Contrast::of(logs) }
    };
    let contrasts: Vec<Contrast> = asked.iter().map(contrast).collect();
    let decisions = decide(&contrasts, looks).points;
    asked
        .into_iter()
        .zip(decisions)
        .map(|((of, against), decision)| CommandPair { of, against, decision })
        .collect()
}

/// Is every command decided against the first, or a single one as precise as asked?
pub fn is_decided(turns: &CommandTurns, looks: &Looks) -> bool {
    if turns.commands.len() == 1 {
        return estimate(turns, 0, WALL)
            .is_some_and(|one| one.reaches(CONFIDENCE) && one.relative_half_width() <= turns.precision);
    }
    let all = pairs(turns, WALL, looks);
    all.iter().filter(|pair| pair.against == 0).all(|pair| pair.decision.verdict != Verdict::Undecided)
}

pub fn estimate(turns: &CommandTurns, command: usize, figure: CommandFigure) -> Option<Estimate> {
    rounds_interval(&turns.by_round(command, figure), CONFIDENCE, Unit::Nanoseconds)
}

/// The command that is decided to take less than every other, or no more than any: all that are the best.
pub fn best(commands: usize, pairs: &[CommandPair]) -> Vec<usize> {
    let is_beaten = |at: usize| {
        pairs.iter().any(|pair| match pair.decision.verdict {
            Verdict::More => pair.of == at,
            Verdict::Less => pair.against == at,
            Verdict::Same | Verdict::Undecided => false,
        })
    };
    (0..commands).filter(|at| !is_beaten(*at)).collect()
}
