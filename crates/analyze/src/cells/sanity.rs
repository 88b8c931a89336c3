//! Samples that cannot be true or tell nothing: they are refused, and the report says which and why.
//!
//! A sample is impossible when its clock did not run or stopped long before its time (a thread that
//! was held up lets the windows behind it collapse: nothing can be read from a microsecond), its bytes are not its messages, a side used
//! more CPU time than its threads had, a share leaves [0, 1], or a count is negative. Refused samples
//! stay in the record and in no estimate ([`crate::cells`]). A bound on throughput (memory or link
//! bandwidth) is checked where the caller knows one. Samples that failed verification or that the
//! harness marked as suspect are counted beside them.

use crate::cells::reference::CASE;
use crate::words::{self, Words};
use crate::{CellRef, Problem, Statement};
use std::collections::BTreeMap;
use syscost_core::sample::{COUNTING, Sample};
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::all_connections;
use syscost_measure::probe::transfer::axes::{MESSAGE_BYTES, THREADS};
use syscost_measure::probe::{self, Timing};

/// CPU clocks and window clocks are read one after the other: allowed excess of CPU time.
const CPU_SLACK: f64 = 1.05;

/// Share of the window asked that a sample must have lasted.
const SHORTEST: f64 = 0.5;

/// Why a sample cannot be true.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    Clock,
    Short,
    Bytes,
    CpuTime,
    Share,
    Negative,
    Throughput,
}

impl Fault {
    pub fn id(self) -> &'static str {
        match self {
            Fault::Clock => "impossible_clock",
            Fault::Short => "short_window",
            Fault::Bytes => "impossible_bytes",
            Fault::CpuTime => "impossible_cpu_time",
            Fault::Share => "impossible_share",
            Fault::Negative => "negative_count",
            Fault::Throughput => "impossible_throughput",
        }
    }

    /// Completes "N samples ... : ".
    fn says(self) -> &'static str {
        match self {
            Fault::Clock => "a window of no length",
            Fault::Short => "a window less than half as long as asked",
            Fault::Bytes => "bytes that are not its messages times their size",
            Fault::CpuTime => "more CPU time than its threads had in the window",
            Fault::Share => "a share outside 0 to 1",
            Fault::Negative => "a negative count",
            Fault::Throughput => "more throughput than the machine can move",
        }
    }

    /// The metric whose cell the fault would have entered, where it is not the headline.
    fn metric(self) -> Option<&'static str> {
        match self {
            Fault::CpuTime => Some("total_cpu_ns_per_message"),
            Fault::Share => Some("copied_fraction"),
            _ => None,
        }
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
            shortest_ns: SHORTEST * window_ns as f64,
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
    /// Each kind with how many, in no order.
    faults: Vec<(Fault, usize)>,
    marked: Vec<(String, usize)>,
}

impl Look {
    /// `fault` as [`Limits`] have it; `bound` in bit/s if one is known.
    pub fn count(&mut self, sample: &Sample, fault: Option<Fault>, bound: Option<f64>) {
        self.samples += 1;
        self.unverified += usize::from(!sample.verified);
        let too_fast = || bound.is_some_and(|b| sample.bytes * 8e9 / sample.elapsed_ns > b);
        if let Some(fault) = fault.or_else(|| too_fast().then_some(Fault::Throughput)) {
            one_more(&mut self.faults, &fault);
        }
        let marks = sample.marks.iter().filter(|mark| *mark != COUNTING);
        marks.for_each(|mark| one_more(&mut self.marked, mark));
    }
}

fn one_more<T: PartialEq + Clone>(counts: &mut Vec<(T, usize)>, seen: &T) {
    match counts.iter_mut().find(|(known, _)| known == seen) {
        Some((_, n)) => *n += 1,
        None => counts.push((seen.clone(), 1)),
    }
}

/// Every fault of a run, one problem per case and kind; what was seen of each case is in the order of the plan.
pub fn problems(run: &Run, looks: &[Look], bound: Option<f64>) -> Vec<Problem> {
    let words = Words::of(run);
    let mut faults: BTreeMap<(Fault, usize), usize> = BTreeMap::new();
    let mut unverified: BTreeMap<usize, usize> = BTreeMap::new();
    let mut marked: BTreeMap<(usize, &str), usize> = BTreeMap::new();
    let mut totals: BTreeMap<usize, usize> = BTreeMap::new();
    for (case, look) in run.record.plan.cases.iter().zip(looks) {
        totals.insert(case.index, look.samples);
        faults.extend(look.faults.iter().map(|(fault, n)| ((*fault, case.index), *n)));
        unverified.extend((look.unverified > 0).then_some((case.index, look.unverified)));
        marked.extend(look.marked.iter().map(|(mark, n)| ((case.index, mark.as_str()), *n)));
    }
    let whole = |case: usize| words::count(totals.get(&case).copied().unwrap_or(0), "sample");
    // `at 64 KiB and 1 thread`, `of reading the time (rdtsc)`
    let place = |case: usize| {
        let named = |c: &Case| match words::operation_name(c) {
            Some(name) => format!("of {name}"),
            None => format!("at {}", words.place(&c.point, &[])),
        };
        run.case(case).map_or_else(String::new, named)
    };
    let problem = |id, metric: Option<&'static str>, case: usize, text| {
        let probe = run.case(case).and_then(|c| probe::find(&c.probe));
        let headline = probe.and_then(|p| p.decisive().first().copied());
        // A case with no sample left has no such figure, but its row.
        let cells = metric.or(headline).into_iter().chain([CASE]).map(|metric| CellRef { case, metric });
        Problem { id, case, statement: Statement { text, cells: cells.collect() } }
    };
    let impossible = faults.iter().map(|((fault, case), n)| {
        let limit = match (fault, bound) {
            (Fault::Throughput, Some(bound)) => format!(" ({})", words::figure(bound, Unit::BitsPerSecond)),
            _ => String::new(),
        };
        // What only the caller's bound refutes is still in the estimates.
        let verb = if *fault == Fault::Throughput { "cannot be true" } else { "are refused" };
        let text = format!("{n} of {} {} {verb}: {}{limit}.", whole(*case), place(*case), fault.says());
        problem(fault.id(), fault.metric(), *case, text)
    });
    let unproven = unverified.iter().map(|(case, n)| {
        let text = format!("{} of {} {} did not pass verification; not used.", n, whole(*case), place(*case));
        problem("unverified", None, *case, text)
    });
    let suspect = marked.iter().map(|((case, mark), n)| {
        let text = format!("{} of {} {} are marked {mark}; not used.", n, whole(*case), place(*case));
        problem("marked_samples", None, *case, text)
    });
    impossible.chain(unproven).chain(suspect).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::cells::seen::Seen;
    use crate::synthetic::Synthetic;

    fn problems(run: &Run, bound: Option<f64>) -> Vec<Problem> {
        super::problems(run, &Seen::of(run, &[], bound).looks, bound)
    }

    fn small() -> Run {
        Synthetic { sizes: vec![64], threads: vec![2], twin_every: 0, ..Default::default() }.run()
    }

    #[test]
    fn sound_data_has_no_fault() {
        assert!(problems(&Synthetic::default().run(), Some(1e15)).is_empty());
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
            let found = problems(&run, None);
            assert_eq!(found.len(), 1, "{fault:?}: {found:?}");
            assert_eq!((found[0].id, found[0].case), (fault.id(), 1));
            assert!(found[0].statement.text.starts_with("3 of 24 samples at 64 B and 2 threads"));
            let cells = Cells::of(&run);
            let rounds = cells.cell(1, "throughput").unwrap().rounds.pairs();
            assert!(rounds.len() == 7 && rounds.iter().all(|(r, _)| *r != 2), "{fault:?}");
        }
    }

    #[test]
    fn a_bound_and_unverified_samples() {
        let mut run = small();
        assert_eq!(problems(&run, Some(1.0)).len(), 3);
        run.samples[0].verified = false;
        let found = problems(&run, None);
        assert_eq!((found.len(), found[0].id), (1, "unverified"));
        run.samples[1].marks.push("steal".into());
        let found = problems(&run, None);
        assert_eq!((found.len(), found[1].id), (2, "marked_samples"));
        assert!(found[1].statement.text.contains("are marked steal; not used"), "{found:?}");
    }
}
