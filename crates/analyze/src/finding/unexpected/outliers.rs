//! Outliers against the cost model: cases that cost far more or less than their account, where others
//! do not.
//!
//! A model that is too high or too low throughout is no surprise of a case: what counts is the distance
//! from the typical ratio of the run, beyond its spread and beyond a factor, by the whole interval.

use super::cause::{self, Of};
use super::{Looked, SurpriseKind};
use crate::compare::study::{ALONG, RIVALS};
use crate::finding::Evidence;
use crate::model::{Account, TOTAL};
use crate::words::Words;
use crate::{CellRef, Statement};
use syscost_core::stats::median;
use syscost_core::units::{Unit, significant};

/// Fewer accounts have no typical ratio.
const FEWEST: usize = 8;
/// How far from typical an outlier is at least: this factor, and so many times the usual distance.
const FACTOR: f64 = 1.5;
const DISTANCES: f64 = 4.0;

pub struct Outliers;

impl SurpriseKind for Outliers {
    fn none(&self) -> &'static str {
        "a case that costs more or less than the cost model says by more than half as much again, where others do not"
    }

    fn look(&self, evidence: &Evidence<'_>) -> Looked {
        let judged: Vec<JudgedAccount<'_>> =
            evidence.model.accounts.iter().filter_map(|account| judge(evidence, account)).collect();
        let ratios: Vec<f64> = judged.iter().map(|j| j.ratio).collect();
        let Some(typical) = median(&ratios).filter(|_| judged.len() >= FEWEST) else {
            return Looked::default();
        };
        let distances: Vec<f64> = ratios.iter().map(|ratio| (ratio - typical).abs()).collect();
        let limit = FACTOR.ln().max(DISTANCES * median(&distances).unwrap_or(0.0));
        let is_odd = |j: &&JudgedAccount<'_>| j.low > typical + limit || j.high < typical - limit;
        let mut odd: Vec<&JudgedAccount<'_>> = judged.iter().filter(is_odd).collect();
        odd.sort_by(|a, b| (b.ratio - typical).abs().total_cmp(&(a.ratio - typical).abs()));
        let usual = |case: usize| judged.iter().any(|j| j.case == case && !is_odd(&j));
        let found = odd.iter().map(|j| say(evidence, j, typical, &usual)).collect();
        Looked { at: judged.iter().map(|j| cell(j.case)).collect(), found, caveat: None }
    }
}

/// What a case costs over what its account says, as logarithms.
struct JudgedAccount<'a> {
    account: &'a Account,
    case: usize,
    ratio: f64,
    low: f64,
    high: f64,
}

fn cell(case: usize) -> CellRef {
    CellRef { case, metric: TOTAL }
}

fn judge<'a>(evidence: &Evidence<'_>, account: &'a Account) -> Option<JudgedAccount<'a>> {
    let case = account.case?;
    let estimate = evidence.cells.cell(case, TOTAL)?.estimate;
    let predicted = account.predicted_ns();
    let reaches = estimate.reaches(evidence.run.record.spec.confidence);
    if predicted <= 0.0 || estimate.low <= 0.0 || !reaches {
        return None;
    }
    let over = |ns: f64| (ns / predicted).ln();
    Some(JudgedAccount {
        account,
        case,
        ratio: over(estimate.value),
        low: over(estimate.low),
        high: over(estimate.high),
    })
}

fn say(
    evidence: &Evidence<'_>,
    odd: &JudgedAccount<'_>,
    typical: f64,
    usual: &dyn Fn(usize) -> bool,
) -> Statement {
    let words = Words::of(evidence.run);
    let point = &odd.account.point;
    let name = words.name(point, RIVALS.id, &point.without(RIVALS.id));
    let cause = (odd.ratio > typical)
        .then(|| neighbour(evidence, odd.case, usual))
        .flatten()
        .map(|better| cause::between(evidence, (odd.case, better), Of::Message, "there"));
    let (because, more) = cause.map_or_else(|| (cause::NONE.to_string(), Vec::new()), |c| (c.text, c.cells));
    let text = format!(
        "{name} at {} costs {} times what the cost model says ({} against {}), where the typical case costs {} times; \
         {because}.",
        words.place(point, &[RIVALS.id]),
        significant(odd.ratio.exp()),
        Unit::Nanoseconds.format(odd.ratio.exp() * odd.account.predicted_ns()),
        Unit::Nanoseconds.format(odd.account.predicted_ns()),
        significant(typical.exp()),
    );
    Statement { text, cells: std::iter::once(cell(odd.case)).chain(more).collect() }
}

/// The nearest larger or smaller message of the same case that costs what is usual.
fn neighbour(evidence: &Evidence<'_>, case: usize, usual: &dyn Fn(usize) -> bool) -> Option<usize> {
    let own = evidence.run.case(case)?;
    let size = own.point.int(ALONG)? as f64;
    let rest = own.point.without(ALONG.id);
    let cases = evidence.run.record.plan.cases.iter();
    let same = cases.filter(|c| c.probe == own.probe && usual(c.index) && c.point.without(ALONG.id) == rest);
    let distance = |at: u64| (at as f64 / size).ln().abs();
    same.filter_map(|c| Some((distance(c.point.int(ALONG)?), c.index)))
        .min_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, index)| index)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::with_accounts;

    fn found(ratios: &[f64]) -> Looked {
        let (run, analysis) = with_accounts(ratios);
        Outliers.look(&analysis.evidence(&run))
    }

    #[test]
    fn one_case_far_from_the_others_is_told_and_a_model_that_is_off_throughout_is_not() {
        let mut ratios = [1.3; 9];
        assert!(found(&ratios).found.is_empty());
        ratios[4] = 2.9;
        let looked = found(&ratios);
        assert_eq!((looked.at.len(), looked.found.len()), (9, 1));
        let text = &looked.found[0].text;
        assert!(text.contains("costs 2.9 times") && text.contains("typical case costs 1.3 times"), "{text}");
        assert!(text.contains(cause::NONE), "{text}");
        ratios[4] = 0.4;
        assert!(found(&ratios).found[0].text.contains("costs 0.4 times"));
    }

    #[test]
    fn ratios_that_scatter_widely_have_no_outlier_and_few_have_none() {
        assert!(found(&[0.5, 0.7, 1.0, 1.4, 2.0, 0.6, 1.2, 1.7, 2.4]).found.is_empty());
        let few = found(&[1.0, 1.0, 1.0, 4.0]);
        assert!(few.found.is_empty() && few.at.is_empty());
    }
}
