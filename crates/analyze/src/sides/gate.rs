//! A gate: did the candidate become dearer by more than was allowed?
//!
//! A budget is exceeded where the whole interval lies above it, corrected over all cases: one false alarm in twenty gates. It
//! is kept where the whole interval lies below it. That all are kept is said only where each is, so each is tested by
//! itself, at 5 % and one-sided (an intersection-union test: Berger, Technometrics 24, 1982). Neither is
//! undecided: silence is not equality.

use super::{
    CONFIDENCE, CPU, Change, FigureKey, Questions, Replicate, RunFigures, SideQuestion, one_after_the_other,
};
use std::collections::BTreeMap;
use syscost_core::decide::sides::{SideContrast, Stratum, decide_sides};
use syscost_core::decide::{Decision, Verdict};
use syscost_core::sample::Better;
use syscost_measure::probe::cost::MESSAGE_INSTRUCTIONS;

/// Its interval leaves out 5 % on either side.
const BY_ITSELF: f64 = 0.9;

/// The name of the budget of what is judged by the CPU time of a message.
pub const CPU_BUDGET: &str = "cpu";

/// By how much costs may grow, as shares: 0.05 is 5 %.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Budgets {
    /// Of all that has no budget of its own.
    pub others: Option<f64>,
    /// By probe, or of `cpu`.
    pub named: BTreeMap<String, f64>,
}

impl Budgets {
    fn of(&self, probe: &str, metric: &str) -> Option<f64> {
        let named = self.named.iter().find(|(kind, _)| is_of_kind(kind, probe, metric));
        named.map(|(_, budget)| *budget).or(self.others)
    }
}

fn is_of_kind(kind: &str, probe: &str, metric: &str) -> bool {
    kind == probe || kind == CPU_BUDGET && [CPU, MESSAGE_INSTRUCTIONS].contains(&metric)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BudgetState {
    Within,
    Exceeded,
    Undecided,
}

/// One case and its budget.
#[derive(Clone, Debug)]
pub struct JudgedCase {
    /// Its decision is of the cost, candidate / base: what is better when it is higher is turned round.
    pub change: Change,
    pub probe: String,
    pub budget: f64,
    pub state: BudgetState,
}

impl JudgedCase {
    /// Is the budget of this name its own?
    pub fn has_budget_of(&self, kind: &str) -> bool {
        is_of_kind(kind, &self.probe, self.change.metric.id)
    }
}

#[derive(Clone, Debug)]
pub struct GateAnswer {
    pub replicate: Replicate,
    pub replicates: [usize; 2],
    /// The dearest first.
    pub judged: Vec<JudgedCase>,
    /// Cases of the base with a budget, which the candidate has no figure of: what was not measured kept none.
    pub lost: Vec<FigureKey>,
    /// Cases that no budget is for.
    pub without_budget: usize,
    /// See [`super::one_after_the_other`].
    pub one_after_the_other: bool,
}

impl GateAnswer {
    pub fn of(base: &[RunFigures], candidate: &[RunFigures], budgets: &Budgets) -> GateAnswer {
        let Questions { replicate, replicates, mut asked, one_sided } = Questions::of(base, candidate);
        let [lost, _] = one_sided;
        let lost = lost.into_iter().filter(|key| budgets.of(&key.probe, key.metric).is_some()).collect();
        asked.retain(|one| one.against.is_none());
        let all = asked.len();
        let budgeted: Vec<_> = asked
            .into_iter()
            .filter_map(|one| Some((budgets.of(&one.key.probe, one.metric.id)?, one)))
            .collect();
        let contrast = |(budget, one): &(f64, SideQuestion)| -> SideContrast {
            one.strata
                .iter()
                .map(|stratum| of_cost(stratum, one.metric.better).with_budget(budget.ln_1p()))
                .collect()
        };
        let contrasts: Vec<SideContrast> = budgeted.iter().map(contrast).collect();
        let together = decide_sides(&contrasts, CONFIDENCE, 1.0, replicate.margin());
        let by_itself = contrasts
            .iter()
            .map(|one| decide_sides(std::slice::from_ref(one), BY_ITSELF, 1.0, replicate.margin())[0]);
        let judge = |((budget, one), (all, alone)): ((f64, SideQuestion), (Decision, Decision))| {
            let (state, decision) = match all.verdict {
                Verdict::More => (BudgetState::Exceeded, all),
                _ if alone.high < 1.0 => (BudgetState::Within, alone),
                _ => (BudgetState::Undecided, alone),
            };
            JudgedCase {
                state,
                change: one.answered(of_base(decision, 1.0 + budget)),
                probe: one.key.probe.clone(),
                budget,
            }
        };
        let without_budget = all - budgeted.len();
        let one_after_the_other = one_after_the_other(replicate, base, candidate);
        let mut judged: Vec<JudgedCase> =
            budgeted.into_iter().zip(together.into_iter().zip(by_itself)).map(judge).collect();
        let beyond = |case: &JudgedCase| case.change.decision.ratio / (1.0 + case.budget);
        judged.sort_by(|a, b| beyond(b).total_cmp(&beyond(a)));
        GateAnswer { replicate, replicates, judged, lost, without_budget, one_after_the_other }
    }

    /// Exceeded where any case exceeds its budget; within only where all keep theirs.
    pub fn state(&self) -> BudgetState {
        let any = |state| self.judged.iter().any(|case| case.state == state);
        if any(BudgetState::Exceeded) {
            BudgetState::Exceeded
        } else if any(BudgetState::Undecided) {
            BudgetState::Undecided
        } else {
            BudgetState::Within
        }
    }

    pub fn count(&self, state: BudgetState) -> usize {
        self.judged.iter().filter(|case| case.state == state).count()
    }
}

/// Logarithms of costs: of a rate, what is lost of it.
pub(super) fn of_cost(stratum: &Stratum, better: Better) -> Stratum {
    let mut turned = stratum.clone();
    if better == Better::Higher {
        turned.base.iter_mut().chain(&mut turned.candidate).for_each(|value| *value = -*value);
    }
    turned
}

/// A decision about the budget, told of the base.
fn of_base(mut decision: Decision, factor: f64) -> Decision {
    for value in [&mut decision.ratio, &mut decision.low, &mut decision.high] {
        *value *= factor;
    }
    decision
}
