//! What one timed batch recorded, and how metrics are computed from it.
//!
//! A [`Sample`] holds raw quantities only; a [`Metric`] is a pure function of a sample and its
//! point, so that every figure can be rebuilt from the recorded file. A quantity that this
//! machine could not provide is `None` (an empty CSV cell), never 0.

mod ids;
pub mod rows;

pub use ids::Ids;

use crate::axis::Point;
use crate::stats::{self, histogram::Histogram, times::TimesFigure};
use crate::units::Unit;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::sync::Arc;

/// A raw number that a probe records in each sample: one column of `samples.csv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity {
    pub id: &'static str,
    pub unit: Unit,
    pub help: &'static str,
}

/// The mark of a sample whose round counted with hardware counters: its times are not those of the case.
pub const COUNTING: &str = "counting";

/// One timed batch of one case.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Index of the case in the plan.
    pub case: usize,
    /// Which visit of the case: a fresh worker (pair). Rounds are the independent replicates.
    pub round: u32,
    /// Position within the round, from 0.
    pub index: u32,
    /// When the batch began, from the run's start on, on one clock that goes on when the run is resumed. `None`: a run of
    /// before. Until the harness keeps the sample it is CLOCK_MONOTONIC of this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub start_ns: Option<u64>,
    /// Wall-clock length of the batch.
    pub elapsed_ns: f64,
    /// Operations completed (messages received, calls made).
    pub ops: f64,
    /// Payload bytes moved; 0 where the operation moves none.
    pub bytes: f64,
    /// The work was checked (bytes, checksum, count) and was right.
    pub verified: bool,
    /// Why this sample is suspect (`steal`, `stopped`, `throttled`); kept, labelled, not used.
    pub marks: Vec<String>,
    /// The probe's quantities by id; absent or `None` = not measurable here.
    pub quantities: Quantities,
    /// Every single time of the batch, where the probe keeps them: a file of its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histogram: Option<Histogram>,
}

impl Sample {
    /// A recorded quantity, if this machine could measure it.
    pub fn get(&self, quantity: &str) -> Option<f64> {
        self.quantities.get(quantity)
    }

    /// May estimates use this sample's times?
    pub fn usable(&self) -> bool {
        self.verified && self.marks.is_empty()
    }

    /// Was its round for the hardware counters?
    pub fn is_counting(&self) -> bool {
        self.marks.iter().any(|mark| mark == COUNTING)
    }

    /// May estimates use this sample's hardware counters? Runs of before had them in their timed windows.
    pub fn counts(&self) -> bool {
        self.verified && !self.suspect()
    }

    /// Is there a reason to doubt it?
    pub fn suspect(&self) -> bool {
        self.marks.iter().any(|mark| mark != COUNTING)
    }
}

/// Raw numbers by id. The rows of one file share their ids, so that a row is one piece of memory: a run may
/// have millions.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(from = "BTreeMap<String, Option<f64>>", into = "BTreeMap<String, Option<f64>>")]
pub struct Quantities {
    ids: Arc<Ids>,
    /// One for each id.
    values: Box<[Option<f64>]>,
}

impl Quantities {
    /// As many values as ids, in their order.
    pub fn new(ids: Arc<Ids>, values: Box<[Option<f64>]>) -> Quantities {
        debug_assert!(ids.len() == values.len());
        Quantities { ids, values }
    }

    pub fn get(&self, id: &str) -> Option<f64> {
        self.values[self.ids.place(id)?]
    }

    /// Those that were measured, by id.
    pub fn iter(&self) -> impl Iterator<Item = (&str, f64)> {
        self.ids.iter().zip(&self.values).filter_map(|(id, value)| Some((id, (*value)?)))
    }

    pub fn insert(&mut self, id: String, value: Option<f64>) {
        self.extend([(id, value)]);
    }
}

impl Extend<(String, Option<f64>)> for Quantities {
    fn extend<T: IntoIterator<Item = (String, Option<f64>)>>(&mut self, more: T) {
        let mut all = BTreeMap::from(std::mem::take(self));
        all.extend(more);
        *self = all.into();
    }
}

impl FromIterator<(String, Option<f64>)> for Quantities {
    fn from_iter<T: IntoIterator<Item = (String, Option<f64>)>>(all: T) -> Quantities {
        BTreeMap::from_iter(all).into()
    }
}

impl From<BTreeMap<String, Option<f64>>> for Quantities {
    fn from(all: BTreeMap<String, Option<f64>>) -> Quantities {
        let (ids, values): (Vec<String>, Vec<Option<f64>>) = all.into_iter().unzip();
        Quantities { ids: Arc::new(Ids::new(ids)), values: values.into() }
    }
}

impl From<Quantities> for BTreeMap<String, Option<f64>> {
    fn from(all: Quantities) -> Self {
        all.ids.iter().map(String::from).zip(all.values).collect()
    }
}

/// Absent and not measured are the same.
impl PartialEq for Quantities {
    fn eq(&self, other: &Quantities) -> bool {
        self.iter().eq(other.iter())
    }
}

/// Which direction of a metric is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    Higher,
    Lower,
    /// Descriptive only; never ranked.
    Neither,
}

/// A figure derived from samples: one `metric` of `results.csv`.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Metric {
    /// `throughput`
    pub id: &'static str,
    /// Label of a plot or table: `throughput`.
    pub title: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// Definition in one sentence, for FORMAT.md, `list` and tooltips.
    pub help: &'static str,
    /// The figure of one sample; `None` where a needed quantity is missing.
    #[serde(skip)]
    pub of: fn(&Sample, &Point) -> Option<f64>,
    /// It comes from rounds that count and are not timed.
    pub counted: bool,
    /// It is a figure of single times: a round's is that of all times of its usable samples together.
    #[serde(skip)]
    pub of_times: Option<TimesFigure>,
}

impl Metric {
    /// A count or a share of counts: it holds on a machine whose times mean nothing.
    pub fn is_count(&self) -> bool {
        matches!(self.unit, Unit::Count | Unit::Ratio)
    }
}

/// A metric's value in one round: the median over the round's usable samples. Rounds, not samples,
/// are the independent replicates.
pub fn round_value(samples: &[&Sample], metric: &Metric, point: &Point) -> Option<f64> {
    let values: Vec<f64> = samples
        .iter()
        .filter(|sample| if metric.counted { sample.counts() } else { sample.usable() })
        .filter_map(|sample| (metric.of)(sample, point))
        .filter(|value| value.is_finite())
        .collect();
    stats::median(&values)
}
