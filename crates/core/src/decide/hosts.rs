//! Which host of a fleet costs more than the others do, by what each measured alone and by what pairs measured.
//!
//! Costs are logarithms. A host's effect is a median, so that a burst in a minority of its measurements moves nothing. Its
//! error is what the hosts' effects scatter by, which holds drift and differences between healthy hosts; in a small fleet it
//! is no less than what single measurements scatter by. Tails are heavy: a median of n values with the tails of t(3) has those of t(3
//! ceil(n / 2)). Simulated in `tests/deciding/hosts.rs`.

use super::estimate::RoundsEvidence;
use super::{Decision, Looks, family};
use crate::stats::polish::{TableCell, median_polish};
use crate::stats::{mad, median};

/// Fewer hosts say nothing of what hosts scatter by.
const FEWEST_HOSTS: usize = 4;
/// So many hosts say it well enough, with everything that their measurements have in common.
const ENOUGH_HOSTS: usize = 20;
/// A partner with fewer pairs is not known well enough to take its share off.
const FEWEST_PAIRS: usize = 3;
/// From the median absolute deviation to a standard deviation.
const NORMAL: f64 = 1.4826;
/// Degrees of freedom of a scatter by the median absolute deviation, as a share of the values.
const MAD_EFFICIENCY: f64 = 0.37;
/// Degrees of freedom of one measurement's tails.
const TAILS: f64 = 3.0;
/// The standard error of a median of normal values, over that of their mean.
const OF_MEDIAN: f64 = 1.2533;
/// Measurements of one host follow each other: at a correlation of 0.3 their mean scatters so much more.
const CORRELATED: f64 = 1.36;

/// What one pair of hosts measured, as a logarithm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PairCost {
    pub sender: usize,
    pub receiver: usize,
    pub log: f64,
}

/// How far a host is from the middle of its fleet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HostEffect(RoundsEvidence);

/// Hosts as senders and as receivers; `None` where one measured nothing in that role.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PairEffects {
    pub senders: Vec<Option<HostEffect>>,
    pub receivers: Vec<Option<HostEffect>>,
    /// ln(cost) of each pair that neither its sender nor its receiver explains.
    pub rest: Vec<f64>,
    /// What single measurements scatter by; `None`: too few pairs tell.
    pub scatter: Option<f64>,
    /// What repeats of a pair scatter by; `None`: no pair was repeated.
    pub floor: Option<f64>,
}

/// Each host by itself, against the middle of all: its measurements as logarithms.
pub fn alone(hosts: &[Vec<f64>]) -> Vec<Option<HostEffect>> {
    let middles: Vec<Option<f64>> = hosts.iter().map(|values| median(values)).collect();
    let all = median(&middles.iter().flatten().copied().collect::<Vec<_>>()).unwrap_or(0.0);
    let numbers: Vec<usize> = hosts.iter().map(Vec::len).collect();
    let within: Vec<f64> = hosts
        .iter()
        .zip(&middles)
        .filter(|(values, _)| values.len() > 1)
        .flat_map(|(values, middle)| values.iter().map(|value| value - middle.unwrap_or(0.0)))
        .collect();
    let freedom = within.len() as f64 - hosts.iter().filter(|values| values.len() > 1).count() as f64;
    let noise = HostNoise::of(&within, freedom);
    let effects: Vec<Option<f64>> = middles.iter().map(|middle| middle.map(|middle| middle - all)).collect();
    judged(&effects, &numbers, noise)
}

/// Every host's part in what pairs measured.
pub fn of_pairs(pairs: &[PairCost], hosts: usize) -> PairEffects {
    let cells: Vec<TableCell> = pairs
        .iter()
        .map(|pair| TableCell { row: pair.sender, column: pair.receiver, value: pair.log })
        .collect();
    let polished = median_polish(&cells, hosts, hosts);
    let sent = numbers(pairs, hosts, |pair| pair.sender);
    let received = numbers(pairs, hosts, |pair| pair.receiver);
    let parameters = polished.rows.iter().chain(&polished.columns).flatten().count() as f64 - 1.0;
    let noise = HostNoise::of(&polished.rest, pairs.len() as f64 - parameters);
    let floor = HostNoise::of_repeats(pairs);
    let noise_or_floor = match (noise, floor) {
        (Some(noise), Some(floor)) if floor.scatter > noise.scatter => Some(floor),
        (None, floor) => floor,
        (noise, _) => noise,
    };
    let apart = |own: fn(&PairCost) -> usize, partner: fn(&PairCost) -> usize, partners: &[usize]| {
        let mut known = vec![0usize; hosts];
        pairs
            .iter()
            .filter(|pair| partners[partner(pair)] >= FEWEST_PAIRS)
            .for_each(|pair| known[own(pair)] += 1);
        known
    };
    let senders = apart(|pair| pair.sender, |pair| pair.receiver, &received);
    let receivers = apart(|pair| pair.receiver, |pair| pair.sender, &sent);
    // Not where a host cannot be told from its partners.
    let told = |effects: &[Option<f64>], known: &[usize], numbers: &[usize]| -> Vec<Option<f64>> {
        let one = |((effect, known), number): ((&Option<f64>, &usize), &usize)| {
            effect.filter(|_| 2 * known > *number)
        };
        effects.iter().zip(known).zip(numbers).map(one).collect()
    };
    PairEffects {
        senders: judged(&told(&polished.rows, &senders, &sent), &sent, noise_or_floor),
        receivers: judged(&told(&polished.columns, &receivers, &received), &received, noise_or_floor),
        rest: polished.rest,
        scatter: noise.map(|noise| noise.scatter),
        floor: floor.map(|floor| floor.scatter),
    }
}

/// Answers a family of questions of a fleet, which is looked at once: Holm over all of them. So many families share the
/// error.
pub fn decide_hosts(effects: &[HostEffect], families: usize) -> Vec<Decision> {
    let known: Vec<RoundsEvidence> = effects.iter().map(|effect| effect.0).collect();
    family::answers(&known, &Looks { whole: 0.05, now: 0.05 }, families.max(1) as f64, super::MARGIN)
}

/// Takes the middle of each class off its values: of a kind of host, or of the way between two. A class of fewer than
/// `least` values is left as it is.
pub fn centre_classes(values: &mut [f64], classes: &[usize], least: usize) {
    let most = classes.iter().max().map_or(0, |most| most + 1);
    let mut members = vec![Vec::new(); most];
    for (at, class) in classes.iter().enumerate() {
        members[*class].push(at);
    }
    for class in members.iter().filter(|class| class.len() >= least) {
        let middle = median(&class.iter().map(|at| values[*at]).collect::<Vec<_>>()).unwrap_or(0.0);
        class.iter().for_each(|at| values[*at] -= middle);
    }
}

/// What single measurements scatter by.
#[derive(Clone, Copy)]
struct HostNoise {
    scatter: f64,
    freedom: f64,
}

impl HostNoise {
    /// Of what is left of values after effects were taken off; these took freedom with them.
    fn of(rest: &[f64], freedom: f64) -> Option<HostNoise> {
        if freedom < 1.0 {
            return None;
        }
        let absolute: Vec<f64> = rest.iter().map(|value| value.abs()).collect();
        // Each effect makes about one residual zero: the larger ones tell.
        let mut larger = absolute;
        larger.sort_by(f64::total_cmp);
        let kept = larger.split_off(larger.len() - freedom as usize);
        Some(HostNoise { scatter: NORMAL * median(&kept)?, freedom: MAD_EFFICIENCY * freedom })
    }

    fn of_repeats(pairs: &[PairCost]) -> Option<HostNoise> {
        let mut sorted: Vec<&PairCost> = pairs.iter().collect();
        sorted.sort_by_key(|pair| (pair.sender, pair.receiver));
        let same = sorted.chunk_by(|a, b| (a.sender, a.receiver) == (b.sender, b.receiver));
        let apart: Vec<f64> = same
            .flat_map(|repeats| repeats.windows(2).map(|two| (two[0].log - two[1].log) / 2f64.sqrt()))
            .collect();
        (!apart.is_empty()).then(|| HostNoise::of(&apart, apart.len() as f64)).flatten()
    }
}

fn numbers(pairs: &[PairCost], hosts: usize, of: fn(&PairCost) -> usize) -> Vec<usize> {
    let mut numbers = vec![0; hosts];
    pairs.iter().for_each(|pair| numbers[of(pair)] += 1);
    numbers
}

fn judged(effects: &[Option<f64>], numbers: &[usize], noise: Option<HostNoise>) -> Vec<Option<HostEffect>> {
    let known: Vec<f64> = effects.iter().flatten().copied().collect();
    let between = (known.len() >= FEWEST_HOSTS).then(|| NORMAL * mad(&known).unwrap_or(0.0));
    let of_hosts = MAD_EFFICIENCY * (known.len().max(1) - 1) as f64;
    let typical = median(
        &effects.iter().zip(numbers).filter(|(e, _)| e.is_some()).map(|(_, n)| *n as f64).collect::<Vec<_>>(),
    );
    let one = |effect: f64, number: usize| {
        let n = number as f64;
        let fewer = (typical.unwrap_or(n) / n).sqrt().max(1.0);
        let small = known.len() < ENOUGH_HOSTS;
        let single = noise.filter(|_| small).map(|noise| OF_MEDIAN * CORRELATED * noise.scatter / n.sqrt());
        let error = between.map(|all| all * fewer).into_iter().chain(single).fold(f64::NAN, f64::max);
        let of_noise = noise.filter(|_| small).map_or(0.0, |noise| noise.freedom);
        let scatter_known = of_hosts.max(of_noise).max(1.0);
        RoundsEvidence {
            mean: effect,
            error: if error.is_nan() { f64::INFINITY } else { error },
            freedom: (TAILS * (n / 2.0).ceil()).min(scatter_known),
            rounds: u32::try_from(number).unwrap_or(u32::MAX),
            by_rounds: 1.0,
            weight: 1.0,
        }
    };
    effects.iter().zip(numbers).map(|(effect, n)| effect.map(|effect| HostEffect(one(effect, *n)))).collect()
}

impl HostEffect {
    /// ln(cost of the host / cost of the fleet).
    pub fn log(&self) -> f64 {
        self.0.mean
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::Verdict;

    /// Every pair in both directions, with a little noise that repeats.
    fn all_pairs(hosts: usize, cost: impl Fn(usize, usize) -> f64) -> Vec<PairCost> {
        let pairs = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b))).filter(|(a, b)| a != b);
        let noise = |a: usize, b: usize| 0.01 * ((a * 7 + b * 13) % 5) as f64;
        pairs.map(|(a, b)| PairCost { sender: a, receiver: b, log: cost(a, b) + noise(a, b) }).collect()
    }

    fn verdicts(effects: &[Option<HostEffect>]) -> Vec<Verdict> {
        let known: Vec<HostEffect> = effects.iter().flatten().copied().collect();
        decide_hosts(&known, 1).iter().map(|answer| answer.verdict).collect()
    }

    #[test]
    fn one_slow_sender_of_four_is_named_and_not_its_partners() {
        let effects = of_pairs(&all_pairs(4, |a, _| if a == 2 { 2.0 } else { 0.0 }), 4);
        let both: Vec<Option<HostEffect>> =
            effects.senders.iter().chain(&effects.receivers).copied().collect();
        let slow: Vec<usize> = verdicts(&both)
            .iter()
            .enumerate()
            .filter(|(_, v)| **v == Verdict::More)
            .map(|(i, _)| i)
            .collect();
        assert_eq!(slow, [2], "{effects:?}");
    }

    #[test]
    fn one_pair_a_host_tells_no_host_from_its_partner() {
        let pairs = [(0, 1, 3.0), (2, 3, 0.0), (4, 5, 0.0), (6, 7, 0.01), (8, 9, 0.0)];
        let pairs = pairs.map(|(sender, receiver, log)| PairCost { sender, receiver, log });
        let effects = of_pairs(&pairs, 10);
        assert!(effects.senders.iter().chain(&effects.receivers).all(Option::is_none), "{effects:?}");
    }

    #[test]
    fn repeats_of_pairs_are_the_floor() {
        let mut pairs = all_pairs(5, |_, _| 0.0);
        assert_eq!(of_pairs(&pairs, 5).floor, None);
        let again: Vec<PairCost> =
            pairs.iter().map(|pair| PairCost { log: pair.log + 0.2, ..*pair }).collect();
        pairs.extend(again);
        let floor = of_pairs(&pairs, 5).floor.unwrap();
        assert!((floor - NORMAL * 0.2 / 2f64.sqrt()).abs() < 1e-9, "{floor}");
    }

    #[test]
    fn hosts_of_a_kind_are_compared_with_their_kind() {
        let mut values = [1.0, 1.1, 0.9, 5.0, 5.1, 4.9, 9.0];
        centre_classes(&mut values, &[0, 0, 0, 1, 1, 1, 2], 3);
        let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(
            near(values[0], 0.0) && near(values[3], 0.0) && near(values[5], -0.1) && near(values[6], 9.0)
        );
    }

    #[test]
    fn three_hosts_measured_once_decide_nothing() {
        assert!(
            verdicts(&alone(&[vec![0.0], vec![0.0], vec![2.0]])).iter().all(|v| *v == Verdict::Undecided)
        );
    }
}
