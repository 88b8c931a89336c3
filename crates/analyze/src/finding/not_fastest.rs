//! Why is zero-copy not always fastest? What asking for it costs per message where there is next to
//! nothing to copy, and what a byte more saves or costs on average, against a way that copies.
//!
//! Both are differences of CPU time of the turns that comparisons stand on, paired by round, with their interval; neither is
//! told where the comparison at that place is not significant. The average is that of the smallest and the largest size:
//! what lies between need not be on the line.

use super::pairs::{self, Pair};
use super::{Evidence, Finding};
use crate::answer::{AnswerVerdict, Caveat, CellRef, ComparisonRef, Lack};
use crate::compare::crossover::CrossoverStep;
use crate::compare::study::{ALONG, HEADLINES, RIVALS};
use crate::copies;
use crate::finding::{Answer, Says, Shown};
use serde::Serialize;
use syscost_core::axis::Point;
use syscost_core::decide::Verdict;
use syscost_core::stats::student::mean_interval;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::Unit;
use syscost_measure::mechanism::Class;

pub struct NotFastest;

const COST: &str = "total_cpu_ns_per_message";

/// CPU time of ways that request zero-copy beside one that copies.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZeroCopyPrices {
    pub control: String,
    /// Message bytes.
    pub smallest: u64,
    pub largest: u64,
    pub prices: Vec<ZeroCopyPrice>,
}

/// Of one mechanism, with everything but the size held.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ZeroCopyPrice {
    pub mechanism: String,
    pub held: Point,
    /// Nanoseconds that a message of the smallest size takes more, where that is significant.
    pub fixed: Option<Estimate>,
    /// Nanoseconds that a further byte takes more, on average from the smallest to the largest size.
    pub per_byte: Estimate,
    pub trend: PriceTrend,
    /// Message bytes from which the saving covers the fixed price, on a straight line that no size between contradicts.
    pub covered_from: Option<u64>,
    /// Did the kernel copy the payload all the same? `None`: not counted.
    pub copied: Option<bool>,
}

/// The more bytes, ..
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PriceTrend {
    Worse,
    Better,
    /// Neither is significant.
    Open,
}

impl Finding for NotFastest {
    fn id(&self) -> &'static str {
        "not_fastest"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let id = self.id();
        shown(evidence).map_or_else(
            || {
                let command = "syscost run --mechanism one-copy,zero-copy --size 64,4K,64K,1M";
                Answer::not_measured(id, Lack::ZeroCopyOverSizes, command)
            },
            |(verdict, shown)| Answer::found(id, verdict, vec![shown], vec![Caveat::CpuOfBothSides]),
        )
    }
}

fn shown(evidence: &Evidence<'_>) -> Option<(AnswerVerdict, Shown)> {
    let study = evidence.study(HEADLINES[0])?;
    let control = pairs::copying(&pairs::names(study))?;
    let asks = |name: &str| Class::ZeroCopy.holds(name);
    let all = pairs::pairs(&study.crossovers, asks, |theirs| theirs == control);
    let priced: Vec<(&Pair<'_>, PricedPair)> =
        all.iter().filter_map(|pair| Some((pair, priced_pair(evidence, pair)?))).collect();
    let steps = || priced.iter().flat_map(|(pair, _)| pair.steps());
    let (smallest, largest) = (steps().map(|s| s.at).min()?, steps().map(|s| s.at).max()?);
    let fixed = priced.iter().filter(|(_, account)| account.price.fixed.is_some()).count();
    let open = |(pair, _): &(&Pair<'_>, PricedPair)| pair.steps()[0].decision.verdict == Verdict::Undecided;
    let verdict = AnswerVerdict::at(fixed, priced.len()).or_open(priced.iter().any(open));
    let (mut cells, mut comparisons, mut prices) = (Vec::new(), Vec::new(), Vec::new());
    for (_, account) in priced {
        cells.extend(account.cells);
        comparisons.extend(account.comparisons);
        prices.push(account.price);
    }
    let says = Says::NotFastest(ZeroCopyPrices { control: control.into(), smallest, largest, prices });
    Some((verdict, Shown::comparing(says, comparisons, cells)))
}

/// A price and what it stands on.
struct PricedPair {
    price: ZeroCopyPrice,
    comparisons: Vec<ComparisonRef>,
    cells: Vec<CellRef>,
}

/// The fixed part, the part per byte, and where they would meet.
fn priced_pair(evidence: &Evidence<'_>, pair: &Pair<'_>) -> Option<PricedPair> {
    let (small, large) = (pair.steps().first()?, pair.steps().last().filter(|_| pair.steps().len() > 1)?);
    let ((our_small, their_small), (our_large, their_large)) = (pair.cases(small), pair.cases(large));
    let confidence = evidence.run.record.spec.confidence;
    let dearer = differences(evidence, &[(1.0, our_small), (-1.0, their_small)]);
    let fixed = (pair.better(small) == Some(false))
        .then(|| median_interval(&dearer, confidence, Unit::Nanoseconds))
        .flatten();
    let parts = [(1.0, our_large), (-1.0, their_large), (-1.0, our_small), (1.0, their_small)];
    let per_byte = per_byte(&differences(evidence, &parts), (large.at - small.at) as f64, confidence)?;
    let trend = match pair.better(large) {
        _ if !per_byte.reaches(confidence) => PriceTrend::Open,
        Some(_) if per_byte.low > 0.0 => PriceTrend::Worse,
        Some(_) if per_byte.high < 0.0 => PriceTrend::Better,
        _ => PriceTrend::Open,
    };
    let covers = fixed.filter(|_| trend == PriceTrend::Better);
    let audit = evidence.run.case(our_large).and_then(|case| copies::of_case(evidence.run, case));
    let (mechanism, _) = pair.names();
    let price = ZeroCopyPrice {
        mechanism: mechanism.into(),
        held: pair.ours().without(RIVALS.id).without(ALONG.id),
        fixed,
        per_byte,
        trend,
        covered_from: covers
            .map(|fixed| (fixed.value / -per_byte.value).round() as u64)
            .filter(|covered| pair.steps().iter().all(|step| is_on_the_line(pair, step, *covered))),
        copied: audit.and_then(copies::claim).and_then(|claim| claim.kept()).map(|kept| !kept),
    };
    let mut cells: Vec<CellRef> =
        parts.iter().map(|(_, case)| CellRef { case: *case, metric: COST }).collect();
    cells.extend(audit.and_then(|audit| CellRef::audit(evidence.run, audit)));
    Some(PricedPair { price, comparisons: [small, large].map(row).to_vec(), cells })
}

/// Below the size that pays, ours is not the better one, and above it not the worse.
fn is_on_the_line(pair: &Pair<'_>, step: &CrossoverStep, covered: u64) -> bool {
    pair.better(step) != Some(step.at < covered)
}

fn row(step: &CrossoverStep) -> ComparisonRef {
    let (a, b) = std::iter::once(step.cases).chain(step.others.iter().copied()).unzip();
    ComparisonRef { metric: HEADLINES[0], a, b }
}

/// The sum of the parts in each round that has them all.
fn differences(evidence: &Evidence<'_>, parts: &[(f64, usize)]) -> Vec<f64> {
    let rounds: Vec<Vec<(u32, f64)>> = parts
        .iter()
        .map(|(_, case)| evidence.cells.cell(*case, COST).map_or_else(Vec::new, |cell| cell.rounds.pairs()))
        .collect();
    let sum = |round: u32| {
        let values = rounds.iter().zip(parts).map(|(rounds, (sign, _))| {
            let value = rounds.iter().find(|(r, _)| *r == round)?.1;
            Some(sign * value)
        });
        values.sum::<Option<f64>>()
    };
    rounds.first().map_or_else(Vec::new, |first| first.iter().filter_map(|(round, _)| sum(*round)).collect())
}

/// The mean by t: a median of few rounds has no interval of the confidence that a trend needs.
fn per_byte(differences: &[f64], bytes: f64, confidence: f64) -> Option<Estimate> {
    let values: Vec<f64> = differences.iter().map(|ns| ns / bytes).collect();
    let (value, half, level) = match mean_interval(&values, confidence) {
        Some((mean, half)) => (mean, half, confidence),
        None => (*values.first()?, 0.0, 0.0),
    };
    let (low, high, n) = (value - half, value + half, values.len() as u32);
    Some(Estimate { value, low, high, level, n, unit: Unit::NanosecondsPerByte })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit, turn};
    use crate::whole::Analysis;
    use syscost_core::axis::Point;
    use syscost_experiment::plan::Case;
    use syscost_experiment::run::Run;
    use syscost_measure::ledger::Counts;

    fn planted(cost_ns: fn(&Point) -> f64) -> Run {
        let mechanisms = vec!["sendmsg", "msg_zerocopy"];
        let sizes = vec![64, 1024, 16384, 262144, 1 << 20];
        Synthetic {
            mechanisms,
            sizes,
            threads: vec![1],
            cost_ns,
            rounds: 12,
            noise: 0.005,
            ..Default::default()
        }
        .run()
    }

    fn prices(run: &Run) -> (AnswerVerdict, Vec<ZeroCopyPrice>) {
        let answer = NotFastest.answered(&Analysis::of(run).evidence(run));
        let Says::NotFastest(prices) = &answer.shown[0].says else { panic!("{answer:?}") };
        assert_eq!((prices.control.as_str(), prices.smallest, prices.largest), ("sendmsg", 64, 1 << 20));
        assert_eq!(answer.shown[0].comparisons.len(), 2 * prices.prices.len());
        (answer.verdict, prices.prices.clone())
    }

    /// Asking costs 8 us a message and saves 0.1 ns a byte: 80 kB pay for it.
    #[test]
    fn a_fixed_price_that_bytes_pay_back_is_told_with_where_they_do() {
        let run = planted(|p| {
            let bytes = p.int_at("message_bytes").unwrap() as f64;
            if p.text_at("mechanism") == Some("sendmsg") {
                2000.0 + 0.2 * bytes
            } else {
                10_000.0 + 0.1 * bytes
            }
        });
        let (verdict, prices) = prices(&run);
        let [price] = &prices[..] else { panic!("{prices:?}") };
        assert_eq!((verdict, price.trend, price.copied), (AnswerVerdict::Yes, PriceTrend::Better, None));
        assert!((7000.0..9000.0).contains(&price.fixed.unwrap().value), "{price:?}");
        let from = price.covered_from.unwrap();
        assert!((60 << 10..100 << 10).contains(&from), "{price:?}");
    }

    /// Where the kernel copied after all, bytes make it worse, and the audit says why.
    #[test]
    fn a_price_by_the_byte_is_told_with_what_was_counted() {
        let mut run = planted(|p| {
            let bytes = p.int_at("message_bytes").unwrap() as f64;
            if p.text_at("mechanism") == Some("sendmsg") {
                2000.0 + 0.2 * bytes
            } else {
                9000.0 + 0.4 * bytes
            }
        });
        let orphaned =
            Counts { uncopied_in: 1000, orphan_copied: 1000, copied_out: 1000, ..Counts::default() };
        run.record.audits = vec![audit("msg_zerocopy", Some(orphaned), (4, 4))];
        let (_, prices) = prices(&run);
        assert_eq!((prices[0].trend, prices[0].copied), (PriceTrend::Worse, Some(true)));
        assert_eq!(prices[0].covered_from, None);
    }

    /// It was said: each further byte costs more, where the excess falls up to 16 KiB; and that by the extremes of two rounds.
    #[test]
    fn a_trend_needs_the_rounds_of_its_level_and_a_line_that_sizes_between_do_not_contradict() {
        fn falls_and_rises(p: &Point) -> f64 {
            let bytes = p.int_at("message_bytes").unwrap() as f64;
            match (p.text_at("mechanism"), p.int_at("message_bytes")) {
                (Some("sendmsg"), _) => 2000.0 + 0.2 * bytes,
                (_, Some(64)) => 10_000.0,
                (_, Some(1024)) => 1500.0,
                _ => 4000.0 + 0.1 * bytes,
            }
        }
        let (_, found) = prices(&planted(falls_and_rises));
        assert_eq!(
            (found[0].trend, found[0].covered_from),
            (PriceTrend::Better, None),
            "better at 1 KiB already"
        );
        let few = |rounds: u32| {
            let mut run = planted(falls_and_rises);
            run.samples.retain(|sample| sample.round < rounds);
            prices(&run).1[0].trend
        };
        assert_eq!((few(1), few(8)), (PriceTrend::Open, PriceTrend::Better));
    }

    /// Windows of both cost the same; in turns one costs 9 us more.
    #[test]
    fn prices_are_of_the_turns_that_comparisons_stand_on() {
        let mut run = planted(|_| 2000.0);
        let cases = run.record.plan.cases.clone();
        for (block, size) in [64, 1 << 20].into_iter().enumerate() {
            let rivals: Vec<_> =
                cases.iter().filter(|case| case.point.int_at("message_bytes") == Some(size)).collect();
            for round in 0..12 {
                let row = |case: &&Case| {
                    let asks = case.point.text_at("mechanism") == Some("msg_zerocopy");
                    let ns = if asks { 11_000.0 } else { 2000.0 };
                    turn(block, round, 0, case.index, ns + f64::from(round) / 10.0)
                };
                run.slices.saw(&rivals.iter().map(row).collect::<Vec<_>>());
            }
        }
        let (_, found) = prices(&run);
        let fixed = found[0].fixed.expect("9 us by every turn").value;
        assert!((fixed - 9000.0).abs() < 1.0, "{fixed}");
    }
}
