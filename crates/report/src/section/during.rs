//! What the machine and the run did while it was measured: its level, its other work, where the time went.

use super::unless_empty;
use crate::material::Material;
use crate::text::{machine_level, own_cost};
use crate::{Block, Section};
use syscost_analyze::limits::own_cost::OwnShares;
use syscost_host::conditions::Conditions;

pub fn section(m: &Material) -> Option<Section> {
    let blocks = sentences(m).into_iter().map(Block::Text).collect();
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
