//! Accounts of cases that were not run: other sizes, other thread counts. Always a prediction.
//!
//! Counts by rule follow their rule. Those that only a counter knows (receive calls, sleeps) are drawn
//! between the counters of the neighbouring sizes of the same mechanism, along the logarithm of the size.

use super::counts::{Count, CountSource, Subject};
use super::steps::{self, Steps};
use super::{Account, AccountCaveat, items, paced};
use crate::CellRef;
use crate::cells::Cells;
use syscost_core::axis::{IntAxis, Point};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::files::parse_list;
use syscost_measure::mechanism::connections;
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};

const SIZE: IntAxis = MESSAGE_BYTES;

/// The account of a point that the run does not have. `None`: no neighbour or no unit cost, or several
/// connections a thread, which no step times.
pub fn account(run: &Run, cells: &Cells, point: &Point) -> Option<Account> {
    if connections(point) > 1 {
        return None;
    }
    let neighbours = neighbours(run, cells, point);
    let subject = Subject::of(point, |metric| between(cells, &neighbours, point, metric))?;
    let items = items(&subject, &Steps::at(&steps::sources(run), cells, point))?;
    let known = [Some(AccountCaveat::NotRun), outside(&neighbours, point), crowded(run, point), paced(point)];
    let caveats = known.into_iter().flatten().collect();
    Some(Account { case: None, point: point.clone(), items, measured: None, caveats })
}

/// The CPUs that the run was allowed.
pub fn allowed_cpus(run: &Run) -> Option<Vec<usize>> {
    let fact = run.record.host.iter().find(|fact| fact.id == "cpus_allowed")?;
    parse_list(fact.value.as_deref()?)
}

/// The nearest smaller and the nearest larger case that differ in size, and if need be in threads.
fn neighbours<'r>(run: &'r Run, cells: &Cells, point: &Point) -> Vec<&'r Case> {
    let away = |case: &Case| point_distance(case.point.int(THREADS), point.int(THREADS));
    let alike = |case: &&Case| {
        let bare = |p: &Point| p.without(SIZE.id).without(THREADS.id);
        case.probe == Transfer.about().id
            && case.twin_of.is_none()
            && bare(&case.point) == bare(point)
            && !cells.of_case(case.index).is_empty()
    };
    let mut cases: Vec<&Case> = run.record.plan.cases.iter().filter(alike).collect();
    let nearest = cases.iter().map(|case| away(case)).fold(f64::INFINITY, f64::min);
    cases.retain(|case| away(case) <= nearest);
    cases.sort_by_key(|case| case.point.int(SIZE));
    let size = point.int(SIZE);
    let below = cases.iter().rev().find(|case| case.point.int(SIZE) <= size).copied();
    let above = cases.iter().find(|case| case.point.int(SIZE) >= size).copied();
    let mut found: Vec<&Case> = below.into_iter().chain(above).collect();
    found.dedup_by_key(|case| case.index);
    found
}

fn point_distance(a: Option<u64>, b: Option<u64>) -> f64 {
    let log = |n: Option<u64>| (n.unwrap_or(1).max(1) as f64).log2();
    (log(a) - log(b)).abs()
}

/// A counter between those of the neighbours; beyond the last one, its own.
fn between(cells: &Cells, neighbours: &[&Case], point: &Point, metric: &'static str) -> Option<Count> {
    let known: Vec<(f64, f64, CellRef)> = neighbours
        .iter()
        .filter_map(|case| {
            let cell = cells.cell(case.index, metric)?;
            let at = (case.point.int(SIZE)?.max(1) as f64).log2();
            Some((at, cell.estimate.value, CellRef { case: case.index, metric: cell.metric }))
        })
        .collect();
    let at = (point.int(SIZE)?.max(1) as f64).log2();
    let n = match &known[..] {
        [(_, only, _)] => *only,
        [(low, below, _), (high, above, _)] => below + (above - below) * (at - low) / (high - low),
        _ => return None,
    };
    let cells: Vec<CellRef> = known.into_iter().map(|(_, _, cell)| cell).collect();
    let from = CountSource::Between(cells.iter().map(|cell| cell.case).collect());
    Some(Count { n, from, cells })
}

fn outside(neighbours: &[&Case], point: &Point) -> Option<AccountCaveat> {
    let one_side = neighbours.len() == 1 && neighbours[0].point.int(SIZE) != point.int(SIZE);
    one_side.then_some(AccountCaveat::BeyondSizes)
}

/// More threads than CPUs take turns, of which the model knows nothing.
fn crowded(run: &Run, point: &Point) -> Option<AccountCaveat> {
    let cpus = allowed_cpus(run)?.len();
    let threads = 2 * point.int(THREADS).unwrap_or(1) as usize;
    (threads > cpus).then_some(AccountCaveat::Crowded { threads, cpus })
}
