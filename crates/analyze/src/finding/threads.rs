//! How do threads interact with cache misses and context switches: where does scaling stop, and what is
//! the limiter? Thread counts of the same case are compared like mechanisms are: paired by round, corrected over every
//! pair of the metric.
//!
//! Scaling stops at the smallest tested count that no larger one significantly beats in throughput.

use super::along::{Along, SPEED};
use super::pairs::refs;
use super::{Evidence, Finding, SentenceAnswer};
use crate::Statement;
use crate::compare::Comparisons;
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::limits::limiter::Limit;
use crate::model::what_if::allowed_cpus;
use crate::words::{self, Words, and, count};
use std::collections::BTreeMap;
use syscost_core::axis::{IntAxis, Value};
use syscost_core::sample::Better;
use syscost_measure::probe::transfer::axes::THREADS;

pub struct Threads;

const AXIS: IntAxis = THREADS;
const ALONG: Along = Along { axis: AXIS.id, plural: "threads" };
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

impl Finding for Threads {
    fn id(&self) -> &'static str {
        "threads"
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let groups = Groups::of(evidence.run, AXIS.id);
        let speed = Comparisons::of(evidence.run, evidence.cells, &groups, SPEED);
        let Some(speed) = speed.filter(|all| !all.pairs.is_empty()) else {
            return SentenceAnswer::CannotBeAnswered {
                because: "nothing in it was measured with two thread counts".into(),
                command: "syscost run --threads 1,2,4,8".into(),
            };
        };
        let words = Words::of(evidence.run);
        let lines: Vec<ThreadLine> = ALONG
            .lines(evidence, &groups)
            .into_iter()
            .filter_map(|cases| line(evidence, cases, &speed))
            .collect();
        let mut statements = stops(&lines);
        statements.extend(largest(evidence, &words, &lines, &speed));
        statements.extend(limiters(evidence, &lines));
        let cases = lines.iter().map(|line| line.cases.as_slice());
        statements.extend(ALONG.changes(evidence, &groups, &BESIDE, cases));
        SentenceAnswer::Found { statements, caveats: ALONG.undecided(&speed).into_iter().collect() }
    }

    fn compared(&self, evidence: &Evidence<'_>) -> Vec<Family<'static>> {
        [vec![SPEED], BESIDE.to_vec()].iter().flat_map(|metrics| ALONG.compared(evidence, metrics)).collect()
    }
}

/// One case along its thread counts, fewest first.
struct ThreadLine {
    cases: Vec<usize>,
    threads: Vec<u64>,
    /// Where scaling stops, in those.
    stop: usize,
    /// The first larger count that is significantly slower than there.
    slower: Option<usize>,
}

fn line(evidence: &Evidence<'_>, cases: Vec<usize>, speed: &Comparisons) -> Option<ThreadLine> {
    let beaten = |at: usize| cases[at + 1..].iter().any(|more| speed.beats(*more, cases[at]));
    let stop = (0..cases.len()).find(|at| !beaten(*at))?;
    let slower = (stop + 1..cases.len()).find(|at| speed.beats(cases[stop], cases[*at]));
    let threads = cases.iter().filter_map(|case| evidence.run.case(*case)?.point.int(AXIS)).collect();
    Some(ThreadLine { cases, threads, stop, slower })
}

/// At which counts scaling stops, and of how many lines.
fn stops(lines: &[ThreadLine]) -> Vec<Statement> {
    let mut by_count: BTreeMap<(u64, bool), Vec<&ThreadLine>> = BTreeMap::new();
    for line in lines {
        let last = line.stop + 1 == line.cases.len();
        by_count.entry((line.threads[line.stop], last)).or_default().push(line);
    }
    let of = format!("{} of mechanism, size and path", count(lines.len(), "combination"));
    let tell = |((threads, last), found): (&(u64, bool), &Vec<&ThreadLine>)| {
        let at = words::threads(&[Value::Int(*threads)]);
        let falls = found.iter().filter(|line| line.slower.is_some()).count();
        let more = if falls == 0 {
            String::new()
        } else {
            format!("; in {falls} of them more threads are significantly slower")
        };
        let text = match last {
            true => {
                format!("In {} of {of} throughput rises up to {at}, the most that was tested.", found.len())
            }
            false => format!(
                "In {} of {of} scaling stops at {at}: no larger count has significantly more throughput{more}.",
                found.len()
            ),
        };
        let cells = found.iter().flat_map(|line| line.cases.clone()).collect();
        Statement { text, cells: refs(SPEED, cells) }
    };
    by_count.iter().map(tell).collect()
}

/// The largest significant gain up to where scaling stops, and the largest loss beyond.
fn largest(
    evidence: &Evidence<'_>,
    words: &Words,
    lines: &[ThreadLine],
    speed: &Comparisons,
) -> Vec<Statement> {
    let judged = |one: usize, more: usize, better: usize| {
        let pair = speed.between(one, more)?;
        (pair.better(Better::Higher) == Some(better)).then_some((one, more, pair))
    };
    let gains = lines.iter().filter_map(|line| {
        let (fewest, stop) = (line.cases[0], line.cases[line.stop]);
        judged(fewest, stop, stop)
    });
    let losses = lines.iter().flat_map(|line| {
        let stop = line.cases[line.stop];
        line.cases[line.stop + 1..].iter().filter_map(move |more| judged(stop, *more, stop))
    });
    let tell = |(one, more, pair): (usize, usize, &crate::compare::Comparison), gain: bool| {
        let ratio = pair.seen_from(more);
        let point = &evidence.run.case(more)?.point;
        let threads = |case: usize| evidence.run.case(case).and_then(|c| c.point.int(AXIS));
        let text = format!(
            "The largest {} of more threads is that of {}: {} as much throughput with {} as with {} ({}).",
            if gain { "gain" } else { "loss" },
            ALONG.named(words, point),
            words.factor(&ratio),
            words::threads(&[Value::Int(threads(more)?)]),
            words::threads(&[Value::Int(threads(one)?)]),
            count(ratio.n as usize, "round")
        );
        Some(Statement { text, cells: refs(SPEED, vec![one, more]) })
    };
    let gain =
        gains.max_by(|a, b| a.2.strength().total_cmp(&b.2.strength())).and_then(|found| tell(found, true));
    let loss =
        losses.max_by(|a, b| a.2.strength().total_cmp(&b.2.strength())).and_then(|found| tell(found, false));
    gain.into_iter().chain(loss).collect()
}

/// What limits the cases at which scaling stops, and the CPUs that there are for their threads.
fn limiters(evidence: &Evidence<'_>, lines: &[ThreadLine]) -> Option<Statement> {
    let stopped: Vec<usize> =
        lines.iter().filter(|l| l.stop + 1 < l.cases.len()).map(|l| l.cases[l.stop]).collect();
    let found: Vec<_> = evidence.limiters.iter().filter(|limiter| stopped.contains(&limiter.case)).collect();
    if found.is_empty() {
        return None;
    }
    let says = [
        (Limit::BothCpus, "the CPUs of both sides are the limit"),
        (Limit::SenderCpu, "the sender's CPU is the limit"),
        (Limit::ReceiverCpu, "the receiver's CPU is the limit"),
        (Limit::Link, "the link is the limit"),
        (Limit::Waiting, "neither side's threads run all the time: they wait, or share CPUs"),
    ];
    let parts: Vec<String> = says
        .iter()
        .map(|(limit, says)| (found.iter().filter(|l| l.limit == *limit).count(), says))
        .filter(|(n, _)| *n > 0)
        .map(|(n, says)| format!("at {n} {says}"))
        .collect();
    let cpus = allowed_cpus(evidence.run).map_or(String::new(), |n| {
        format!(" This run was allowed {}, and every pair of threads wants two.", count(n, "CPU"))
    });
    let text = format!("Of {} at which scaling stops, {}.{cpus}", count(found.len(), "point"), and(&parts));
    Some(Statement { text, cells: found.iter().flat_map(|l| l.cells.clone()).collect() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;
    use syscost_core::axis::Point;
    use syscost_experiment::run::Run;
    use syscost_host::Fact;

    fn answer(run: &Run) -> SentenceAnswer {
        let analysis = Analysis::of(run);
        Threads.answer(&analysis.evidence(run))
    }

    fn told(run: &Run) -> Vec<Statement> {
        let SentenceAnswer::Found { statements, .. } = answer(run) else { panic!("several thread counts") };
        statements
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

    fn with<'t>(told: &'t [Statement], start: &str) -> &'t Statement {
        told.iter().find(|s| s.text.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {told:#?}"))
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
        run.record.host.push(Fact {
            id: "cpus_allowed".into(),
            title: String::new(),
            value: Some("0-2,5".into()),
            source: String::new(),
        });
        let told = told(&run);
        let stop =
            with(&told, "In 4 of 4 combinations of mechanism, size and path scaling stops at 4 threads");
        assert!(stop.text.ends_with("in 2 of them more threads are significantly slower."), "{}", stop.text);
        assert_eq!(stop.cells.len(), 16);
        let gain = with(&told, "The largest gain of more threads is that of ");
        assert!(gain.text.contains("as much throughput with 4 threads as with 1 thread ("), "{}", gain.text);
        let loss = with(&told, "The largest loss of more threads is that of sendmsg at ");
        assert!(loss.text.contains("throughput with 8 threads as with 4 threads ("), "{}", loss.text);
        let limit =
            with(&told, "Of 4 points at which scaling stops, at 4 neither side's threads run all the time");
        assert!(limit.text.ends_with("This run was allowed 4 CPUs, and every pair of threads wants two."));
        let cost = with(
            &told,
            "With the most threads instead of the fewest, CPU per byte: of 4 combinations, more at 4",
        );
        assert!(cost.text.contains("most of sendmsg at "), "{}", cost.text);
    }

    #[test]
    fn what_scales_to_the_end_or_not_at_all_is_told() {
        let all = told(&planted(|_| 1000.0));
        with(
            &all,
            "In 4 of 4 combinations of mechanism, size and path throughput rises up to 8 threads, the most",
        );
        with(&all, "Between the fewest and the most threads no difference is significant in CPU per byte.");
        let shared = told(&planted(|p| 1000.0 * p.int_at("threads").unwrap() as f64));
        with(
            &shared,
            "In 4 of 4 combinations of mechanism, size and path scaling stops at 1 thread: no larger count",
        );
        let one = Synthetic { threads: vec![1], ..Default::default() }.run();
        assert!(matches!(answer(&one), SentenceAnswer::CannotBeAnswered { .. }));
    }
}
