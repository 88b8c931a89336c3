//! From the values on each axis to points: one per combination of the axes that apply.

use super::{MOST_CASES, PlanError};
use crate::axis::{Axis, Point, Value};
use crate::probe::Probe;
use crate::spec::{ProbeSpec, distinct};

/// Every point of one probe of a spec, the first axis slowest. An axis that does not apply to a
/// point is absent from it and multiplies nothing.
pub fn points(
    probe: &dyn Probe,
    axes: &[Axis],
    entry: &ProbeSpec,
    quick: bool,
) -> Result<Vec<Point>, PlanError> {
    let values: Vec<Vec<Value>> = axes.iter().map(|axis| values(axis, entry, quick)).collect();
    let mut points = vec![Point::default()];
    for (axis, values) in axes.iter().zip(&values) {
        let mut next =
            Vec::with_capacity(points.len().saturating_mul(values.len()).min(MOST_CASES + values.len()));
        for mut point in points {
            if !probe.applies(axis.id, &point) {
                next.push(point);
                continue;
            }
            if let Some(value) = wanted(probe, axis, entry, &point) {
                point.set(axis.id, value);
                next.push(point);
                continue;
            }
            let Some((last, others)) = values.split_last() else { continue };
            for value in others {
                let mut copy = point.clone();
                copy.set(axis.id, value.clone());
                next.push(copy);
            }
            point.set(axis.id, last.clone());
            next.push(point);
            if next.len() > MOST_CASES {
                return Err(too_many(probe, axes, entry, quick, next.len()));
            }
        }
        points = next;
    }
    Ok(points)
}

/// What the point needs on an axis of which the experiment says nothing.
fn wanted(probe: &dyn Probe, axis: &Axis, entry: &ProbeSpec, point: &Point) -> Option<Value> {
    if entry.axes.contains_key(axis.id) { None } else { probe.wants(axis.id, point) }
}

fn values(axis: &Axis, entry: &ProbeSpec, quick: bool) -> Vec<Value> {
    let named = entry.axes.get(axis.id).cloned();
    distinct(named.unwrap_or_else(if quick { axis.quick } else { axis.default }))
}

fn too_many(probe: &dyn Probe, axes: &[Axis], entry: &ProbeSpec, quick: bool, count: usize) -> PlanError {
    let widest = axes.iter().map(|axis| (values(axis, entry, quick).len(), axis.flag)).max();
    let (values, flag) = widest.unwrap_or_default();
    PlanError::TooManyCases { probe: probe.about().id.to_string(), count, flag, values }
}
