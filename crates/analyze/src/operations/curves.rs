//! The lines of a drawing: a metric along a numeric axis, one line for each combination of the
//! other axes that vary among its cases.

use crate::CellRef;
use crate::cells::Cells;
use std::collections::BTreeSet;
use syscost_core::axis::{Axis, Kind, Point, Value};
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_measure::probe::row::Drawing;

/// One line: its points in order of x.
#[derive(Clone, Debug, PartialEq)]
pub struct CurveLine {
    /// What tells it from the other lines: `huge pages on`; empty where there is one line only.
    pub name: String,
    pub points: Vec<(f64, Estimate, CellRef)>,
}

/// The cases of a drawing; a twin is none of them.
pub fn cases<'a>(cases: impl Iterator<Item = &'a Case>, probe: &str, drawing: &Drawing) -> Vec<&'a Case> {
    let belongs = |c: &&Case| c.probe == probe && c.twin_of.is_none() && (drawing.includes)(&c.point);
    cases.filter(belongs).collect()
}

/// The lines of a curve, in plan order.
pub fn lines(cases: &[&Case], cells: &Cells, axes: &[Axis], drawing: &Drawing) -> Vec<CurveLine> {
    let along = drawing.shape.along;
    let other: Vec<&Axis> = varying(cases, axes).into_iter().filter(|a| a.id != along).collect();
    let mut lines: Vec<(Point, CurveLine)> = Vec::new();
    for case in cases {
        let Some(x) = case.point.int_at(along) else { continue };
        let Some(cell) = cells.cell(case.index, drawing.metric) else { continue };
        let key = part(&case.point, &other);
        let place = lines.iter().position(|(k, _)| *k == key).unwrap_or_else(|| {
            let name = describe(&case.point, &other);
            lines.push((key, CurveLine { name, points: Vec::new() }));
            lines.len() - 1
        });
        let shown = CellRef { case: case.index, metric: cell.metric };
        lines[place].1.points.push((x as f64, cell.estimate, shown));
    }
    let mut lines: Vec<CurveLine> = lines.into_iter().map(|(_, line)| line).collect();
    for line in &mut lines {
        line.points.sort_by(|a, b| a.0.total_cmp(&b.0));
    }
    lines
}

/// Axes with several values among the cases; where an axis applies to some of them only, that
/// makes a difference too.
pub fn varying<'a>(cases: &[&Case], axes: &'a [Axis]) -> Vec<&'a Axis> {
    let several = |axis: &&Axis| {
        cases.iter().map(|c| c.point.get(axis.id)).collect::<BTreeSet<Option<&Value>>>().len() > 1
    };
    axes.iter().filter(several).collect()
}

/// The coordinates on some axes only.
fn part(point: &Point, axes: &[&Axis]) -> Point {
    let mut part = Point::default();
    for axis in axes {
        if let Some(value) = point.get(axis.id) {
            part.set(axis.id, value.clone());
        }
    }
    part
}

/// `huge pages on, 64 B, 2 threads`
fn describe(point: &Point, axes: &[&Axis]) -> String {
    let one = |axis: &&Axis| {
        let value = point.get(axis.id)?;
        let shown = axis.show(value);
        Some(match (axis.kind, value) {
            (Kind::Switch, _) => format!("{} {shown}", axis.title),
            (_, Value::Int(1)) if axis.unit == Unit::Count && axis.title.ends_with('s') => {
                format!("1 {}", axis.title.trim_end_matches('s'))
            }
            (Kind::Int { .. }, _) => format!("{shown} {}", axis.title),
            _ => shown,
        })
    };
    axes.iter().filter_map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use syscost_measure::probe;
    use syscost_measure::probe::row::Shape;

    #[test]
    fn a_line_for_each_combination_in_order_of_x() {
        let drawing = Drawing {
            title: "throughput",
            metric: "throughput",
            shape: Shape { along: "message_bytes", log_y: true, levels: false },
            includes: |p| p.text_at("mechanism") != Some("send"),
            holder: None,
        };
        let run = Synthetic::default().run();
        let probe = probe::find("transfer").unwrap();
        let cases = cases(run.record.plan.cases.iter(), "transfer", &drawing);
        assert_eq!(cases.len(), 20, "ten of each mechanism, no twins");
        let lines = lines(&cases, &Cells::of(&run), &probe.axes(), &drawing);
        let names: Vec<&str> = lines.iter().map(|l| l.name.as_str()).collect();
        assert_eq!(
            names,
            ["pack_send, 1 thread", "sendmsg, 1 thread", "pack_send, 2 threads", "sendmsg, 2 threads"]
        );
        for line in &lines {
            let xs: Vec<f64> = line.points.iter().map(|p| p.0).collect();
            assert_eq!(xs, [64.0, 1024.0, 16384.0, 65536.0, 262144.0]);
        }
    }
}
