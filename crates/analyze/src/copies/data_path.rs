//! The data path of each way to move data: what an audit counted on each step from the sender's fields to
//! the receiver's memory, and what that says of the way's name.
//!
//! Counts only: a step that nobody counted is unknown, and nothing is concluded from it.

use crate::CellRef;
use crate::cells::reference::AUDIT;
use crate::compare::study::RIVALS;
use crate::copies::{self, Claim};
use std::collections::{HashMap, HashSet};
use syscost_core::axis::{Axis, Point, Value};
use syscost_experiment::run::Run;
use syscost_experiment::run::audit::Audit;
use syscost_measure::mechanism::{self, Reuse};
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{PATH, RECEIVER};
use syscost_measure::receiver;

/// From one place to the next, in the order in which a payload takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathLeg {
    /// From the fields to what the system call is given; there is none where the payload lies in a file.
    Gather,
    /// Into the sender's socket.
    Send,
    /// From the sender's socket to the link.
    Leave,
    /// From the link to the receiver's socket.
    Arrive,
    /// To the receiver's memory.
    Receive,
}

/// What happened on a step, per byte of payload.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Flow {
    /// Nobody counted.
    Unknown,
    /// Copied by a CPU; the rest was handed on where it lay.
    Counted { copied: f64, uncopied: f64 },
    /// Moved by a network device, which read so much; `None`: on the side that is not counted.
    Device { fetched: Option<f64> },
}

/// One audit, told by its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct DataPath<'a> {
    pub audit: &'a Audit,
    /// The cases that it is of: their indices.
    pub cases: Vec<usize>,
    /// What tells it from the others, its path aside: `sendmsg`, `sendmsg (receiver recv)`.
    pub way: String,
    /// `veth`; empty where the probe has no such axis.
    pub path: String,
    pub flows: Vec<(PathLeg, Flow)>,
    /// Was the payload encrypted on its way into the kernel, and decrypted on its way out?
    pub encrypted: bool,
    /// Does the receiver get to see what arrives?
    pub delivered: bool,
    pub claim: Option<Claim>,
}

/// Every audit of the run, in its order.
pub fn data_paths(run: &Run) -> Vec<DataPath<'_>> {
    let audits = &run.record.audits;
    let varied = VariedAxes::of(audits);
    let mut cases: HashMap<(&str, &Point), Vec<usize>> = HashMap::new();
    for case in &run.record.plan.cases {
        cases.entry((&case.probe, &case.point)).or_default().push(case.index);
    }
    let tell = |audit| DataPath {
        audit,
        cases: cases.get(&(&*audit.probe, &audit.point)).cloned().unwrap_or_default(),
        way: way(&varied, audit),
        path: audit.point.text(PATH).unwrap_or_default().to_string(),
        flows: flows(audit),
        encrypted: audit.framing_bytes > 0,
        delivered: delivered(audit),
        claim: copies::claim(audit),
    };
    audits.iter().map(tell).collect()
}

impl DataPath<'_> {
    pub fn cell(&self) -> Option<CellRef> {
        self.cases.first().map(|case| CellRef { case: *case, metric: AUDIT })
    }

    /// What sends; empty where the probe has no such axis.
    pub fn mechanism(&self) -> &str {
        self.audit.point.text(RIVALS).unwrap_or_default()
    }
}

/// The mechanism, with the axes that vary over the audits beside it.
fn way(varied: &VariedAxes<'_>, audit: &Audit) -> String {
    let axes = probe::find(&audit.probe).map(|p| p.axes()).unwrap_or_default();
    let others: Vec<String> = axes
        .iter()
        .filter(|axis| ![RIVALS.id, PATH.id].contains(&axis.id) && varied.has(audit, axis.id))
        .filter(|axis| !varied.follows_receiver(audit, axis.id))
        .filter_map(|axis| shown(axis, &audit.point))
        .collect();
    let name = audit.point.text(RIVALS).unwrap_or(&audit.probe);
    if others.is_empty() { name.to_string() } else { format!("{name} ({})", others.join(", ")) }
}

/// What is the same in all audits, of these axes.
pub fn shared(run: &Run, axes: &[&str]) -> Point {
    let audits = &run.record.audits;
    let mut same = Point::default();
    let Some(first) = audits.first() else { return same };
    let varied = VariedAxes::of(audits);
    for axis in axes.iter().filter(|axis| !varied.has(first, axis)) {
        if let Some(value) = first.point.get(axis) {
            same.set(axis, value.clone());
        }
    }
    same
}

fn shown(axis: &Axis, point: &Point) -> Option<String> {
    Some(format!("{} {}", axis.title, axis.show(point.get(axis.id)?)))
}

/// The axes with several values among the audits of a probe, and among those of one receiver too: one pass over all.
struct VariedAxes<'a> {
    of_probe: HashSet<(&'a str, &'a str)>,
    of_receiver: HashSet<(&'a str, Option<&'a Value>, &'a str)>,
}

impl<'a> VariedAxes<'a> {
    fn of(audits: &'a [Audit]) -> VariedAxes<'a> {
        let all = |audit: &'a Audit| audit.point.iter().map(move |(axis, value)| (audit, &**axis, value));
        let of_probe =
            several(audits.iter().flat_map(all).map(|(audit, axis, value)| ((&*audit.probe, axis), value)));
        let keyed = |(audit, axis, value): (&'a Audit, &'a str, &'a Value)| {
            ((&*audit.probe, receiver_of(audit), axis), value)
        };
        VariedAxes { of_probe, of_receiver: several(audits.iter().flat_map(all).map(keyed)) }
    }

    fn has(&self, like: &Audit, axis: &str) -> bool {
        self.of_probe.contains(&(&*like.probe, axis))
    }

    /// Does the axis vary with the receiver and not beside it (the MTU that one of them needs)?
    fn follows_receiver(&self, like: &Audit, axis: &str) -> bool {
        axis != RECEIVER.id
            && self.has(like, RECEIVER.id)
            && !self.of_receiver.contains(&(&*like.probe, receiver_of(like), axis))
    }
}

fn receiver_of(audit: &Audit) -> Option<&Value> {
    audit.point.get(RECEIVER.id)
}

/// The keys that come with more than one value.
fn several<'a, K: Copy + Eq + std::hash::Hash>(all: impl Iterator<Item = (K, &'a Value)>) -> HashSet<K> {
    let mut first: HashMap<K, &Value> = HashMap::new();
    all.filter(|(key, value)| first.entry(*key).or_insert(value) != value).map(|(key, _)| key).collect()
}

/// Does the mechanism send from a file?
fn lies_in_a_file(audit: &Audit) -> bool {
    audit.point.text(RIVALS).and_then(mechanism::find).is_some_and(|m| m.about().facts.reuse == Reuse::File)
}

/// A receiver that nobody names sees what it takes.
fn delivered(audit: &Audit) -> bool {
    audit.point.text(RECEIVER).and_then(receiver::find).is_none_or(|r| r.delivers())
}

fn flows(audit: &Audit) -> Vec<(PathLeg, Flow)> {
    let per = |bytes: u64| audit.per_byte(bytes);
    let handed_on = |copied: f64| Flow::Counted { copied, uncopied: (1.0 - copied).max(0.0) };
    let uncopied_out = per(audit.uncopied_out);
    // The receiver knows itself what was not copied; all or nothing needs no other witness.
    let untouched = Flow::Counted { copied: 0.0, uncopied: uncopied_out };
    let out_of_nothing = if uncopied_out >= 1.0 { untouched } else { Flow::Unknown };
    let gather = handed_on(per(audit.user_copied));
    let [send, leave, arrive, receive] = match audit.counts {
        None => [Flow::Unknown, Flow::Unknown, Flow::Unknown, out_of_nothing],
        Some(counts) => {
            let by_device = counts.device_fetched > 0;
            let fetched = Some(per(counts.device_fetched));
            let inside = counts.orphan_copied + audit.decrypted_inside();
            let arrive = handed_on(per(inside));
            [
                Flow::Counted { copied: per(counts.copied_in), uncopied: per(counts.uncopied_in) },
                if by_device { Flow::Device { fetched } } else { handed_on(0.0) },
                if by_device && inside == 0 { Flow::Device { fetched: None } } else { arrive },
                Flow::Counted {
                    copied: per(counts.copied_out + audit.decrypted_out()),
                    uncopied: uncopied_out,
                },
            ]
        }
    };
    let kernel = [
        (PathLeg::Send, send),
        (PathLeg::Leave, leave),
        (PathLeg::Arrive, arrive),
        (PathLeg::Receive, receive),
    ];
    let gathered = (!lies_in_a_file(audit)).then_some((PathLeg::Gather, gather));
    gathered.into_iter().chain(kernel).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{self, Synthetic, audit};
    use syscost_measure::ledger::Counts;

    fn lent() -> Counts {
        Counts { uncopied_in: 1000, copied_out: 1000, ..Counts::default() }
    }

    fn run(audits: Vec<Audit>) -> Run {
        let mut run = Synthetic { rounds: 0, ..Default::default() }.run();
        run.record.audits = audits;
        run
    }

    #[test]
    fn steps_are_those_of_a_link_or_of_a_device() {
        let near = audit("msg_zerocopy", Some(Counts { orphan_copied: 1000, ..lent() }), (8, 8));
        let far = audit("msg_zerocopy", Some(Counts { device_fetched: 1010, ..lent() }), (8, 0));
        let taken = Audit { uncopied_out: 1000, ..audit("send", None, (0, 0)) };
        let run = run(vec![near, far, taken, audit("send", None, (0, 0))]);
        let all = data_paths(&run);
        let counted = |copied, uncopied| Flow::Counted { copied, uncopied };
        let flows = |index: usize| all[index].flows.iter().map(|(_, flow)| *flow).collect::<Vec<_>>();
        assert_eq!(
            flows(0)[1..],
            [counted(0.0, 1.0), counted(0.0, 1.0), counted(1.0, 0.0), counted(1.0, 0.0)]
        );
        assert_eq!(flows(1)[2..4], [Flow::Device { fetched: Some(1.01) }, Flow::Device { fetched: None }]);
        assert_eq!(flows(2)[4], counted(0.0, 1.0), "the receiver took nothing by copying");
        assert_eq!(flows(3)[0], counted(0.0, 1.0), "what a mechanism itself copies is known without tracing");
        assert!(flows(3)[1..].iter().all(|flow| *flow == Flow::Unknown), "the rest is not");
    }

    #[test]
    fn names_have_what_varies_over_the_audits() {
        let mut second = audit("send", None, (0, 0));
        second.point = synthetic::point("send", 1024, 1);
        let both = run(vec![audit("send", None, (0, 0)), second]);
        let names = |run: &Run| data_paths(run).into_iter().map(|path| path.way).collect::<Vec<_>>();
        let ids = |run: &Run| shared(run, &["message_bytes", "threads"]).names().count();
        assert_eq!(names(&both), ["send (message size 64 KiB)", "send (message size 1 KiB)"]);
        assert_eq!(ids(&both), 1, "the threads");
        let single = run(vec![audit("send", None, (0, 0))]);
        assert_eq!((names(&single), ids(&single)), (vec!["send".to_string()], 2));
    }
}
