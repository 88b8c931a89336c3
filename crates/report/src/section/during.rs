//! What the machine and the run did while it was measured: its level, its other work, where the time went.

use super::unless_empty;
use crate::material::Material;
use crate::text::{machine_level, own_cost};
use crate::{Block, LevelLine, LevelStep, Section};
use syscost_analyze::level::MachineLevel;
use syscost_analyze::limits::own_cost::OwnShares;
use syscost_host::conditions::Conditions;

/// Longer pauses between visits are left out of the drawing: the run was stopped and resumed.
const PAUSE_NS: u64 = 10_000_000_000;

pub fn section(m: &Material) -> Option<Section> {
    let mut blocks: Vec<Block> = sentences(m).into_iter().map(Block::Text).collect();
    blocks.extend(m.analysis.level.as_ref().map(|level| Block::Level(line(level))));
    unless_empty("during", "The machine during the run", blocks)
}

/// What a terminal shows of it too.
pub fn sentences(m: &Material) -> Vec<String> {
    let record = &m.run.record;
    let before = record.conditions.first().map(|session| format!("Before: {}.", session.before.line()));
    let during: Vec<Conditions> = record.conditions.iter().map(|session| session.during.clone()).collect();
    let during = Conditions::joined(&during).zip(record.conditions.first());
    let used = during.as_ref().and_then(|(during, _)| Some(during.own?.sentence()));
    let changed = during.and_then(|(during, first)| during.change_since(&first.before));
    let level = m.analysis.level.iter().map(machine_level::sentence);
    let time = record.time_spent.map(|spent| format!("Time: {}.", spent.line(record.elapsed_ns)));
    let own = own_cost::sentence(&OwnShares::of(m.run));
    before.into_iter().chain(changed).chain(level).chain(time).chain(used).chain(own).collect()
}

fn line(level: &MachineLevel) -> LevelLine {
    let mut steps: Vec<LevelStep> = Vec::new();
    let mut left_out = level.stretches.first().map_or(0, |first| first.start_ns);
    let mut until = left_out;
    for stretch in &level.stretches {
        let pause = stretch.start_ns.saturating_sub(until);
        if pause > PAUSE_NS {
            left_out += pause;
        }
        until = stretch.end_ns;
        let seconds = |ns: u64| ns.saturating_sub(left_out) as f64 / 1e9;
        let (from_s, to_s) = (seconds(stretch.start_ns), seconds(stretch.end_ns));
        let slow = level.is_slow(stretch);
        steps.push(LevelStep { from_s, to_s, level: stretch.level, slow });
    }
    LevelLine {
        id: "machine-level".into(),
        title: "The machine's level by time of measuring".into(),
        chance: level.chance,
        steps,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::level::LevelStretch;

    #[test]
    fn an_hour_between_two_sessions_is_not_drawn() {
        let second = 1_000_000_000;
        let stretch = |at: u64, level| LevelStretch {
            start_ns: at * second,
            end_ns: (at + 5) * second,
            level,
            samples: 36,
        };
        let stretches = vec![stretch(2, 0.0), stretch(7, 0.3), stretch(3612, 0.2)];
        let drawn = line(&MachineLevel { stretches, changed: true, chance: 0.02 });
        let ends: Vec<(f64, f64, bool)> = drawn.steps.iter().map(|s| (s.from_s, s.to_s, s.slow)).collect();
        assert_eq!(ends, [(0.0, 5.0, false), (5.0, 10.0, true), (10.0, 15.0, true)]);
    }
}
