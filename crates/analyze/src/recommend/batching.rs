//! Whether batching, rather than the choice of a mechanism, is the answer.
//!
//! At each place the best way that hands several messages to the kernel in a call is held against the
//! best that hands it one, and that against plain send (or, where it is plain send, the next best
//! mechanism): what batching changes beside what choosing a mechanism changes. Pure: it reads the
//! the ways' comparisons (see [`crate::compare`]), it makes none.

use crate::compare::study::{ALONG, RIVALS, Study};
use crate::compare::winners::Winner;
use crate::recommend::choice::{Gain, Namer, gain};
use crate::words::{self, Words, and};
use crate::{CellRef, Statement};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::{self, MESSAGES_PER_CALL};

/// What batching does at one place.
#[derive(Clone, Debug, PartialEq)]
pub struct Batching {
    /// What was given: size, threads, path.
    pub place: Point,
    /// The best way with several messages per call, and its gain over the best with one.
    pub batched: usize,
    pub gain: Gain,
    /// Is the best with one message per call significantly better?
    pub costs: bool,
    /// What choosing among mechanisms with one message per call changes: the best of them, over plain
    /// send or the next best; `None` where there is one only.
    pub mechanisms: Option<Gain>,
}

impl Batching {
    /// Does batching help significantly, by more than choosing a mechanism does?
    pub fn is_the_answer(&self) -> bool {
        let chosen = self.mechanisms.as_ref().map_or(1.0, |gain| gain.ratio.value);
        self.gain.significant && self.gain.ratio.value > chosen
    }

    fn cases(&self) -> Vec<usize> {
        let mechanism = self.mechanisms.as_ref().map(|gain| gain.over);
        [self.batched, self.gain.over].into_iter().chain(mechanism).collect()
    }
}

/// Every place of a study of ways where some hand one message to a call and some hand it several.
pub fn batching(run: &Run, study: &Study) -> Vec<Batching> {
    study.winners.iter().filter_map(|winner| at(run, study, winner)).collect()
}

fn at(run: &Run, study: &Study, winner: &Winner) -> Option<Batching> {
    let point = |case: usize| run.case(case).map(|c| &c.point);
    let per_call = |case: &usize| point(*case).map_or(1, mechanism::per_call);
    let (batched, single): (Vec<usize>, Vec<usize>) =
        winner.candidates.iter().partition(|case| per_call(case) > 1);
    let (batched, best) = (*batched.first()?, *single.first()?);
    let named = |case: &usize| point(*case).and_then(|p| p.text(RIVALS));
    let control = mechanism::control().about().id;
    let rivals = || single.iter().filter(|case| named(case) != named(&best));
    let rival = rivals().find(|case| named(case) == Some(control)).or_else(|| rivals().next());
    Some(Batching {
        place: winner.shared.clone(),
        batched,
        gain: gain(&study.comparisons, batched, best)?,
        costs: study.comparisons.beats(best, batched),
        mechanisms: rival.and_then(|rival| gain(&study.comparisons, best, *rival)),
    })
}

/// One statement for each line through the sizes.
pub fn statements(run: &Run, study: &Study) -> Vec<Statement> {
    let words = Words::of(run);
    let namer = Namer { run, words: &words };
    let mut lines: BTreeMap<Point, Vec<Batching>> = BTreeMap::new();
    for found in batching(run, study) {
        lines.entry(found.place.without(ALONG.id)).or_default().push(found);
    }
    lines.into_iter().map(|(line, found)| statement(&namer, study, &line, found)).collect()
}

fn statement(namer: &Namer, study: &Study, line: &Point, mut found: Vec<Batching>) -> Statement {
    found.sort_by_key(|b| b.place.int(ALONG));
    let title = study.comparisons.metric.title;
    let with = namer.words.with(line);
    let (answer, rest): (Vec<&Batching>, Vec<&Batching>) = found.iter().partition(|b| b.is_the_answer());
    let mut parts = Vec::new();
    if let Some(strongest) = strongest(&answer) {
        parts.push(format!(
            "Batching, not the mechanism, is the answer for {title} at {}{with}: {}.",
            sizes(namer, &answer),
            tell(namer, strongest)
        ));
    }
    let (helps, rest): (Vec<&Batching>, Vec<&Batching>) = rest.into_iter().partition(|b| b.gain.significant);
    if let Some(strongest) = strongest(&helps) {
        parts.push(format!(
            "At {}{with} batching helps {title}, and choosing the mechanism changes more: {}.",
            sizes(namer, &helps),
            tell(namer, strongest)
        ));
    }
    let (costs, open): (Vec<&Batching>, Vec<&Batching>) = rest.into_iter().partition(|b| b.costs);
    if !costs.is_empty() {
        parts.push(format!(
            "At {}{with} one message per call is significantly better in {title} than any batch.",
            sizes(namer, &costs)
        ));
    }
    if !open.is_empty() {
        parts.push(format!(
            "At {}{with} batching does not change {title} significantly.",
            sizes(namer, &open)
        ));
    }
    if !answer.is_empty() || !helps.is_empty() {
        parts.push(
            "A batch delays its first message until the last is ready: latency is another experiment.".into(),
        );
    }
    let cell = |case| CellRef { case, metric: study.comparisons.metric.id };
    Statement { text: parts.join(" "), cells: found.iter().flat_map(Batching::cases).map(cell).collect() }
}

/// The place where batching does most.
fn strongest<'b>(found: &[&'b Batching]) -> Option<&'b Batching> {
    found.iter().copied().max_by(|a, b| a.gain.ratio.value.total_cmp(&b.gain.ratio.value))
}

fn sizes(namer: &Namer, found: &[&Batching]) -> String {
    let sizes: Vec<String> =
        found.iter().filter_map(|b| b.place.get(ALONG.id)).map(|v| namer.words.value(ALONG.id, v)).collect();
    and(&sizes)
}

/// `at 1 KiB pack_send (..) is 12x [10, 13] better than send, the best with one ..`
fn tell(namer: &Namer, b: &Batching) -> String {
    let at = b.place.get(ALONG.id).map_or_else(String::new, |v| namer.words.value(ALONG.id, v));
    let batched = namer.run.case(b.batched).map_or(1, |c| mechanism::per_call(&c.point));
    let name = namer.name(b.batched);
    // A run with one size of batch beside single messages names it already.
    let name = if name.contains(MESSAGES_PER_CALL.title) {
        name
    } else {
        format!("{name} with {}", words::count(batched as usize, "message") + " a call")
    };
    let text = format!(
        "at {at} {name} is {} better than {}, the best with one message per call",
        namer.words.factor(&b.gain.ratio),
        namer.name(b.gain.over)
    );
    match &b.mechanisms {
        Some(gain) => format!(
            "{text}; choosing that one rather than {} changes {}{}",
            namer.name(gain.over),
            namer.words.factor(&gain.ratio),
            if gain.significant { "" } else { ", which is not significant" }
        ),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, batched};
    use crate::whole::Analysis;

    /// Per message: a call costs 1000 ns, shared by the messages of a batch; a byte 0.2 ns.
    fn cost(p: &Point) -> f64 {
        let factor = if p.text_at("mechanism") == Some("sendmsg") { 0.9 } else { 1.0 };
        factor * 1000.0 / mechanism::per_call(p) as f64 + 0.2 * p.int_at("message_bytes").unwrap() as f64
    }

    fn found(cost_ns: fn(&Point) -> f64) -> (Run, Vec<Batching>) {
        let sizes = vec![64, 1024, 1 << 20];
        let synthetic = Synthetic { cost_ns, rounds: 14, noise: 0.01, sizes, ..Default::default() };
        let run = batched(&synthetic, &[1, 64]);
        let found = batching(&run, &Analysis::of(&run).ways[0]);
        (run, found)
    }

    #[test]
    fn planted_batching_is_the_answer_where_it_was_planted() {
        let (run, found) = found(cost);
        assert_eq!(found.len(), 6);
        for b in &found {
            let small = b.place.int_at("message_bytes") != Some(1 << 20);
            assert_eq!(b.is_the_answer(), small, "{b:?}");
            let per_call = |case: usize| mechanism::per_call(&run.case(case).unwrap().point);
            assert_eq!((per_call(b.batched), per_call(b.gain.over)), (64, 1));
        }
        let told = statements(&run, &Analysis::of(&run).ways[0]);
        assert_eq!(told.len(), 2, "one for each thread count");
        let text = &told[0].text;
        assert!(
            text.starts_with("Batching, not the mechanism, is the answer for CPU per byte at 64 B and 1 KiB")
        );
        assert!(
            text.contains(
                "the best with one message per call; choosing that one rather than send changes 1.1"
            )
        );
        assert!(
            text.contains("At 1 MiB with 1 thread batching does not change CPU per byte significantly."),
            "{text}"
        );
        assert_eq!(told[0].cells.len(), 9);
    }

    #[test]
    fn nothing_is_said_of_identical_ways_or_of_one_batch() {
        let (run, same) = found(|_| 1000.0);
        assert!(same.iter().all(|b| !b.is_the_answer() && !b.costs), "{same:?}");
        let told = statements(&run, &Analysis::of(&run).ways[0]);
        assert!(told.iter().all(|s| s.text.contains("does not change")), "{told:?}");
        let single = Synthetic { rounds: 8, ..Default::default() }.run();
        assert!(batching(&single, &Analysis::of(&single).ways[0]).is_empty());
    }

    #[test]
    fn a_batch_that_costs_more_is_said_to() {
        let (run, worse) = found(|p| if mechanism::per_call(p) > 1 { 2000.0 } else { 1000.0 });
        assert!(worse.iter().all(|b| b.costs));
        let told = statements(&run, &Analysis::of(&run).ways[0]);
        assert!(told[0].text.contains("one message per call is significantly better"), "{told:?}");
    }
}
