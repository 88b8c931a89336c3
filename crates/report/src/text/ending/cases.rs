//! Cases that move data: CPU time of a message and throughput, each against the control.

use super::EndTable;
use super::figure::{RivalStanding, digits, figure, own_figure};
use crate::context::Layout;
use crate::material::Material;
use crate::rivals::{FieldRow, FieldScope, RivalField, name, study};
use crate::text::words::{Words, threads};
use std::collections::BTreeMap;
use syscost_analyze::compare::study::{RIVALS, Study};
use syscost_core::axis::{Point, Value};
use syscost_core::units::count;
use syscost_experiment::plan::Case;
use syscost_measure::probe;
use syscost_measure::probe::cost;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};

const COST: &str = "total_cpu_ns_per_message";
/// What decides which way costs less: at one size the same as by message.
const COMPARED: &str = "total_cpu_ns_per_byte";
const THROUGHPUT: &str = "throughput";
const MICROSECONDS: (f64, &str) = (1e3, "us");
const GIGABITS: (f64, &str) = (1e9, "Gbit/s");
/// Cases of which each has a row of its own.
const LISTED: usize = 16;
/// Of more ways than stand beside each other, so many have a row.
const CHEAPEST: usize = 6;
/// Ways that stand beside each other.
const BESIDE: usize = 7;

/// Cases at one place, of which one is chosen.
struct Rivals<'a> {
    given: Point,
    control: &'a Case,
    cases: Vec<&'a Case>,
}

pub fn tables(m: &Material) -> Vec<EndTable> {
    let words = Words::of(m.run);
    m.layouts
        .iter()
        .filter(|layout| layout.has(COST))
        .flat_map(|layout| of_layout(m, layout, &words))
        .collect()
}

fn of_layout(m: &Material, layout: &Layout, words: &Words) -> Vec<EndTable> {
    let all = rivals(layout);
    let (contests, alone): (Vec<Rivals>, Vec<Rivals>) = all.into_iter().partition(|r| r.cases.len() > 1);
    let view = View { m, layout, words };
    let listed = contests.iter().map(|rivals| rivals.cases.len()).sum::<usize>() <= LISTED;
    let many = contests.iter().any(|rivals| rivals.cases.len() > BESIDE);
    let mut tables = if listed || many {
        contests.iter().map(|rivals| view.list(rivals)).collect()
    } else {
        by_size(m, layout, words)
    };
    tables.extend(view.alone(&alone));
    tables
}

/// Measured cases that differ in what their user chooses only.
fn rivals<'a>(layout: &'a Layout) -> Vec<Rivals<'a>> {
    let mut groups: Vec<(Point, Vec<&Case>)> = Vec::new();
    let mut place: BTreeMap<Point, usize> = BTreeMap::new();
    for case in layout.cases.iter().filter(|case| layout.judged(case.index, COST).is_some()) {
        let given = layout.probe.coordinates(&case.point, false);
        let at = *place.entry(given.clone()).or_insert(groups.len());
        if at == groups.len() {
            groups.push((given, Vec::new()));
        }
        groups[at].1.push(case);
    }
    let control = |cases: &[&'a Case]| {
        let ways = cases.iter().map(|case| (*case, &case.point));
        probe::plain_control(layout.probe, ways).unwrap_or(cases[0])
    };
    let of = |(given, cases): (Point, Vec<&'a Case>)| Rivals { given, control: control(&cases), cases };
    groups.into_iter().map(of).collect()
}

struct View<'a> {
    m: &'a Material<'a>,
    layout: &'a Layout<'a>,
    words: &'a Words,
}

impl View<'_> {
    fn study(&self, metric: &str) -> Option<&Study> {
        let ways = &self.m.analysis.ways;
        let studies = if self.m.analysis.ways_vary { ways } else { &self.m.analysis.studies };
        studies.iter().find(|study| study.comparisons.metric.id == metric)
    }

    fn against(&self, metric: &str, case: &Case, other: &Case) -> Option<RivalStanding> {
        RivalStanding::of(self.study(metric)?, case.index, other.index)
    }

    /// As the page's table has it.
    fn name(&self, case: &Case) -> String {
        name(self.layout, &self.layout.probe.coordinates(&case.point, true))
    }

    fn cost(&self, case: &Case) -> f64 {
        self.layout.judged(case.index, COST).map_or(f64::INFINITY, |estimate| estimate.value)
    }

    fn shown(&self, case: &Case, metric: &str, unit: (f64, &str)) -> String {
        self.layout.judged(case.index, metric).map_or("-".into(), |estimate| figure(&estimate, unit))
    }

    /// A row a way; of many the cheapest first.
    fn list(&self, rivals: &Rivals) -> EndTable {
        // What leaves a part of the work out is a bound and no way.
        let whole = |case: &&Case| self.layout.probe.whole(&case.point);
        let mut cases: Vec<&Case> = rivals.cases.iter().copied().filter(whole).collect();
        if cases.is_empty() {
            cases = rivals.cases.clone();
        }
        let many = cases.len() > BESIDE;
        if many {
            cases.sort_by(|a, b| self.cost(a).total_cmp(&self.cost(b)));
        }
        let against = |metric: &str, case: &Case| {
            let other = rivals.control;
            if case.index == other.index {
                return "control".into();
            }
            self.against(metric, case, other).map_or("-".into(), |against| against.words())
        };
        let row = |case: &&Case| {
            vec![
                self.name(case),
                self.shown(case, COST, MICROSECONDS),
                against(COMPARED, case),
                self.shown(case, THROUGHPUT, (GIGABITS.0, "")),
                against(THROUGHPUT, case),
            ]
        };
        let beside = format!("vs {}", self.name(rivals.control));
        EndTable {
            title: Some(self.words.place(&rivals.given, &[])),
            columns: ["way", "CPU a message", &beside, GIGABITS.1, &beside].map(String::from).to_vec(),
            rows: cases.iter().take(if many { CHEAPEST } else { LISTED }).map(row).collect(),
            note: many.then(|| format!("{} in the report", count(cases.len() - CHEAPEST, "dearer way"))),
        }
    }

    /// Cases that nothing was compared with.
    fn alone(&self, alone: &[Rivals]) -> Option<EndTable> {
        let cases: Vec<&Case> = alone.iter().map(|rivals| rivals.control).collect();
        let row = |case: &&Case| {
            vec![
                label(self.layout, self.words, case, &cases),
                self.shown(case, COST, MICROSECONDS),
                self.shown(case, THROUGHPUT, GIGABITS),
            ]
        };
        let first = cases.first()?;
        Some(EndTable {
            title: Some(self.words.place(&first.point, &self.layout.varying)),
            columns: ["case", "CPU a message", "throughput"].map(String::from).to_vec(),
            rows: cases.iter().map(row).collect(),
            note: None,
        })
    }
}

/// Sizes down, ways across, as the page's first table has them: a table for each place and metric, costs first.
fn by_size(m: &Material, layout: &Layout, words: &Words) -> Vec<EndTable> {
    let fields = RivalField::all(m);
    let own = fields.iter().filter(|field| std::ptr::eq(field.layout, layout));
    let metrics =
        [(COST, COMPARED, MICROSECONDS, "CPU a message"), (THROUGHPUT, THROUGHPUT, GIGABITS, "Throughput")];
    own.flat_map(|field| metrics.map(|metric| matrix(m, field, words, metric))).flatten().collect()
}

fn matrix(
    m: &Material,
    field: &RivalField,
    words: &Words,
    (metric, compared, unit, title): (&str, &str, (f64, &str), &str),
) -> Option<EndTable> {
    let study = study(m, compared)?;
    let scope = *field.scopes().first()?;
    let control = field.control;
    let ways: Vec<usize> =
        std::iter::once(control).chain((0..field.ways.len()).filter(|way| *way != control)).collect();
    let entry = |way: &usize, row: FieldRow| {
        let estimate = field.middle(*way, metric, row)?;
        if *way == control {
            return Some(figure(&estimate, (unit.0, "")));
        }
        let standing = field.ratio(study, *way, row);
        let mark = standing.map(|(ratio, verdict)| RivalStanding::seen(study, &ratio, verdict).mark());
        Some(format!("{} {}", digits(&estimate, unit.0), mark.unwrap_or_default()))
    };
    let rows: Vec<Vec<String>> = field
        .rows(scope)
        .into_iter()
        .map(|row| {
            let name = if field.along_threads() {
                count(row.x as usize, "thread")
            } else {
                words.value(MESSAGE_BYTES.id, &Value::Int(row.x))
            };
            let cells = ways.iter().map(|way| entry(way, row).unwrap_or("-".into()));
            std::iter::once(name).chain(cells).collect()
        })
        .collect();
    let (better, worse) = match compared == COMPARED {
        true => ("-1.3x costs 1.3x less than", "more"),
        false => ("-1.3x is 1.3x faster than", "slower"),
    };
    let head = if field.along_threads() { "threads" } else { "size" };
    let name = |way: &usize| field.ways[*way].name.clone();
    Some(EndTable {
        title: Some(format!("{title}, {}, {}", unit.1, place(field, words, scope))),
        columns: std::iter::once(head.to_string()).chain(ways.iter().map(name)).collect(),
        rows,
        note: Some(format!("{better} {}, + {worse}, = the same, ? undecided", name(&control))),
    })
}

/// `mean of 1, 2, 4 and 8 threads over veth (TCP_NODELAY on)`
fn place(field: &RivalField, words: &Words, scope: FieldScope) -> String {
    let Some(case) = field.any_case().and_then(|case| field.layout.case(case)) else { return String::new() };
    let mut place = field.layout.probe.coordinates(&case.point, false);
    place.retain(|id| id != MESSAGE_BYTES.id && id != THREADS.id);
    let counts = |counts: &[u64]| threads(&counts.iter().map(|n| Value::Int(*n)).collect::<Vec<_>>());
    let threads = match scope {
        FieldScope::At(count) => counts(&[count]),
        FieldScope::Over if field.along_threads() => String::new(),
        FieldScope::Over => format!("mean of {}", counts(&field.grid_threads)),
    };
    let parts = [threads, words.place(&place, &[])];
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

/// `send, 1 KiB, 8 threads`: what varies among these cases; of one case what is chosen.
pub fn label(layout: &Layout, words: &Words, case: &Case, among: &[&Case]) -> String {
    let value = |id: &&'static str| {
        let value = case.point.get(id)?;
        let varies = among.iter().any(|other| other.point.get(id) != Some(value));
        varies.then(|| match *id {
            id if id == THREADS.id => crate::text::words::threads(std::slice::from_ref(value)),
            id => words.value(id, value),
        })
    };
    let varying: Vec<String> = layout.varying.iter().filter_map(value).collect();
    if varying.is_empty() { words.way(layout.probe, &case.point, RIVALS.id) } else { varying.join(", ") }
}

/// Of a run that moves no data and has no rows: what decides about each case.
pub fn single(m: &Material) -> Vec<EndTable> {
    let words = Words::of(m.run);
    let of = |layout: &Layout| {
        let counted = m.run.record.repeats().then(|| cost::counted_metric(layout.probe)).flatten();
        let decisive = || layout.probe.decisive().iter().filter_map(|id| layout.metric(id)).take(3).collect();
        let metrics: Vec<_> = counted.map_or_else(decisive, |metric| vec![metric]);
        let row = |case: &&Case| {
            let shown = |metric: &&str| {
                layout.estimate(case.index, metric).map_or("-".into(), |(estimate, _)| own_figure(&estimate))
            };
            let name = crate::text::words::operation_name(case);
            let name = name.unwrap_or_else(|| words.place(&case.point, &[]));
            let figures = metrics.iter().map(|metric| shown(&metric.id));
            std::iter::once(name).chain(figures).collect()
        };
        EndTable {
            title: Some(layout.probe.about().title.into()),
            columns: std::iter::once("case".to_string())
                .chain(metrics.iter().map(|metric| metric.title.to_string()))
                .collect(),
            rows: layout.cases.iter().map(row).collect(),
            note: None,
        }
    };
    m.layouts.iter().map(of).collect()
}
