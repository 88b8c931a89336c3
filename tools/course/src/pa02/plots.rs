//! The plots of the assignment that the run's own report does not draw: throughput by threads, and cache misses by message
//! size, those of hardware counters and those of a modelled cache each in a plot that says which.

use super::figure_column::{COLUMNS, FigureColumn};
use super::grid::{CaseKind, CourseGrid, GridPlace, IMPLEMENTATIONS};
use crate::CoursePicture;
use syscost_core::units::Unit;
use syscost_report::{Block, Plot, PlotAxis, Scale, Series, palette};

/// What a plot of a modelled cache says of itself.
pub use syscost_experiment::run::MODELLED;
const THROUGHPUT: &str = "throughput_gbps";

/// Throughput along threads at each size, then misses of every level along sizes at the fewest threads.
pub fn pictures(grid: &CourseGrid) -> Vec<CoursePicture> {
    let sizes = grid.sizes.iter().filter_map(|bytes| by_threads(grid, *bytes));
    let levels =
        COLUMNS.iter().filter(|column| is_of_misses(column)).filter_map(|column| by_size(grid, column));
    sizes.chain(levels).filter_map(|plot| CoursePicture::of(Block::Plot(plot))).collect()
}

/// Are these misses of a cache?
pub fn is_of_misses(column: &FigureColumn) -> bool {
    column.id.ends_with("_misses_per_message")
}

fn by_threads(grid: &CourseGrid, bytes: u64) -> Option<Plot> {
    let column = COLUMNS.iter().find(|column| column.id == THROUGHPUT)?;
    let size = Unit::Bytes.format(bytes as f64);
    let title = format!("Throughput by threads, {size}");
    let x = PlotAxis { title: "threads".into(), unit: Unit::Count, scale: Scale::Log2 };
    let y = PlotAxis { title: "Gbit/s".into(), unit: Unit::Count, scale: Scale::Linear };
    let place = |way, threads| GridPlace::new(way, bytes, threads);
    let series = lines(grid, column, grid.threads.iter().copied(), place)?;
    Plot::of(&format!("throughput-by-threads-{size}"), title, (x, y), series)
}

fn by_size(grid: &CourseGrid, column: &FigureColumn) -> Option<Plot> {
    let threads = *grid.threads.first()?;
    let what = column.id.trim_start_matches("modelled_").replace('_', " ");
    let by = if column.kind == CaseKind::Modelled { MODELLED } else { "hardware counter" };
    let x = PlotAxis { title: "message size".into(), unit: Unit::Bytes, scale: Scale::Log2 };
    let y = PlotAxis { title: what.clone(), unit: Unit::Count, scale: Scale::Log10 };
    let place = |way, bytes| GridPlace::new(way, bytes, threads);
    let series = lines(grid, column, grid.sizes.iter().copied(), place)?;
    Plot::of(&format!("{}-by-size", column.id), format!("{what} ({by})"), (x, y), series)
}

/// A line for each implementation that has a figure; a point alone is no curve.
fn lines(
    grid: &CourseGrid,
    column: &FigureColumn,
    along: impl Iterator<Item = u64> + Clone,
    place: impl Fn(usize, u64) -> GridPlace,
) -> Option<Vec<Series>> {
    let line = |(way, implementation): (usize, &super::grid::Implementation)| {
        let point = |at: u64| Some((at as f64, column.estimate(grid, &place(way, at)).ok()?));
        let points: Vec<_> = along.clone().filter_map(point).filter(|(_, e)| e.value > 0.0).collect();
        (points.len() > 1).then(|| {
            let style = palette::style(grid.mechanisms[way], 0).unwrap_or(way);
            Series::of(implementation.name, style, points)
        })
    };
    let lines: Vec<Series> = IMPLEMENTATIONS.iter().enumerate().filter_map(line).collect();
    (!lines.is_empty()).then_some(lines)
}
