//! Why one figure is worse than another: events that are more frequent there, times what one costs in the same run.
//!
//! A cause is named where all of this is significant, over everything that is asked at once (Holm). Something was lost.
//! The events come more often per second of CPU time, because what comes with time (ticks, preemptions) is also more per
//! message wherever a message takes longer. What they cost explains at least half of the loss, by the whole interval:
//! the estimate alone would name a cause of 40 % in one run of six. A price that comes to more than twice what was lost
//! does not hold there. What has no price in the run is no cause. Where no kind of event explains half alone, several may
//! together (`together`).

use crate::CellRef;
use crate::cells::Cells;
use price::{Price, PricedRun, SidesOf};
use rounds::SideRounds;
use serde::Serialize;
use share::{HALF, RoundPoint, RoundsChange, ShareTest};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use syscost_core::axis::Point;
use syscost_core::stats::{Estimate, holm};
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};
use together::SummedEvents;

mod price;
mod rounds;
mod share;
mod together;

/// Causes of one difference that are named at most.
const NAMED: usize = 2;
/// Of what was lost; a price that comes to more does not hold there.
const MOST: f64 = 2.0;

const CPU: &str = "total_cpu_ns_per_message";
const RATE: &str = "messages_per_second";

/// Why one figure is worse than another.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Each explains at least half; the largest share first.
    Priced(Vec<PricedEvents>),
    /// None explains half alone, together they do; the largest share first.
    Together {
        events: Vec<PricedEvents>,
        /// Of all of them.
        share: Estimate,
        /// Corrected, also for their choice.
        p: f64,
    },
    NotShown {
        /// What explains most of those that have a price.
        nearest: Option<PricedEvents>,
        /// Is it shown that none of them explains half?
        ruled_out: bool,
    },
}

impl Cause {
    /// The same events, whatever they explain.
    pub fn is_like(&self, other: &Cause) -> bool {
        let named = |cause: &Cause| cause.events().iter().map(|one| one.metric).collect::<Vec<_>>();
        let together = |cause: &Cause| matches!(cause, Cause::Together { .. });
        named(self) == named(other) && together(self) == together(other)
    }

    /// Those that are named.
    pub fn events(&self) -> &[PricedEvents] {
        match self {
            Cause::Priced(events) | Cause::Together { events, .. } => events,
            Cause::NotShown { .. } => &[],
        }
    }

    pub fn is_shown(&self) -> bool {
        !self.events().is_empty()
    }

    /// Of what was lost, by the kind that explains most or by all that are named together.
    pub fn share(&self) -> Option<&Estimate> {
        match self {
            Cause::Together { share, .. } => Some(share),
            other => other.events().first().map(|one| &one.share),
        }
    }
}

/// Events of one kind, and what they cost.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PricedEvents {
    /// Their counter.
    pub metric: &'static str,
    pub per_message: WorseAndBetter,
    pub per_cpu_second: WorseAndBetter,
    pub price_ns: f64,
    /// Over rows of the run.
    pub price_formula: String,
    /// Of what was lost; the interval is as wide as the correction asks.
    pub share: Estimate,
    /// Corrected.
    pub p: f64,
}

/// The means of both sides.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct WorseAndBetter {
    pub worse: f64,
    pub better: f64,
}

/// What is worse than what.
#[derive(Clone, Debug, PartialEq)]
pub enum Between {
    /// Cases, round by round.
    Cases { worse: usize, better: usize },
    /// The slow rounds of a case, and the others.
    Rounds { case: usize, slow: BTreeSet<u32>, fast: BTreeSet<u32> },
}

/// Whose time is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostTime {
    /// The CPU time of both sides.
    Cpu,
    /// By the clock. Both sides work at once, so an event costs it what the side pays that pays more.
    Clock,
}

/// What it is lost by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LostBy {
    Message,
    Byte,
}

/// A difference whose cause is asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub between: Between,
    pub time: LostTime,
    pub by: LostBy,
}

impl Difference {
    pub fn of_cases((worse, better): (usize, usize), time: LostTime, by: LostBy) -> Difference {
        Difference { between: Between::Cases { worse, better }, time, by }
    }

    /// The worse case first.
    pub fn cases(&self) -> Vec<usize> {
        match &self.between {
            Between::Cases { worse, better } => vec![*worse, *better],
            Between::Rounds { case, .. } => vec![*case],
        }
    }
}

/// What may be a cause: its counter, and what one event costs each side.
pub struct CauseCounter {
    metric: &'static str,
    /// Of a message of so many bytes, for one of the counter.
    events: fn(bytes: f64) -> f64,
    sides: SidesOf,
}

const fn each(metric: &'static str, sides: SidesOf) -> CauseCounter {
    CauseCounter { metric, events: |_| 1.0, sides }
}

/// Sleeps of either side.
pub static SLEEPS: &[CauseCounter] = &[
    each("receiver_voluntary_switches_per_message", price::sleep),
    each("sender_voluntary_switches_per_message", price::sleep),
];

/// Everything that a probe prices. Cache misses are not here: they overlap, so that the latency of one is no price.
pub static ALL: &[CauseCounter] = &[
    each("receiver_voluntary_switches_per_message", price::sleep),
    each("sender_voluntary_switches_per_message", price::sleep),
    each("receiver_involuntary_switches_per_message", price::switch),
    each("sender_involuntary_switches_per_message", price::switch),
    each("receiver_system_calls_per_message", price::receive_call),
    each("sender_system_calls_per_message", price::send_call),
    CauseCounter { metric: "copied_fraction", events: |bytes| bytes, sides: price::copied_byte },
];

/// The cause of a difference, and the cells that it stands on.
pub struct FoundCause {
    pub cause: Cause,
    /// Does the run have the price of any of the events?
    pub has_price: bool,
    pub cells: Vec<CellRef>,
}

/// One counter at one difference.
struct Candidate {
    asked: usize,
    counter: &'static CauseCounter,
    sides: SideRounds,
    change: RoundsChange,
    price: Price,
    test: ShareTest,
    per_message: WorseAndBetter,
    per_cpu_second: WorseAndBetter,
    rounds: u32,
}

impl Candidate {
    /// The p-value of what it is about to be called: a cause, or less than half of one.
    fn p(&self) -> f64 {
        let ShareTest { p_half, p_rate, p_lost, .. } = self.test;
        if self.test.share > HALF { p_half.max(p_rate).max(p_lost) } else { p_half.max(p_lost) }
    }

    fn explains(&self) -> bool {
        self.test.share > HALF && self.test.share <= MOST && self.test.rate_rises
    }

    /// `None`: what was lost is not clear enough for a share.
    fn told(&self, p: f64, confidence: f64) -> Option<PricedEvents> {
        // The level at which the corrected test decided: the interval excludes half where it did.
        let asked = (p / self.p().max(f64::MIN_POSITIVE)).max(1.0);
        let share = self.change.share(&self.price, 1.0 - (1.0 - confidence) / asked, self.rounds)?;
        Some(PricedEvents {
            metric: self.counter.metric,
            per_message: self.per_message,
            per_cpu_second: self.per_cpu_second,
            price_ns: self.price.ns,
            price_formula: self.price.formula.clone(),
            share,
            p,
        })
    }

    fn cells(&self, difference: &Difference) -> Vec<CellRef> {
        let counted =
            difference.cases().into_iter().map(|case| CellRef { case, metric: self.counter.metric });
        counted.chain(self.price.cells.iter().cloned()).collect()
    }
}

/// The cause of each difference, corrected over every counter of all of them.
pub fn causes(
    run: &Run,
    cells: &Cells,
    asked: &[Difference],
    counters: &'static [CauseCounter],
) -> Vec<FoundCause> {
    let of = PricedRun::of(run, cells);
    let judged = |(at, difference): (usize, &Difference)| -> Vec<Candidate> {
        counters.iter().filter_map(|counter| candidate(&of, at, difference, counter)).collect()
    };
    let candidates: Vec<Candidate> = asked.iter().enumerate().flat_map(judged).collect();
    let sums: Vec<Option<SummedEvents>> =
        asked.iter().enumerate().map(|one| together::of(&of, one, &candidates)).collect();
    // A sum that could be asked for counts, whether or not anything is to be added up.
    let of_sums = sums.iter().map(|sum| sum.as_ref().map_or(1.0, SummedEvents::p));
    let adjusted = holm(&candidates.iter().map(Candidate::p).chain(of_sums).collect::<Vec<_>>());
    let (of_candidates, of_sums) = adjusted.split_at(candidates.len());
    let confidence = run.record.spec.confidence;
    let judged = JudgedCauses { candidates: &candidates, p: of_candidates, confidence };
    let one = |(at, difference): (usize, &Difference)| {
        let sum = sums[at].as_ref().map(|sum| (sum, of_sums[at]));
        let (cause, refs) = judged.found(at, difference, sum);
        let has_price = counters.iter().any(|counter| has_price(&of, difference, counter));
        FoundCause { cause, has_price, cells: refs }
    };
    asked.iter().enumerate().map(one).collect()
}

/// Is it counted there, and does the run have the price?
fn has_price(of: &PricedRun, difference: &Difference, counter: &CauseCounter) -> bool {
    let counted = |case: &usize| of.cells.cell(*case, counter.metric).is_some();
    let of_cases = difference.cases();
    let point = of_cases.first().and_then(|case| of.run.case(*case)).map(|case| &case.point);
    let priced = |point: &Point| price(of, point, difference.time, counter.sides).is_some();
    of_cases.iter().all(counted) && point.is_some_and(priced)
}

/// Where the candidates of a difference are among all.
fn at_difference(candidates: &[Candidate], asked: usize) -> Range<usize> {
    let first = |of: usize| candidates.partition_point(|candidate| candidate.asked < of);
    first(asked)..first(asked + 1)
}

/// All candidates, with their corrected p-values, in the order of the differences.
struct JudgedCauses<'c> {
    candidates: &'c [Candidate],
    p: &'c [f64],
    confidence: f64,
}

impl JudgedCauses<'_> {
    fn decided(&self, p: f64) -> bool {
        p < 1.0 - self.confidence
    }

    fn told(&self, at: usize) -> Option<PricedEvents> {
        self.candidates[at].told(self.p[at], self.confidence)
    }

    fn found(
        &self,
        asked: usize,
        difference: &Difference,
        sum: Option<(&SummedEvents, f64)>,
    ) -> (Cause, Vec<CellRef>) {
        let of = |at: &usize| &self.candidates[*at];
        let mut here: Vec<usize> = at_difference(self.candidates, asked).collect();
        here.sort_by(|a, b| of(b).test.share.total_cmp(&of(a).test.share));
        let cells = |of_those: &[usize]| -> Vec<CellRef> {
            of_those.iter().flat_map(|at| of(at).cells(difference)).collect()
        };
        let shown = here.iter().filter(|at| self.decided(self.p[**at]) && of(at).explains());
        let (named, told): (Vec<usize>, Vec<PricedEvents>) =
            shown.filter_map(|at| Some((*at, self.told(*at)?))).take(NAMED).unzip();
        if !named.is_empty() {
            return (Cause::Priced(told), cells(&named));
        }
        if let Some(cause) = sum.and_then(|(sum, p)| self.summed(sum, p)) {
            return (cause, cells(sum.map_or(&[], |(sum, _)| &sum.members)));
        }
        let none = |p: f64, test: &ShareTest| self.decided(p) && test.share < HALF;
        let ruled_out = !here.is_empty()
            && here.iter().all(|at| none(self.p[*at], &of(at).test))
            && sum.is_none_or(|(sum, p)| none(p, &sum.test));
        let nearest = here.first().and_then(|at| Some((*at, self.told(*at)?)));
        let refs = cells(&nearest.iter().map(|(at, _)| *at).collect::<Vec<_>>());
        (Cause::NotShown { nearest: nearest.map(|(_, told)| told), ruled_out }, refs)
    }

    fn summed(&self, sum: &SummedEvents, p: f64) -> Option<Cause> {
        if !self.decided(p) || !sum.explains() {
            return None;
        }
        let events: Option<Vec<PricedEvents>> = sum.members.iter().map(|at| self.told(*at)).collect();
        let asked = (p / sum.p_alone().max(f64::MIN_POSITIVE)).max(sum.chosen_from);
        let share = sum.change.share(&sum.price, 1.0 - (1.0 - self.confidence) / asked, sum.rounds)?;
        Some(Cause::Together { events: events?, share, p })
    }
}

/// `None`: not counted there, or without a price.
fn candidate(
    of: &PricedRun,
    asked: usize,
    difference: &Difference,
    counter: &'static CauseCounter,
) -> Option<Candidate> {
    let rounds = |case: usize| rounds_of(of, case, difference, counter);
    let place = &of.run.case(*difference.cases().first()?)?.point;
    let sides = SideRounds::of(difference, rounds)?;
    let change = sides.change()?;
    let points = |side: &BTreeMap<u32, RoundPoint>| side.values().copied().collect::<Vec<_>>();
    let (worse, better) = (points(&sides.worse), points(&sides.better));
    let price = price(of, place, difference.time, counter.sides)?;
    let other = of.run.case(*difference.cases().last()?)?;
    let events = |rounds: &[RoundPoint], point: &Point| {
        mean(rounds, |at| at.events) * per_message(difference.by, point)
    };
    Some(Candidate {
        asked,
        counter,
        test: change.test(&price),
        change,
        price,
        per_message: WorseAndBetter { worse: events(&worse, place), better: events(&better, &other.point) },
        per_cpu_second: WorseAndBetter {
            worse: mean(&worse, |at| at.rate),
            better: mean(&better, |at| at.rate),
        },
        rounds: worse.len() as u32,
        sides,
    })
}

fn mean(rounds: &[RoundPoint], of: fn(&RoundPoint) -> f64) -> f64 {
    rounds.iter().map(of).sum::<f64>() / rounds.len() as f64
}

/// Bytes of a message, where the loss is by byte.
fn per_message(by: LostBy, point: &Point) -> f64 {
    match by {
        LostBy::Message => 1.0,
        LostBy::Byte => point.int(MESSAGE_BYTES).unwrap_or(1) as f64,
    }
}

/// What each round of a case counted and took.
fn rounds_of(
    of: &PricedRun,
    case: usize,
    difference: &Difference,
    counter: &CauseCounter,
) -> Option<BTreeMap<u32, RoundPoint>> {
    let point = &of.run.case(case)?.point;
    let bytes = point.int(MESSAGE_BYTES)? as f64;
    let threads = point.int(THREADS).unwrap_or(1) as f64;
    let values = |metric: &str| -> Option<BTreeMap<u32, f64>> {
        Some(of.cells.cell(case, metric)?.rounds.iter().collect())
    };
    let (cpu, rate) = (values(CPU)?, values(RATE)?);
    let by = per_message(difference.by, point);
    let one = |(round, counted): (u32, f64)| {
        let (cpu, rate) = (*cpu.get(&round)?, *rate.get(&round)?);
        let events = counted * (counter.events)(bytes);
        let ns = match difference.time {
            LostTime::Cpu => cpu,
            LostTime::Clock => threads * 1e9 / rate,
        };
        Some((round, RoundPoint { events: events / by, ns: ns / by, rate: events * 1e9 / cpu }))
    };
    Some(of.cells.cell(case, counter.metric)?.rounds.iter().filter_map(one).collect())
}

/// The CPU time of both sides for one event; by the clock that of the side that pays more.
fn price(of: &PricedRun, place: &Point, time: LostTime, sides: SidesOf) -> Option<Price> {
    let sides = sides(&of.steps(place))?;
    let paid = sides.into_iter().reduce(|a, b| match time {
        LostTime::Cpu => a.plus(&b),
        LostTime::Clock if a.ns >= b.ns => a,
        LostTime::Clock => b,
    });
    Price::of(&paid?)
}
