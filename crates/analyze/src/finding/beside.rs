//! The copies of one way beside those of another on the same path, as the audits counted them.

use super::Evidence;
use crate::answer::CellRef;
use crate::copies::data_path::DataPath;
use crate::copies::{CopyPlace, places};
use crate::varied;
use serde::Serialize;
use syscost_experiment::run::Audit;
use syscost_measure::probe::transfer::axes::RECEIVER;

/// Fewer copies per byte are no difference.
const SAME: f64 = 0.02;

/// Copies per byte of payload at one place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopyChange {
    pub place: CopyPlace,
    pub ours: f64,
    pub theirs: f64,
}

/// One way beside another on the same path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CopiesBeside {
    /// Mechanisms.
    pub ours: String,
    pub theirs: String,
    pub path: String,
    /// Of both, where the run has several: another may copy otherwise.
    #[serde(skip)]
    pub receiver: Option<String>,
    /// Places where they differ.
    pub changed: Vec<CopyChange>,
    /// Copies of every byte.
    pub ours_in_all: f64,
    pub theirs_in_all: f64,
}

impl CopiesBeside {
    pub fn removes_any(&self) -> bool {
        self.theirs_in_all - self.ours_in_all > SAME
    }
}

/// What a way copies more and less than the first that may stand against it, where the counts of both add up.
pub fn copies(
    evidence: &Evidence<'_>,
    ways: &[DataPath],
    way: &DataPath,
    against: impl Fn(&DataPath) -> bool,
) -> Option<(CopiesBeside, Vec<CellRef>)> {
    let sound = |way: &&DataPath| way.audit.balanced() == Some(true);
    let way = Some(way).filter(sound)?;
    let same = |other: &&DataPath| {
        let receiver = |w: &DataPath| w.audit.point.get(RECEIVER.id).cloned();
        against(other) && other.path == way.path && receiver(other) == receiver(way)
    };
    let beside = ways.iter().filter(sound).find(same)?;
    let several = varied::axes(evidence.run).contains(RECEIVER.id);
    let both = places(way.audit).into_iter().zip(places(beside.audit));
    let changed = both
        .filter(|((_, ours), (_, theirs))| (ours - theirs).abs() > SAME)
        .map(|((place, ours), (_, theirs))| CopyChange { place, ours, theirs })
        .collect();
    let copies = CopiesBeside {
        ours: way.way.clone(),
        theirs: beside.way.clone(),
        path: way.path.clone(),
        receiver: way.audit.point.text(RECEIVER).filter(|_| several).map(str::to_string),
        changed,
        ours_in_all: total(way.audit),
        theirs_in_all: total(beside.audit),
    };
    let cells = [way, beside].into_iter().filter_map(|w| CellRef::audit(evidence.run, w.audit)).collect();
    Some((copies, cells))
}

fn total(audit: &Audit) -> f64 {
    places(audit).iter().map(|(_, copies)| copies).sum()
}
