//! Samples that cannot be true or tell nothing: they are refused, and the report says which and why.
//!
//! A sample is impossible when its clock did not run or stopped long before its time (a thread that
//! was held up lets the windows behind it collapse: nothing can be read from a microsecond), its bytes are not its messages, a side used
//! more CPU time than its threads had, a share leaves [0, 1], or a count is negative. Refused samples
//! stay in the record and in no estimate ([`crate::cells`]). Samples that failed verification or that the
//! harness marked as suspect are counted beside them.

use crate::CellRef;
use crate::cells::reference::CASE;
use crate::problem::{Fault, Problem, ProblemKind, SampleShare};
use std::collections::BTreeMap;
use syscost_core::sample::{COUNTING, Sample};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::all_connections;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};
use syscost_measure::probe::{self, Timing};

/// CPU clocks and window clocks are read one after the other: allowed excess of CPU time.
const CPU_SLACK: f64 = 1.05;

/// Share of the window asked that a sample must have lasted.
const SHORTEST: f64 = 0.5;

/// The metric whose cell a fault would have entered, where it is not the headline.
fn metric_of(fault: Fault) -> Option<&'static str> {
    match fault {
        Fault::CpuTime => Some("total_cpu_ns_per_message"),
        Fault::Share => Some("copied_fraction"),
        _ => None,
    }
}

/// What one case's samples are held against; made once per case.
pub struct Limits {
    threads: f64,
    connections: f64,
    shortest_ns: f64,
    message_bytes: Option<f64>,
    /// CPU time and window of each role.
    sides: Vec<(String, String)>,
}

impl Limits {
    /// `timing` is what the spec asks. A probe may ask for more, which may depend on the machine, or
    /// for less: the shorter of both is held against a sample.
    pub fn of(case: &Case, timing: Timing) -> Limits {
        let probe = probe::find(&case.probe);
        let roles = probe.map_or(&[][..], |p| p.roles());
        let own = probe.map_or(timing, |p| p.timing(&case.point, timing));
        let window_ns = timing.window_ns.min(own.window_ns);
        let streams = probe.is_some_and(|p| p.compared());
        Limits {
            threads: case.point.int(THREADS).unwrap_or(1) as f64,
            connections: all_connections(&case.point) as f64,
            // A probe that this version does not know asked for windows of its own.
            shortest_ns: probe.map_or(0.0, |_| SHORTEST * window_ns as f64),
            // Of messages that are counted with their bytes; a request and its answer are another matter.
            message_bytes: case.point.int(MESSAGE_BYTES).filter(|_| streams).map(|n| n as f64),
            sides: roles.iter().map(|r| (format!("{r}_cpu_ns"), format!("{r}_elapsed_ns"))).collect(),
        }
    }

    /// The first fault of a sample, if it has one.
    pub fn fault(&self, sample: &Sample) -> Option<Fault> {
        let sound_clock = sample.elapsed_ns > 0.0 && sample.elapsed_ns.is_finite();
        if !sound_clock {
            return Some(Fault::Clock);
        }
        let short = |(_, window): &(String, String)| sample.get(window).is_some_and(|w| w < self.shortest_ns);
        if sample.elapsed_ns < self.shortest_ns || self.sides.iter().any(short) {
            return Some(Fault::Short);
        }
        // One pass over the quantities: there are many, and this is asked of every sample.
        let (mut negative, mut outside) = (sample.ops < 0.0 || sample.bytes < 0.0, false);
        for (id, value) in sample.quantities.iter() {
            negative |= value < 0.0;
            outside |= value > 1.0 + 1e-9 && id.ends_with("_multiplexing");
        }
        if negative {
            return Some(Fault::Negative);
        }
        // Windows may cut a message in two, once per connection.
        let torn = |size: f64| (sample.bytes - sample.ops * size).abs() > self.connections * size;
        if self.message_bytes.is_some_and(torn) {
            return Some(Fault::Bytes);
        }
        let over = |(cpu, window): &(String, String)| {
            sample.get(cpu).zip(sample.get(window)).is_some_and(|(c, w)| c > self.threads * w * CPU_SLACK)
        };
        if self.sides.iter().any(over) {
            return Some(Fault::CpuTime);
        }
        let copied = sample.get("sender_completions_copied").zip(sample.get("sender_completions"));
        (outside || copied.is_some_and(|(copied, all)| copied > all)).then_some(Fault::Share)
    }
}

/// What was seen of the samples of one case.
#[derive(Debug, Default)]
pub struct Look {
    samples: usize,
    unverified: usize,
    /// Each kind with how many.
    faults: BTreeMap<Fault, usize>,
    marked: BTreeMap<String, usize>,
}

impl Look {
    fn share(&self, samples: usize) -> SampleShare {
        SampleShare { samples, of: self.samples }
    }

    /// `fault` as [`Limits`] have it.
    pub fn count(&mut self, sample: &Sample, fault: Option<Fault>) {
        self.samples += 1;
        self.unverified += usize::from(!sample.verified);
        fault.into_iter().for_each(|fault| *self.faults.entry(fault).or_default() += 1);
        let marks = sample.marks.iter().filter(|mark| *mark != COUNTING);
        marks.for_each(|mark| *self.marked.entry(mark.clone()).or_default() += 1);
    }
}

/// Every fault of a run, one problem per case and kind; what was seen of each case is in the order of the plan.
pub fn problems(run: &Run, looks: &[Look]) -> Vec<Problem> {
    let seen = || run.record.plan.cases.iter().zip(looks);
    let impossible = seen().flat_map(|(case, look)| {
        look.faults.iter().map(move |(fault, n)| {
            let kind = ProblemKind::Impossible { fault: *fault, samples: look.share(*n) };
            (*fault, problem(case, kind, metric_of(*fault)))
        })
    });
    let mut impossible: Vec<(Fault, Problem)> = impossible.collect();
    impossible.sort_by_key(|(fault, problem)| (*fault, problem.case));
    let unverified = seen()
        .filter(|(_, look)| look.unverified > 0)
        .map(|(case, look)| problem(case, ProblemKind::Unverified(look.share(look.unverified)), None));
    let marked = seen().flat_map(|(case, look)| {
        look.marked.iter().map(move |(mark, n)| {
            problem(case, ProblemKind::Marked { mark: mark.clone(), samples: look.share(*n) }, None)
        })
    });
    impossible.into_iter().map(|(_, problem)| problem).chain(unverified).chain(marked).collect()
}

fn problem(case: &Case, kind: ProblemKind, metric: Option<&'static str>) -> Problem {
    let headline = probe::find(&case.probe).and_then(|p| p.decisive().first().copied());
    // A case with no sample left has no such figure, but its row.
    let cells = metric.or(headline).into_iter().chain([CASE]);
    Problem {
        kind,
        case: case.index,
        cells: cells.map(|metric| CellRef { case: case.index, metric }).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::cells::seen::Seen;
    use crate::synthetic::Synthetic;

    fn problems(run: &Run) -> Vec<Problem> {
        super::problems(run, &Seen::of(run, &[]).looks)
    }

    fn small() -> Run {
        Synthetic { sizes: vec![64], threads: vec![2], twin_every: 0, ..Default::default() }.run()
    }

    #[test]
    fn sound_data_has_no_fault() {
        assert!(problems(&Synthetic::default().run()).is_empty());
    }

    #[test]
    fn every_fault_is_seen_named_and_kept_out_of_the_cells() {
        type Break = fn(&mut Sample);
        let breaks: &[(Fault, Break)] = &[
            (Fault::Clock, |s| s.elapsed_ns = 0.0),
            (Fault::Clock, |s| s.elapsed_ns = f64::NAN),
            (Fault::Short, |s| s.elapsed_ns = 4e7),
            (Fault::Short, |s| {
                s.quantities.insert("sender_elapsed_ns".into(), Some(2_000.0));
            }),
            (Fault::Bytes, |s| s.bytes *= 1.5),
            (Fault::CpuTime, |s| {
                s.quantities.insert("sender_cpu_ns".into(), Some(2.2e8));
            }),
            (Fault::Share, |s| {
                s.quantities.insert("sender_completions".into(), Some(5.0));
                s.quantities.insert("sender_completions_copied".into(), Some(6.0));
            }),
            (Fault::Share, |s| {
                s.quantities.insert("receiver_multiplexing".into(), Some(1.5));
            }),
            (Fault::Negative, |s| {
                s.quantities.insert("retransmits".into(), Some(-1.0));
            }),
        ];
        for (fault, break_it) in breaks {
            let mut run = small();
            for sample in run.samples.iter_mut().filter(|s| s.case == 1 && s.round == 2) {
                break_it(sample);
            }
            let found = problems(&run);
            assert_eq!(found.len(), 1, "{fault:?}: {found:?}");
            let samples = SampleShare { samples: 3, of: 24 };
            assert_eq!(found[0].kind, ProblemKind::Impossible { fault: *fault, samples });
            assert_eq!(found[0].case, 1);
            let cells = Cells::of(&run);
            let rounds = cells.cell(1, "throughput").unwrap().rounds.pairs();
            assert!(rounds.len() == 7 && rounds.iter().all(|(r, _)| *r != 2), "{fault:?}");
        }
    }

    #[test]
    fn unverified_and_marked_samples_are_counted() {
        let mut run = small();
        run.samples[0].verified = false;
        let one = SampleShare { samples: 1, of: 24 };
        let kinds = |run: &Run| problems(run).into_iter().map(|p| p.kind).collect::<Vec<_>>();
        assert_eq!(kinds(&run), [ProblemKind::Unverified(one)]);
        run.samples[1].marks.push("steal".into());
        assert_eq!(kinds(&run)[1..], [ProblemKind::Marked { mark: "steal".into(), samples: one }]);
    }
}
