//! Why is zero-copy not always fastest? What asking for it costs per message where there is next to
//! nothing to copy, and what every further byte saves or costs against a way that copies.
//!
//! Both are differences of CPU time, paired by round, with their interval; neither is told where the
//! comparison at that place is not significant. Two sizes make a straight line, which is said.

use super::pairs::{self, Pair};
use super::{Evidence, Finding, SentenceAnswer};
use crate::compare::crossover::CrossoverStep;
use crate::compare::study::{ALONG, HEADLINES};
use crate::copies;
use crate::words::{Words, count};
use crate::{CellRef, Statement};
use syscost_core::axis::Value;
use syscost_core::stats::{Estimate, median_interval};
use syscost_core::units::{Unit, confidence};
use syscost_measure::mechanism::Class;

pub struct NotFastest;

const COST: &str = "total_cpu_ns_per_message";

impl Finding for NotFastest {
    fn id(&self) -> &'static str {
        "not_fastest"
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        let words = Words::of(evidence.run);
        let mut statements = Vec::new();
        let teller = PriceTeller { evidence, words: &words };
        if let Some(study) = evidence.study(HEADLINES[0]) {
            let names = pairs::names(study);
            let asked = names.iter().filter(|name| Class::ZeroCopy.holds(name));
            for (name, control) in asked.zip(std::iter::repeat(pairs::copying(&names))) {
                let of_one =
                    pairs::pairs(&study.crossovers, |ours| ours == *name, |theirs| Some(theirs) == control);
                statements.extend(of_one.first().into_iter().flat_map(|pair| teller.account(pair)));
            }
        }
        if statements.is_empty() {
            return SentenceAnswer::CannotBeAnswered {
                because:
                    "it compares no way that asks for zero-copy with one that copies, over several sizes"
                        .into(),
                command: "syscost run --mechanism one-copy,zero-copy --size 64,4K,64K,1M".into(),
            };
        }
        let caveats =
            vec!["CPU time is that of both sides' threads, with the softirqs that ran on top of them".into()];
        SentenceAnswer::Found { statements, caveats }
    }
}

struct PriceTeller<'a> {
    evidence: &'a Evidence<'a>,
    words: &'a Words,
}

impl PriceTeller<'_> {
    /// The fixed part, the part per byte, and where they would meet.
    fn account(&self, pair: &Pair<'_>) -> Vec<Statement> {
        let steps = pair.steps();
        let (Some(small), Some(large)) = (steps.first(), steps.last()) else { return Vec::new() };
        let fixed = self.fixed(pair, small);
        let per_byte =
            (large.at > small.at).then(|| self.per_byte(pair, small, large, fixed.as_ref())).flatten();
        let told = fixed.map(|(statement, _)| statement);
        told.into_iter().chain(per_byte).collect()
    }

    /// What it costs more per message at the smallest size, where that is significant.
    fn fixed(&self, pair: &Pair<'_>, step: &CrossoverStep) -> Option<(Statement, Estimate)> {
        if pair.better(step) != Some(false) {
            return None;
        }
        let (ours, theirs) = pair.cases(step);
        let (our, their) = pair.names();
        let more = self.difference(&[(1.0, ours), (-1.0, theirs)], 1.0, Unit::Nanoseconds)?;
        let cells = [ours, theirs].map(|case| CellRef { case, metric: COST }).to_vec();
        let text = format!(
            "A fixed price: at {}, where next to nothing is to be copied, a message by {our} takes {} of CPU time more \
             than by {their} ({}).",
            self.place(pair, step),
            more.unit.format(more.value),
            self.interval(&more)
        );
        Some((Statement { text, cells }, more))
    }

    /// What every byte between the smallest and the largest size adds to the difference.
    fn per_byte(
        &self,
        pair: &Pair<'_>,
        small: &CrossoverStep,
        large: &CrossoverStep,
        fixed: Option<&(Statement, Estimate)>,
    ) -> Option<Statement> {
        let ((our_small, their_small), (our_large, their_large)) = (pair.cases(small), pair.cases(large));
        let parts = [(1.0, our_large), (-1.0, their_large), (-1.0, our_small), (1.0, their_small)];
        let bytes = (large.at - small.at) as f64;
        let more = self.difference(&parts, bytes, Unit::NanosecondsPerByte)?;
        let (our, their) = pair.names();
        let sizes = self.words.range(ALONG.id, small.at, large.at);
        let mut cells: Vec<CellRef> =
            parts.iter().map(|(_, case)| CellRef { case: *case, metric: COST }).collect();
        let interval = self.interval(&more);
        let differs = pair.better(large).is_some();
        let with = format!("with {our} than with {their} ({interval})");
        let says = if more.low > 0.0 && differs {
            format!("grows by {} more {with}: the more bytes, the worse it is", more.unit.format(more.value))
        } else if more.high < 0.0 && differs {
            format!("grows by {} less {with}{}", more.unit.format(-more.value), self.covered(fixed, &more))
        } else {
            format!("grows neither more nor less {with}, as far as rounds show")
        };
        let (why, audit) = self.why(our_large);
        cells.extend(audit);
        let text = format!("The price by the byte: from {sizes} CPU time {says}.{why}");
        Some(Statement { text, cells })
    }

    /// From where the saving covers the fixed price, were both straight lines.
    fn covered(&self, fixed: Option<&(Statement, Estimate)>, saved: &Estimate) -> String {
        let Some((_, fixed)) = fixed else { return String::new() };
        let bytes = fixed.value / -saved.value;
        format!(
            ", which on a straight line between them covers the fixed price from about {}",
            Unit::Bytes.format(bytes.round())
        )
    }

    /// What was counted of the copies of this way.
    fn why(&self, case: usize) -> (String, Option<CellRef>) {
        let run = self.evidence.run;
        let audit = run.case(case).and_then(|case| copies::of_case(run, case));
        let Some(audit) = audit else { return (String::new(), None) };
        let claim = copies::claim(audit);
        let text = claim.map_or(String::new(), |claim| match claim.kept {
            None => String::new(),
            Some(_) => format!(" Counted of its copies: {}.", claim.text),
        });
        (text, CellRef::audit(run, audit))
    }

    /// The sum of the parts in each round that has them all, over `by`; its median and interval.
    fn difference(&self, parts: &[(f64, usize)], by: f64, unit: Unit) -> Option<Estimate> {
        let cells: Option<Vec<_>> =
            parts.iter().map(|(_, case)| self.evidence.cells.cell(*case, COST)).collect();
        let cells = cells?;
        let sum = |round: u32| {
            let values = cells.iter().zip(parts).map(|(cell, (sign, _))| {
                let value = cell.rounds.iter().find(|(r, _)| *r == round)?.1;
                Some(sign * value)
            });
            values.sum::<Option<f64>>()
        };
        let rounds = cells.first()?.rounds.iter().filter_map(|(round, _)| sum(round));
        let values: Vec<f64> = rounds.map(|ns| ns / by).collect();
        median_interval(&values, self.evidence.run.record.spec.confidence, unit)
    }

    /// `95 % interval 9.1 us to 11 us, 12 rounds`
    fn interval(&self, e: &Estimate) -> String {
        format!(
            "{} interval {} to {}, {}",
            confidence(e.level),
            e.unit.format(e.low),
            e.unit.format(e.high),
            count(e.n as usize, "round")
        )
    }

    fn place(&self, pair: &Pair<'_>, step: &CrossoverStep) -> String {
        let mut point = pair.ours().clone();
        point.set(ALONG.id, Value::Int(step.at));
        self.words.place(&point, &pairs::known(self.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit};
    use crate::whole::Analysis;
    use syscost_core::axis::Point;
    use syscost_experiment::run::Run;
    use syscost_measure::ledger::Counts;

    fn planted(cost_ns: fn(&Point) -> f64) -> Run {
        seeded(cost_ns, 1)
    }

    fn seeded(cost_ns: fn(&Point) -> f64, seed: u64) -> Run {
        let mechanisms = vec!["sendmsg", "msg_zerocopy"];
        let sizes = vec![64, 1024, 16384, 262144, 1 << 20];
        Synthetic {
            mechanisms,
            sizes,
            threads: vec![1],
            cost_ns,
            rounds: 12,
            noise: 0.005,
            seed,
            ..Default::default()
        }
        .run()
    }

    fn told(run: &Run) -> Vec<String> {
        let analysis = Analysis::of(run);
        match &NotFastest.answer(&analysis.evidence(run)) {
            SentenceAnswer::Found { statements, .. } => statements.iter().map(|s| s.text.clone()).collect(),
            SentenceAnswer::CannotBeAnswered { because, .. } => panic!("{because}"),
        }
    }

    fn with<'t>(told: &'t [String], start: &str) -> &'t str {
        told.iter().find(|t| t.starts_with(start)).unwrap_or_else(|| panic!("no {start} in {told:#?}"))
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
        let told = told(&run);
        let fixed = with(&told, "A fixed price: at 64 B");
        let (_, ns) = fixed.split_once("msg_zerocopy takes ").unwrap();
        let us: f64 = ns.split(' ').next().unwrap().parse().unwrap();
        assert!((7.0..9.0).contains(&us), "{fixed}");
        let by_byte = with(&told, "The price by the byte: from 64 B to 1 MiB");
        assert!(by_byte.contains(" less with msg_zerocopy than with sendmsg (9"), "{by_byte}");
        let (_, from) = by_byte.split_once("the fixed price from about ").unwrap();
        let kib: f64 = from.split(' ').next().unwrap().parse().unwrap();
        assert!((60.0..100.0).contains(&kib) && from.contains("KiB"), "{by_byte}");
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
        let told = told(&run);
        let by_byte = with(&told, "The price by the byte");
        assert!(
            by_byte.contains(
                "the more bytes, the worse it is. Counted of its copies: zero-copy asked, copied once"
            ),
            "{by_byte}"
        );
    }

    #[test]
    fn nothing_is_priced_where_nothing_differs() {
        // The seed is one of the 19 of 20 that show no difference where there is none.
        let told = told(&seeded(|_| 2000.0, 2));
        assert!(!told.iter().any(|t| t.starts_with("A fixed price")), "{told:#?}");
        assert!(with(&told, "The price by the byte").contains("grows neither more nor less"));
    }
}
