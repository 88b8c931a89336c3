//! Throughput and CPU cost over message sizes, threads and connections, with interval bands.

use super::{capital, grouped, threads, unless_empty};
use crate::context::{Facet, Layout, SIZE, spread};
use crate::material::Material;
use crate::{Block, Plot, PlotAxis, Scale, Section};
use syscost_core::axis::{Name, Point, Value};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_measure::mechanism::CONNECTIONS;
use syscost_measure::probe::transfer::axes::THREADS;

/// Points that one section draws: each takes some hundred bytes of the page.
const POINTS: usize = 900;

/// What a section draws for each combination.
pub struct PlottedMetric<'a> {
    pub metric: &'a str,
    pub scale: Scale,
}

pub fn by_size(m: &Material) -> Option<Section> {
    let wanted = [
        PlottedMetric { metric: "throughput", scale: Scale::Log10 },
        PlottedMetric { metric: "total_cpu_ns_per_byte", scale: Scale::Log10 },
    ];
    let mut blocks = Vec::new();
    for layout in m.layouts.iter().filter(|l| l.comparable()) {
        // One plot a metric and thread count, or as many as the page has room for.
        let points = layout.sizes.len() * layout.series.len() * wanted.len();
        let counts = spread(&layout.threads, (POINTS / points.max(1)).max(1));
        let drawn = over_facets(layout, POINTS, |facet| {
            let of = |count: &u64| wanted.iter().filter_map(|w| ruled(m, layout, facet, *count, w)).collect();
            counts.iter().flat_map(|count| -> Vec<Plot> { of(count) }).collect()
        });
        if !drawn.is_empty() {
            blocks.extend(layout.left_out.clone().map(Block::Text));
        }
        blocks.extend(drawn);
    }
    unless_empty("by-size", "By message size", "By size", blocks)
}

pub fn by_threads(m: &Material) -> Option<Section> {
    let wanted = [
        PlottedMetric { metric: "throughput", scale: Scale::Linear },
        PlottedMetric { metric: "total_cpu_ns_per_message", scale: Scale::Linear },
    ];
    let blocks = m.layouts.iter().filter(|l| !l.series.is_empty() && l.threads.len() > 1).flat_map(|l| {
        over_facets(l, POINTS / 2, |facet| {
            let mut plots = Vec::new();
            for size in representative(&l.sizes) {
                plots.extend(wanted.iter().filter_map(|w| thread_plot(l, facet, size, w)));
            }
            plots
        })
    });
    unless_empty("by-threads", "By threads", "By threads", blocks.collect())
}

/// Over the connections of a thread, where they vary: the rest of what varies makes plots of its own.
pub fn by_connections(m: &Material) -> Option<Section> {
    let wanted = [
        PlottedMetric { metric: "total_cpu_ns_per_message", scale: Scale::Linear },
        PlottedMetric { metric: "throughput", scale: Scale::Linear },
    ];
    let mut blocks = Vec::new();
    for layout in m.layouts.iter().filter(|l| !l.series.is_empty() && l.varying.contains(&CONNECTIONS.id)) {
        // What the facets share that differ in the connections alone.
        let facets = layout.facets.iter().map(|facet| (facet.point.without(CONNECTIONS.id), ()));
        let rests: Vec<Point> = grouped(facets).into_iter().map(|(rest, _)| rest).collect();
        let plots = |rest: &Point, title: &str| {
            let sizes = representative(&layout.sizes).into_iter();
            let places =
                sizes.flat_map(|size| spread(&layout.threads, 2).into_iter().map(move |n| (size, n)));
            let of = |(size, count): (u64, u64)| {
                let here = |case: &&&Case| {
                    let at = |axis: &str, n: u64| case.point.int_at(axis).is_none_or(|value| value == n);
                    at(SIZE.id, size)
                        && at(THREADS.id, count)
                        && rest.iter().all(|(id, value)| case.point.get(id) == Some(value))
                };
                let cases: Vec<&Case> = layout.cases.iter().filter(here).copied().collect();
                let at = format!("{}, {}", Unit::Bytes.format(size as f64), threads(count));
                let along = (CONNECTIONS.id, Scale::Log2);
                wanted
                    .iter()
                    .filter_map(|w| lines(layout, title, &cases, along, w, &at))
                    .collect::<Vec<Plot>>()
            };
            places.flat_map(of).collect()
        };
        let headed = rests.iter().map(|rest| {
            let ids: Vec<&str> = rest.names().map(Name::as_str).collect();
            let title = layout.describe(rest, &ids);
            (plots(rest, &title), title)
        });
        blocks.extend(under_headings(headed, POINTS / 2));
    }
    unless_empty("by-connections", "By connections of a thread", "By connections", blocks)
}

/// The smallest, the middle and the largest.
fn representative(sizes: &[u64]) -> Vec<u64> {
    let mut chosen = Vec::new();
    if let (Some(first), Some(last)) = (sizes.first(), sizes.last()) {
        chosen = vec![*first, sizes[sizes.len() / 2], *last];
        chosen.dedup();
    }
    chosen
}

/// The plots of each combination under its heading, up to a budget; the rest is said to be left out.
pub fn over_facets(layout: &Layout, budget: usize, plots: impl Fn(&Facet) -> Vec<Plot>) -> Vec<Block> {
    under_headings(layout.facets.iter().map(|facet| (plots(facet), facet.title.clone())), budget)
}

fn under_headings(
    mut combinations: impl ExactSizeIterator<Item = (Vec<Plot>, String)>,
    budget: usize,
) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut used = 0;
    while let Some((plots, title)) = combinations.next() {
        let points: usize = plots.iter().flat_map(|p| &p.series).map(|s| s.points.len()).sum();
        if used > 0 && used + points > budget {
            let left = combinations.len() + 1;
            blocks.push(Block::Text(format!(
                "{left} more combinations of the other axes are not drawn here; results.csv has their figures."
            )));
            break;
        }
        used += points;
        if !title.is_empty() && !plots.is_empty() {
            blocks.push(Block::Heading(title));
        }
        blocks.extend(plots.into_iter().map(Block::Plot));
    }
    blocks
}

/// A metric over sizes at one thread count, with what moving the same bytes costs otherwise.
fn ruled(m: &Material, layout: &Layout, facet: &Facet, count: u64, wanted: &PlottedMetric) -> Option<Plot> {
    let mut plot = size_plot(layout, facet, count, wanted)?;
    let mut at = facet.point.clone();
    at.set(THREADS.id, Value::Int(count));
    let (first, last) = (*layout.sizes.first()? as f64, *layout.sizes.last()? as f64);
    plot.marks = super::rulers::marks(m, wanted.metric, &at, first..=last);
    Some(plot)
}

/// A metric over sizes at one thread count.
pub fn size_plot(layout: &Layout, facet: &Facet, count: u64, wanted: &PlottedMetric) -> Option<Plot> {
    let at = if layout.threads.len() > 1 { threads(count) } else { String::new() };
    draw(layout, facet, (THREADS.id, count), (SIZE.id, Scale::Log2), wanted, &at)
}

fn thread_plot(layout: &Layout, facet: &Facet, size: u64, wanted: &PlottedMetric) -> Option<Plot> {
    draw(layout, facet, (SIZE.id, size), (THREADS.id, Scale::Log2), wanted, &Unit::Bytes.format(size as f64))
}

/// A metric along one axis with another held, a line for each competing value. `None` where
/// nothing was measured.
fn draw(
    layout: &Layout,
    facet: &Facet,
    (held, value): (&str, u64),
    along: (&str, Scale),
    wanted: &PlottedMetric,
    at: &str,
) -> Option<Plot> {
    let cases: Vec<&Case> = layout.slice(facet, held, value).collect();
    lines(layout, &facet.title, &cases, along, wanted, at)
}

/// These cases along one axis, a line for each competing value.
fn lines(
    layout: &Layout,
    combination: &str,
    cases: &[&Case],
    (along, scale): (&str, Scale),
    wanted: &PlottedMetric,
    at: &str,
) -> Option<Plot> {
    let metric = layout.metric(wanted.metric)?;
    let axis = layout.axis(along)?;
    let point = |case: &Case| {
        let place = case.point.int_at(along)? as f64;
        Some((place, layout.estimate(case.index, metric.id)?.0))
    };
    let series = layout.lines(cases, |case| point(case).into_iter().collect());
    let mut title = format!("{} by {}", capital(metric.title), axis.title);
    if !at.is_empty() {
        title.push_str(&format!(", {at}"));
    }
    let x = PlotAxis { title: axis.title.into(), unit: axis.unit, scale };
    let y = PlotAxis { title: metric.title.into(), unit: metric.unit, scale: wanted.scale };
    Plot::of(&format!("{} by {} {at} {combination}", metric.id, axis.title), title, (x, y), series)
}
