//! How a run's cases are laid out for reading: what varies, what is held constant, which values make lines of a plot.

use super::{Series, palette};
use std::collections::BTreeSet;
use syscost_analyze::CellRef;
use syscost_analyze::cells::{Cells, Pooled};
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::Metric;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::axes::THREADS;

/// The axis whose values compete and the one along which they may cross: as the analysis has them.
pub use syscost_analyze::compare::study::{ALONG as SIZE, RIVALS as SERIES};

/// Most values that are drawn of sizes, of thread counts and of what competes: pages stay small.
const SIZES: usize = 32;
const COUNTS: usize = 8;
const LINES: usize = 16;

/// The cases of one probe.
pub struct Layout<'a> {
    pub probe: &'static dyn Probe,
    pub cells: &'a Cells,
    pub axes: Vec<Axis>,
    /// Without twins.
    pub cases: Vec<&'a Case>,
    /// Ids of axes with several values, in column order.
    pub varying: Vec<&'static str>,
    /// Names of the lines and their styles.
    pub series: Vec<(String, usize)>,
    /// Those that are drawn: all, or an even choice of very many.
    pub sizes: Vec<u64>,
    pub threads: Vec<u64>,
    /// What is not drawn, in a sentence.
    pub left_out: Option<String>,
    /// Axes that only some of the competing values have, and that vary: part of a line's name.
    bound: Vec<&'static str>,
}

impl<'a> Layout<'a> {
    pub fn of(run: &'a Run, cells: &'a Cells, probe: &'static dyn Probe) -> Layout<'a> {
        let id = probe.about().id;
        let cases: Vec<&Case> =
            run.record.plan.cases.iter().filter(|c| c.probe == id && c.twin_of.is_none()).collect();
        let axes = probe.axes();
        let varying: Vec<&'static str> =
            axes.iter().map(|a| a.id).filter(|a| values(&cases, a).len() > 1).collect();
        let bound = bound_axes(probe, &cases, &varying);
        let ints = |axis: &str| values(&cases, axis).iter().filter_map(|v| v.as_int()).collect::<Vec<u64>>();
        let (sizes, threads) = (ints(SIZE.id), ints(THREADS.id));
        let mut layout = Layout {
            probe,
            cells,
            sizes: spread(&sizes, SIZES),
            threads: spread(&threads, COUNTS),
            left_out: None,
            varying,
            series: Vec::new(),
            bound,
            axes,
            cases,
        };
        layout.series = layout.make_series();
        let drawn = [
            ("message sizes", layout.sizes.len(), sizes.len()),
            ("thread counts", layout.threads.len(), threads.len()),
        ];
        layout.series.truncate(LINES);
        let fewer: Vec<String> = drawn
            .iter()
            .filter(|(_, shown, all)| shown < all)
            .map(|(what, shown, all)| format!("{shown} of {all} {what}"))
            .collect();
        layout.left_out =
            (!fewer.is_empty()).then(|| format!("Shown: {}; results.csv has all.", fewer.join(", ")));
        layout
    }

    pub fn axis(&self, id: &str) -> Option<&Axis> {
        self.axes.iter().find(|a| a.id == id)
    }

    pub fn metric(&self, id: &str) -> Option<Metric> {
        self.probe.metrics().into_iter().find(|m| m.id == id)
    }

    /// `mechanism send, threads 1` of the axes given, for people.
    pub fn describe(&self, point: &Point, ids: &[&str]) -> String {
        let part = |id: &&str| {
            let axis = self.axis(id)?;
            Some(format!("{} {}", axis.title, axis.show(point.get(id)?)))
        };
        ids.iter().filter_map(part).collect::<Vec<_>>().join(", ")
    }

    /// What every case shares: `receiver recv, path veth`.
    pub fn constants(&self) -> String {
        let held = self.axes.iter().filter(|a| !self.varying.contains(&a.id));
        let part = |axis: &Axis| {
            let value = self.cases.iter().find_map(|c| c.point.get(axis.id))?;
            Some(format!("{} {}", axis.title, axis.show(value)))
        };
        held.filter_map(part).collect::<Vec<_>>().join(", ")
    }

    /// Axes that only some of what competes has, and that vary.
    pub fn own_axes(&self) -> &[&'static str] {
        &self.bound
    }

    /// The name of the line that a case belongs to.
    pub fn series_name(&self, point: &Point) -> Option<String> {
        let mut name = point.get(SERIES.id)?.to_string();
        for axis in &self.bound {
            if let Some(value) = point.get(axis) {
                name.push_str(&format!(" {axis}={value}"));
            }
        }
        Some(name)
    }

    /// A line for each that competes, through the points of its cases.
    pub fn lines(&self, cases: &[&Case], points: impl Fn(&Case) -> Vec<(f64, Estimate)>) -> Vec<Series> {
        let line = |(name, style): &(String, usize)| {
            let mine = |case: &&&Case| self.series_name(&case.point).as_ref() == Some(name);
            let mut points: Vec<_> = cases.iter().filter(mine).flat_map(|case| points(case)).collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            (!points.is_empty()).then(|| Series::of(name, *style, points))
        };
        self.series.iter().filter_map(line).collect()
    }

    /// One of its cases by its index in the plan.
    pub fn case(&self, index: usize) -> Option<&'a Case> {
        let place = self.cases.binary_search_by_key(&index, |c| c.index).ok()?;
        Some(self.cases[place])
    }

    /// Is a case at a size and a thread count that is drawn?
    pub fn drawn(&self, point: &Point) -> bool {
        let among = |axis: &str, shown: &[u64]| point.int_at(axis).is_none_or(|n| shown.contains(&n));
        among(SIZE.id, &self.sizes) && among(THREADS.id, &self.threads)
    }

    pub fn estimate(&self, case: usize, metric: &str) -> Option<(Estimate, CellRef)> {
        let cell = self.cells.cell(case, metric)?;
        Some((cell.estimate, CellRef { case, metric: cell.metric }))
    }

    /// The same figure of all times together, where it is of single times.
    pub fn pooled(&self, case: usize, metric: &str) -> Option<Pooled> {
        self.cells.cell(case, metric)?.pooled
    }

    /// The figure to show beside a verdict.
    pub fn judged(&self, case: usize, metric: &str) -> Option<Estimate> {
        self.cells.estimate(case, metric)
    }

    /// A case's headline in cycles of the time-stamp counter, where its probe gives it so.
    pub fn tsc_cycles(&self, case: usize) -> Option<f64> {
        let metrics = self.probe.metrics();
        let in_cycles = metrics.iter().find(|m| m.unit == Unit::TscCycles)?;
        Some(self.estimate(case, in_cycles.id)?.0.value)
    }

    /// Was this metric measured anywhere?
    pub fn has(&self, metric: &str) -> bool {
        self.cases.iter().any(|c| self.cells.cell(c.index, metric).is_some())
    }

    fn make_series(&self) -> Vec<(String, usize)> {
        let order: Vec<&str> = self.axis(SERIES.id).map(|a| a.kind.names()).unwrap_or_default();
        let mut names: BTreeSet<(usize, Point, String, Option<&str>)> = BTreeSet::new();
        for case in &self.cases {
            let Some(name) = self.series_name(&case.point) else { continue };
            let wanted = case.point.text(SERIES);
            let place = order.iter().position(|o| Some(*o) == wanted).unwrap_or(order.len());
            let mut own = case.point.clone();
            own.retain(|id| self.bound.contains(&id));
            names.insert((place, own, name, wanted));
        }
        // The first of a mechanism is its plain form.
        let plain =
            |id: Option<&str>, own: &Point| names.iter().find(|n| n.3 == id).is_none_or(|n| n.1 == *own);
        let styles = palette::styles(names.iter().map(|(_, own, _, id)| (*id, plain(*id, own))));
        names.iter().map(|n| n.2.clone()).zip(styles).collect()
    }
}

/// At most so many values, evenly chosen, the first and the last among them.
pub fn spread<T: Copy>(values: &[T], most: usize) -> Vec<T> {
    if values.len() <= most || most == 0 {
        return values.to_vec();
    }
    let last = values.len() - 1;
    (0..most).map(|i| values[if most == 1 { 0 } else { i * last / (most - 1) }]).collect()
}

/// Every value of an axis, where it applies.
fn values(cases: &[&Case], axis: &str) -> BTreeSet<Value> {
    cases.iter().filter_map(|c| c.point.get(axis).cloned()).collect()
}

/// Axes that would not exist with another of the competing values (the reap batch of what reaps nothing).
fn bound_axes(probe: &dyn Probe, cases: &[&Case], varying: &[&'static str]) -> Vec<&'static str> {
    let competing = values(cases, SERIES.id);
    let lacks = |axis: &str, case: &Case, other: &Value| {
        let mut point = case.point.clone();
        point.set(SERIES.id, other.clone());
        !probe.applies(axis, &point)
    };
    // One case of each that has the axis stands for all.
    let has = |axis: &str, own: &Value| {
        cases.iter().find(|c| c.point.get(axis).is_some() && c.point.get(SERIES.id) == Some(own))
    };
    let partial = |axis: &&str| {
        let owners = competing.iter().filter_map(|own| has(axis, own));
        owners.into_iter().any(|case| competing.iter().any(|other| lacks(axis, case, other)))
    };
    varying.iter().copied().filter(|a| *a != SERIES.id).filter(partial).collect()
}

#[cfg(test)]
mod tests {
    use super::spread;

    #[test]
    fn a_choice_keeps_both_ends() {
        let all: Vec<u32> = (0..100).collect();
        assert_eq!(spread(&all, 4), [0, 33, 66, 99]);
        assert_eq!(spread(&all[..3], 4), [0, 1, 2]);
        assert_eq!(spread(&all, 1), [0]);
    }
}
