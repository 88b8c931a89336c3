//! Which host of a fleet is slow, by how much, how sure, and in what else it differs. Pure: from the tables.

use crate::collect::metrics;
use crate::figures::{FleetFigure, FleetTables, HostFact};
use crate::plan::FleetPlan;
use anyhow::Result;
use std::collections::{BTreeMap, BTreeSet};
use syscost_analyze::sides::facts::{IDENTITY, cause};
use syscost_core::decide::hosts::{HostEffect, PairCost, alone, centre_classes, decide_hosts, of_pairs};
use syscost_core::decide::{Decision, Verdict};
use syscost_core::sample::Better;
use syscost_core::stats::median;

/// A kind of hosts, or of ways between them, with fewer values is compared with all others.
const FEWEST_OF_KIND: usize = 4;
/// A value that so many of the others share is what a host is expected to have.
const USUAL: f64 = 0.6;
/// Fewer operations make no typical one.
const FEWEST_OPERATIONS: usize = 5;

/// What is asked of every host.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HostQuestion {
    pub probe: String,
    pub point: String,
    pub metric: String,
}

/// A host beside its fleet.
#[derive(Clone, Debug)]
pub struct HostAnswer {
    /// Its place in the plan.
    pub host: usize,
    /// `as sender`, `as receiver` or `alone`.
    pub role: &'static str,
    /// `None`: the middle of all operations.
    pub question: Option<HostQuestion>,
    /// Its cost over the fleet's.
    pub decision: Decision,
}

/// What measurements of pairs of hosts scatter by.
#[derive(Clone, Debug)]
pub struct PairScatter {
    pub question: HostQuestion,
    pub scatter: Option<f64>,
    pub floor: Option<f64>,
}

/// A fact that a slow host does not share with most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OddFact {
    pub host: usize,
    pub cause: &'static str,
    pub title: String,
    pub value: String,
    pub usual: String,
}

#[derive(Clone, Debug, Default)]
pub struct FleetFound {
    pub hosts: Vec<String>,
    /// Every answer, the highest ratio first.
    pub answers: Vec<HostAnswer>,
    pub pairs: Vec<PairScatter>,
    pub odd: Vec<OddFact>,
    /// Coordinates that all questions of a probe share.
    shared: BTreeMap<String, BTreeSet<String>>,
}

fn shared<'a>(questions: impl Iterator<Item = &'a HostQuestion>) -> BTreeMap<String, BTreeSet<String>> {
    let mut shared: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for question in questions {
        let own: BTreeSet<String> = question.point.split(' ').map(String::from).collect();
        let all = shared.entry(question.probe.clone()).or_insert_with(|| own.clone());
        all.retain(|one| own.contains(one));
    }
    shared
}

impl FleetFound {
    pub fn of(plan: &FleetPlan, tables: &FleetTables) -> Result<FleetFound> {
        let hosts = plan.hosts()?;
        let fleet = FleetView::of(&hosts, plan);
        let (single, paired): (Vec<_>, Vec<_>) =
            tables.figures.iter().partition::<Vec<&FleetFigure>, _>(|figure| figure.receiver.is_empty());
        let (pairs, of_pairs) = fleet.pairs(&by_question(&paired));
        let by_operation = fleet.operations(&by_question(&single));
        let typical = fleet.typical(&by_question(&single));
        let families = [of_pairs, by_operation, typical];
        let number = families.iter().filter(|family| !family.is_empty()).count();
        let mut answers: Vec<HostAnswer> =
            families.into_iter().flat_map(|family| answered(family, number)).collect();
        answers.sort_by(|a, b| b.decision.ratio.total_cmp(&a.decision.ratio).then(a.host.cmp(&b.host)));
        let mut found = FleetFound { hosts, answers, pairs, odd: Vec::new(), shared: BTreeMap::new() };
        found.shared = shared(found.questions());
        found.odd = odd(&found.slow(), &found.hosts, &tables.facts);
        Ok(found)
    }

    fn questions(&self) -> impl Iterator<Item = &HostQuestion> {
        let answered = self.answers.iter().filter_map(|answer| answer.question.as_ref());
        answered.chain(self.pairs.iter().map(|table| &table.question))
    }

    /// In what a question differs from others of its probe: the coordinates that not all of them share.
    pub fn own_point(&self, question: &HostQuestion) -> String {
        let shared = self.shared.get(&question.probe);
        let own = question.point.split(' ').filter(|one| !shared.is_some_and(|all| all.contains(*one)));
        own.collect::<Vec<_>>().join(" ")
    }

    /// Of every host that costs more than its fleet in anything the answer in which it costs most, the worst host first.
    pub fn worst(&self) -> impl Iterator<Item = &HostAnswer> {
        let mut seen = BTreeSet::new();
        self.answers.iter().filter(move |one| one.decision.verdict == Verdict::More && seen.insert(one.host))
    }

    /// Those hosts.
    pub fn slow(&self) -> Vec<usize> {
        self.worst().map(|answer| answer.host).collect()
    }

    /// The answers of a host that differ, the worst first.
    pub fn of_host(&self, host: usize) -> impl Iterator<Item = &HostAnswer> {
        self.answers
            .iter()
            .filter(move |answer| answer.host == host && answer.decision.verdict == Verdict::More)
    }

    pub fn undecided(&self) -> usize {
        self.answers.iter().filter(|answer| answer.decision.verdict == Verdict::Undecided).count()
    }
}

/// Effects of hosts before they are judged, with what was asked.
type AskedEffects = Vec<(&'static str, Option<HostQuestion>, usize, HostEffect)>;

fn asked_of(
    role: &'static str,
    question: Option<&HostQuestion>,
    effects: &[Option<HostEffect>],
) -> AskedEffects {
    let known = effects.iter().enumerate().filter_map(|(host, effect)| Some((host, (*effect)?)));
    known.map(|(host, effect)| (role, question.cloned(), host, effect)).collect()
}

fn answered(asked: AskedEffects, families: usize) -> Vec<HostAnswer> {
    let effects: Vec<HostEffect> = asked.iter().map(|one| one.3).collect();
    let decisions = decide_hosts(&effects, families);
    let with = asked.into_iter().zip(decisions);
    with.map(|((role, question, host, _), decision)| HostAnswer { host, role, question, decision }).collect()
}

type ByQuestion<'a> = BTreeMap<HostQuestion, Vec<&'a FleetFigure>>;

fn by_question<'a>(figures: &[&'a FleetFigure]) -> ByQuestion<'a> {
    let mut asked = ByQuestion::new();
    for figure in figures {
        let question = HostQuestion {
            probe: figure.probe.clone(),
            point: figure.point.clone(),
            metric: figure.metric.clone(),
        };
        asked.entry(question).or_default().push(figure);
    }
    asked
}

/// ln(cost): more is worse, whatever is measured.
fn logs(question: &HostQuestion, figures: &[&FleetFigure]) -> Vec<f64> {
    let metric = metrics(&question.probe).into_iter().find(|metric| metric.id == question.metric);
    let sign = if metric.is_some_and(|metric| metric.better == Better::Higher) { -1.0 } else { 1.0 };
    figures.iter().map(|figure| sign * figure.value.ln()).collect()
}

/// Hosts by name, and the kinds that they are of.
struct FleetView<'a> {
    hosts: &'a [String],
    index: BTreeMap<&'a str, usize>,
    kinds: Vec<usize>,
}

impl<'a> FleetView<'a> {
    fn of(hosts: &'a [String], plan: &FleetPlan) -> FleetView<'a> {
        let names: BTreeSet<&str> = plan.strata.values().map(String::as_str).collect();
        let place = |host: &String| {
            let kind = plan.strata.get(host)?;
            Some(1 + names.iter().position(|name| name == kind)?)
        };
        let kinds = hosts.iter().map(|host| place(host).unwrap_or(0)).collect();
        let index = hosts.iter().enumerate().map(|(at, host)| (host.as_str(), at)).collect();
        FleetView { hosts, index, kinds }
    }

    /// The kind of a way: of both its ends, whichever sends.
    fn way(&self, pair: &PairCost) -> usize {
        let (a, b) = (self.kinds[pair.sender], self.kinds[pair.receiver]);
        let most = self.kinds.iter().max().map_or(1, |most| most + 1);
        a.min(b) * most + a.max(b)
    }

    fn pairs(&self, asked: &ByQuestion<'_>) -> (Vec<PairScatter>, AskedEffects) {
        let (mut tables, mut effects) = (Vec::new(), Vec::new());
        for (question, figures) in asked {
            let pair = |(figure, log): (&&FleetFigure, f64)| {
                let (sender, receiver) =
                    (*self.index.get(figure.host.as_str())?, *self.index.get(figure.receiver.as_str())?);
                Some(PairCost { sender, receiver, log })
            };
            let mut pairs: Vec<PairCost> =
                figures.iter().zip(logs(question, figures)).filter_map(pair).collect();
            let mut values: Vec<f64> = pairs.iter().map(|pair| pair.log).collect();
            let ways: Vec<usize> = pairs.iter().map(|pair| self.way(pair)).collect();
            centre_classes(&mut values, &vec![0; ways.len()], 1);
            centre_classes(&mut values, &ways, 2 * FEWEST_OF_KIND);
            pairs.iter_mut().zip(values).for_each(|(pair, log)| pair.log = log);
            let found = of_pairs(&pairs, self.hosts.len());
            effects.extend(asked_of("as sender", Some(question), &found.senders));
            effects.extend(asked_of("as receiver", Some(question), &found.receivers));
            tables.push(PairScatter {
                question: question.clone(),
                scatter: found.scatter,
                floor: found.floor,
            });
        }
        (tables, effects)
    }

    /// Each host's measurements of one operation, from the middle of its kind.
    fn by_host(&self, question: &HostQuestion, figures: &[&FleetFigure]) -> Vec<Vec<(usize, f64)>> {
        let mut values = logs(question, figures);
        let places: Vec<Option<usize>> =
            figures.iter().map(|figure| self.index.get(figure.host.as_str()).copied()).collect();
        let kinds: Vec<usize> = places.iter().map(|place| place.map_or(0, |host| self.kinds[host])).collect();
        centre_classes(&mut values, &vec![0; kinds.len()], 1);
        centre_classes(&mut values, &kinds, FEWEST_OF_KIND);
        let mut hosts = vec![Vec::new(); self.hosts.len()];
        for ((place, figure), value) in places.iter().zip(figures).zip(values) {
            if let Some(host) = place {
                hosts[*host].push((figure.repeat, value));
            }
        }
        hosts
    }

    fn operations(&self, asked: &ByQuestion<'_>) -> AskedEffects {
        let of = |(question, figures): (&HostQuestion, &Vec<&FleetFigure>)| {
            let hosts = self.by_host(question, figures);
            let values: Vec<Vec<f64>> =
                hosts.iter().map(|own| own.iter().map(|(_, value)| *value).collect()).collect();
            asked_of("alone", Some(question), &alone(&values))
        };
        asked.iter().flat_map(of).collect()
    }

    /// The middle of what all operations say of a host: a slow clock shows in each.
    fn typical(&self, asked: &ByQuestion<'_>) -> AskedEffects {
        if asked.len() < FEWEST_OPERATIONS {
            return Vec::new();
        }
        let mut hosts: Vec<BTreeMap<usize, Vec<f64>>> = vec![BTreeMap::new(); self.hosts.len()];
        for (question, figures) in asked {
            for (all, own) in hosts.iter_mut().zip(self.by_host(question, figures)) {
                own.into_iter().for_each(|(repeat, value)| all.entry(repeat).or_default().push(value));
            }
        }
        let values: Vec<Vec<f64>> = hosts
            .iter()
            .map(|repeats| repeats.values().filter_map(|values| median(values)).collect())
            .collect();
        asked_of("alone", None, &alone(&values))
    }
}

/// Facts of these hosts that most others do not share.
fn odd(slow: &[usize], hosts: &[String], facts: &[HostFact]) -> Vec<OddFact> {
    let mut by_fact: BTreeMap<&str, Vec<&HostFact>> = BTreeMap::new();
    for fact in facts.iter().filter(|fact| cause(&fact.id) != IDENTITY) {
        by_fact.entry(&fact.id).or_default().push(fact);
    }
    let mut found = Vec::new();
    for all in by_fact.values() {
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        all.iter().for_each(|fact| *counts.entry(&fact.value).or_default() += 1);
        let Some((usual, number)) = counts.into_iter().max_by_key(|(_, number)| *number) else { continue };
        if (number as f64) < USUAL * all.len() as f64 || number < 2 {
            continue;
        }
        for host in slow {
            let own = all.iter().find(|fact| fact.host == hosts[*host] && fact.value != usual);
            found.extend(own.map(|fact| OddFact {
                host: *host,
                cause: cause(&fact.id),
                title: fact.title.clone(),
                value: fact.value.clone(),
                usual: usual.into(),
            }));
        }
    }
    found.sort_by(|a, b| {
        let place = |odd: &OddFact| slow.iter().position(|host| *host == odd.host);
        (place(a), a.cause, &a.title).cmp(&(place(b), b.cause, &b.title))
    });
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_names_what_it_differs_in() {
        let asked = |bytes: u32| HostQuestion {
            probe: "transfer".into(),
            point: format!("mechanism=send message_bytes={bytes} threads=1"),
            metric: "throughput".into(),
        };
        let found = |sizes: &[u32]| FleetFound {
            shared: shared(sizes.iter().map(|bytes| asked(*bytes)).collect::<Vec<_>>().iter()),
            ..FleetFound::default()
        };
        assert_eq!(found(&[64, 4096]).own_point(&asked(64)), "message_bytes=64");
        assert_eq!(found(&[64]).own_point(&asked(64)), "", "the plan says it");
    }
}
