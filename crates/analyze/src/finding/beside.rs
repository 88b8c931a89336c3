//! The copies of one way beside those of another on the same path, as the audits counted them.

use super::Evidence;
use crate::copies::data_path::DataPath;
use crate::words::and;
use crate::{CellRef, Statement};
use syscost_core::units::significant;
use syscost_experiment::run::Audit;
use syscost_measure::probe::transfer::axes::RECEIVER;

/// Fewer copies per byte are no difference.
const SAME: f64 = 0.02;

/// What a way copies more and less than the first that may stand against it, where the counts of both add up.
pub fn copies(
    evidence: &Evidence<'_>,
    ways: &[DataPath],
    way: &DataPath,
    against: impl Fn(&DataPath) -> bool,
) -> Option<Statement> {
    let sound = |way: &&DataPath| way.audit.balanced() == Some(true);
    let way = Some(way).filter(sound)?;
    let same = |other: &&DataPath| {
        let receiver = |w: &DataPath| w.audit.point.get(RECEIVER.id).cloned();
        against(other) && other.path == way.path && receiver(other) == receiver(way)
    };
    let beside = ways.iter().filter(sound).find(same)?;
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for ((place, ours), (_, theirs)) in places(way.audit).into_iter().zip(places(beside.audit)) {
        let told = format!("{place} ({} per byte instead of {})", figure(ours), figure(theirs));
        match ours - theirs {
            difference if difference > SAME => added.push(told),
            difference if difference < -SAME => removed.push(told),
            _ => {}
        }
    }
    let part = |verb: &str, list: &[String]| match list {
        [] => format!("no copy is {verb}"),
        list => format!("{verb} is {}", and(list)),
    };
    let (ours, theirs) = (total(way.audit), total(beside.audit));
    let balance = if (ours - theirs).abs() <= SAME {
        format!("as often as with {}, so that on this path no copy is saved", beside.mechanism())
    } else {
        format!("{} with {}", figure(theirs), beside.mechanism())
    };
    let text = format!(
        "Against {}, with {}: {}; {}. In all every byte is copied {} times, {balance}.",
        beside.name(),
        way.name(),
        part("removed", &removed),
        part("added", &added),
        figure(ours)
    );
    let cells = [way, beside].into_iter().filter_map(|w| CellRef::audit(evidence.run, w.audit)).collect();
    Some(Statement { text, cells })
}

/// Copies per byte, step by step.
fn places(audit: &Audit) -> [(&'static str, f64); 4] {
    let counts = audit.counts.unwrap_or_default();
    [
        ("the copy in user space", audit.per_byte(audit.user_copied)),
        ("the copy into the kernel", audit.per_byte(counts.copied_in)),
        ("the orphan copy of lent pages on arrival", audit.per_byte(counts.orphan_copied)),
        ("the copy out to the receiver", audit.per_byte(counts.copied_out)),
    ]
}

fn total(audit: &Audit) -> f64 {
    places(audit).iter().map(|(_, copies)| copies).sum()
}

/// Copies per byte: the table has every digit.
fn figure(copies: f64) -> String {
    significant((copies * 100.0).round() / 100.0)
}
