//! What keeps a case from being faster: the side whose CPUs have no time left, or the link.
//!
//! A side's busy share is its CPU time per message times the messages per second, over the CPUs that its threads can fill
//! (`side_cpus`). At 95 % or more it is the limit, by the whole interval over rounds (Student's t). Where both sides share
//! CPUs, their times are added up. With no CPU busy the case waits (wake-ups, a window): that is said as it is, not guessed
//! further. Where an interval crosses the limit it is undecided. All figures are cells.

use crate::CellRef;
use crate::cells::Cells;
use crate::limits::side_cpus::SideCpus;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::stats::median;
use syscost_core::stats::student::mean_interval;
use syscost_experiment::run::{CPU_QUOTA, Run};

/// Payload bits received per second.
const THROUGHPUT: &str = "throughput";
/// Busy share from which a side's CPU is called the limit.
pub const SATURATED: f64 = 0.95;
/// Share of a link's rate from which payload has filled it.
pub const LINK_FULL: f64 = 0.90;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    SenderCpu,
    ReceiverCpu,
    BothCpus,
    /// The slower of the two devices carries no more.
    Link,
    /// No CPU of either side is busy all the time.
    NoSide,
    /// Too few rounds, too far apart, or stopped by a CPU quota: it cannot be said.
    Undecided,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Limiter {
    pub case: usize,
    pub limit: Limit,
    /// Of the time of the CPUs that a side's threads can fill, the share in which they ran.
    pub sender_busy: f64,
    pub receiver_busy: f64,
    /// Payload per second over the link's rate, where that of its devices is known.
    pub link: Option<f64>,
    pub cells: Vec<CellRef>,
}

/// The limiters of all cases whose CPU time and rate are known; twins left out. A side that a CPU quota stopped looks idle
/// for a while and busy for another: what limits such a case is undecided.
pub fn limiters(run: &Run, cells: &Cells) -> Vec<Limiter> {
    let stopped = run.record.warnings.iter().filter(|warning| warning.id == CPU_QUOTA);
    let stopped: BTreeSet<usize> = stopped.flat_map(|warning| warning.cases.iter().copied()).collect();
    let cases = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
    let found = cases.filter_map(|c| {
        let rate = link_rate(run, c.index);
        let found = limiter(cells, c.index, SideCpus::of(run, c), rate, run.record.spec.confidence)?;
        let limit = if stopped.contains(&c.index) { Limit::Undecided } else { found.limit };
        Some(Limiter { limit, ..found })
    });
    found.collect()
}

/// The rate of the slower end, as the two devices were brought up; none where either does not say.
fn link_rate(run: &Run, case: usize) -> Option<f64> {
    let settings = run.record.settings.get(&case)?;
    let rate = |end: &str| settings.get(&format!("{end}_bits_per_second"))?.parse::<f64>().ok();
    Some(rate("sender")?.min(rate("receiver")?)).filter(|rate| *rate > 0.0)
}

const RATE: &str = "messages_per_second";
const CPU: [&str; 2] = ["sender_cpu_ns_per_message", "receiver_cpu_ns_per_message"];

/// Of the time of its CPUs the share that a side was busy, round by round.
struct BusyShares {
    sender: Vec<f64>,
    receiver: Vec<f64>,
    /// Of both sides, where they share CPUs.
    joint: Option<Vec<f64>>,
}

fn busy_shares(cells: &Cells, case: usize, cpus: SideCpus) -> Option<BusyShares> {
    let rate: BTreeMap<u32, f64> = cells.steady(case, RATE)?.rounds.iter().collect();
    let busy_cpus = |metric: &str| -> Option<BTreeMap<u32, f64>> {
        let busy = |(round, ns): (u32, f64)| Some((round, ns * rate.get(&round)? / 1e9));
        Some(cells.steady(case, metric)?.rounds.iter().filter_map(busy).collect())
    };
    let [Some(sender), Some(receiver)] = CPU.map(busy_cpus) else { return None };
    let both = sender.iter().filter_map(|(round, busy)| Some(busy + receiver.get(round)?));
    Some(BusyShares {
        joint: cpus.joint.map(|joint| both.map(|busy| busy / joint as f64).collect()),
        sender: sender.values().map(|busy| busy / cpus.sender as f64).collect(),
        receiver: receiver.values().map(|busy| busy / cpus.receiver as f64).collect(),
    })
}

fn limiter(
    cells: &Cells,
    case: usize,
    cpus: SideCpus,
    link_rate: Option<f64>,
    confidence: f64,
) -> Option<Limiter> {
    let BusyShares { sender, receiver, joint } = busy_shares(cells, case, cpus)?;
    let carried = link_rate.and_then(|rate| {
        let payload = &cells.steady(case, THROUGHPUT)?.rounds;
        Some(payload.iter().map(|(_, bits)| bits / rate).collect::<Vec<f64>>())
    });
    let reaches = |shares: &[f64], limit| reaches(shares, limit, confidence);
    let full = carried.as_ref().map_or(Some(false), |share| reaches(share, LINK_FULL));
    let joint = joint.map_or(Some(false), |joint| reaches(&joint, SATURATED));
    let limit = match (full, joint, reaches(&sender, SATURATED), reaches(&receiver, SATURATED)) {
        (Some(true), ..) => Limit::Link,
        (None, ..) => Limit::Undecided,
        (_, Some(true), ..) => Limit::BothCpus,
        (_, None, ..) | (_, _, None, _) | (.., None) => Limit::Undecided,
        (.., Some(true), Some(true)) => Limit::BothCpus,
        (.., Some(true), Some(false)) => Limit::SenderCpu,
        (.., Some(false), Some(true)) => Limit::ReceiverCpu,
        (.., Some(false), Some(false)) => Limit::NoSide,
    };
    let link = carried.and_then(|share| median(&share));
    let names = [RATE].into_iter().chain(CPU).chain(link.map(|_| THROUGHPUT));
    let cells = names.map(|metric| CellRef { case, metric }).collect();
    let (sender_busy, receiver_busy) = (median(&sender)?, median(&receiver)?);
    Some(Limiter { case, limit, sender_busy, receiver_busy, link, cells })
}

/// Whether a share reaches a limit; `None`: its interval crosses it, or there is none.
fn reaches(rounds: &[f64], limit: f64, confidence: f64) -> Option<bool> {
    let (mean, half) = mean_interval(rounds, confidence)?;
    match () {
        () if mean - half >= limit => Some(true),
        () if mean + half < limit => Some(false),
        () => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::Synthetic;
    use syscost_experiment::run::Warning;

    #[test]
    fn the_busy_side_is_the_limit() {
        let mut run = Synthetic { twin_every: 0, ..Default::default() }.run();
        // Case 0: the sender's clock shows that it never slept; case 1: the receiver's.
        for sample in &mut run.samples {
            let threads = run.record.plan.cases[sample.case].point.int_at("threads").unwrap() as f64;
            for (case, side) in [(0, "sender_cpu_ns"), (1, "receiver_cpu_ns")] {
                if sample.case == case {
                    sample.quantities.insert(side.into(), Some(0.98 * threads * 1e8));
                }
            }
        }
        let found = limiters(&run, &Cells::of(&run));
        assert_eq!(found.len(), 30);
        assert_eq!(found[0].limit, Limit::SenderCpu);
        assert!((found[0].sender_busy - 0.98).abs() < 0.02);
        assert_eq!(found[1].limit, Limit::ReceiverCpu);
        assert!(found[2..].iter().all(|l| l.limit == Limit::NoSide && (l.sender_busy - 0.75).abs() < 0.03));
        let [observed, consequence, remedy] = [(); 3].map(|()| String::new());
        let stopped = Warning { id: CPU_QUOTA.into(), observed, consequence, remedy, cases: vec![0, 2] };
        run.record.warnings.push(stopped);
        let found = limiters(&run, &Cells::of(&run));
        let limits = [0, 1, 2].map(|case| found[case].limit);
        assert_eq!(
            limits,
            [Limit::Undecided, Limit::ReceiverCpu, Limit::Undecided],
            "idle while it was stopped"
        );
    }

    /// Three of four parts of each thread's CPU time were the other threads' on the same CPU.
    #[test]
    fn a_cpu_that_threads_fill_together_is_the_limit() {
        let mut run = Synthetic { twin_every: 0, threads: vec![4], ..Default::default() }.run();
        let placed = |run: &mut Run, case: usize, sender: &str, receiver: &str| {
            let settings = run.record.settings.entry(case).or_default();
            settings.set("sender.cpus", sender.into());
            settings.set("receiver.cpus", receiver.into());
        };
        placed(&mut run, 0, "0,0,0,0", "1,1,1,1");
        placed(&mut run, 1, "0,0,0,0", "0,0,0,0");
        for sample in &mut run.samples {
            let (sender, receiver) = if sample.case == 0 { (0.98, 0.5) } else { (0.58, 0.4) };
            sample.quantities.insert("sender_cpu_ns".into(), Some(sender * 1e8));
            sample.quantities.insert("receiver_cpu_ns".into(), Some(receiver * 1e8));
        }
        let found = limiters(&run, &Cells::of(&run));
        assert_eq!(
            [0, 1, 2].map(|case| found[case].limit),
            [Limit::SenderCpu, Limit::BothCpus, Limit::NoSide]
        );
        assert!((found[0].sender_busy - 0.98).abs() < 0.02, "{:?}", found[0]);
    }

    #[test]
    fn a_link_whose_rate_is_known_is_the_limit_when_it_is_full() {
        let mut run = Synthetic { twin_every: 0, ..Default::default() }.run();
        let cells = Cells::of(&run);
        let payload = |case: usize| cells.cell(case, THROUGHPUT).expect("a cell").estimate.value;
        let mut told = |case: usize, sender: f64, receiver: &str| {
            let settings = run.record.settings.entry(case).or_default();
            settings.set("sender_bits_per_second", sender.to_string().into());
            settings.set("receiver_bits_per_second", receiver.into());
        };
        told(0, payload(0) / 0.98, "400000000000");
        told(1, payload(1) / 0.5, "400000000000");
        told(2, payload(2) / 0.98, "unknown");
        let found = limiters(&run, &cells);
        let link = found[0].link.expect("both ends say their rate");
        assert!((link - 0.98).abs() < 0.01 && found[0].limit == Limit::Link, "{:?}", found[0]);
        assert_eq!((found[1].limit, found[2].limit), (Limit::NoSide, Limit::NoSide));
        assert_eq!(found[2].link, None, "one end is not enough");
    }
}
