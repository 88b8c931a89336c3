//! Who is best at each point: the winner, or those that nothing is significantly better than.
//!
//! A case wins when it is significantly better than every case that it may be compared with (see [`crate::compare`]).
//! Otherwise several are unbeaten: the same within the margin as the first of them, or undecided.
//! A case that was skipped or failed is never a candidate.

use crate::cells::Cells;
use crate::compare::Comparisons;
use crate::compare::groups::{Group, Groups};
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::axis::{Name, Point};
use syscost_core::sample::Better;
use syscost_experiment::run::Run;

/// The best of one group of comparable cases.
#[derive(Clone, Debug, PartialEq)]
pub struct Winner {
    pub probe: Name,
    /// The coordinates that the candidates share.
    pub shared: Point,
    /// How sure it is what leads.
    pub sure: Sure,
    /// Those that nothing is significantly better than, best figure first; empty where nothing was measured.
    pub unbeaten: Vec<usize>,
    /// Cases with a figure, best first: of the data that verdicts stand on.
    pub candidates: Vec<usize>,
}

/// The winners of a metric; empty where the metric is not ranked.
pub fn winners(run: &Run, cells: &Cells, groups: &Groups, comparisons: &Comparisons) -> Vec<Winner> {
    if comparisons.metric.better == Better::Neither {
        return Vec::new();
    }
    let failed: BTreeSet<usize> = run.record.failures.iter().map(|f| f.case).collect();
    groups.groups.iter().map(|g| best_of(run, cells, (groups, g), comparisons, &failed)).collect()
}

fn best_of(
    run: &Run,
    cells: &Cells,
    (groups, group): (&Groups, &Group),
    comparisons: &Comparisons,
    failed: &BTreeSet<usize>,
) -> Winner {
    let metric = &comparisons.metric;
    let figure = |case: usize| Some(cells.estimate(case, metric.id)?.value);
    let mut candidates: Vec<usize> =
        group.members.iter().copied().filter(|c| !failed.contains(c) && figure(*c).is_some()).collect();
    candidates.sort_by(|a, b| {
        let order = figure(*a).partial_cmp(&figure(*b)).unwrap_or(std::cmp::Ordering::Equal);
        if metric.better == Better::Higher { order.reverse() } else { order }
    });
    let of = |i: usize| candidates[i];
    let (sure, unbeaten) = lead(
        candidates.len(),
        |a, b| groups.rivals(run, of(a), of(b)),
        |a, b| comparisons.beats(of(a), of(b)),
        |a, b| comparisons.same(of(a), of(b)),
    );
    let unbeaten = unbeaten.into_iter().map(of).collect();
    Winner { probe: group.probe.clone(), shared: group.shared.clone(), sure, unbeaten, candidates }
}

/// How sure it is what leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Sure {
    /// Significantly better than every other.
    Best,
    /// The same within the margin as the other unbeaten ones.
    Same,
    /// More rounds may tell it from the other unbeaten ones.
    Undecided,
    /// Nothing to compare it with: best of one is no win.
    Alone,
}

/// Those of `n` candidates, best first, that nothing is significantly better than; `rivals` says whether two may be
/// compared.
pub fn lead(
    n: usize,
    rivals: impl Fn(usize, usize) -> bool,
    beats: impl Fn(usize, usize) -> bool,
    same: impl Fn(usize, usize) -> bool,
) -> (Sure, Vec<usize>) {
    if n == 0 || !(0..n).any(|other| rivals(0, other)) {
        return (Sure::Alone, (0..n.min(1)).collect());
    }
    if let Some(winner) = (0..n).find(|one| (0..n).all(|other| !rivals(*one, other) || beats(*one, other))) {
        return (Sure::Best, vec![winner]);
    }
    let mut unbeaten: Vec<usize> = (0..n).filter(|one| !(0..n).any(|other| beats(other, *one))).collect();
    // Paired ratios need not be transitive: in a circle nothing is unbeaten.
    if unbeaten.is_empty() {
        unbeaten = (0..n).collect();
    }
    let alike = unbeaten.len() > 1 && unbeaten[1..].iter().all(|other| same(unbeaten[0], *other));
    (if alike { Sure::Same } else { Sure::Undecided }, unbeaten)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, point};
    use syscost_experiment::plan::Skip;
    use syscost_experiment::run::Failure;
    use syscost_host::Unavailable;

    fn best(run: &Run, metric: &str) -> Vec<Winner> {
        let (cells, groups) = (Cells::of(run), Groups::of(run, "mechanism"));
        winners(run, &cells, &groups, &Comparisons::of(run, &cells, &groups, metric).unwrap())
    }

    /// sendmsg is 30 % cheaper from 16 KiB, pack_send 30 % dearer everywhere.
    fn cost(p: &Point) -> f64 {
        let bytes = p.int_at("message_bytes").unwrap();
        let factor = match p.text_at("mechanism").unwrap() {
            "sendmsg" if bytes >= 16384 => 0.7,
            "pack_send" => 1.3,
            _ => 1.0,
        };
        factor * (1000.0 + 0.2 * bytes as f64)
    }

    fn planted() -> Synthetic {
        Synthetic { cost_ns: cost, rounds: 10, noise: 0.01, ..Default::default() }
    }

    #[test]
    fn skipped_and_failed_mechanisms_do_not_win() {
        let mut run = planted().run();
        let at = |run: &Run, mechanism: &str| {
            let wanted = point(mechanism, 65536, 1);
            run.record.plan.cases.iter().find(|c| c.point == wanted).unwrap().index
        };
        let failed = at(&run, "sendmsg");
        run.record.failures.push(Failure { case: failed, round: 3, message: "gone".into() });
        let why = Unavailable { reason: "ENOSYS".into(), remedy: "none".into() };
        run.record.plan.skips.push(Skip {
            probe: "transfer".into(),
            point: point("msg_zerocopy", 65536, 1),
            why,
        });
        let winners = best(&run, "total_cpu_ns_per_byte");
        let here = winners.iter().find(|w| w.shared == point("x", 65536, 1).without("mechanism")).unwrap();
        assert_eq!((here.sure, &here.unbeaten[..]), (Sure::Best, &[at(&run, "send")][..]));
        assert_eq!(here.candidates, ["send", "pack_send"].map(|mechanism| at(&run, mechanism)));
        let alone = Synthetic { mechanisms: vec!["send"], ..planted() }.run();
        assert!(best(&alone, "throughput").iter().all(|w| w.sure == Sure::Alone && w.unbeaten.len() == 1));
        let empty = Synthetic { rounds: 0, ..planted() }.run();
        assert!(best(&empty, "throughput").iter().all(|w| w.unbeaten.is_empty()));
    }
}
