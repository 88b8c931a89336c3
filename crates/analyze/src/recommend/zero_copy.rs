//! Zero-copy that was copied after all, of what a reader could use: by audits, else by completions.

use super::situation::Situation;
use crate::answer::{Caveat, CopiedBy};
use crate::cells::Cells;
use crate::compare::study::RIVALS;
use crate::copies;
use std::collections::BTreeMap;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::Class;

/// The share of completions that the kernel flagged as copied.
const FLAGGED: &str = "copied_fraction";

/// One for all that were counted, one for all whose completions are known alone.
pub fn caveats(run: &Run, cells: &Cells, situation: Situation) -> Vec<Caveat> {
    let mut counted: BTreeMap<String, bool> = BTreeMap::new();
    for audit in run.record.audits.iter().filter(|audit| situation.can_use(&audit.point)) {
        let claim = copies::claim(audit).filter(|_| copies::zero_copy_asked(audit));
        if let (Some(name), Some(kept)) = (audit.point.text(RIVALS), claim.and_then(|claim| claim.kept())) {
            *counted.entry(name.to_string()).or_default() |= !kept;
        }
    }
    let mut flagged: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none() && situation.can_use(&c.point)) {
        let Some(name) = case.point.text(RIVALS).filter(|name| Class::ZeroCopy.holds(name)) else { continue };
        let Some(cell) = cells.cell(case.index, FLAGGED).filter(|_| !counted.contains_key(name)) else {
            continue;
        };
        flagged.entry(name.to_string()).or_default().push(cell.estimate.value);
    }
    flagged.retain(|_, shares| shares.iter().any(|share| *share > 0.0));
    let mechanisms: Vec<String> =
        counted.into_iter().filter_map(|(name, copied)| copied.then_some(name)).collect();
    let of_audits =
        (!mechanisms.is_empty()).then_some(Caveat::ZeroCopyCopied { mechanisms, by: CopiedBy::Counted });
    let shares = || flagged.values().flatten().copied();
    let by = CopiedBy::Flagged { least: shares().fold(1.0, f64::min), most: shares().fold(0.0, f64::max) };
    let mechanisms: Vec<String> = flagged.keys().cloned().collect();
    let of_completions = (!mechanisms.is_empty()).then_some(Caveat::ZeroCopyCopied { mechanisms, by });
    of_audits.into_iter().chain(of_completions).collect()
}
