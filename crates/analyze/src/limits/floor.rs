//! What a message costs at best: one call into TCP, and one copy of its bytes by one core.
//!
//! Who puts bytes into memory of a receiver's own cannot do with less. A receiver that sleeps for each message has to be
//! woken besides: that is shown, and not counted, since a busy stream need not sleep. Two copies are what TCP makes where
//! nothing is lent.

use crate::cells::Cells;
use crate::model::steps::Steps;
use crate::model::terms;
use syscost_core::axis::Point;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_measure::probe::tcp_path::steps;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

/// The parts in nanoseconds a message.
#[derive(Clone, Debug, PartialEq)]
pub struct Floor {
    pub call_ns: f64,
    pub copy_ns: f64,
    /// What a wake-up for each message would add; `None` where it was not measured.
    pub wake_ns: Option<f64>,
    /// Call and copy, round by round.
    pub at_best: Estimate,
    /// How many times as much the best case costs.
    pub worse: Estimate,
}

/// The metric that it is held against.
const COST: &str = "total_cpu_ns_per_message";

/// The floor of the size that these coordinates have, beside the best case of one thread there; `None` without its parts.
pub fn floor(sources: &[&Case], cells: &Cells, best: &Case, shared: &Point, level: f64) -> Option<Floor> {
    let bytes = shared.int(MESSAGE_BYTES)?;
    let steps = Steps::at(sources, cells, &best.point);
    // The bytes and their copy are at work.
    let (call, copy) = (steps.sender(steps::APPEND)?, steps.user_copy(2 * bytes)?.times(bytes as f64));
    let wake_ns = terms::waking(&steps).map(|wake| wake.ns);
    let both = call.plus(&copy).rounds;
    let values: Vec<f64> = both.iter().map(|(_, ns)| *ns).collect();
    let at_best = median_interval(&values, level, Unit::Nanoseconds)?;
    let worse = times(&cells.cell(best.index, COST)?.estimate, &at_best)?;
    Some(Floor { call_ns: call.ns, copy_ns: copy.ns, wake_ns, at_best, worse })
}

/// How many times as much one figure is as another that stands beside it. Few rounds in pairs may say the contrary of the
/// two medians; ends of both intervals are wide enough for any pairs that do not move against each other.
pub fn times(figure: &Estimate, other: &Estimate) -> Option<Estimate> {
    let known = figure.low > 0.0 && other.low > 0.0;
    known.then(|| Estimate {
        value: figure.value / other.value,
        low: figure.low / other.high,
        high: figure.high / other.low,
        level: figure.level.min(other.level),
        n: figure.n.min(other.n),
        unit: Unit::Ratio,
    })
}
