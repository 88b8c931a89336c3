//! Outliers against the accounts: cases that cost far more or less than their account, where others
//! do not.
//!
//! A model that is too high or too low throughout is no surprise of a case: what counts is the distance
//! from the typical ratio of the run, beyond its spread and beyond a factor, by the whole interval.

use super::{FoundSurprise, Looked, Surprise, SurpriseSeen, SurprisingPlace};
use crate::CellRef;
use crate::finding::Evidence;
use crate::model::{Account, TOTAL};
use syscost_core::stats::median;

/// Fewer accounts have no typical ratio.
const FEWEST: usize = 8;
/// How far from typical an outlier is at least: this factor, and so many times the usual distance.
const FACTOR: f64 = 1.5;
const DISTANCES: f64 = 4.0;

pub fn look(evidence: &Evidence<'_>) -> Looked {
    let judged: Vec<JudgedAccount<'_>> =
        evidence.model.accounts.iter().filter_map(|account| judge(evidence, account)).collect();
    let ratios: Vec<f64> = judged.iter().map(|j| j.ratio).collect();
    let looked = |at, found| Looked { kinds: &[Surprise::OffTheModel], at, found, compared: None };
    let Some(typical) = median(&ratios).filter(|_| judged.len() >= FEWEST) else {
        return looked(Vec::new(), Vec::new());
    };
    let distances: Vec<f64> = ratios.iter().map(|ratio| (ratio - typical).abs()).collect();
    let limit = FACTOR.ln().max(DISTANCES * median(&distances).unwrap_or(0.0));
    let is_odd = |j: &&JudgedAccount<'_>| j.low > typical + limit || j.high < typical - limit;
    let mut odd: Vec<&JudgedAccount<'_>> = judged.iter().filter(is_odd).collect();
    odd.sort_by(|a, b| (b.ratio - typical).abs().total_cmp(&(a.ratio - typical).abs()));
    let found = odd.iter().filter_map(|j| found(evidence, j, typical)).collect();
    looked(judged.iter().map(|j| cell(j.case)).collect(), found)
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
    let case = account.case;
    let estimate = evidence.cells.cell(case, TOTAL)?.estimate;
    let accounted = account.accounted_ns();
    let reaches = estimate.reaches(evidence.run.record.spec.confidence);
    if accounted <= 0.0 || estimate.low <= 0.0 || !reaches {
        return None;
    }
    let over = |ns: f64| (ns / accounted).ln();
    Some(JudgedAccount {
        account,
        case,
        ratio: over(estimate.value),
        low: over(estimate.low),
        high: over(estimate.high),
    })
}

fn found(evidence: &Evidence<'_>, odd: &JudgedAccount<'_>, typical: f64) -> Option<FoundSurprise> {
    let accounted = odd.account.accounted_ns();
    let seen =
        SurpriseSeen::Model { measured: odd.ratio.exp() * accounted, accounted, typical: typical.exp() };
    let case = evidence.run.case(odd.case)?;
    Some(FoundSurprise {
        kind: Surprise::OffTheModel,
        factor: (odd.ratio - typical).abs().exp(),
        place: SurprisingPlace::of(case, odd.account.point.clone(), seen),
        comparisons: Vec::new(),
        cells: vec![cell(odd.case)],
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::tests::with_accounts;

    fn look(ratios: &[f64]) -> Looked {
        let (run, analysis) = with_accounts(ratios);
        super::look(&analysis.evidence(&run))
    }

    #[test]
    fn one_case_far_from_the_others_is_told_and_a_model_that_is_off_throughout_is_not() {
        let mut ratios = [1.3; 9];
        assert!(look(&ratios).found.is_empty());
        ratios[4] = 2.9;
        let looked = look(&ratios);
        assert_eq!((looked.at.len(), looked.found.len()), (9, 1));
        let seen = |looked: &Looked| match looked.found[0].place.seen {
            SurpriseSeen::Model { measured, accounted, typical } => (measured / accounted, typical),
            ref other => panic!("{other:?}"),
        };
        let (ratio, typical) = seen(&looked);
        assert!((ratio - 2.9).abs() < 0.05 && (typical - 1.3).abs() < 0.05, "{ratio} {typical}");
        ratios[4] = 0.4;
        assert!((seen(&look(&ratios)).0 - 0.4).abs() < 0.01);
    }

    #[test]
    fn ratios_that_scatter_widely_have_no_outlier_and_few_have_none() {
        assert!(look(&[0.5, 0.7, 1.0, 1.4, 2.0, 0.6, 1.2, 1.7, 2.4]).found.is_empty());
        let few = look(&[1.0, 1.0, 1.0, 4.0]);
        assert!(few.found.is_empty() && few.at.is_empty());
    }
}
