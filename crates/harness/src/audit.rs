//! An audit: an untimed round of a case with the copy ledger attached.
//!
//! Tracing slows what it watches, so nothing of such a round is a sample. Where the kernel does not
//! let this user trace, what the workers themselves know is kept and the rest is said to be unknown.

use super::check::{UnfinishedCases, each_case};
use super::{Event, PATIENCE};
use crate::worker::path::{self, Paths};
use crate::worker::{self, Observer, ReadyRound, RoundError, RoundOptions};
use anyhow::Result;
use std::collections::BTreeSet;
use std::io;
use std::thread;
use std::time::Duration;
use syscost_core::units::count;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::{Audit, CpuTimes, KernelThreadTimes, Warning};
use syscost_host::Unavailable;
use syscost_host::files::Root;
use syscost_host::kernel_threads::ThreadClocks;
use syscost_host::scratch::Scratch;
use syscost_host::settings;
use syscost_host::thread_clock::ThreadClock;
use syscost_measure::ledger::{Counts, Functions, Ledger, Pids, Softirqs, Watched};
use syscost_measure::probe::{self, Copies, CopyTotals, Timing};
use syscost_sys::signals;
use syscost_sys::sleep::sleep;

/// What a round found, and the marks of what disturbed it.
type AuditRound<T> = Result<(T, BTreeSet<String>), RoundError>;

/// A round of the case, and what its workers know of it.
type KnownRound<'a> = dyn FnMut(Timing, Observer<'_>) -> AuditRound<CopyTotals> + 'a;

/// Long enough for every path of a mechanism to be taken many times, short enough for dozens of cases.
const TIMING: Timing = Timing { warmup_ns: 1_000_000, window_ns: 20_000_000, windows: 1 };

/// All clocks are looked at so long after the start, and again so long after that. The stream lasts longer.
const LOOK_AFTER: Duration = Duration::from_millis(200);
const LOOK: Duration = Duration::from_secs(1);
const LOOK_TAKES: Duration = Duration::from_secs(2);
const LOOK_TIMING: Timing = Timing { warmup_ns: 100_000_000, window_ns: 1_400_000_000, windows: 1 };

/// At a tenth of stolen time, enough of it to be judged.
const LONGEST_LOOK: Duration = Duration::from_millis(500);

/// How often a round that was disturbed, or did not add up, is tried in all.
const TRIES: u32 = 3;

/// Counts copies in case after case; the tracing program is loaded once.
pub struct Auditor {
    ledger: Result<Ledger, Unavailable>,
    softirqs: Option<Softirqs>,
    softirqs_charged: Option<bool>,
    /// All clocks are looked at once, at a control.
    looks: bool,
}

impl Auditor {
    /// With the ledger, where this kernel and this user's rights allow it.
    /// All clocks are looked at where there is time for it.
    pub fn attach(time: Duration) -> Auditor {
        let charged = settings::irq_time_accounting(&Root::here()).map(|(apart, _)| !apart);
        let ledger = Ledger::attach();
        // What refuses one refuses the other, and is said once.
        // CPU time of an emulated machine means nothing.
        let softirqs = settings::emulator_here().is_none().then(|| Softirqs::attach().ok()).flatten();
        Auditor { ledger, softirqs, softirqs_charged: charged, looks: time >= LOOK_TAKES }
    }

    /// Audits the case until every byte is accounted for, or that is enough of tries: on a busy machine a few
    /// segments were seen to arrive that no tracepoint of the sender had shown, in one round of hundreds. What is
    /// wrong each time is wrong.
    pub fn audit(
        &mut self,
        case: &Case,
        paths: &mut Paths,
        scratch: &mut Scratch,
        patience: Duration,
    ) -> Result<Audit, RoundError> {
        complete(|| self.once(case, paths, scratch, patience))
    }

    /// Runs untimed rounds of the case: counts its copies in one, who pays for CPU time in another.
    fn once(
        &mut self,
        case: &Case,
        paths: &mut Paths,
        scratch: &mut Scratch,
        patience: Duration,
    ) -> Result<Audit, RoundError> {
        let copies = copies(case).ok_or_else(|| failed("nothing of this case can be audited"))?;
        let mut known = |timing: Timing, observe: Observer<'_>| {
            let interrupted = &signals::caught;
            let terms = RoundOptions { audited: true, ..RoundOptions::of(timing, patience, interrupted) };
            let round = worker::observed_round(case, &terms, paths, scratch, Some(observe))?;
            let marks: BTreeSet<String> =
                round.samples.iter().flat_map(|s| s.marks.iter().cloned()).collect();
            let known = copies.known(&round.totals);
            Ok((known.ok_or_else(|| failed("the workers did not say what they did"))?, marks))
        };
        let ledger = &mut self.ledger;
        let elsewhere = path::another_host(&case.point).map(|_| on_another_host());
        let (counted, mut marks) = undisturbed(|| {
            known(TIMING, &mut |standing| match ledger {
                Ok(ledger) if elsewhere.is_none() => choose(ledger, copies, standing),
                _ => Ok(()),
            })
        })?;
        // Half a count would not add up, and the softirqs of one side say nothing of the other's.
        let (counts, cpu, kernel_threads) = match &elsewhere {
            None => {
                let counts = self.counts()?;
                let cpu = self.cpu(&mut known, &mut marks)?;
                let looks = self.looks && probe::find(&case.probe).is_some_and(|p| p.is_control(&case.point));
                self.looks &= !looks;
                (counts, cpu, if looks { kernel_threads(&mut known)? } else { None })
            }
            Some(_) => (None, None, None),
        };
        let (counts, functions) = counts.unzip();
        let counting = self.ledger.as_ref().ok().filter(|_| elsewhere.is_none());
        let audit = Audit {
            probe: case.probe.clone(),
            point: case.point.clone(),
            delivered_bytes: counted.delivered_bytes,
            user_copied: counted.user_copied,
            framing_bytes: counted.framing_bytes,
            uncopied_out: counted.uncopied_out,
            completions: counted.completions,
            completions_copied: counted.completions_copied,
            counts,
            no_functions: counting.and_then(Ledger::without_functions).cloned(),
            uncounted: elsewhere.or_else(|| self.ledger.as_ref().err().cloned()),
            functions: functions.flatten(),
            cpu,
            kernel_threads,
            marks: marks.into_iter().collect(),
            ..Audit::default()
        };
        Ok(audit.as_seen())
    }

    /// A round with softirqs traced and nothing else. The times of a disturbed one are nobody's.
    fn cpu(
        &mut self,
        known: &mut KnownRound<'_>,
        marks: &mut BTreeSet<String>,
    ) -> Result<Option<CpuTimes>, RoundError> {
        let unread = |error: io::Error| failed(&format!("cannot read the time of softirqs: {error}"));
        if let Ok(ledger) = &mut self.ledger {
            ledger.rest().map_err(unread)?;
        }
        let Some(softirqs) = &mut self.softirqs else { return Ok(None) };
        let (known, disturbed) = undisturbed(|| {
            known(TIMING, &mut |standing| {
                softirqs.watch(Pids { sender: standing.near_pid, receiver: standing.far_pid }).map_err(unread)
            })
        })?;
        if !disturbed.is_empty() {
            marks.extend(disturbed);
            return Ok(None);
        }
        Ok(Some(CpuTimes {
            bytes: known.delivered_bytes,
            sender_cpu_ns: known.sender_cpu_ns,
            receiver_cpu_ns: known.receiver_cpu_ns,
            softirqs: softirqs.spent().map_err(unread)?,
            softirqs_charged: self.softirqs_charged,
        }))
    }

    /// Both readings of one round.
    fn counts(&self) -> Result<Option<(Counts, Option<Functions>)>, RoundError> {
        let Ok(ledger) = &self.ledger else { return Ok(None) };
        let read = || Ok((ledger.counts()?, ledger.functions()?));
        read().map(Some).map_err(|error: io::Error| failed(&format!("cannot read the ledger: {error}")))
    }
}

/// A round in the midst of which all clocks are looked at twice, a second apart: /proc/stat has ticks. CPU time of an emulated
/// machine means nothing.
fn kernel_threads(known: &mut KnownRound<'_>) -> Result<Option<KernelThreadTimes>, RoundError> {
    if settings::emulator_here().is_some() || ThreadClocks::now().is_none() {
        return Ok(None);
    }
    let mut looking = None;
    let (known, _) = known(LOOK_TIMING, &mut |standing| {
        let own = [standing.near_pid, standing.far_pid];
        looking = Some(thread::spawn(move || {
            sleep(LOOK_AFTER);
            let before = ThreadClocks::now()?;
            sleep(LOOK);
            Some(ThreadClocks::now()?.since(&before, &own))
        }));
        Ok(())
    })?;
    let Some(spent) = looking.and_then(|looking| looking.join().ok()).flatten() else { return Ok(None) };
    // The stream is steady: bytes are as CPU time.
    let all_ns = (known.sender_cpu_ns + known.receiver_cpu_ns).max(1);
    Ok(Some(KernelThreadTimes {
        bytes: (known.delivered_bytes as f64 * spent.own_ns as f64 / all_ns as f64) as u64,
        data_threads_ns: spent.own_ns,
        spent_ns: spent.kernel_threads,
        machine: Some(spent.machine),
    }))
}

/// What a thread's clock holds: a hundredth of the time at most.
pub fn thread_clock(time_limit: Duration) -> Option<ThreadClock> {
    ThreadClock::look((time_limit / 100).min(LONGEST_LOOK), &signals::caught)
}

/// Tries until one is good, or that is enough of them: the last one, and how many were bad before it.
fn tried<T>(
    mut once: impl FnMut() -> Result<T, RoundError>,
    is_good: impl Fn(&T) -> bool,
) -> Result<(T, u32), RoundError> {
    let mut bad = 0;
    loop {
        let last = once()?;
        if is_good(&last) || bad + 1 == TRIES {
            return Ok((last, bad));
        }
        bad += 1;
    }
}

/// Takes audits until one accounts for every byte.
fn complete(once: impl FnMut() -> Result<Audit, RoundError>) -> Result<Audit, RoundError> {
    let explained = |audit: &Audit| audit.unexplained().is_none_or(|share| share == 0.0);
    tried(once, explained).map(|(audit, incomplete_rounds)| Audit { incomplete_rounds, ..audit })
}

/// Takes rounds until one was not disturbed: what the last one brought, and the marks on it.
fn undisturbed<T>(round: impl FnMut() -> AuditRound<T>) -> AuditRound<T> {
    tried(round, |(_, marks)| marks.is_empty()).map(|(last, _)| last)
}

/// Watches the connections of a round that stands ready: what set them up is not payload.
fn choose(ledger: &mut Ledger, copies: &dyn Copies, standing: &ReadyRound<'_>) -> Result<(), RoundError> {
    let port =
        copies.port(standing.offers).ok_or_else(|| failed("the receiver did not say where it listens"))?;
    let receiver_namespace =
        standing.far_namespace.ok_or_else(|| failed("the receiver is on another host"))?;
    let watched = Watched { port, sender_namespace: standing.near_namespace, receiver_namespace };
    ledger.watch(&watched).map_err(|error| failed(&format!("cannot direct the ledger: {error}")))
}

/// Only one of the two kernels can be watched from here.
fn on_another_host() -> Unavailable {
    Unavailable {
        reason: "the receiver is on another host, whose kernel is not watched: copies are not counted".into(),
        remedy: "count the same mechanism on one host: syscost audit --path veth".into(),
    }
}

fn failed(why: &str) -> RoundError {
    RoundError::Failed(why.to_string())
}

fn copies(case: &Case) -> Option<&'static dyn Copies> {
    probe::find(&case.probe)?.copies()
}

/// Does the case move data whose copies can be counted?
pub fn audited(case: &Case) -> bool {
    copies(case).is_some()
}

/// How far the case is from what shows its copies best.
pub(crate) fn distance(case: &Case) -> u64 {
    copies(case).map_or(u64::MAX, |copies| copies.distance(&case.point))
}

/// The cases that a run audits: of every way to move data the one that stands for it best.
fn representatives(plan: &Plan) -> Vec<&Case> {
    let mut chosen: Vec<(&Case, u64)> = Vec::new();
    let given_up = plan.given_up();
    let due = |case: &&Case| case.twin_of.is_none() && !given_up.contains(&case.index);
    for case in plan.cases.iter().filter(due) {
        let Some(copies) = copies(case) else { continue };
        let distance = copies.distance(&case.point);
        match chosen.iter_mut().find(|(known, _)| copies.same_way(&known.point, &case.point)) {
            Some(known) if known.1 <= distance => {}
            Some(known) => *known = (case, distance),
            None => chosen.push((case, distance)),
        }
    }
    chosen.into_iter().map(|(case, _)| case).collect()
}

/// The representatives whose way has no audit yet.
pub fn due<'p>(plan: &'p Plan, done: &[Audit]) -> Vec<&'p Case> {
    let known = |case: &&Case| {
        let same = |audit: &Audit| {
            audit.probe == case.probe && copies(case).is_some_and(|c| c.same_way(&audit.point, &case.point))
        };
        !done.iter().any(same)
    };
    representatives(plan).into_iter().filter(known).collect()
}

/// The time for audits was over.
pub fn cut_short(left: usize) -> Warning {
    Warning {
        id: "audits_cut_short".into(),
        observed: format!("the copies of {} to move data were not counted", count(left, "way")),
        consequence: "a tenth of the time limit was over before them; no figure is touched by it".into(),
        remedy: "syscost audit, or a longer --time-limit".into(),
        cases: Vec::new(),
    }
}

/// An audit that did not come to its end.
pub fn broken(case: &Case, message: &str) -> Warning {
    Warning {
        id: "audit_failed".into(),
        observed: format!("the copies of a case could not be counted: {message}"),
        consequence: "how often its data is copied is not known; no figure is touched by it".into(),
        remedy: "syscost audit".into(),
        cases: vec![case.index],
    }
}

/// What the audits of a plan brought.
#[derive(Debug, Default)]
pub struct Audited {
    pub audits: Vec<Audit>,
    pub unfinished: UnfinishedCases,
}

/// Audits every case of a plan that moves data; writes nothing.
pub fn audit(plan: &Plan, watch: &mut dyn FnMut(&Event<'_>)) -> Result<Audited> {
    let mut auditor = Auditor::attach(LOOK_TAKES);
    let mut audits = Vec::new();
    let unfinished = each_case(plan, audited, watch, &mut |case, paths, scratch, watch| {
        let audit = auditor.audit(case, paths, scratch, PATIENCE)?;
        watch(&Event::CaseAudited { case, audit: &audit });
        audits.push(audit);
        Ok(())
    })?;
    Ok(Audited { audits, unfinished })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::axis::Point;
    use syscost_experiment::spec::Spec;

    /// Audits that see so many of 1,000 bytes leave, one after the other: what is kept of them.
    fn kept(seen: &[Option<u64>]) -> (u64, u32) {
        let mut rounds = seen.iter();
        let audit = complete(|| {
            let copied_in = *rounds.next().expect("no more rounds than these");
            let counts =
                copied_in.map(|copied_in| Counts { copied_in, copied_out: 1000, ..Counts::default() });
            Ok(Audit::of("transfer", Point::default(), 1000, counts))
        })
        .expect("none fails");
        (audit.counts.map_or(0, |counts| counts.copied_in), audit.incomplete_rounds)
    }

    #[test]
    fn an_audit_that_misses_bytes_is_repeated_and_what_stays_wrong_is_kept() {
        assert_eq!(kept(&[Some(1000)]), (1000, 0));
        assert_eq!(kept(&[Some(900), Some(1000)]), (1000, 1));
        assert_eq!(kept(&[Some(900), Some(900), Some(800)]), (800, 2), "wrong each time is wrong");
        assert_eq!(kept(&[None]), (0, 0), "nobody counted");
    }

    /// Rounds with these marks, one after the other: how many were taken, and what the last one was.
    fn taken(marks: &[&[&str]]) -> (usize, BTreeSet<String>) {
        let mut rounds = 0;
        let (_, last) = undisturbed(|| {
            rounds += 1;
            Ok(((), marks[rounds - 1].iter().map(|mark| mark.to_string()).collect()))
        })
        .expect("none fails");
        (rounds, last)
    }

    #[test]
    fn a_disturbed_round_is_repeated_and_never_for_ever() {
        assert_eq!(taken(&[&[]]), (1, BTreeSet::new()));
        assert_eq!(taken(&[&["stopped"], &[]]), (2, BTreeSet::new()));
        let last = BTreeSet::from(["unpinned".to_string()]);
        assert_eq!(taken(&[&["stopped"], &["stopped"], &["unpinned"]]), (TRIES as usize, last));
    }

    #[test]
    fn every_way_is_audited_once_at_the_size_that_stands_for_it() {
        let mut spec = Spec::named(syscost_experiment::spec::DEFAULT).expect("built in");
        for (flag, values) in [("size", "64,48K,1M"), ("threads", "2,1"), ("path", "loopback")] {
            spec.set_axis(flag, &[values]).expect("values of these axes");
        }
        let plan = Plan::make_within(&spec, None).expect("a plan");
        let chosen = due(&plan, &[]);
        let ways = |cases: &mut dyn Iterator<Item = &Case>| -> BTreeSet<String> {
            cases
                .filter(|case| audited(case))
                .map(|case| case.point.text_at("mechanism").unwrap_or_default().to_string())
                .collect()
        };
        assert_eq!(ways(&mut chosen.iter().copied()), ways(&mut plan.cases.iter()));
        assert_eq!(chosen.len(), ways(&mut plan.cases.iter()).len());
        for case in &chosen {
            assert_eq!(
                (case.point.int_at("message_bytes"), case.point.int_at("threads")),
                (Some(48 << 10), Some(1))
            );
        }
        let done = Audit::of(&chosen[0].probe, plan.cases[0].point.clone(), 1, None);
        assert_eq!(due(&plan, &[done]).len(), chosen.len() - 1, "a resumed run does not audit again");
    }
}
