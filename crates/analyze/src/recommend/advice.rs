//! Where along a line each way is the one to use: ranges of tested places with the same answer.
//!
//! Decided places in a row with a way in common are one range, and undecided ones between them that leave it standing
//! belong to it. Other undecided places are ranges of their own. The border between two ranges lies between two
//! tested places, never finer.

use super::batching::BatchingAdvice;
use super::line::{Against, GainAt, SizeLine, SizePlace, Way};
use crate::answer::{CellRef, ComparisonRef};
use crate::cells::Cells;
use crate::compare::study::RIVALS;
use crate::compare::winners::Sure;
use crate::grouped::grouped;
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::axis::Point;
use syscost_measure::mechanism;
use syscost_measure::probe;

/// What a message costs, where the probe says.
const PER_MESSAGE: &str = "total_cpu_ns_per_message";

/// Where advice holds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceScope {
    pub probe: String,
    /// What the places share: path, TCP_NODELAY.
    pub held: Point,
    /// The thread counts that it holds over; empty where the probe has none.
    pub threads: Vec<u64>,
    /// What the ways that compete hand over in a call; `None` where they differ in it, or have no such number.
    pub messages_per_call: Option<u64>,
}

/// What to use by one metric, along one line.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Advice {
    pub metric: &'static str,
    pub scope: AdviceScope,
    /// In ascending order.
    pub ranges: Vec<AdviceRange>,
    /// Metrics by which nothing is significantly better than these choices.
    pub also: Vec<&'static str>,
    /// What handing over several messages in a call changes; `None` where nothing here can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub batching: Option<BatchingAdvice>,
    pub cells: Vec<CellRef>,
    pub comparisons: Vec<ComparisonRef>,
}

/// Tested places in a row with the same answer.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceRange {
    /// The first and the last of them.
    pub from: u64,
    pub to: u64,
    /// The next range begins somewhere above the first of these and at or below the second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub border: Option<(u64, u64)>,
    pub sure: Sure,
    /// What to use; where it is undecided, what is in front most often.
    #[serde(rename = "use")]
    pub lead: Way,
    /// The same within the margin, at some of the places.
    pub same: Vec<WayAt>,
    /// Undecided against it, at some of the places.
    pub undecided: Vec<WayAt>,
    /// Against the best that it beats: at the border, the one beyond it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_next: Option<AdviceGain>,
    /// Against the control, where the reader could use that, and it is another way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_control: Option<AdviceGain>,
    pub places: Vec<PlaceAdvice>,
}

/// A rival, and the places where it is one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WayAt {
    pub way: Way,
    pub at: Vec<u64>,
}

/// How many times better the way of a range is than another: above 1 where it is better.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct AdviceGain {
    pub over: Way,
    /// Places that have both, and those where the difference is significant: the ratios are theirs if there are any.
    pub places: usize,
    pub significant: usize,
    pub smallest: GainAt,
    pub largest: GainAt,
}

/// The answer at one tested place.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlaceAdvice {
    pub at: u64,
    pub sure: Sure,
    /// Those that nothing is significantly better than, best first.
    pub best: Vec<Way>,
    /// What a message costs by the way of the range: the lowest and the highest figure over thread counts; `None` where
    /// it was not measured here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub us_per_message: Option<(f64, f64)>,
}

impl Advice {
    /// `None` where nothing was measured.
    pub fn of(
        cells: &Cells,
        line: &SizeLine<'_>,
        scope: AdviceScope,
        batching: Option<BatchingAdvice>,
    ) -> Option<Advice> {
        let spans = spans(&line.steps);
        let leads: Vec<&Way> = spans.iter().map(|span| span.lead()).collect();
        let mut teller = RangeTeller { cells, line, rows: Vec::new(), cases: BTreeSet::new() };
        let mut ranges: Vec<AdviceRange> = Vec::new();
        for (i, span) in spans.iter().enumerate() {
            let beside: Vec<&Way> = [i.checked_sub(1), Some(i + 1)]
                .into_iter()
                .flatten()
                .filter_map(|i| leads.get(i).copied())
                .collect();
            let mut range = teller.range(span, &beside);
            range.border = spans.get(i + 1).map(|next| (range.to, next.steps[0].at));
            ranges.push(range);
        }
        let metric = line.study.comparisons.metric.id;
        let cells = teller.cases.iter().map(|case| CellRef { case: *case, metric }).collect();
        let comparisons = teller.rows;
        (!ranges.is_empty()).then_some(Advice {
            metric,
            scope,
            ranges,
            also: Vec::new(),
            batching,
            cells,
            comparisons,
        })
    }

    /// Is nothing significantly better than these choices at the same places by another metric, whose line this is?
    pub fn holds_for(&self, other: &Advice, line: &SizeLine<'_>) -> bool {
        let chosen =
            |at: u64| self.ranges.iter().find(|r| r.from <= at && at <= r.to).map(|range| &range.lead);
        let silent = |advice: &Advice| advice.ranges.iter().all(|range| range.over_next.is_none());
        let known = |scope: &AdviceScope| (scope.probe.clone(), scope.held.clone());
        known(&self.scope) == known(&other.scope)
            && (self.scope.threads == other.scope.threads)
            && silent(self) == silent(other)
            && answered(&line.steps).all(|step| chosen(step.at).is_some_and(|way| step.allows(way)))
    }
}

/// The borders between the ranges of a line: the last place of one and the first of the next.
pub fn borders(line: &SizeLine<'_>) -> Vec<(u64, u64)> {
    let spans = spans(&line.steps);
    spans.windows(2).map(|pair| (pair[0].steps[pair[0].steps.len() - 1].at, pair[1].steps[0].at)).collect()
}

/// Places in a row, and the ways that none of them rules out.
struct Span<'l> {
    steps: Vec<&'l SizePlace>,
    common: Vec<&'l Way>,
}

impl<'l> Span<'l> {
    fn of(step: &'l SizePlace) -> Span<'l> {
        Span { steps: vec![step], common: step.good.iter().collect() }
    }

    /// Ways that are left if these places join.
    fn left(&self, steps: &[&SizePlace]) -> Vec<&'l Way> {
        let allowed = |way: &&&Way| steps.iter().all(|step| step.allows(way));
        self.common.iter().filter(allowed).copied().collect()
    }

    fn join(&mut self, steps: &[&'l SizePlace], left: Vec<&'l Way>) {
        self.steps.extend(steps);
        self.common = left;
    }

    /// Of those in common the one that wins most often, then the one that is in front most often.
    fn lead(&self) -> &'l Way {
        let wins = |way: &Way| self.steps.iter().filter(|step| step.winner() == Some(way)).count();
        let fronts = |way: &Way| self.steps.iter().filter(|step| step.good.first() == Some(way)).count();
        let best = self.common.iter().rev().max_by_key(|way| (wins(way), fronts(way)));
        best.copied().unwrap_or(&self.steps[0].good[0])
    }
}

fn spans(steps: &[SizePlace]) -> Vec<Span<'_>> {
    let mut spans: Vec<Span> = Vec::new();
    // Undecided places since the last span, which the next decided one may bring in.
    let mut open: Vec<&SizePlace> = Vec::new();
    for step in answered(steps) {
        if step.sure == Sure::Undecided {
            open.push(step);
            continue;
        }
        let joined: Vec<&SizePlace> = open.iter().copied().chain([step]).collect();
        let alike =
            spans.last().filter(|last| (last.steps[0].sure == Sure::Alone) == (step.sure == Sure::Alone));
        match alike.map(|last| last.left(&joined)).filter(|left| !left.is_empty()) {
            Some(left) => spans.last_mut().expect("looked at").join(&joined, left),
            None => {
                spans.extend(undecided(&open));
                spans.push(Span::of(step));
            }
        }
        open.clear();
    }
    spans.extend(undecided(&open));
    spans
}

/// Where only one way was measured nothing was chosen: between places where something was, that is no answer.
fn answered(steps: &[SizePlace]) -> impl Iterator<Item = &SizePlace> {
    let compared = |step: &SizePlace| step.sure != Sure::Alone;
    let (first, last) = (steps.iter().position(compared), steps.iter().rposition(compared));
    let between = move |i: usize| first.is_some_and(|first| first < i) && last.is_some_and(|last| i < last);
    let kept =
        move |(i, step): &(usize, &SizePlace)| !step.good.is_empty() && (compared(step) || !between(*i));
    steps.iter().enumerate().filter(kept).map(|(_, step)| step)
}

/// Undecided places in a row that leave a way standing.
fn undecided<'l>(steps: &[&'l SizePlace]) -> Vec<Span<'l>> {
    let mut spans: Vec<Span> = Vec::new();
    for step in steps {
        match spans.last_mut().map(|last| (last.left(&[step]), last)) {
            Some((left, last)) if !left.is_empty() => last.join(&[step], left),
            _ => spans.push(Span::of(step)),
        }
    }
    spans
}

struct RangeTeller<'a> {
    cells: &'a Cells,
    line: &'a SizeLine<'a>,
    /// What has been told of stands on these.
    rows: Vec<ComparisonRef>,
    cases: BTreeSet<usize>,
}

impl RangeTeller<'_> {
    fn range(&mut self, span: &Span, beside: &[&Way]) -> AdviceRange {
        let lead = span.lead();
        span.steps.iter().for_each(|step| self.cases.extend(step.cases(lead)));
        let sure_of = |wanted: Sure| span.steps.iter().any(|step| step.sure == wanted);
        let sure = [Sure::Best, Sure::Same, Sure::Undecided].into_iter().find(|sure| sure_of(*sure));
        AdviceRange {
            from: span.steps[0].at,
            to: span.steps[span.steps.len() - 1].at,
            border: None,
            sure: sure.unwrap_or(Sure::Alone),
            lead: lead.clone(),
            same: rivals(span, lead, Sure::Same),
            undecided: rivals(span, lead, Sure::Undecided),
            over_next: self.over_next(span, lead, beside),
            over_control: self.over_control(span, lead),
            places: span.steps.iter().map(|step| self.place(step, lead)).collect(),
        }
    }

    fn place(&self, step: &SizePlace, lead: &Way) -> PlaceAdvice {
        let us: Vec<f64> = step
            .cases(lead)
            .filter_map(|case| Some(self.cells.estimate(case, PER_MESSAGE)?.value / 1e3))
            .collect();
        let ends = (us.iter().copied().fold(f64::INFINITY, f64::min), us.iter().copied().fold(0.0, f64::max));
        let us_per_message = (!us.is_empty()).then_some(ends);
        PlaceAdvice { at: step.at, sure: step.sure, best: step.good.clone(), us_per_message }
    }

    /// Over what leads beyond a border, if that is beaten here; else over the way that is beaten by least.
    fn over_next(&mut self, span: &Span, lead: &Way, beside: &[&Way]) -> Option<AdviceGain> {
        let beaten = |way: &Way| {
            let ratios = self.against(span, lead, way).filter(|(_, found)| found.better == Some(true));
            let logs: Vec<f64> = ratios.map(|(_, found)| found.ratio.value.ln()).collect();
            (!logs.is_empty()).then(|| (logs.len(), logs.iter().sum::<f64>() / logs.len() as f64))
        };
        let next = beside.iter().copied().find(|way| *way != lead && beaten(way).is_some());
        let others: BTreeSet<&Way> =
            span.steps.iter().flat_map(|s| s.measured.iter().map(|m| &m.way)).collect();
        let least = others.into_iter().filter(|way| *way != lead).filter_map(|way| Some((way, beaten(way)?)));
        let least =
            least.min_by(|(_, (n, a)), (_, (m, b))| m.cmp(n).then(a.total_cmp(b))).map(|(way, _)| way);
        self.gain(span, lead, &next.or(least)?.clone())
    }

    /// The control itself, with as little else chosen as possible.
    fn over_control(&mut self, span: &Span, lead: &Way) -> Option<AdviceGain> {
        let named = |way: &&Way| way.text(RIVALS) == Some(mechanism::control().about().id);
        let ways: BTreeSet<&Way> =
            span.steps.iter().flat_map(|step| step.measured.iter().map(|m| &m.way)).filter(named).collect();
        let ways = ways.into_iter().map(|way| (way, way));
        let control = probe::plain_control(probe::find(self.line.probe)?, ways)?.clone();
        (control != *lead).then(|| self.gain(span, lead, &control))?
    }

    fn against<'s>(
        &'s self,
        span: &'s Span,
        lead: &'s Way,
        other: &'s Way,
    ) -> impl Iterator<Item = (&'s SizePlace, Against)> {
        span.steps.iter().filter_map(move |step| Some((*step, self.line.against(step, lead, other)?)))
    }

    fn gain(&mut self, span: &Span, lead: &Way, over: &Way) -> Option<AdviceGain> {
        let found: Vec<(u64, Against)> =
            self.against(span, lead, over).map(|(step, found)| (step.at, found)).collect();
        let significant: Vec<&(u64, Against)> =
            found.iter().filter(|(_, f)| f.better == Some(true)).collect();
        let told: Vec<&(u64, Against)> =
            if significant.is_empty() { found.iter().collect() } else { significant.clone() };
        let ratio = |one: &&&(u64, Against)| one.1.ratio.value;
        let at = |one: &&(u64, Against)| GainAt { at: one.0, ratio: one.1.ratio };
        let smallest = at(told.iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)))?);
        let largest = at(told.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)))?);
        let (places, significant) = (found.len(), significant.len());
        self.rows.extend(told.iter().map(|(_, found)| found.row.clone()));
        span.steps.iter().for_each(|step| self.cases.extend(step.cases(over)));
        Some(AdviceGain { over: over.clone(), places, significant, smallest, largest })
    }
}

/// The other unbeaten ways of the places that are as sure as this.
fn rivals(span: &Span, lead: &Way, sure: Sure) -> Vec<WayAt> {
    let steps = span.steps.iter().filter(|step| step.sure == sure);
    let rivals = steps.flat_map(|step| step.good.iter().map(|way| (way, step.at)));
    let by_way = grouped(rivals.filter(|(way, _)| *way != lead));
    by_way.into_iter().map(|(way, at)| WayAt { way: way.clone(), at }).collect()
}
