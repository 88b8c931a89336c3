//! The four plots that the assignment asks for, each with a panel for every value of what it does not plot.

use super::figure_column::{self as column, FigureColumn};
use super::grid::{CourseGrid, GridPlace, IMPLEMENTATIONS};
use crate::figure::{CourseFigure, CoursePanel, PanelAxis};
use syscost_core::units::Unit;
use syscost_report::Series;
use syscost_report::material::Material;
use syscost_report::section::{capital, machine, threads};

pub fn figures(grid: &CourseGrid, material: &Material, roll: &str) -> Vec<CourseFigure> {
    let caption = caption(grid, material, roll);
    let figure = |name: &str, title: &str, panels: Vec<CoursePanel>| CourseFigure {
        name: format!("{roll}_Part_D_{name}"),
        title: title.into(),
        panels,
        caption: caption.clone(),
    };
    let latency: Vec<CoursePanel> = if column::LATENCY.anywhere(grid) {
        grid.sizes.iter().map(|bytes| by_threads(grid, column::LATENCY, *bytes)).collect()
    } else {
        vec![empty(grid, column::LATENCY, PanelAxis::Threads)]
    };
    // Hardware counts cycles of the core; without it, reference cycles are still known.
    let cycles = if column::CYCLES.anywhere(grid) { column::CYCLES } else { column::TSC };
    let of_cycles = cycles.title.replace("byte", "byte transferred");
    vec![
        figure("Throughput", "Throughput by message size", by_size(grid, column::THROUGHPUT)),
        figure("Latency", "Latency by thread count", latency),
        figure("Cache_Misses", "Cache misses by message size", cache_misses(grid)),
        figure("Cycles_per_Byte", &format!("{of_cycles}, by message size"), by_size(grid, cycles)),
    ]
}

/// Each level that was counted; where none was, the two that are asked for, with the reason.
fn cache_misses(grid: &CourseGrid) -> Vec<CoursePanel> {
    let counted: Vec<&FigureColumn> =
        [column::L1, column::LLC, column::CACHE].into_iter().filter(|c| c.anywhere(grid)).collect();
    if counted.is_empty() {
        return [column::L1, column::LLC].map(|c| empty(grid, c, PanelAxis::MessageBytes)).into();
    }
    counted.into_iter().flat_map(|c| by_size(grid, c)).collect()
}

fn by_size(grid: &CourseGrid, column: &FigureColumn) -> Vec<CoursePanel> {
    if !column.anywhere(grid) {
        return vec![empty(grid, column, PanelAxis::MessageBytes)];
    }
    let panel = |count: &u64| {
        let place = |way, bytes| GridPlace::new(way, bytes, *count);
        let series = series(grid, column, &grid.sizes, place);
        CoursePanel { log_y: true, ..panel(grid, column, PanelAxis::MessageBytes, threads(*count), series) }
    };
    grid.threads.iter().map(panel).collect()
}

fn by_threads(grid: &CourseGrid, column: &FigureColumn, bytes: u64) -> CoursePanel {
    let series = series(grid, column, &grid.threads, |way, threads| GridPlace::new(way, bytes, threads));
    panel(grid, column, PanelAxis::Threads, Unit::Bytes.format(bytes as f64), series)
}

fn empty(grid: &CourseGrid, column: &FigureColumn, x: PanelAxis) -> CoursePanel {
    let name = column.title.split(',').next().unwrap_or(column.title);
    panel(grid, column, x, capital(name), Vec::new())
}

/// Without a figure it says why.
fn panel(
    grid: &CourseGrid,
    column: &FigureColumn,
    x: PanelAxis,
    title: String,
    series: Vec<Series>,
) -> CoursePanel {
    let missing = series.is_empty().then(|| column.why(grid));
    CoursePanel { title, x, y: column.title.into(), log_y: false, series, missing }
}

/// A line for each implementation that has a figure.
fn series(
    grid: &CourseGrid,
    column: &FigureColumn,
    along: &[u64],
    place: impl Fn(usize, u64) -> GridPlace,
) -> Vec<Series> {
    let line = |(index, implementation): (usize, &super::grid::Implementation)| {
        let point = |x: &u64| Some((*x as f64, column.estimate(grid, &place(index, *x)).ok()?));
        let points: Vec<_> = along.iter().filter_map(point).collect();
        (!points.is_empty()).then(|| Series::of(implementation.name, index, points))
    };
    IMPLEMENTATIONS.iter().enumerate().filter_map(line).collect()
}

/// The system that was measured: the assignment wants it on every plot.
fn caption(grid: &CourseGrid, material: &Material, roll: &str) -> Vec<String> {
    let record = &grid.run.record;
    let fact = |id: &str| record.host.iter().find(|f| f.id == id).and_then(machine::value);
    let facts = [
        ("cpu_model", ""),
        ("cpus_allowed", "CPUs "),
        ("memory_bytes", "memory "),
        ("kernel_release", "Linux "),
        ("hypervisor", "hypervisor "),
    ];
    let system = facts.iter().filter_map(|(id, before)| Some(format!("{before}{}", fact(id)?)));
    let system: Vec<String> = system.collect();
    let constants = material.layouts.iter().find(|l| l.comparable()).map_or(String::new(), |l| l.constants());
    vec![
        format!("{roll}. System: {}.", system.join(", ")),
        format!(
            "Points: medians over fresh processes; bars and bands: their intervals, of {} % where there are runs enough (the \
             table says). Run {} by syscost {}.",
            syscost_core::units::significant(record.spec.confidence * 100.0),
            record.id,
            record.tool.version
        ),
        format!("Held constant: {constants}."),
    ]
}
