//! Latency: p50, p99 and p99.9 along the rate, then the distributions in curves and figures, and along threads that share one load.

use super::{capital, grouped, plural, unless_empty};
use crate::context::{Layout, SERIES, SIZE, spread};
use crate::material::Material;
use crate::text::latency::stalled;
use crate::{
    Block, Entry, Mark, MarkShape, Plot, PlotAxis, PlotRoom, Scale, Section, Series, Standing, Table,
};
use std::collections::{BTreeMap, BTreeSet};
use syscost_analyze::compare::study::Study;
use syscost_analyze::compare::winners::Sure;
use syscost_analyze::latency::{ACHIEVED, Distribution, Latency, RANKED, RateKept};
use syscost_core::axis::Point;
use syscost_core::stats::Estimate;
use syscost_core::units::{Unit, significant};
use syscost_experiment::plan::Case;
use syscost_measure::probe::tcp_latency::axes::RATE;
use syscost_measure::probe::transfer::axes::THREADS;

/// Rows of one table, and plots of one kind.
const ROWS: usize = 120;
const PLOTS: usize = 4;
/// Rows in sight.
const SHOWN: usize = 5;
/// Quantiles that are drawn along the rate.
const BY_RATE: [&str; 3] = ["latency_p50", "latency_p99", "latency_p999"];
const GREEN: &str = "Green: significantly better than every other, or the same within 3 % as the best.";
/// Depths of a curve: one in so many is slower.
const DEPTHS: &[f64] = &[
    2.0, 3.0, 5.0, 10.0, 20.0, 30.0, 50.0, 100.0, 200.0, 300.0, 500.0, 1e3, 2e3, 3e3, 5e3, 1e4, 2e4, 5e4, 1e5,
];
const LONGEST: &str = "latency_max";
const FIGURES: [&str; 5] = ["latency_p50", "latency_p90", "latency_p99", "latency_p999", LONGEST];

const METHOD: &str = "Every message, or round trip, was timed for itself. A figure is the median of the rounds' own, with its \
    interval; comparisons pair the same. A quantile is given only where ten of all times lie beyond it. Pooled is the p99 of \
    all times of all rounds together; where it is twice that and at most a third of the rounds make it, they are counted beside it.";
const OPEN: &str = "An open loop's latency runs from the moment at which a message was due by a schedule fixed in \
    advance to its last byte at the receiver, so that waiting behind a late sender counts. Sender and receiver are on one \
    host and read one clock (CLOCK_MONOTONIC), on every path of this run; between hosts only a round trip could be given. \
    The rate is that of all threads together: each of n threads sends one n-th of it.";

/// What each rate does to p50, p99 and p99.9, then every quantile, then the figures.
pub fn section(m: &Material) -> Option<Section> {
    let mut blocks = Vec::new();
    for view in views(m) {
        let curves = view.curves();
        if let Some((heading, by_rate)) = view.by_rate() {
            let legend = Block::Legend(legend(&by_rate));
            blocks.extend([Block::Heading(heading), legend, Block::Panels(by_rate)]);
        }
        if !curves.is_empty() {
            blocks.push(Block::Panels(curves));
        }
        if !blocks.is_empty() {
            blocks.push(Block::Note(view.note()));
        }
        for of_open in [true, false] {
            blocks.extend(view.table(of_open).map(in_sight).unwrap_or_default());
        }
    }
    blocks.extend(stalled(&m.analysis.latency).map(Block::Statement));
    unless_empty("latency", "Latency", blocks)
}

/// The names of the lines of several plots, each once.
fn legend(plots: &[Plot]) -> Vec<(String, usize)> {
    let names = grouped(plots.iter().flat_map(|plot| &plot.series).map(|line| (&line.name, line.style)));
    names.into_iter().map(|(name, styles)| (name.clone(), styles[0])).collect()
}

/// Along thread counts, and how it was timed.
pub fn details(m: &Material) -> Option<Section> {
    let views = views(m);
    let mut blocks = Vec::new();
    for view in &views {
        let plots = view.along(THREADS.id, Scale::Log2, &RANKED);
        if !plots.is_empty() {
            blocks.push(Block::Panels(plots));
        }
    }
    if !views.is_empty() {
        blocks.push(Block::Text(METHOD.into()));
    }
    if views.iter().any(|view| view.cases.iter().any(|(case, _)| open(case))) {
        blocks.push(Block::Text(OPEN.into()));
    }
    unless_empty("latency-details", "Latency by threads, and how it was timed", blocks)
}

fn views<'a>(m: &'a Material<'a>) -> Vec<LatencyView<'a>> {
    let confidence = m.run.record.spec.confidence;
    let views = m.layouts.iter().map(|layout| LatencyView::of(layout, &m.analysis.latency, confidence));
    views.filter(|view| !view.cases.is_empty()).collect()
}

/// The first rows of a table; the others folded behind them.
fn in_sight(mut table: Table) -> Vec<Block> {
    let rest = table.rows.split_off(table.rows.len().min(SHOWN));
    if rest.is_empty() {
        return vec![Block::Table(table)];
    }
    let title = plural(rest.len(), "more row");
    let (id, columns) = (format!("{}-more", table.id), table.columns.clone());
    let more = Table { id, columns, rows: rest, note: table.note.take(), ..Table::default() };
    vec![Block::Table(table), Block::Folded { title, blocks: vec![Block::Table(more)] }]
}

fn kept(kept: RateKept) -> &'static str {
    match kept {
        RateKept::Yes => "yes",
        RateKept::Undecided => "undecided",
        RateKept::No => "no: saturated",
    }
}

fn open(case: &Case) -> bool {
    case.point.get(RATE.id).is_some()
}

struct LatencyView<'a> {
    layout: &'a Layout<'a>,
    studies: &'a [Study],
    cases: Vec<(&'a Case, &'a Distribution)>,
    confidence: f64,
}

impl<'a> LatencyView<'a> {
    fn of(layout: &'a Layout<'a>, latency: &'a Latency, confidence: f64) -> LatencyView<'a> {
        let mine = |case: &&'a Case| Some((*case, latency.cases.get(&case.index)?));
        let cases = layout.cases.iter().filter_map(mine).collect();
        LatencyView { layout, studies: &latency.studies, cases, confidence }
    }

    /// The figures of one kind of loop.
    fn table(&self, of_open: bool) -> Option<Table> {
        let cases: Vec<_> = self.cases.iter().filter(|(case, _)| open(case) == of_open).collect();
        let axes: Vec<&str> = self.varying(&cases);
        let mut columns: Vec<String> =
            axes.iter().filter_map(|id| self.layout.axis(id)).map(|a| a.title.to_string()).collect();
        if of_open {
            columns.extend(["achieved", "kept up"].map(String::from));
        }
        columns
            .extend(["timed", "p50", "p90", "p99", "p99.9", "longest", "pooled p99, us"].map(String::from));
        let row = |(case, times): &&(&Case, &Distribution)| {
            let show = |id: &&str| {
                let (axis, value) = self.layout.axis(id).zip(case.point.get(id))?;
                Some(Entry::Text(axis.show(value)))
            };
            let mut row: Vec<Entry> =
                axes.iter().map(|id| show(id).unwrap_or(Entry::Text(String::new()))).collect();
            if of_open {
                row.push(self.entry(case.index, ACHIEVED));
                row.push(Entry::Text(kept(times.kept()).into()));
            }
            row.push(Entry::Text(times.whole.count().to_string()));
            row.extend(FIGURES.map(|id| self.entry(case.index, id)));
            row.push(Entry::Text(self.pooled(case.index)));
            row
        };
        let title = if of_open { "Open loop: from due to arrived" } else { "Closed loop: round trips" };
        let left = cases.len().saturating_sub(ROWS);
        (!cases.is_empty()).then(|| Table {
            id: format!(
                "latency-{}-{}",
                self.layout.probe.about().id,
                if of_open { "open" } else { "closed" }
            ),
            title: title.into(),
            columns,
            rows: cases.iter().take(ROWS).map(row).collect(),
            note: (left > 0).then(|| format!("{} more in results.csv.", plural(left, "case"))),
            ..Table::default()
        })
    }

    /// `49000 (1/11)`: p99 of all times in microseconds, and the rounds that make it where they are few.
    fn pooled(&self, case: usize) -> String {
        let Some(pooled) = self.layout.pooled(case, RANKED[0]) else { return String::new() };
        let value = significant(pooled.value / 1e3);
        let few = pooled.stall.map(|stall| format!(" ({}/{})", stall.rounds, stall.of));
        value + &few.unwrap_or_default()
    }

    fn entry(&self, case: usize, metric: &str) -> Entry {
        let Some((estimate, _)) = self.layout.estimate(case, metric) else {
            return Entry::Text("not enough".into());
        };
        // The longest of all times is one time: no number of rounds gives it an interval.
        if metric == LONGEST {
            return Entry::Text(estimate.unit.format(estimate.value));
        }
        let study = self.studies.iter().find(|s| s.comparisons.metric.id == metric);
        let standing = study.map_or(Standing::None, |study| standing(study, case));
        Entry::Estimate { estimate, cell: None, standing }
    }

    /// Axes on which these cases differ, in column order.
    fn varying(&self, cases: &[&(&Case, &Distribution)]) -> Vec<&'static str> {
        let differs = |id: &&&'static str| {
            let first = cases.first().and_then(|(case, _)| case.point.get(id));
            cases.iter().any(|(case, _)| case.point.get(id) != first)
        };
        self.layout.varying.iter().filter(differs).copied().collect()
    }

    /// Cases that differ in what competes, and in this axis, only.
    fn sets(&self, along: Option<&str>) -> BTreeMap<Point, Vec<(&'a Case, &'a Distribution)>> {
        let own = self.layout.own_axes();
        let apart = |id: &&&str| **id != SERIES.id && Some(**id) != along && !own.contains(*id);
        let axes: Vec<&str> = self.layout.varying.iter().filter(apart).copied().collect();
        let mut sets: BTreeMap<Point, Vec<(&Case, &Distribution)>> = BTreeMap::new();
        for (case, times) in &self.cases {
            let mut key = Point::default();
            for axis in &axes {
                case.point.get(axis).into_iter().for_each(|value| key.set(axis, value.clone()));
            }
            sets.entry(key).or_default().push((case, times));
        }
        sets
    }

    fn title(&self, what: &str, key: &Point) -> String {
        let ids: Vec<&str> = self.layout.axes.iter().map(|a| a.id).collect();
        let place = self.layout.describe(key, &ids);
        if place.is_empty() { what.to_string() } else { format!("{what}, {place}") }
    }

    /// How much slower one in so many is: closed loops at some sizes, open ones at some rates.
    fn curves(&self) -> Vec<Plot> {
        let plots = |of_open: bool| {
            let sets = self.sets(None);
            let kept = |set: &&(Point, Vec<(&Case, &Distribution)>)| {
                let (_, cases) = set;
                cases.iter().all(|(case, times)| open(case) == of_open && times.is_steady())
            };
            let mut sets: Vec<(Point, Vec<_>)> = sets.into_iter().collect();
            let order = |p: &Point| (p.int(THREADS), p.int(RATE), p.int(SIZE));
            sets.sort_by_key(|(point, _)| order(point));
            let kept: Vec<&(Point, Vec<_>)> = sets.iter().filter(kept).collect();
            let chosen = spread(&kept, PLOTS / 2);
            chosen.iter().filter_map(|(key, cases)| self.curve(key, cases)).collect::<Vec<Plot>>()
        };
        plots(false).into_iter().chain(plots(true)).collect()
    }

    fn curve(&self, key: &Point, cases: &[(&Case, &Distribution)]) -> Option<Plot> {
        let points = |times: &Distribution| {
            let at = |depth: &f64| Some((*depth, times.quantile(1.0 - 1.0 / depth, self.confidence)?));
            DEPTHS.iter().filter_map(at).collect::<Vec<_>>()
        };
        let series = self.series(cases, |_, times| points(times));
        let title = self.title("Quantiles", key);
        let x =
            PlotAxis { title: "quantile of all messages".into(), unit: Unit::Count, scale: Scale::Quantile };
        let y = PlotAxis { title: "latency".into(), unit: Unit::Nanoseconds, scale: Scale::Log10 };
        Plot::of(&format!("{} {title}", self.layout.probe.about().id), title, (x, y), series)
    }

    /// The quantiles that matter along the rate at one place, the first that has several rates: small, on one scale; and where
    /// that is.
    fn by_rate(&self) -> Option<(String, Vec<Plot>)> {
        let (place, cases) = self.ladders(RATE.id).into_iter().next()?;
        let plot = |metric: &&str| self.line_plot(RATE.id, Scale::Log10, metric, &place, &cases);
        let mut plots: Vec<Plot> = BY_RATE.iter().filter_map(plot).collect();
        let values =
            || plots.iter().flat_map(|plot| plot.series.iter().flat_map(|s| &s.points)).map(|(_, e)| e.value);
        let span = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        for plot in &mut plots {
            plot.title = std::mem::replace(&mut plot.y.title, "latency".into());
            (plot.room, plot.span) = (PlotRoom::Quarter, Some(span));
            plot.marks.clear();
        }
        Some((self.title("Latency by rate", &place), plots))
    }

    /// How many rounds the figures stand on, and what is not said by the plots.
    fn note(&self) -> String {
        let rounds = self.cases.iter().map(|(_, times)| times.rounds.len());
        let (least, most) = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
        let rounds = if least == most {
            plural(most, "round")
        } else {
            format!("{least} to {}", plural(most, "round"))
        };
        format!("Median of {rounds}; band: its interval. A line ends where its way is saturated. {GREEN}")
    }

    /// The sets of cases that have several values of an axis.
    fn ladders(&self, axis: &'static str) -> Vec<(Point, Vec<(&'a Case, &'a Distribution)>)> {
        let several = |cases: &[(&Case, &Distribution)]| {
            let values: BTreeSet<u64> = cases.iter().filter_map(|(c, _)| c.point.int_at(axis)).collect();
            values.len() > 1
        };
        self.sets(Some(axis)).into_iter().filter(|(_, cases)| several(cases)).collect()
    }

    /// Quantiles along an axis, where it has several values; of what kept up with its rate.
    fn along(&self, axis: &'static str, scale: Scale, metrics: &[&str]) -> Vec<Plot> {
        let sets = self.ladders(axis);
        let chosen = spread(&sets.iter().collect::<Vec<_>>(), PLOTS);
        let plots = |(key, cases): &&(Point, Vec<(&'a Case, &'a Distribution)>)| {
            metrics.iter().filter_map(|id| self.line_plot(axis, scale, id, key, cases)).collect::<Vec<_>>()
        };
        chosen.iter().flat_map(plots).collect()
    }

    fn line_plot(
        &self,
        axis: &'static str,
        scale: Scale,
        metric: &str,
        key: &Point,
        cases: &[(&'a Case, &'a Distribution)],
    ) -> Option<Plot> {
        let metric = self.layout.metric(metric)?;
        let along = self.layout.axis(axis)?;
        let point = |case: &Case, times: &Distribution| {
            let estimate = self.layout.estimate(case.index, metric.id)?.0;
            times.is_steady().then_some((case.point.int_at(axis)? as f64, estimate))
        };
        let series = self.series(cases, |case, times| point(case, times).into_iter().collect());
        let (unit, x) =
            if axis == RATE.id { (Unit::PerSecond, "asked rate") } else { (along.unit, along.title) };
        let ends = self.ends(axis, cases);
        let title = self.title(&format!("{} by {}", capital(metric.title), along.title), key);
        let marks = saturated(axis, &ends, &series);
        let x = PlotAxis { title: x.into(), unit, scale };
        let y = PlotAxis { title: metric.title.into(), unit: metric.unit, scale: Scale::Log10 };
        let plot = Plot::of(&format!("{} {title}", self.layout.probe.about().id), title, (x, y), series)?;
        Some(Plot { marks, ..plot })
    }

    /// A line for each that competes, from the points of its cases.
    fn series(
        &self,
        cases: &[(&'a Case, &'a Distribution)],
        points: impl Fn(&Case, &Distribution) -> Vec<(f64, Estimate)>,
    ) -> Vec<Series> {
        let bare: Vec<&Case> = cases.iter().map(|(case, _)| *case).collect();
        let times =
            |case: &Case| cases.iter().find(|(own, _)| own.index == case.index).map(|(_, times)| times);
        self.layout.lines(&bare, |case| times(case).map_or(Vec::new(), |times| points(case, times)))
    }

    /// The first value of the axis at which each that competes is saturated.
    fn ends(&self, axis: &str, cases: &[(&'a Case, &'a Distribution)]) -> Vec<(String, u64)> {
        let end = |(name, _): &(String, usize)| {
            let mine = cases.iter().filter(|(case, times)| {
                times.kept() == RateKept::No && self.layout.series_name(&case.point).as_ref() == Some(name)
            });
            Some((name.clone(), mine.filter_map(|(case, _)| case.point.int_at(axis)).min()?))
        };
        self.layout.series.iter().filter_map(end).collect()
    }
}

/// Where along a ladder of rates each is saturated, as far as the plot goes: there its line ends.
fn saturated(axis: &str, ends: &[(String, u64)], series: &[Series]) -> Vec<Mark> {
    let last = series.iter().flat_map(|s| &s.points).map(|(x, _)| *x).fold(0.0, f64::max);
    let within = ends.iter().filter(|(_, at)| axis == RATE.id && *at as f64 <= last);
    let mark = |(name, at): &(String, u64)| Mark {
        shape: MarkShape::At { x: *at as f64 },
        style: None,
        label: format!("{name} saturated"),
    };
    within.map(mark).collect()
}

/// How a case stands at its point.
fn standing(study: &Study, case: usize) -> Standing {
    let unbeaten = study.winners.iter().find(|winner| winner.unbeaten.contains(&case));
    match unbeaten.map(|winner| winner.sure) {
        Some(Sure::Best) => Standing::Best,
        Some(Sure::Same) => Standing::Same,
        _ => Standing::None,
    }
}
