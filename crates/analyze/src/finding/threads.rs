//! How do threads interact with cache misses and context switches: where does scaling stop, and what is
//! the limiter? Thread counts of the same case are compared like mechanisms are: paired by round, corrected over every
//! pair of the metric.
//!
//! Scaling stops at the smallest tested count that no larger one significantly beats in throughput. That is decided where
//! the whole interval of every larger count lies below a gain that nobody would start threads for ([`GAIN`]).

use super::along::{Along, FewAndMany, LargestChange, SPEED};
use super::pairs::refs;
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, ComparisonRef, Lack};
use crate::compare::Comparisons;
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::finding::{Answer, Says, Shown};
use crate::limits::limiter::Limit;
use crate::limits::side_cpus::allowed_cpus;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::IntAxis;
use syscost_core::sample::Better;
use syscost_measure::probe::transfer::axes::THREADS;

pub struct Threads;

/// Throughput that more threads have to gain to be worth it.
pub const GAIN: f64 = 0.10;

const AXIS: IntAxis = THREADS;
const ALONG: Along = Along(AXIS.id);
/// What may change along threads, beside the speed; what is more of it.
const BESIDE: [&str; 7] = [
    "total_cpu_ns_per_byte",
    "sender_voluntary_switches_per_message",
    "sender_involuntary_switches_per_message",
    "receiver_voluntary_switches_per_message",
    "receiver_involuntary_switches_per_message",
    "cache_misses_per_message",
    "llc_misses_per_message",
];

/// Where throughput stops rising with threads, over every place: a mechanism, a size and a path.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Scaling {
    pub places: usize,
    /// By thread count.
    pub stops: Vec<ScalingStop>,
    /// The largest significant gain up to where it stops, else any; and the largest loss.
    pub gain: Option<LargestChange>,
    pub loss: Option<LargestChange>,
    /// What limits the cases at which it is decided that it stops, and how many of them.
    pub limits: Vec<(Limit, usize)>,
    pub cpus_allowed: Option<usize>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ScalingStop {
    pub threads: u64,
    pub places: usize,
    /// Of those, where no larger count was measured.
    pub rising: usize,
    /// Where a larger count is significantly slower.
    pub slower: usize,
    /// Where more rounds may find a larger count faster.
    pub undecided: usize,
}

impl Finding for Threads {
    fn id(&self) -> &'static str {
        "threads"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let groups = Groups::of(evidence.run, AXIS.id);
        let lines = ALONG.lines(evidence, &groups);
        let (changes, changed_rows, changed, beside) = ALONG.changes(evidence, &groups, &BESIDE, &lines);
        let speed = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED);
        let Some(speed) = speed.filter(|all| !all.pairs.is_empty()) else {
            let command = "syscost run --threads 1,2,4,8";
            return Answer::not_measured(self.id(), Lack::SeveralThreadCounts, command).comparing(beside);
        };
        let lines: Vec<ThreadLine> =
            lines.into_iter().filter_map(|cases| line(evidence, cases, &speed)).collect();
        let scaling = scaling(evidence, &lines, &speed);
        let verdict = verdict(&scaling);
        let cells = refs(SPEED, lines.iter().flat_map(|line| line.cases.clone()).collect());
        let rows = speed.pairs.iter().map(ComparisonRef::from).collect();
        let mut shown = vec![Shown::comparing(Says::Threads(scaling), rows, cells)];
        if !changes.changes.is_empty() {
            shown.push(Shown::comparing(Says::Along(changes), changed_rows, changed));
        }
        // Where it is decided that more threads gain too little, it does not matter by how much.
        let open = Along::open(&speed).filter(|_| lines.iter().any(ThreadLine::is_undecided));
        let compared = std::iter::once(Family::made(speed)).chain(beside).collect();
        Answer::found(self.id(), verdict, shown, open.into_iter().collect()).comparing(compared)
    }
}

/// One case along its thread counts, fewest first.
struct ThreadLine {
    cases: Vec<usize>,
    threads: u64,
    /// Where scaling stops.
    stop: usize,
    is_slower: bool,
    is_open: bool,
}

impl ThreadLine {
    fn beyond(&self) -> &[usize] {
        &self.cases[self.stop + 1..]
    }

    /// More rounds may find a larger count faster.
    fn is_undecided(&self) -> bool {
        self.is_open && !self.is_slower
    }

    /// The fewest, and where scaling stops.
    /// Where more threads may gain: up to the stop, if that is known.
    fn gaining(&self) -> Vec<(usize, usize)> {
        if self.is_undecided() { self.pairs() } else { vec![(self.cases[0], self.cases[self.stop])] }
    }

    /// Fewer threads and more, of all.
    fn pairs(&self) -> Vec<(usize, usize)> {
        let more = |at: usize| self.cases[at + 1..].iter().map(move |many| (self.cases[at], *many));
        (0..self.cases.len()).flat_map(more).collect()
    }
}

fn line(evidence: &Evidence<'_>, cases: Vec<usize>, speed: &Comparisons) -> Option<ThreadLine> {
    let beaten = |at: usize| cases[at + 1..].iter().any(|more| speed.beats(*more, cases[at]));
    let stop = (0..cases.len()).find(|at| !beaten(*at))?;
    let beyond = &cases[stop + 1..];
    let is_slower = beyond.iter().any(|more| speed.beats(cases[stop], *more));
    let may_gain = |more: &usize| {
        speed.between(cases[stop], *more).is_none_or(|pair| pair.seen_from(*more).high >= 1.0 + GAIN)
    };
    let is_open = beyond.iter().any(may_gain);
    let threads = evidence.run.case(cases[stop])?.point.int(AXIS)?;
    Some(ThreadLine { cases, threads, stop, is_slower, is_open })
}

fn scaling(evidence: &Evidence<'_>, lines: &[ThreadLine], speed: &Comparisons) -> Scaling {
    let mut stops: BTreeMap<u64, ScalingStop> = BTreeMap::new();
    for line in lines {
        let stop = stops.entry(line.threads).or_default();
        stop.threads = line.threads;
        stop.places += 1;
        stop.rising += usize::from(line.beyond().is_empty());
        stop.slower += usize::from(line.is_slower);
        stop.undecided += usize::from(line.is_undecided());
    }
    let judged = |(few, many): (usize, usize), better: usize| -> Option<FewAndMany<'_>> {
        let pair = speed.between(few, many)?;
        (pair.better(Better::Higher) == Some(better)).then_some((few, many, pair))
    };
    let gains = lines.iter().flat_map(ThreadLine::gaining).filter_map(|ends| judged(ends, ends.1));
    let losses = lines.iter().flat_map(ThreadLine::pairs).filter_map(|ends| judged(ends, ends.0));
    Scaling {
        places: lines.len(),
        stops: stops.into_values().collect(),
        gain: ALONG.largest(evidence, gains),
        loss: ALONG.largest(evidence, losses),
        limits: limits(evidence, lines),
        cpus_allowed: allowed_cpus(evidence.run).map(|cpus| cpus.len()),
    }
}

fn limits(evidence: &Evidence<'_>, lines: &[ThreadLine]) -> Vec<(Limit, usize)> {
    let decided = |line: &&ThreadLine| !line.beyond().is_empty() && !line.is_undecided();
    let stopped: BTreeSet<usize> = lines.iter().filter(decided).map(|line| line.cases[line.stop]).collect();
    let mut limits: BTreeMap<Limit, usize> = BTreeMap::new();
    for limiter in evidence.limiters.iter().filter(|limiter| stopped.contains(&limiter.case)) {
        *limits.entry(limiter.limit).or_default() += 1;
    }
    limits.into_iter().collect()
}

/// Yes: it is decided that scaling stops, everywhere.
fn verdict(scaling: &Scaling) -> AnswerVerdict {
    let sum = |of: fn(&ScalingStop) -> usize| scaling.stops.iter().map(of).sum::<usize>();
    let (rising, undecided) = (sum(|stop| stop.rising), sum(|stop| stop.undecided));
    AnswerVerdict::at(scaling.places - rising - undecided, scaling.places).or_open(undecided > 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finding::along::MetricChange;
    use crate::synthetic::{Synthetic, tell};
    use crate::whole::Analysis;
    use syscost_core::axis::Point;
    use syscost_experiment::run::Run;

    fn answer(run: &Run) -> Answer {
        let analysis = Analysis::of(run);
        Threads.answered(&analysis.evidence(run))
    }

    fn told(answer: &Answer) -> (&Scaling, &[MetricChange]) {
        match (&answer.shown[0].says, &answer.shown[1].says) {
            (Says::Threads(scaling), Says::Along(changes)) => (scaling, &changes.changes),
            other => panic!("{other:?}"),
        }
    }

    fn planted(cost_ns: fn(&Point) -> f64) -> Run {
        let (mechanisms, sizes) = (vec!["send", "sendmsg"], vec![1024, 65536]);
        Synthetic {
            mechanisms,
            sizes,
            threads: vec![1, 2, 4, 8],
            cost_ns,
            rounds: 12,
            noise: 0.01,
            twin_every: 3,
            ..Default::default()
        }
        .run()
    }

    /// Throughput doubles up to 4 threads and then halves for sendmsg, and stays for send: the cost of a
    /// message grows with the threads that share the CPUs.
    fn stops_at_four(p: &Point) -> f64 {
        match (p.int_at("threads").unwrap(), p.text_at("mechanism")) {
            (8, Some("sendmsg")) => 4000.0,
            (8, _) => 2000.0,
            _ => 1000.0,
        }
    }

    #[test]
    fn where_scaling_stops_is_found_and_where_more_threads_lose() {
        let mut run = planted(stops_at_four);
        tell(&mut run, "cpus_allowed", Some("0-2,5"));
        let answer = answer(&run);
        let (scaling, changes) = told(&answer);
        let stop = ScalingStop { threads: 4, places: 4, rising: 0, slower: 2, undecided: 0 };
        assert_eq!(
            (answer.verdict, scaling.places, &scaling.stops[..]),
            (AnswerVerdict::Yes, 4, &[stop][..])
        );
        assert_eq!((answer.shown[0].cells.len(), answer.shown[0].comparisons.len()), (16, 24));
        let ends = |change: &LargestChange| (change.from, change.to);
        let loss = scaling.loss.as_ref().unwrap();
        assert_eq!((scaling.gain.as_ref().map(ends), ends(loss)), (Some((1, 4)), (4, 8)));
        assert_eq!(loss.place.text_at("mechanism"), Some("sendmsg"));
        assert_eq!((&scaling.limits[..], scaling.cpus_allowed), (&[(Limit::NoSide, 4)][..], Some(4)));
        let cost = &changes[0];
        assert_eq!((cost.metric, cost.places, &cost.less), ("total_cpu_ns_per_byte", 4, &None));
        let more = cost.more.as_ref().unwrap();
        assert_eq!((more.places, more.largest.place.text_at("mechanism")), (4, Some("sendmsg")));
    }

    /// Two threads scatter so widely that nothing is known of them, and four are faster than one.
    #[test]
    fn a_gain_past_an_undecided_count_is_told_and_no_limit_where_scaling_may_go_on() {
        let faster = |p: &Point| if p.int_at("threads") == Some(4) { 400.0 } else { 1000.0 };
        let mut run = Synthetic {
            mechanisms: vec!["send", "sendmsg"],
            sizes: vec![1024],
            threads: vec![1, 2, 4],
            cost_ns: faster,
            rounds: 12,
            noise: 0.01,
            ..Default::default()
        }
        .run();
        for sample in &mut run.samples {
            if run.record.plan.cases[sample.case].point.int_at("threads") == Some(2) {
                let factor = if sample.round % 2 == 0 { 0.1 } else { 10.0 };
                (sample.ops, sample.bytes) = (sample.ops * factor, sample.bytes * factor);
                for messages in ["sender_messages", "receiver_messages"] {
                    sample.quantities.insert(messages.into(), Some(sample.ops));
                }
            }
        }
        let answer = answer(&run);
        let (scaling, _) = told(&answer);
        assert_eq!(
            (answer.verdict, scaling.stops[0].undecided),
            (AnswerVerdict::Undecided, 2),
            "{scaling:?}"
        );
        let gain = scaling.gain.as_ref().expect("ten times as much");
        assert_eq!((gain.from, gain.to), (1, 4));
        assert_eq!(scaling.limits, [], "nobody knows where it stops");
    }

    #[test]
    fn what_scales_to_the_end_or_not_at_all_is_told() {
        let rising = answer(&planted(|_| 1000.0));
        let (scaling, changes) = told(&rising);
        let stop = ScalingStop { threads: 8, places: 4, rising: 4, slower: 0, undecided: 0 };
        assert_eq!((rising.verdict, &scaling.stops[..]), (AnswerVerdict::No, &[stop][..]));
        assert!(changes.iter().all(|change| change.more.is_none() && change.less.is_none()), "{changes:?}");
        let shared = answer(&planted(|p| 1000.0 * p.int_at("threads").unwrap() as f64));
        assert_eq!(told(&shared).0.stops[0].threads, 1);
        let one = Synthetic { threads: vec![1], ..Default::default() }.run();
        assert_eq!(answer(&one).lacks, Some(Lack::SeveralThreadCounts));
    }
}
