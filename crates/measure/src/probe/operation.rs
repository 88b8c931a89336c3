//! The skeleton of an operation of the system that one process performs, or a client and a server: settled on one CPU, set up,
//! timed in batches or one by one, verified, and predicted. What an operation is stands in its file as data, with the few
//! functions that are its own.
//!
//! The timed loops are generic over what they run: no call goes through a pointer between two operations of a batch.

use super::prediction::{Inputs, PredictedCost, RowRef};
use super::rights::Rights;
use super::row::{Drawing, Row};
use super::{
    Channel, Figures, Needs, OtherWay, Prices, Probe, ProbeAbout, RoleReport, Task, Timing, Window, batch,
    network, samples_of_one_role,
};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::hint::black_box;
use syscost_core::axis::{Axis, IntAxis, NameAxis, Point, Value};
use syscost_core::sample::Sample;
use syscost_host::topology::{Pinned, Placement, Topology};
use syscost_host::{Unavailable, modelled};
use syscost_sys::mapping::page_bytes;

/// The suite of an operation that names no other: `suite = "os"` of a spec.
pub const OS_SUITE: &str = "os";
/// A second suite, so that the first keeps its time: `suite = "os-more"`.
pub const OS_MORE_SUITE: &str = "os-more";

/// An operation: a row of the table, several by the values of an axis, or points of a curve.
#[derive(Clone, Copy)]
pub struct SystemOperation {
    pub id: &'static str,
    pub title: &'static str,
    pub method: &'static str,
    pub source: &'static str,
    /// One: what the process is called that performs it; or those of [`NetworkSides`].
    pub roles: &'static [&'static str],
    pub suite: &'static str,
    /// Is the thread put on one CPU before anything is set up? Where not, [`PlayedRound::settle`] does it, or nobody.
    pub settled: bool,
    /// The CPUs that a round is given ([`PlayedRound::pins`]), chosen before its thread is put on one; `None`: it needs none.
    pub placement: fn(&Point) -> Option<Placement>,
    /// The axis whose values are rows, and these rows; empty: the functions below say all.
    pub variants: (NameAxis, &'static [OperationRow]),
    pub axes: fn() -> Vec<Axis>,
    /// Which axes a point of it has, by the axes before them.
    pub applies: fn(&str, &Point) -> bool,
    pub available: fn(&Point) -> Result<(), Unavailable>,
    pub needs: fn(&Point) -> Needs,
    pub figures: fn() -> Figures,
    /// `None`: windows are as often as long as the variant says.
    pub timing: Option<fn(&Point, Timing) -> Timing>,
    /// Sets up, times and verifies; `None`: as the variant does.
    pub measure: Option<MeasureOperation>,
    /// Both sides of an operation across a path, in place of `measure`.
    pub sides: Option<NetworkSides>,
    pub rights: fn(&str) -> Rights,
    pub row: Option<fn(&Point) -> Option<Row>>,
    pub predict: Option<fn(&Point, Inputs<'_>) -> Option<PredictedCost>>,
    pub drawings: &'static [Drawing],
    pub other_ways: &'static [OtherWay],
    pub prices: Option<Prices>,
}

/// Sets up, times and verifies.
pub type MeasureOperation = fn(&mut PlayedRound<'_>) -> Result<Vec<Window>>;

/// A client that is timed, and a server on the far side of its path that starts before it.
#[derive(Clone, Copy)]
pub struct NetworkSides {
    pub serve: PlayedSide,
    pub ask: PlayedSide,
    /// The total that both sides have to have counted alike.
    pub counted: Option<&'static str>,
}

/// Plays one of two sides.
pub type PlayedSide = fn(&Task, &mut dyn Channel) -> Result<RoleReport>;

/// One row of an operation: a value of its axis of variants.
pub struct OperationRow {
    pub id: &'static str,
    pub label: &'static str,
    /// The same in published tables: operation and variant.
    pub published: Option<(&'static str, &'static str)>,
    pub told_as: Option<&'static str>,
    /// Windows are so many times longer where one operation takes long.
    pub stretch: u64,
    pub measure: MeasureOperation,
    pub predict: fn(Inputs<'_>) -> Option<PredictedCost>,
}

impl OperationRow {
    /// Of a row that nothing predicts.
    pub const fn new(id: &'static str, label: &'static str, measure: MeasureOperation) -> OperationRow {
        OperationRow { id, label, published: None, told_as: None, stretch: 1, measure, predict: |_| None }
    }

    pub fn row(&self) -> Row {
        let published = self.published.map(|(operation, variant)| (operation, variant.to_string()));
        Row { published, told_as: self.told_as, ..Row::listed(self.label) }
    }
}

impl SystemOperation {
    /// Of one row without axes, timed one by one; every operation names its own texts.
    pub const DEFAULTS: SystemOperation = SystemOperation {
        id: "",
        title: "",
        method: "",
        source: "",
        roles: &["caller"],
        suite: OS_SUITE,
        settled: true,
        placement: |_| None,
        variants: (NameAxis::new(""), &[]),
        axes: Vec::new,
        applies: |_, _| true,
        available: |_| Ok(()),
        needs: |_| Needs::default(),
        figures: Figures::of_single_operations,
        timing: None,
        measure: None,
        sides: None,
        rights: |_| Rights::none(),
        row: None,
        predict: None,
        drawings: &[],
        other_ways: &[],
        prices: None,
    };

    /// The names of its variants, for their axis.
    pub fn names(&self) -> Vec<&'static str> {
        self.variants.1.iter().map(|variant| variant.id).collect()
    }

    pub fn variant(&self, point: &Point) -> Option<&'static OperationRow> {
        let (axis, variants) = self.variants;
        variants.iter().find(|variant| Some(variant.id) == point.text(axis))
    }

    /// The row of a variant, as an input of other rows' predictions.
    pub fn cost_of(&self, variant: &'static str) -> RowRef {
        RowRef::cost(self.id, [(self.variants.0.id, Value::text(variant))])
    }

    fn pins(&self, point: &Point) -> Result<Pinned, Unavailable> {
        let Some(placement) = (self.placement)(point) else { return Ok(Pinned::default()) };
        let pins = Topology::read().place(&placement, 1)?;
        pins.first().copied().ok_or_else(|| Unavailable {
            reason: "this process may use no CPU that /sys names".into(),
            remedy: "mount /sys".into(),
        })
    }
}

/// The kernel maps whole pages, whatever was asked: other sizes are not measured under their name.
pub fn whole_pages(point: &Point, size: IntAxis, flag: &str) -> Result<(), Unavailable> {
    let (bytes, page) = (point.int(size).unwrap_or(0), page_bytes() as u64);
    let refused = || Unavailable {
        reason: format!("{bytes} B is no number of whole pages of {page} B, which are what the kernel maps"),
        remedy: format!("{flag} {}", bytes.next_multiple_of(page)),
    };
    if bytes % page == 0 { Ok(()) } else { Err(refused()) }
}

impl Probe for SystemOperation {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: self.id,
            title: self.title,
            method: self.method,
            source: self.source,
            roles: self.roles,
            far_role: self.sides.map(|_| self.roles[0]),
            suite: Some(self.suite),
            prices: self.prices,
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        (self.axes)()
    }

    fn figures(&self) -> Figures {
        (self.figures)()
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        (self.available)(point)?;
        self.pins(point).map(|_| ())
    }

    fn needs(&self, point: &Point) -> Needs {
        (self.needs)(point)
    }

    fn timing(&self, point: &Point, base: Timing) -> Timing {
        match self.timing {
            Some(timing) => timing(point, base),
            None => base.stretched(self.variant(point).map_or(1, |variant| variant.stretch)),
        }
    }

    fn rights(&self, role: &str) -> Rights {
        (self.rights)(role)
    }

    fn merge(&self, _: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let Some(sides) = self.sides else { return samples_of_one_role(reports) };
        sides.counted.map_or(Ok(()), |total| network::counts_agree(reports, total))?;
        network::client_samples(reports)
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        if let Some(sides) = self.sides {
            let side = if task.role == self.roles[0] { sides.serve } else { sides.ask };
            return side(task, channel);
        }
        let variant = self.variant(&task.point).map(|variant| variant.measure);
        let measure = self.measure.or(variant);
        let measure = measure.with_context(|| format!("nothing to measure at {}", task.point))?;
        let pins = self.pins(&task.point)?;
        modelled::count_operations();
        let mut round = PlayedRound { task, channel, pins, facts: BTreeMap::new() };
        if self.settled {
            round.settle();
        }
        let windows = measure(&mut round)?;
        Ok(RoleReport { windows, facts: round.facts, ..RoleReport::default() })
    }

    fn row(&self, point: &Point) -> Option<Row> {
        match self.row {
            Some(row) => row(point),
            None => self.variant(point).map(OperationRow::row),
        }
    }

    fn predict(&self, point: &Point, inputs: Inputs<'_>) -> Option<PredictedCost> {
        match self.predict {
            Some(predict) => predict(point, inputs),
            None => (self.variant(point)?.predict)(inputs),
        }
    }

    fn drawings(&self) -> &'static [Drawing] {
        self.drawings
    }

    fn other_ways(&self) -> &'static [OtherWay] {
        self.other_ways
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        (self.applies)(axis, point)
    }

    fn substitute(&self, axis: &str, value: &Value) -> Option<(Value, Unavailable)> {
        self.sides.and_then(|_| network::placed_instead(axis, value))
    }
}

/// One round of one case, as the worker plays it.
pub struct PlayedRound<'a> {
    pub task: &'a Task,
    pub channel: &'a mut dyn Channel,
    pub pins: Pinned,
    pub facts: BTreeMap<String, String>,
}

impl PlayedRound<'_> {
    pub fn point(&self) -> &Point {
        &self.task.point
    }

    /// Puts this thread on one CPU, so that no batch migrates.
    pub fn settle(&mut self) {
        self.facts.extend(batch::settle_on_one_cpu());
    }

    pub fn fact(&mut self, id: &str, said: impl Into<String>) {
        self.facts.insert(id.into(), said.into());
    }

    /// Says that everything is set up, and waits for the start.
    pub fn ready(&mut self) -> Result<()> {
        self.channel.ready()
    }

    /// Batches of `act`, less the bare loop; it says whether it did its work, and every one must: `what` went wrong otherwise.
    #[inline]
    pub fn checked(&mut self, what: &str, mut act: impl FnMut() -> bool) -> Result<Vec<Window>> {
        let mut wrong = 0u64;
        self.ready()?;
        let body = |n| (0..n).for_each(|_| wrong += u64::from(!act()));
        let windows = batch::batches(self.task, body, empty);
        ensure!(wrong == 0, "{wrong} times {what}: {}", std::io::Error::last_os_error());
        Ok(windows)
    }

    /// Single operations that time themselves between two readings of the clock.
    #[inline]
    pub fn operations(&mut self, operation: impl FnMut() -> Result<u64>) -> Result<Vec<Window>> {
        let overhead_ns = batch::clock_overhead_ns();
        self.ready()?;
        batch::operations(self.task, overhead_ns, operation)
    }
}

/// The loop of a batch without its operation.
pub fn empty(n: u64) {
    (0..n).for_each(|i| _ = black_box(i));
}

#[cfg(test)]
impl SystemOperation {
    /// Plays it on a thread of its own, because it may be moved to a CPU, and says what came of it.
    pub fn play_alone(&'static self, task: Task) -> Result<RoleReport> {
        std::thread::spawn(move || self.play(&task, &mut crate::fixture::Begun)).join().unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_that_is_not_done_is_an_error() {
        const FAILS: &str = "fails";
        static PLAYED: SystemOperation = SystemOperation {
            variants: (
                NameAxis::new("act"),
                &[
                    OperationRow::new("works", "", |round| round.checked("nothing", || true)),
                    OperationRow::new(FAILS, "", |round| round.checked("a call failed", || false)),
                ],
            ),
            ..SystemOperation::DEFAULTS
        };
        let played = |act: &str| {
            let mut point = Point::default();
            point.set("act", Value::text(act));
            PLAYED.play_alone(Task::of(point, Timing { warmup_ns: 0, window_ns: 1000, windows: 1 }))
        };
        assert_eq!(played("works").unwrap().windows.len(), 1);
        assert!(played(FAILS).unwrap_err().to_string().contains("times a call failed"));
        assert!(played("").unwrap_err().to_string().contains("nothing to measure"));
    }
}
