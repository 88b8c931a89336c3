//! Figures of the operations whose rows count something one by one, as a procedure call its arguments: what each more
//! costs, measured and predicted.

use super::rounded_estimate;
use crate::figure::{CourseFigure, CoursePanel, PanelAxis};
use std::collections::BTreeMap;
use syscost_analyze::operations::Operation;
use syscost_core::axis::{Name, Value};
use syscost_core::stats::Estimate;
use syscost_report::Series;

/// Fewer rows are no line.
const FEWEST: usize = 4;

pub fn figures(listed: &[&Operation], caption: &[String]) -> Vec<CourseFigure> {
    listed.chunk_by(|a, b| a.probe == b.probe).filter_map(|rows| figure(rows, caption)).collect()
}

fn figure(rows: &[&Operation], caption: &[String]) -> Option<CourseFigure> {
    let counts: Vec<u64> = rows.iter().filter_map(|row| counted(row)).collect();
    let one_by_one = counts.len() == rows.len() && counts.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    if rows.len() < FEWEST || !one_by_one {
        return None;
    }
    let first = rows[0];
    let series = |name: &str, style: usize, of: &dyn Fn(&Operation) -> Option<Estimate>| {
        let points = counts.iter().zip(rows).filter_map(|(n, row)| Some((*n as f64, of(row)?)));
        Series::of(name, style, points.collect())
    };
    let predicted = |row: &Operation| {
        let value = row.predicted()?;
        Some(Estimate { value, low: value, high: value, ..row.measured? })
    };
    let series = [
        series("measured", 0, &|row| row.measured.map(rounded_estimate)),
        series("predicted", 1, &predicted),
    ];
    Some(CourseFigure {
        name: format!("cse221_{}", first.probe),
        title: format!("{}: measured and predicted", first.title),
        panels: vec![CoursePanel {
            title: String::new(),
            x: PanelAxis::Arguments,
            y: format!("time, {}", first.metric.unit.symbol()),
            log_y: false,
            series: series.into_iter().filter(|s| !s.points.is_empty()).collect(),
            missing: None,
        }],
        caption: caption.to_vec(),
    })
}

/// The one number that places the row.
fn counted(row: &Operation) -> Option<u64> {
    let places: BTreeMap<&Name, &Value> =
        row.point.names().filter_map(|name| Some((name, row.point.get(name)?))).collect();
    match places.into_values().collect::<Vec<_>>()[..] {
        [Value::Int(count)] => Some(*count),
        _ => None,
    }
}
