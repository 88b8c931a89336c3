//! What competes at one place, laid out for the figure and the table: ways, sizes, thread counts, and how each way stands
//! against the control. Decisions are those of the analysis.

use crate::context::{Layout, SERIES, SIZE};
use crate::material::Material;
use crate::palette::{self, SHADES};
use std::collections::BTreeMap;
use syscost_analyze::compare::comparisons::{better_side, estimate};
use syscost_analyze::compare::study::Study;
use syscost_analyze::grouped::grouped;
use syscost_analyze::recommend::situation::Situation;
use syscost_core::axis::{Point, Value};
use syscost_core::decide::{Decision, Verdict};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_measure::mechanism::{self, MESSAGES_PER_CALL};
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{RECEIVER, THREADS};

/// What a way is ranked by first, and what its table shows of it.
pub const COST: &str = "total_cpu_ns_per_byte";
/// Ways that one figure draws, and each of two: of one message a call and of several.
const DRAWN: usize = SHADES;
const DRAWN_EACH: usize = 5;
/// Places that have a figure and a table of their own.
const PLACES: usize = 6;

/// The ways of one place.
pub struct RivalField<'a> {
    pub layout: &'a Layout<'a>,
    /// `over veth, TCP_NODELAY on`; empty where there is one place only.
    pub title: String,
    /// Best first where they are too many to draw.
    pub ways: Vec<RivalWay>,
    /// The way that all are compared with.
    pub control: usize,
    pub sizes: Vec<u64>,
    pub threads: Vec<u64>,
    /// The thread counts of the grid that was asked for, which means are over: refinement adds others at some sizes.
    pub grid_threads: Vec<u64>,
    cases: BTreeMap<(usize, u64, u64), usize>,
}

pub struct RivalWay {
    pub name: String,
    /// What it is called by its copies: `one-copy`.
    pub kind: &'static str,
    /// `None`: the figure has no room for it.
    pub style: Option<usize>,
    /// May a reader choose it? What stands beside the ways is no choice, nor for fields a control that wants one buffer.
    pub is_choice: bool,
    /// Does a call take several messages? They wait for one another, so that it is a choice of its own.
    pub batched: bool,
    own: Point,
}

/// Where in a field: at one number of threads, or over all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldScope {
    Over,
    At(u64),
}

/// A row of the table, and a place on the x axis.
#[derive(Clone, Copy, Debug)]
pub struct FieldRow {
    pub x: u64,
    pub size: u64,
    pub scope: FieldScope,
}

impl<'a> RivalField<'a> {
    /// A field for each place of the probes that compare, in the order of the plan.
    pub fn all(m: &'a Material<'a>) -> Vec<RivalField<'a>> {
        let Some(study) = study(m, COST).or(m.analysis.ways.first()) else { return Vec::new() };
        let layouts = m.layouts.iter().filter(|layout| layout.probe.compared());
        let added = m.run.record.plan.refinements.first().map_or(usize::MAX, |stage| stage.first_case);
        layouts.flat_map(|layout| fields(study, layout, added)).take(PLACES).collect()
    }

    /// The ways of one message a call and those of several, each with its name; without names where there is one kind.
    pub fn kinds(&self) -> Vec<(&'static str, Vec<usize>)> {
        let of =
            |batched: bool| (0..self.ways.len()).filter(|way| self.ways[*way].batched == batched).collect();
        let kinds: [Vec<usize>; 2] = [of(false), of(true)];
        let several = kinds.iter().all(|ways| ways.iter().any(|way| *way != self.control));
        let named = ["one message a call", "several messages a call"].into_iter().zip(kinds);
        if several { named.collect() } else { vec![("", (0..self.ways.len()).collect())] }
    }

    pub fn case(&self, way: usize, size: u64, threads: u64) -> Option<usize> {
        self.cases.get(&(way, size, threads)).copied()
    }

    /// Tables and rows of panels: over all thread counts, then each; or one where threads are the rows.
    pub fn scopes(&self) -> Vec<FieldScope> {
        let each = self.threads.iter().map(|count| FieldScope::At(*count));
        match (self.sizes.len(), self.rows(FieldScope::Over).len()) {
            (1, _) => vec![FieldScope::Over],
            (_, 0) => each.collect(),
            _ if self.threads.len() == 1 => each.collect(),
            _ => std::iter::once(FieldScope::Over).chain(each).collect(),
        }
    }

    /// The rows of a scope: sizes, or thread counts where there is one size.
    pub fn rows(&self, scope: FieldScope) -> Vec<FieldRow> {
        if let [size] = self.sizes[..] {
            let row = |count: &u64| FieldRow { x: *count, size, scope: FieldScope::At(*count) };
            return self.threads.iter().map(row).collect();
        }
        let rows = self.sizes.iter().map(|size| FieldRow { x: *size, size: *size, scope });
        rows.filter(|row| (0..self.ways.len()).any(|way| self.is_whole(way, *row))).collect()
    }

    /// Was a way measured at every number of threads that a figure of this row is the mean of? Means over different numbers of
    /// threads would compare the threads.
    fn is_whole(&self, way: usize, row: FieldRow) -> bool {
        row.scope != FieldScope::Over || self.cases_of(way, row).len() == self.grid_threads.len()
    }

    /// A case of it.
    pub fn any_case(&self) -> Option<usize> {
        self.cases.values().next().copied()
    }

    pub fn along_threads(&self) -> bool {
        self.sizes.len() == 1
    }

    /// The cases of a way in a row: one for each number of threads that the scope has.
    pub fn cases_of(&self, way: usize, row: FieldRow) -> Vec<usize> {
        let counts = match row.scope {
            FieldScope::Over => self.grid_threads.clone(),
            FieldScope::At(count) => vec![count],
        };
        counts.into_iter().filter_map(|count| self.case(way, row.size, count)).collect()
    }

    /// The decision between two ways in a row, and whether it is that of b / a.
    fn decision<'s>(
        &self,
        study: &'s Study,
        a: usize,
        b: usize,
        row: FieldRow,
    ) -> Option<(&'s Decision, bool)> {
        let all = &study.comparisons;
        let (of_a, of_b) = (self.cases_of(a, row), self.cases_of(b, row));
        let pair = of_a.iter().zip(&of_b).find_map(|(a, b)| all.between(*a, *b))?;
        let inverse = !of_a.contains(&pair.a);
        match (row.scope, pair.over) {
            (FieldScope::Over, Some(over)) => Some((&all.over_threads[over].decision, inverse)),
            (FieldScope::Over, None) if self.threads.len() > 1 => None,
            _ => Some((&pair.decision, inverse)),
        }
    }

    /// A way's cost over the control's.
    pub fn ratio(&self, study: &Study, way: usize, row: FieldRow) -> Option<(Estimate, Verdict)> {
        if way == self.control || !self.is_whole(way, row) {
            return None;
        }
        let (decision, inverse) = self.decision(study, way, self.control, row)?;
        Some((estimate(decision, inverse), decision.verdict))
    }

    /// Those that are not significantly worse than the best of those that start from the same as the reader: the control
    /// and its kin have one buffer to begin with, and are no choice for fields.
    pub fn unbeaten(&self, study: &Study, row: FieldRow, among: &[usize]) -> Vec<usize> {
        let better = study.comparisons.metric.better;
        let free = among.iter().copied().filter(|way| self.ways[*way].is_choice);
        let value = |way: usize| self.middle(way, study.comparisons.metric.id, row).map(|e| e.value);
        let known: Vec<(usize, f64)> = free.filter_map(|way| Some((way, value(way)?))).collect();
        if known.len() < 2 || better == Better::Neither {
            return Vec::new();
        }
        let order = |a: &&(usize, f64), b: &&(usize, f64)| match better {
            Better::Higher => b.1.total_cmp(&a.1),
            _ => a.1.total_cmp(&b.1),
        };
        let Some((best, _)) = known.iter().min_by(order) else { return Vec::new() };
        let worse = |way: usize| {
            let found = self.decision(study, *best, way, row);
            found.is_some_and(|(decision, inverse)| better_side(decision, better) == Some(!inverse))
        };
        known.iter().map(|(way, _)| *way).filter(|way| way == best || !worse(*way)).collect()
    }

    /// A figure of a way in a row; over thread counts the mean.
    pub fn middle(&self, way: usize, metric: &str, row: FieldRow) -> Option<Estimate> {
        let figure = |case: &usize| self.layout.judged(*case, metric);
        // One that is missing would make it the mean of something else.
        let found: Option<Vec<Estimate>> = self.cases_of(way, row).iter().map(figure).collect();
        found.filter(|_| self.is_whole(way, row)).and_then(|found| mean(&found))
    }
}

/// The study of ways by a metric.
pub fn study<'a>(m: &'a Material, metric: &str) -> Option<&'a Study> {
    m.analysis.ways.iter().find(|study| study.comparisons.metric.id == metric)
}

/// The geometric mean of independent figures, the arithmetic one where an interval reaches 0; the widths of their
/// intervals add in squares.
fn mean(found: &[Estimate]) -> Option<Estimate> {
    let [first, rest @ ..] = found else { return None };
    if rest.is_empty() {
        return Some(*first);
    }
    let positive = found.iter().all(|e| e.value > 0.0 && e.low > 0.0);
    let scaled = |value: f64| if positive { value.ln() } else { value };
    let back = |value: f64| if positive { value.exp() } else { value };
    let n = found.len() as f64;
    let middle = found.iter().map(|e| scaled(e.value)).sum::<f64>() / n;
    let side = |end: fn(&Estimate) -> f64| {
        found.iter().map(|e| (scaled(end(e)) - scaled(e.value)).powi(2)).sum::<f64>().sqrt() / n
    };
    Some(Estimate {
        value: back(middle),
        low: back(middle - side(|e| e.low)),
        high: back(middle + side(|e| e.high)),
        level: found.iter().map(|e| e.level).fold(1.0, f64::min),
        n: found.iter().map(|e| e.n).min().unwrap_or(0),
        unit: first.unit,
    })
}

/// The fields of one probe; cases from `added` on are those of refinement.
fn fields<'a>(study: &Study, layout: &'a Layout<'a>, added: usize) -> Vec<RivalField<'a>> {
    let probe = layout.probe;
    let drawn = layout.cases.iter().filter(|case| probe.whole(&case.point) && layout.drawn(&case.point));
    let by_place = grouped(drawn.map(|case| {
        let place = probe.coordinates(&case.point, false);
        (place.without(SIZE.id).without(THREADS.id), case.index)
    }));
    let varying: Vec<&str> = layout
        .varying
        .iter()
        .copied()
        .filter(|id| by_place.iter().any(|(place, _)| place.get(id) != by_place[0].0.get(id)))
        .collect();
    let mut fields: Vec<RivalField> = by_place
        .into_iter()
        .map(|(place, cases)| field(layout, layout.describe(&place, &varying), &cases, added))
        .filter(|field| field.ways.len() > 1)
        .collect();
    fields.iter_mut().for_each(|field| choose(field, study));
    fields
}

fn field<'a>(layout: &'a Layout<'a>, title: String, members: &[usize], added: usize) -> RivalField<'a> {
    let probe = layout.probe;
    let (mut ways, mut cases): (Vec<RivalWay>, BTreeMap<_, _>) = (Vec::new(), BTreeMap::new());
    let (mut sizes, mut threads, mut grid_threads): (Vec<u64>, Vec<u64>, Vec<u64>) = Default::default();
    for case in members.iter().filter_map(|case| layout.case(*case)) {
        let (Some(size), Some(count)) = (case.point.int(SIZE), case.point.int(THREADS)) else { continue };
        let own = probe.coordinates(&case.point, true);
        let way = ways.iter().position(|way| way.own == own).unwrap_or_else(|| {
            ways.push(RivalWay {
                name: name(layout, &own),
                kind: case
                    .point
                    .text(SERIES)
                    .and_then(syscost_measure::mechanism::find)
                    .map_or("", |m| m.about().title),
                style: None,
                is_choice: probe.advised(&case.point)
                    && (!probe.is_control(&case.point) || Situation::Anywhere.can_use(&case.point)),
                batched: mechanism::per_call(&own) > 1,
                own,
            });
            ways.len() - 1
        });
        cases.insert((way, size, count), case.index);
        sizes.push(size);
        threads.push(count);
        if case.index < added {
            grid_threads.push(count);
        }
    }
    for list in [&mut sizes, &mut threads, &mut grid_threads] {
        list.sort_unstable();
        list.dedup();
    }
    // As its blocks have it.
    let points = ways.iter().enumerate().map(|(at, way)| (at, &way.own));
    let control = probe::plain_control(probe, points).unwrap_or(0);
    RivalField { layout, title, control, ways, sizes, threads, grid_threads, cases }
}

/// `pack_send`, `pack_send x64` (messages a call), `send to recvmsg`: what a user chooses, where it is not the usual.
pub fn name(layout: &Layout, own: &Point) -> String {
    let mut name = own.text(SERIES).unwrap_or_default().to_string();
    let usual =
        |id: &str, value: &Value| layout.axis(id).is_some_and(|axis| axis.default().first() == Some(value));
    for (id, value) in
        own.iter().filter(|(id, _)| **id != *SERIES.id && layout.varying.iter().any(|v| **v == ***id))
    {
        if usual(id, value) {
            continue;
        }
        name += &match layout.axis(id) {
            _ if **id == *MESSAGES_PER_CALL.id => format!(" x{value}"),
            _ if **id == *RECEIVER.id => format!(" to {value}"),
            Some(axis) => format!(", {} {}", axis.title, axis.show(value)),
            None => format!(", {id} {value}"),
        };
    }
    name
}

/// Gives the ways that are drawn their styles. Of too many of a kind, those that nothing of it beats somewhere come first,
/// then the cheapest.
fn choose(field: &mut RivalField, study: &Study) {
    let rows: Vec<FieldRow> = field.scopes().first().map(|scope| field.rows(*scope)).unwrap_or_default();
    let cost = |way: usize| {
        let found: Vec<f64> =
            rows.iter().filter_map(|row| Some(field.ratio(study, way, *row)?.0.value.ln())).collect();
        if found.is_empty() { f64::INFINITY } else { found.iter().sum::<f64>() / found.len() as f64 }
    };
    let kinds = field.kinds();
    let most = if kinds.len() > 1 { DRAWN_EACH } else { DRAWN };
    let mut drawn: Vec<usize> = Vec::new();
    for (_, ways) in &kinds {
        let mut order: Vec<usize> = ways.iter().copied().filter(|way| *way != field.control).collect();
        if order.len() > most {
            let mut keys: BTreeMap<usize, (usize, f64)> =
                order.iter().map(|way| (*way, (rows.len(), cost(*way)))).collect();
            for way in rows.iter().flat_map(|row| field.unbeaten(study, *row, ways)) {
                keys.entry(way).and_modify(|key| key.0 -= 1);
            }
            order.sort_by(|a, b| keys[a].0.cmp(&keys[b].0).then(keys[a].1.total_cmp(&keys[b].1)));
        }
        drawn.extend(order.into_iter().take(most));
    }
    let line = |way: &usize| {
        let RivalWay { name, own, .. } = &field.ways[*way];
        (own.text(SERIES), own.text(SERIES) == Some(name.as_str()))
    };
    let styles = palette::styles(drawn.iter().map(line));
    for (way, style) in drawn.into_iter().zip(styles) {
        field.ways[way].style = Some(style);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::{self, Synthetic};
    use syscost_analyze::whole::Analysis;
    use syscost_core::units::Unit;
    use syscost_experiment::plan::Refinement;

    /// A size that refinement added at one thread stood beside means over two, as if it cost less.
    #[test]
    fn means_over_threads_are_of_the_same_threads() {
        let synthetic = Synthetic { sizes: vec![64, 1024], ..Default::default() };
        let mut cases = synthetic.cases();
        cases.retain(|case| case.twin_of.is_none());
        let first_case = cases.len();
        for mechanism in ["pack_send", "sendmsg"] {
            let like = cases.iter().find(|case| case.point.text_at("mechanism") == Some(mechanism)).unwrap();
            let mut point = like.point.clone();
            point.set("message_bytes", Value::Int(256));
            cases.push(synthetic::case(cases.len(), point));
        }
        let added = cases.len() - first_case;
        let mut run = synthetic.run_of(cases);
        run.record.plan.refinements = vec![Refinement { first_case, cases: added }];
        let analysis = Analysis::of(&run);
        let m = Material::of(&run, &analysis, &[]);
        let field = &RivalField::all(&m)[0];
        let sizes = |scope| field.rows(scope).iter().map(|row| row.size).collect::<Vec<u64>>();
        assert_eq!(
            (sizes(FieldScope::Over), sizes(FieldScope::At(1))),
            (vec![64, 1024], vec![64, 256, 1024])
        );
    }

    #[test]
    fn a_mean_of_counts_of_zero_is_zero_and_not_missing() {
        let figure = |value: f64| Estimate {
            value,
            low: value * 0.9,
            high: value * 1.1,
            level: 0.95,
            n: 8,
            unit: Unit::Count,
        };
        let of = |values: &[f64]| mean(&values.iter().map(|value| figure(*value)).collect::<Vec<Estimate>>());
        assert_eq!(of(&[0.0, 0.0]).map(|e| (e.value, e.low, e.high)), Some((0.0, 0.0, 0.0)));
        assert_eq!(of(&[0.0, 3.0]).map(|e| e.value), Some(1.5));
        assert!((of(&[1.0, 4.0]).unwrap().value - 2.0).abs() < 1e-9);
        assert_eq!(of(&[]), None);
    }
}
