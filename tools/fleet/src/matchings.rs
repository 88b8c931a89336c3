//! Which pairs of hosts are measured: in matchings, whose pairs share no host and can be measured at once.
//!
//! The circle method gives every pair of N hosts once in N - 1 matchings (N, where N is odd). Source: Kirkman, 1847.

use anyhow::{Context, Result, bail};
use std::str::FromStr;
use syscost_core::stats::random::Random;

/// What `--pairs` asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PairChoice {
    /// Every pair, in both directions.
    All,
    /// So many matchings, each pair in one direction; hosts send and receive in turns.
    Matchings(usize),
    /// Every other host with this one, in both directions.
    To(String),
}

impl FromStr for PairChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<PairChoice, String> {
        let number = |n: &str| n.parse().ok().filter(|n| *n > 0).map(PairChoice::Matchings);
        match (text, text.split_once(':'), text.split_once('=')) {
            ("all", ..) => Ok(PairChoice::All),
            (_, Some(("matchings", n)), _) => {
                number(n).ok_or_else(|| format!("{n:?} is no number of matchings"))
            }
            (.., Some(("to", host))) if !host.is_empty() => Ok(PairChoice::To(host.into())),
            _ => Err("write all, matchings:N or to=HOST".into()),
        }
    }
}

impl PairChoice {
    /// How many pairs so many hosts have, at most: known before any is made.
    pub fn pairs(&self, hosts: usize) -> usize {
        match self {
            PairChoice::All => hosts.saturating_mul(hosts.saturating_sub(1)),
            PairChoice::Matchings(number) => number.saturating_mul(hosts / 2),
            PairChoice::To(_) => 2 * hosts,
        }
    }
}

/// Indices of hosts: who sends, who receives.
pub type HostPair = (usize, usize);

/// The matchings that are asked for, in the order in which they are measured.
pub fn matchings(choice: &PairChoice, hosts: &[String], seed: u64) -> Result<Vec<Vec<HostPair>>> {
    if hosts.len() < 2 {
        bail!("a pair needs two hosts");
    }
    let mut order: Vec<usize> = (0..hosts.len()).collect();
    let mut random = Random::new(seed);
    random.shuffle(&mut order);
    let named = |matching: Vec<HostPair>| matching.into_iter().map(|(a, b)| (order[a], order[b])).collect();
    let in_all = circle_length(hosts.len());
    match choice {
        PairChoice::All => {
            let both = (0..in_all).flat_map(|number| {
                let matching = circle(hosts.len(), number);
                let turned = matching.iter().map(|(a, b)| (*b, *a)).collect();
                [matching, turned]
            });
            Ok(both.map(named).collect())
        }
        PairChoice::Matchings(number) if *number > 2 * in_all => {
            bail!(
                "{} hosts have {} matchings, in both directions {}: ask for fewer",
                hosts.len(),
                in_all,
                2 * in_all
            )
        }
        PairChoice::Matchings(number) => {
            let mut sent = vec![0usize; hosts.len()];
            let mut first = vec![Vec::new(); in_all];
            let one = |number: usize| {
                let Some(before) = number.checked_sub(in_all) else {
                    let matching = in_turns(circle(hosts.len(), number), &mut sent);
                    first[number].clone_from(&matching);
                    return named(matching);
                };
                named(first[before].iter().map(|(a, b)| (*b, *a)).collect())
            };
            Ok((0..*number).map(one).collect())
        }
        PairChoice::To(host) => {
            let to = hosts
                .iter()
                .position(|one| one == host)
                .with_context(|| format!("{host} is none of the hosts"))?;
            let others = order.iter().copied().filter(|one| *one != to);
            Ok(others.flat_map(|one| [vec![(one, to)], vec![(to, one)]]).collect())
        }
    }
}

fn circle_length(hosts: usize) -> usize {
    hosts - 1 + hosts % 2
}

/// One matching of the circle; with an odd number of hosts one rests.
fn circle(hosts: usize, number: usize) -> Vec<HostPair> {
    let turning = circle_length(hosts);
    let place = |at: usize| if at == 0 { 0 } else { 1 + (at - 1 + number) % turning };
    // The place beyond the last host, where there is one, is the rest.
    let pairs = (0..turning.div_ceil(2)).map(|at| (place(at), place(turning - at)));
    pairs.filter(|(a, b)| *a < hosts && *b < hosts).collect()
}

/// Who has sent less often sends.
fn in_turns(matching: Vec<HostPair>, sent: &mut [usize]) -> Vec<HostPair> {
    let one = |(a, b): HostPair| {
        let pair = if sent[a] <= sent[b] { (a, b) } else { (b, a) };
        sent[pair.0] += 1;
        pair
    };
    matching.into_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn hosts(number: usize) -> Vec<String> {
        (0..number).map(|n| format!("n{n}")).collect()
    }

    fn share_no_host(matching: &[HostPair]) -> bool {
        let mut seen = BTreeSet::new();
        matching.iter().all(|(a, b)| seen.insert(*a) && seen.insert(*b))
    }

    #[test]
    fn four_hosts_have_twelve_directed_pairs() {
        let all = matchings(&PairChoice::All, &hosts(4), 1).unwrap();
        assert_eq!((all.len(), all.concat().len()), (6, 12));
        assert_eq!(all.concat().into_iter().collect::<BTreeSet<_>>().len(), 12);
    }

    #[test]
    fn one_host_with_all_others_is_measured_in_both_directions() {
        let to = matchings(&PairChoice::To("n2".into()), &hosts(5), 1).unwrap().concat();
        assert_eq!(to.len(), 8);
        assert!(to.iter().all(|(a, b)| *a == 2 || *b == 2));
        assert!(matchings(&PairChoice::To("x".into()), &hosts(5), 1).is_err());
    }

    #[test]
    fn choices_are_read_as_they_are_written() {
        let read = ["all", "matchings:8", "to=n1"].map(|text| text.parse::<PairChoice>().unwrap());
        assert_eq!(read, [PairChoice::All, PairChoice::Matchings(8), PairChoice::To("n1".into())]);
        for wrong in ["", "matchings:0", "matchings:x", "to=", "some"] {
            assert!(wrong.parse::<PairChoice>().is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn pairs_of_a_matching_share_no_host_and_every_pair_comes_once(number in 2usize..40, seed: u64) {
            let all = matchings(&PairChoice::All, &hosts(number), seed).unwrap();
            prop_assert!(all.iter().all(|matching| share_no_host(matching)));
            let pairs = all.concat();
            prop_assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), pairs.len());
            prop_assert_eq!(pairs.len(), number * (number - 1));
        }

        #[test]
        fn hosts_send_and_receive_in_turns(number in 4usize..60, seed: u64) {
            let some = matchings(&PairChoice::Matchings(6), &hosts(number), seed);
            prop_assume!(some.is_ok());
            let some = some.unwrap();
            prop_assert!(some.iter().all(|matching| share_no_host(matching)));
            let pairs = some.concat();
            prop_assert_eq!(pairs.iter().collect::<BTreeSet<_>>().len(), pairs.len());
            for host in 0..number {
                let sent = pairs.iter().filter(|(a, _)| *a == host).count();
                let received = pairs.iter().filter(|(_, b)| *b == host).count();
                prop_assert!(sent.abs_diff(received) <= 4, "{host}: {sent} and {received}");
            }
        }
    }
}
