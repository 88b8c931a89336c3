//! From the values on each axis to points: one per combination of the axes that apply.
//!
//! Which axes apply, and what the machine allows, depends on words alone (see [`Probe::applies`]) and the few
//! numbers that decide like words ([`Probe::decides`]); so it is asked once for each combination of them, and a
//! hundred thousand sizes cost no more than to be written down.

use super::{MOST_CASES, PlanError};
use crate::spec::{ProbeSpec, distinct};
use syscost_core::axis::{Axis, Kind, Name, Point, Value};
use syscost_measure::probe::Probe;

/// The points of one probe of a spec.
pub struct PointGrid {
    /// Each with the number of its combination of words; the first axis slowest.
    pub points: Vec<(usize, Point)>,
    /// How many combinations of words there are.
    pub words: usize,
}

/// Every point of one probe of a spec. An axis that does not apply to a point is absent from it and multiplies
/// nothing.
pub fn grid(
    probe: &dyn Probe,
    axes: &[Axis],
    entry: &ProbeSpec,
    quick: bool,
) -> Result<PointGrid, PlanError> {
    let values: Vec<Vec<Value>> = axes.iter().map(|axis| values(axis, entry, quick)).collect();
    let too_many = |count| too_many(probe, axes, entry, quick, count);
    let mut making = Making { probe, axes, entry, values: &values, words: 0 };
    let tree = making.below(0, &Point::default());
    let words = making.words;
    if words > MOST_CASES {
        return Err(too_many(words));
    }
    let mut grid = PointGrid { points: Vec::new(), words };
    grid.fill(&tree, &mut Vec::new());
    if grid.points.len() > MOST_CASES { Err(too_many(grid.points.len())) } else { Ok(grid) }
}

/// What follows the values of the axes before.
enum AxisTree {
    /// Whatever the number is, the same follows.
    Numbers(Name, Vec<Value>, Box<AxisTree>),
    Words(Name, Vec<(Value, AxisTree)>),
    /// The number of this combination of words, and the axes on the way here in the order of their names.
    End(usize, Vec<usize>),
}

struct Making<'a> {
    probe: &'a dyn Probe,
    axes: &'a [Axis],
    entry: &'a ProbeSpec,
    /// Of each axis.
    values: &'a [Vec<Value>],
    /// Combinations of words so far.
    words: usize,
}

impl Making<'_> {
    /// The axes from this one on, after a point that holds those before it.
    fn below(&mut self, from: usize, point: &Point) -> AxisTree {
        let said = |at: &usize| !self.axes[*at].is_unsaid(&self.values[*at]);
        let next =
            (from..self.axes.len()).find(|at| said(at) && self.probe.applies(self.axes[*at].id, point));
        let Some(at) = next else {
            self.words += 1;
            return AxisTree::End(self.words - 1, order(&self.axes[..from], point));
        };
        let (axis, name) = (&self.axes[at], Name::from(self.axes[at].id));
        let settled = self.probe.settled(axis.id, point).map(|(value, _)| value);
        let one = settled.or_else(|| self.wanted(axis, point));
        let values = one.map_or_else(|| self.values[at].clone(), |value| vec![value]);
        let numeric = matches!(axis.kind, Kind::Bytes { .. } | Kind::Int { .. });
        if numeric && !self.probe.decides(axis.id, point) {
            let Some(first) = values.first() else { return AxisTree::Words(name, Vec::new()) };
            let rest = self.below(at + 1, &with(point, axis, first));
            return AxisTree::Numbers(name, values, Box::new(rest));
        }
        let mut branches = Vec::new();
        for value in values {
            let rest = self.below(at + 1, &with(point, axis, &value));
            branches.push((value, rest));
            if self.words > MOST_CASES {
                break;
            }
        }
        AxisTree::Words(name, branches)
    }

    /// What the point needs on an axis of which the experiment says nothing.
    fn wanted(&self, axis: &Axis, point: &Point) -> Option<Value> {
        if self.entry.axes.contains_key(axis.id) { None } else { self.probe.wants(axis.id, point) }
    }
}

fn with(point: &Point, axis: &Axis, value: &Value) -> Point {
    let mut point = point.clone();
    point.set(axis.id, value.clone());
    point
}

/// Where each coordinate of a point stands among the axes that apply to it, in the order of the point.
fn order(axes: &[Axis], point: &Point) -> Vec<usize> {
    let applying: Vec<&str> = axes.iter().map(|a| a.id).filter(|id| point.get(id).is_some()).collect();
    point.names().filter_map(|axis| applying.iter().position(|id| axis == id)).collect()
}

impl PointGrid {
    /// Every point of a tree, until there are too many.
    fn fill(&mut self, tree: &AxisTree, before: &mut Vec<(Name, Value)>) {
        match tree {
            AxisTree::Numbers(axis, values, rest) => {
                values.iter().for_each(|value| self.branch(axis, value, rest, before));
            }
            AxisTree::Words(axis, branches) => {
                branches.iter().for_each(|(value, rest)| self.branch(axis, value, rest, before));
            }
            AxisTree::End(words, order) => {
                let point = order.iter().map(|place| before[*place].clone()).collect();
                self.points.push((*words, point));
            }
        }
    }

    fn branch(&mut self, axis: &Name, value: &Value, rest: &AxisTree, before: &mut Vec<(Name, Value)>) {
        if self.points.len() <= MOST_CASES {
            before.push((axis.clone(), value.clone()));
            self.fill(rest, before);
            before.pop();
        }
    }
}

fn values(axis: &Axis, entry: &ProbeSpec, quick: bool) -> Vec<Value> {
    distinct(entry.values(axis, quick))
}

fn too_many(probe: &dyn Probe, axes: &[Axis], entry: &ProbeSpec, quick: bool, count: usize) -> PlanError {
    let widest = axes.iter().map(|axis| (values(axis, entry, quick).len(), axis.flag)).max();
    let (values, flag) = widest.unwrap_or_default();
    PlanError::TooManyCases { probe: probe.about().id.to_string(), count, flag, values }
}
