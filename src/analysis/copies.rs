//! Where the copies of each way to move data happened: what an audit counted on each step from the
//! sender's fields to the receiver's memory, and whether a name promises less copying than that.
//!
//! Counts only: a step that nobody counted is unknown, and nothing is concluded from it.

use super::study::RIVALS;
use super::words::{self, Words, and};
use crate::axis::{Axis, Point};
use crate::mechanism;
use crate::probe;
use crate::run::Run;
use crate::run::audit::{Audit, TOLERANCE};
use std::collections::BTreeSet;

const PATH: &str = "path";
/// How far the share of flagged completions may lie from the share of copied bytes: completions cover
/// messages, and a count covers bytes.
const AGREEMENT: f64 = 0.01;

/// From one place to the next, in the order in which a payload takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// From the fields to what the system call is given.
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

/// What a name says of copying, and what was counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Was no more copied than the name says? `None`: not known.
    pub kept: Option<bool>,
    /// `zero-copy asked, copied once by the orphan copy`
    pub text: String,
}

/// One audit, told by its steps.
#[derive(Clone, Debug, PartialEq)]
pub struct Copies<'a> {
    pub audit: &'a Audit,
    /// What tells it from the others, its path aside: `sendmsg`, `sendmsg (receiver recv)`.
    pub way: String,
    /// `veth`; empty where the probe has no such axis.
    pub path: String,
    pub flows: [(Step, Flow); 5],
    /// Said of ways whose name speaks of copies, where it is more than was counted or was shown to hold.
    pub claim: Option<Claim>,
}

/// Every audit of the run, in its order.
pub fn copies(run: &Run) -> Vec<Copies<'_>> {
    let audits = &run.record.audits;
    let tell = |audit| Copies {
        audit,
        way: way(audits, audit),
        path: audit.point.text(PATH).unwrap_or_default().to_string(),
        flows: flows(audit),
        claim: claim(audit),
    };
    audits.iter().map(tell).collect()
}

impl Copies<'_> {
    /// `sendmsg over veth`
    pub fn name(&self) -> String {
        if self.path.is_empty() { self.way.clone() } else { format!("{} over {}", self.way, self.path) }
    }

    /// Copies and completions beside each other, of a way that was asked not to copy.
    pub fn told(&self) -> Option<String> {
        let claim = self.claim.as_ref().filter(|_| promise(self.audit).is_some_and(|p| p.copies == 0.0))?;
        let counted = if self.audit.counts.is_some() { " (bytes, counted in the kernel)" } else { "" };
        Some(format!("{}: {}{counted}{}", self.name(), claim.text, self.flags()))
    }

    /// What the completions of the audit said, and whether the bytes bear it out.
    fn flags(&self) -> String {
        let Some(flagged) = self.audit.flagged() else { return String::new() };
        let share = words::percent(flagged);
        let said = format!(
            "; {share} of {} in that audit {} flagged as copied",
            words::count(self.audit.completions as usize, "completion"),
            if self.audit.completions == 1 { "is" } else { "are" },
        );
        match self.kernel_copies() {
            None => said,
            Some(copied) if (copied.min(1.0) - flagged).abs() <= AGREEMENT => {
                format!("{said}: the flag and the count agree")
            }
            Some(copied) => format!(
                "{said}, but {} of the bytes were copied: the flag and the count disagree",
                words::percent(copied.min(1.0))
            ),
        }
    }

    /// Copied after the sender lent its pages: what the flag of a completion speaks of.
    fn kernel_copies(&self) -> Option<f64> {
        self.audit.counts.map(|c| self.audit.per_byte(c.copied_in + c.orphan_copied))
    }
}

/// The mechanism, with the axes that vary over the audits beside it.
fn way(audits: &[Audit], audit: &Audit) -> String {
    let axes = probe::find(&audit.probe).map(|p| p.axes()).unwrap_or_default();
    let others: Vec<String> = axes
        .iter()
        .filter(|axis| ![RIVALS, PATH].contains(&axis.id) && varies(audits, audit, axis.id))
        .filter_map(|axis| shown(axis, &audit.point))
        .collect();
    let name = audit.point.text(RIVALS).unwrap_or(&audit.probe);
    if others.is_empty() { name.to_string() } else { format!("{name} ({})", others.join(", ")) }
}

/// What is the same in all audits, of these axes: `64 KiB and 1 thread`.
pub fn shared(run: &Run, axes: &[&str]) -> String {
    let audits = &run.record.audits;
    let Some(first) = audits.first() else { return String::new() };
    let mut same = Point::default();
    for axis in axes.iter().filter(|axis| !varies(audits, first, axis)) {
        if let Some(value) = first.point.get(axis) {
            same.set(axis, value.clone());
        }
    }
    Words::of(run).place(&same, &[])
}

fn shown(axis: &Axis, point: &Point) -> Option<String> {
    Some(format!("{} {}", axis.title, axis.show(point.get(axis.id)?)))
}

fn varies(audits: &[Audit], like: &Audit, axis: &str) -> bool {
    let same_probe = audits.iter().filter(|a| a.probe == like.probe);
    same_probe.filter_map(|a| a.point.get(axis)).collect::<BTreeSet<_>>().len() > 1
}

fn flows(audit: &Audit) -> [(Step, Flow); 5] {
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
            let orphan = handed_on(per(counts.orphan_copied));
            [
                Flow::Counted { copied: per(counts.copied_in), uncopied: per(counts.uncopied_in) },
                if by_device { Flow::Device { fetched } } else { handed_on(0.0) },
                if by_device && counts.orphan_copied == 0 { Flow::Device { fetched: None } } else { orphan },
                Flow::Counted { copied: per(counts.copied_out), uncopied: uncopied_out },
            ]
        }
    };
    [
        (Step::Gather, gather),
        (Step::Send, send),
        (Step::Leave, leave),
        (Step::Arrive, arrive),
        (Step::Receive, receive),
    ]
}

/// What a name says of the copies on the sender's side.
struct Promise {
    words: &'static str,
    copies: f64,
}

/// From the title that a mechanism gives itself; whoever waits for completions asked for zero-copy.
fn promise(audit: &Audit) -> Option<Promise> {
    const PROMISES: [(&str, f64); 3] = [("zero-copy", 0.0), ("one-copy", 1.0), ("two-copy", 2.0)];
    let title = audit.point.text(RIVALS).and_then(mechanism::find).map(|m| m.about().title).unwrap_or("");
    let named = PROMISES.into_iter().find(|(words, _)| title.starts_with(words));
    let (words, copies) = named.or((audit.completions > 0).then_some(PROMISES[0]))?;
    Some(Promise { words, copies })
}

fn claim(audit: &Audit) -> Option<Claim> {
    let promise = promise(audit)?;
    let asked = if promise.copies == 0.0 { "zero-copy asked" } else { promise.words };
    let Some(counts) = audit.counts else {
        // Nothing is said of a name that asks for nothing.
        return (promise.copies == 0.0)
            .then(|| Claim { kept: None, text: format!("{asked}, copies not verified") });
    };
    let parts = [
        (audit.user_copied, "in user space"),
        (counts.copied_in, "into the kernel"),
        (counts.orphan_copied, "by the orphan copy"),
    ];
    let parts = parts.map(|(bytes, place)| (audit.per_byte(bytes), place));
    let total: f64 = parts.iter().map(|part| part.0).sum();
    if total > promise.copies + TOLERANCE {
        let told: Vec<String> = parts
            .iter()
            .filter(|(copies, _)| *copies > TOLERANCE)
            .map(|(copies, place)| format!("{} {place}", times(*copies)))
            .collect();
        let text = format!("{asked}, copied {}{}", and(&told), sent_again(audit));
        return Some(Claim { kept: Some(false), text });
    }
    // A ledger that leaves bytes unexplained shows no absence.
    (promise.copies == 0.0 && audit.balanced() == Some(true)).then(|| Claim {
        kept: Some(true),
        text: "zero-copy: nothing was copied up to the receiver's socket".into(),
    })
}

/// Why there are more orphan copies than bytes.
fn sent_again(audit: &Audit) -> String {
    let counts = audit.counts.unwrap_or_default();
    let excess = audit.per_byte(counts.orphan_copied) > 1.0 + TOLERANCE;
    let again = audit.per_byte(counts.retransmitted);
    if excess && again > 0.0 {
        format!(", as {} was sent again", words::percent(again))
    } else {
        String::new()
    }
}

/// `once`, `twice`, `0.4 times`
fn times(copies: f64) -> String {
    match copies {
        n if (n - 1.0).abs() <= TOLERANCE => "once".into(),
        n if (n - 2.0).abs() <= TOLERANCE => "twice".into(),
        n => format!("{} times", crate::units::significant(n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::synthetic::{self, Synthetic, audit};
    use crate::ledger::Counts;

    const LENT: Counts = Counts {
        copied_in: 0,
        uncopied_in: 1000,
        orphan_copied: 0,
        copied_out: 1000,
        retransmitted: 0,
        device_fetched: 0,
    };

    fn run(audits: Vec<Audit>) -> Run {
        let mut run = Synthetic { rounds: 0, ..Default::default() }.run();
        run.record.audits = audits;
        run
    }

    fn one(audit: &Audit) -> (Option<Claim>, Option<String>) {
        let run = run(vec![audit.clone()]);
        let told = &copies(&run)[0];
        (told.claim.clone(), told.told())
    }

    #[test]
    fn what_a_name_promises_is_held_against_the_bytes() {
        let zero = audit("msg_zerocopy", Some(Counts { orphan_copied: 1000, ..LENT }), (8, 8));
        let (claim, told) = one(&zero);
        let text = "zero-copy asked, copied once by the orphan copy";
        assert_eq!(claim, Some(Claim { kept: Some(false), text: text.into() }));
        let told = told.expect("zero-copy was asked for");
        assert!(told.starts_with(&format!("msg_zerocopy over veth: {text} (bytes, counted")), "{told}");
        assert!(told.ends_with(
            "100 % of 8 completions in that audit are flagged as copied: the flag and the count agree"
        ));
        let kept = audit("msg_zerocopy", Some(Counts { device_fetched: 1000, ..LENT }), (8, 0));
        let (claim, told) = one(&kept);
        assert_eq!(claim.unwrap().kept, Some(true));
        assert!(told.unwrap().ends_with(
            "0 % of 8 completions in that audit are flagged as copied: the flag and the count agree"
        ));
        let mixed = Counts { copied_in: 400, uncopied_in: 600, ..LENT };
        let mixed = audit("msg_zerocopy", Some(Counts { orphan_copied: 600, ..mixed }), (8, 8));
        let text = one(&mixed).0.unwrap().text;
        assert_eq!(
            text,
            "zero-copy asked, copied 0.4 times into the kernel and 0.6 times by the orphan copy"
        );
    }

    #[test]
    fn a_flag_that_differs_from_the_bytes_is_called_so() {
        let software = Counts { copied_in: 1000, uncopied_in: 0, device_fetched: 1000, ..LENT };
        let (claim, told) = one(&audit("msg_zerocopy", Some(software), (100, 52)));
        assert_eq!(claim.unwrap().text, "zero-copy asked, copied once into the kernel");
        let told = told.unwrap();
        assert!(
            told.ends_with(
                "52 % of 100 completions in that audit are flagged as copied, but 100 % of the bytes were \
                 copied: the flag and the count disagree"
            ),
            "{told}"
        );
        let silent = audit("msg_zerocopy", Some(Counts { orphan_copied: 1000, ..LENT }), (1, 0));
        assert!(one(&silent).1.unwrap().contains("0 % of 1 completion in that audit is flagged"));
        assert!(one(&silent).1.unwrap().ends_with("disagree"));
    }

    #[test]
    fn names_that_ask_for_copies_are_only_told_where_there_are_more() {
        let copied = Counts { copied_in: 1000, uncopied_in: 0, ..LENT };
        assert_eq!(one(&audit("sendmsg", Some(copied), (0, 0))), (None, None));
        let gathered = Audit { user_copied: 1000, ..audit("sendmsg", Some(copied), (0, 0)) };
        let claim = one(&gathered).0.unwrap();
        assert_eq!(claim.text, "one-copy, copied once in user space and once into the kernel");
        let packed = Audit { user_copied: 1000, ..audit("pack_send", Some(copied), (0, 0)) };
        assert_eq!(one(&packed).0, None, "two copies were promised");
    }

    #[test]
    fn nothing_is_concluded_from_what_was_not_counted() {
        let untold = audit("msg_zerocopy", None, (8, 8));
        let (claim, told) = one(&untold);
        assert_eq!(claim.unwrap(), Claim { kept: None, text: "zero-copy asked, copies not verified".into() });
        let told = told.unwrap();
        assert!(!told.contains("agree") && !told.contains("counted"), "{told}");
        assert_eq!(one(&audit("sendmsg", None, (0, 0))).0, None);
        let unbalanced = audit("msg_zerocopy", Some(Counts { uncopied_in: 900, ..LENT }), (8, 0));
        assert_eq!(one(&unbalanced).0, None, "a ledger with a hole shows no absence of copies");
        let run = run(vec![untold]);
        let flows = copies(&run)[0].flows;
        assert_eq!(flows[0], (Step::Gather, Flow::Counted { copied: 0.0, uncopied: 1.0 }));
        assert!(flows[1..].iter().all(|(_, flow)| *flow == Flow::Unknown));
    }

    #[test]
    fn steps_are_those_of_a_link_or_of_a_device() {
        let near = audit("msg_zerocopy", Some(Counts { orphan_copied: 1000, ..LENT }), (8, 8));
        let far = audit("msg_zerocopy", Some(Counts { device_fetched: 1010, ..LENT }), (8, 0));
        let taken = Audit { uncopied_out: 1000, ..audit("send", None, (0, 0)) };
        let run = run(vec![near, far, taken]);
        let all = copies(&run);
        let counted = |copied, uncopied| Flow::Counted { copied, uncopied };
        let flows = |index: usize| all[index].flows.map(|(_, flow)| flow);
        assert_eq!(
            flows(0)[1..],
            [counted(0.0, 1.0), counted(0.0, 1.0), counted(1.0, 0.0), counted(1.0, 0.0)]
        );
        assert_eq!(flows(1)[2..4], [Flow::Device { fetched: Some(1.01) }, Flow::Device { fetched: None }]);
        assert_eq!(flows(2)[4], counted(0.0, 1.0), "the receiver took nothing by copying");
    }

    #[test]
    fn names_have_what_varies_over_the_audits() {
        let mut second = audit("send", None, (0, 0));
        second.point = synthetic::point("send", 1024, 1);
        let both = run(vec![audit("send", None, (0, 0)), second]);
        let names: Vec<String> = copies(&both).iter().map(Copies::name).collect();
        assert_eq!(names, ["send (message size 64 KiB) over veth", "send (message size 1 KiB) over veth"]);
        assert_eq!(shared(&both, &["message_bytes", "threads"]), "1 thread");
        let single = run(vec![audit("send", None, (0, 0))]);
        assert_eq!(copies(&single)[0].name(), "send over veth");
        assert_eq!(shared(&single, &["message_bytes", "threads"]), "64 KiB and 1 thread");
    }
}
