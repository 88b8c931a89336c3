//! The answer: each command against the first, and against each other, by the inference of every comparison.

use crate::rounds::{CONFIDENCE, CommandTurns};
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asked::AskedCommand;
    use std::time::Duration;
    use syscost_core::stats::random::Random;
    use syscost_sys::command::CommandEnd;

    /// Commands that take so many times as long as the first, in rounds that scatter by 3 %, some of them stalled.
    fn turns(times: &[f64], rounds: usize, seed: u64) -> CommandTurns {
        let mut random = Random::new(seed);
        let mut run = |times: f64| {
            let noise = (0..12).map(|_| random.unit()).sum::<f64>() - 6.0;
            let stall = if random.below(20) == 0 { 1.5 } else { 1.0 };
            let wall_ns = 1e7 * times * (1.0 + 0.03 * noise) * stall;
            let end = CommandEnd::Status(0);
            let (user_ns, system_ns, peak_bytes, switches, faults) = (wall_ns / 2.0, 0.0, 1e6, 1.0, 1.0);
            CommandUsage { start_ns: 0, wall_ns, user_ns, system_ns, peak_bytes, switches, faults, end }
        };
        let one =
            |at: &f64| AskedCommand { name: at.to_string(), text: at.to_string(), parameters: Vec::new() };
        CommandTurns {
            commands: times.iter().map(one).collect(),
            shell: None,
            looks: Vec::new(),
            rounds: (0..rounds)
                .map(|_| times.iter().map(|times| (0..5).map(|_| run(*times)).collect()).collect())
                .collect(),
            starts_ns: Vec::new(),
            least_bytes: 0.0,
            elapsed: Duration::from_secs(1),
            precision: 0.02,
            failed_runs: 0,
            interrupted: false,
        }
    }

    fn verdicts(times: &[f64], rounds: usize, seed: u64) -> Vec<Verdict> {
        let turns = turns(times, rounds, seed);
        pairs(&turns, WALL, &Looks::end(CONFIDENCE, 1)).iter().map(|pair| pair.decision.verdict).collect()
    }

    #[test]
    fn five_per_cent_are_found_and_nothing_is_not() {
        let found = (0..200).filter(|seed| verdicts(&[1.0, 1.05], 12, *seed) == [Verdict::More]).count();
        assert!(found >= 190, "{found} of 200");
        let false_answers = (0..400)
            .filter(|seed| matches!(verdicts(&[1.0, 1.0], 12, *seed)[0], Verdict::More | Verdict::Less))
            .count();
        assert!(false_answers <= 20, "{false_answers} of 400");
    }

    #[test]
    fn looking_until_it_is_decided_errs_no_more_than_stated() {
        let is_wrong = |seed: &u64| {
            let whole = turns(&[1.0, 1.0], 60, *seed);
            let (mut rounds, mut look) = (5, 1);
            let ended = loop {
                let seen =
                    CommandTurns { rounds: whole.rounds[..rounds].to_vec(), ..turns(&[1.0, 1.0], 0, 0) };
                let next = rounds + (rounds / 2).max(2);
                if next > 60 || is_decided(&seen, &Looks::interim(CONFIDENCE, look)) {
                    break seen;
                }
                (rounds, look) = (next, look + 1);
            };
            let answer = pairs(&ended, WALL, &Looks::end(CONFIDENCE, 1))[0].decision.verdict;
            matches!(answer, Verdict::More | Verdict::Less)
        };
        let wrong = (0..300).filter(is_wrong).count();
        assert!(wrong <= 15, "{wrong} of 300");
    }

    #[test]
    fn the_best_are_those_that_nothing_beats() {
        let all = turns(&[1.0, 1.3, 1.0, 0.8], 12, 1);
        let pairs = pairs(&all, WALL, &Looks::end(CONFIDENCE, 1));
        assert_eq!(pairs.len(), 6, "each with each");
        assert_eq!(best(4, &pairs), [3]);
        assert_eq!(best(2, &[]), [0, 1], "nothing is known");
    }
}
