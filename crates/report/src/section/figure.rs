//! The one figure: what each way costs relative to the control, all ways and the close race, then by thread counts.

use super::answer::asks_of_layers;
use super::{threads, unless_empty};
use crate::context::{SERIES, SIZE, spread};
use crate::material::Material;
use crate::rivals::{COST, FieldRow, FieldScope, RivalField, study};
use crate::text::words::Words;
use crate::text::{self, LAYERS};
use crate::{Block, ForestPlot, ForestRow, Plot, PlotAxis, PlotRoom, Scale, Section, Series, palette};
use syscost_analyze::compare::study::Study;
use syscost_analyze::finding::Says;
use syscost_analyze::finding::layers::{LayerCost, LayerPlace};
use syscost_core::decide::Verdict;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_measure::probe::transfer::axes::THREADS;

/// Thread counts that have a panel.
const PANELS: usize = 4;
/// A race is close where nobody in it costs more than this much of the best.
const CLOSE: f64 = 1.4;
/// Rows of the figure of layers.
const LAYERS_DRAWN: usize = 10;
/// Ratios within this of 1 are called the same.
const SAME: f64 = 1.03;
/// An interval stretches a panel no further than this beyond its point.
const REACH: f64 = 1.12;

pub fn section(m: &Material) -> Option<Section> {
    let study = study(m, COST)?;
    let layers = if asks_of_layers(m) { layers(m) } else { None };
    let fields = RivalField::all(m);
    let mut tabs: Vec<(String, Vec<Block>)> = Vec::new();
    for field in &fields {
        let blocks = figure(study, field, tabs.len());
        if !blocks.is_empty() {
            tabs.push((field.title.clone(), blocks));
        }
    }
    let control = fields.first().map(|field| field.ways[field.control].name.clone()).unwrap_or_default();
    let mut blocks = Block::tabs("places", tabs);
    if let Some(plot) = layers {
        blocks.insert(0, Block::Forest(plot));
    }
    unless_empty("figure", &format!("CPU per message, relative to {control}"), blocks)
}

/// Draws how much dearer each layer makes the control, where the run is about that.
fn layers(m: &Material) -> Option<ForestPlot> {
    let words = Words::of(m.run);
    let answer = m.analysis.answers.iter().find(|answer| answer.question == LAYERS)?;
    let costs = answer.shown.iter().filter_map(|shown| match &shown.says {
        Says::Layers(cost) => Some(cost),
        _ => None,
    });
    let row = |cost: &LayerCost, LayerPlace { place, without, added, verdict }: &LayerPlace| {
        let size = place.get(SIZE.id).map(|size| words.value(SIZE.id, size)).unwrap_or_default();
        let told = text::layers::change(added, *verdict);
        ForestRow {
            label: format!("{}, {size}", words.value(&cost.axis, &cost.layer)),
            ratio: 1.0 + added.value / without,
            interval: Some((1.0 + added.low / without, 1.0 + added.high / without)),
            style: place
                .text(SERIES)
                .filter(|_| *verdict != Verdict::Undecided)
                .and_then(|id| palette::style(id, 0)),
            detail: told.clone(),
            told,
        }
    };
    let all: Vec<&LayerCost> = costs.collect();
    let beside = &all.last()?.beside;
    let shown = all.iter().filter(|cost| cost.beside == *beside);
    let rows: Vec<ForestRow> = shown
        .flat_map(|cost| text::layers::of_control(cost).map(move |place| row(cost, place)))
        .take(LAYERS_DRAWN)
        .collect();
    let title = format!("CPU of a message, relative to {}", words.value(&all[0].axis, beside));
    (rows.len() > 1).then(|| ForestPlot { id: "layers".into(), title, same: (1.0 / SAME, SAME), rows })
}

fn figure(study: &Study, field: &RivalField, at: usize) -> Vec<Block> {
    let scopes = field.scopes();
    let Some(first) = scopes.first().copied() else { return Vec::new() };
    if field.rows(first).len() < 2 {
        return Vec::new();
    }
    let panel = Panel { study, field, at };
    let kinds = field.kinds();
    let (drawn, batched) =
        (panel.drawn(&kinds[0].1), kinds.get(1).map(|(name, ways)| (*name, panel.drawn(ways))));
    let close = panel.close(&drawn, first);
    let name = if batched.is_some() { kinds[0].0 } else { "all ways" };
    let mut top: Vec<Plot> = panel.plot(name, &drawn, first, PlotRoom::Half).into_iter().collect();
    let apart = close.len() > 1 && close.len() < drawn.len();
    if let Some((name, ways)) = batched {
        top.extend(panel.plot(name, &ways, first, PlotRoom::Half));
    } else if apart {
        top.extend(panel.plot("the close race, on its own scale", &close, first, PlotRoom::Half));
    }
    let counts: Vec<FieldScope> = scopes.iter().copied().filter(|scope| *scope != FieldScope::Over).collect();
    let mut small = Vec::new();
    if counts.len() > 1 {
        let ways = if close.len() > 1 { &close } else { &drawn };
        for scope in spread(&counts, PANELS) {
            let FieldScope::At(count) = scope else { continue };
            small.extend(panel.plot(&threads(count), ways, scope, PlotRoom::Quarter));
        }
        share_span(&mut small);
    }
    let mut blocks = vec![Block::Panels(top)];
    if !small.is_empty() {
        blocks.push(Block::Panels(small));
    }
    blocks.push(Block::Note(panel.note(&counts)));
    blocks
}

struct Panel<'a> {
    study: &'a Study,
    field: &'a RivalField<'a>,
    /// Its place among the fields, for the names of files.
    at: usize,
}

impl Panel<'_> {
    fn drawn(&self, ways: &[usize]) -> Vec<usize> {
        ways.iter().copied().filter(|way| self.field.ways[*way].style.is_some()).collect()
    }

    /// Those that stay near the best at every place.
    fn close(&self, drawn: &[usize], scope: FieldScope) -> Vec<usize> {
        let rows = self.field.rows(scope);
        let ratio = |way: usize, row: &FieldRow| Some(self.field.ratio(self.study, way, *row)?.0.value);
        let near = |way: &usize| {
            let costs = rows.iter().filter_map(|row| {
                let least = drawn.iter().filter_map(|other| ratio(*other, row)).fold(1.0, f64::min);
                Some(ratio(*way, row)? / least)
            });
            costs.fold(0.0, f64::max) <= CLOSE
        };
        drawn.iter().copied().filter(near).collect()
    }

    fn plot(&self, title: &str, ways: &[usize], scope: FieldScope, room: PlotRoom) -> Option<Plot> {
        let rows = self.field.rows(scope);
        let series: Vec<Series> = ways.iter().filter_map(|way| self.series(*way, &rows)).collect();
        let x = if self.field.along_threads() {
            PlotAxis { title: "threads".into(), unit: Unit::Count, scale: Scale::Log2 }
        } else {
            PlotAxis { title: "message size".into(), unit: Unit::Bytes, scale: Scale::Log2 }
        };
        let y = PlotAxis { title: String::new(), unit: Unit::Ratio, scale: Scale::Log10 };
        let scope = match scope {
            FieldScope::At(count) => format!("{} {count}", THREADS.id),
            FieldScope::Over => String::new(),
        };
        let plot = Plot::of(&format!("cost {} {title} {scope}", self.at), title.into(), (x, y), series)?;
        let span = span(&plot.series);
        Some(Plot { room, noise: self.twins(), span: Some(span), ..plot })
    }

    fn series(&self, way: usize, rows: &[FieldRow]) -> Option<Series> {
        let known = &self.field.ways[way];
        let found = rows.iter().filter_map(|row| {
            let (estimate, verdict) = self.field.ratio(self.study, way, *row)?;
            Some((row.x as f64, estimate, verdict))
        });
        let found: Vec<(f64, Estimate, Verdict)> = found.collect();
        let points: Vec<(f64, Estimate)> = found.iter().map(|(x, e, _)| (*x, *e)).collect();
        let open = found.iter().filter(|(.., verdict)| *verdict == Verdict::Undecided).map(|(x, ..)| *x);
        let undecided = open.collect();
        (!points.is_empty())
            .then(|| Series { undecided, ..Series::of(&known.name, known.style.unwrap_or(0), points) })
    }

    /// How far pairs of identical cases lay apart.
    fn twins(&self) -> Option<(f64, f64)> {
        let farthest = 1.0 + self.study.comparisons.identical?.farthest;
        Some((1.0 / farthest, farthest))
    }

    fn note(&self, counts: &[FieldScope]) -> String {
        let control = &self.field.ways[self.field.control].name;
        let grey = match self.study.comparisons.identical {
            Some(_) => format!(" Grey: twins of {control}."),
            None => String::new(),
        };
        let over = if counts.len() > 1 && !self.field.along_threads() {
            " Large panels: all thread counts."
        } else {
            ""
        };
        format!(
            "Below 1x is cheaper than {control}. Band: confidence interval; hatched: undecided.{grey}{over}"
        )
    }
}

/// What a panel spans: its points, and of the intervals so much that one wide one does not flatten the rest.
fn span(series: &[Series]) -> (f64, f64) {
    let points = || series.iter().flat_map(|s| s.points.iter().map(|(_, e)| e));
    let low = points().map(|e| e.low.max(e.value / REACH)).fold(1.0, f64::min);
    let high = points().map(|e| e.high.min(e.value * REACH)).fold(1.0, f64::max);
    (low, high)
}

/// Panels of a row are read against each other.
fn share_span(plots: &mut [Plot]) {
    let spans = plots.iter().filter_map(|plot| plot.span);
    let whole = spans.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    plots.iter_mut().for_each(|plot| plot.span = whole);
}
