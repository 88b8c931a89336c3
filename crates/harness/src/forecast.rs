//! Predictions: evaluated in the first round, each before its case's first sample.
//!
//! Cases whose formula needs other rows come after those rows in the first round: its order is
//! the seeded one, sorted by how far a case is from the hardware. A case that is asked about while
//! it has no result yet is an unknown input; a prediction never sees its own samples, because it is
//! recorded before there are any.

use std::cell::RefCell;
use std::collections::BTreeMap;
use syscost_core::sample::{self, Metric, Sample};
use syscost_core::stats;
use syscost_core::units::Unit;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Run;
use syscost_host::Fact;
use syscost_measure::probe::prediction::{Found, Inputs, Known, Prediction, RowRef};
use syscost_measure::probe::transfer::far;
use syscost_measure::probe::{self, Probe, cost};

/// For each case how far it is from the hardware: 0 needs no other row, n needs one of n - 1.
pub fn stages(plan: &Plan, facts: &[Fact]) -> Vec<usize> {
    let needs: Vec<Vec<usize>> = plan.cases.iter().map(|case| rows_needed(plan, facts, case)).collect();
    let mut stages = vec![0; plan.cases.len()];
    // A chain is no longer than the cases; a cycle, which a test excludes, would end here too.
    for _ in 0..plan.cases.len() {
        let mut changed = false;
        for (case, needed) in needs.iter().enumerate() {
            let after = needed.iter().map(|n| stages[*n] + 1).max().unwrap_or(0);
            if after > stages[case] && after < plan.cases.len() {
                stages[case] = after;
                changed = true;
            }
        }
        if !changed {
            break;
        }
    }
    stages
}

/// The cases that a case's prediction asks for.
pub fn rows_needed(plan: &Plan, facts: &[Fact], case: &Case) -> Vec<usize> {
    let asked = AskedRows { facts, rows: RefCell::default() };
    if let Some(probe) = probe::find(&case.probe) {
        probe.predict(&case.point, Inputs::new(&asked));
    }
    let found = |row: &RowRef| find(plan, row).map(|c| c.index);
    asked.rows.into_inner().iter().filter_map(found).collect()
}

/// The first case that a reference means.
fn find<'p>(plan: &'p Plan, row: &RowRef) -> Option<&'p Case> {
    plan.cases.iter().find(|case| row.means(&case.probe, &case.point))
}

/// Answers everything, to learn what is asked: which rows, may hang on the machine's facts.
struct AskedRows<'a> {
    facts: &'a [Fact],
    rows: RefCell<Vec<RowRef>>,
}

impl Known for AskedRows<'_> {
    fn fact(&self, id: &str) -> Option<Found> {
        found_among(self.facts, id)
            .or_else(|| Some(Found { value: 1.0, unit: Unit::Count, source: String::new(), case: None }))
    }

    fn says(&self, id: &str) -> Option<String> {
        text_among(self.facts, id)
    }

    fn row(&self, row: &RowRef) -> Option<Found> {
        self.rows.borrow_mut().push(row.clone());
        self.fact("")
    }
}

/// What a run knows so far.
struct SoFar<'r> {
    run: &'r Run,
}

impl Known for SoFar<'_> {
    fn fact(&self, id: &str) -> Option<Found> {
        found_among(&self.run.record.host, id)
    }

    fn says(&self, id: &str) -> Option<String> {
        text_among(&self.run.record.host, id)
    }

    fn row(&self, row: &RowRef) -> Option<Found> {
        let case = find(&self.run.record.plan, row)?;
        let metrics = probe::find(row.probe)?.metrics();
        let metric = metrics.iter().find(|m| m.id == row.metric)?;
        let mut rounds: BTreeMap<u32, Vec<&Sample>> = BTreeMap::new();
        let own = self.run.samples.of_case(case.index);
        for sample in own.iter() {
            rounds.entry(sample.round).or_default().push(sample);
        }
        let median = |metric: &Metric| {
            let value = |samples: &Vec<&Sample>| sample::round_value(samples, metric, &case.point);
            stats::median(&rounds.values().filter_map(value).collect::<Vec<f64>>())
        };
        let value = median(metric)?;
        // What its loop hides is no figure to build on.
        let gross = metrics.iter().find(|m| m.id == "gross").filter(|gross| gross.unit == metric.unit);
        if gross.and_then(median).is_some_and(|gross| value < cost::resolution(gross)) {
            return None;
        }
        Some(Found {
            value,
            unit: metric.unit,
            source: format!("{} of case {} so far: {} {}", metric.id, case.index, case.probe, case.point),
            case: Some(case.index),
        })
    }
}

fn found_among(facts: &[Fact], id: &str) -> Option<Found> {
    let Fact { value, source, .. } = facts.iter().find(|fact| fact.id == id)?;
    let value = value.as_ref()?.parse().ok()?;
    Some(Found { value, unit: unit_of(id), source: format!("{id} ({source})"), case: None })
}

fn text_among(facts: &[Fact], id: &str) -> Option<String> {
    facts.iter().find(|fact| fact.id == id)?.value.clone()
}

/// The unit that a fact's id ends with.
fn unit_of(fact: &str) -> Unit {
    [("_bytes", Unit::Bytes), ("_hertz", Unit::Hertz), ("_ns", Unit::Nanoseconds)]
        .into_iter()
        .find(|(end, _)| fact.ends_with(end))
        .map_or(Unit::Count, |(_, unit)| unit)
}

/// What the case should cost, from what the run knows now; `None`: its probe does not predict it.
pub fn predict(run: &Run, case: &Case, now_unix_ns: u64) -> Option<Prediction> {
    let probe: &dyn Probe = probe::find(&case.probe)?;
    // Rows of this machine and its facts price nothing that happens between two others.
    if far::both(&case.point) {
        return None;
    }
    let account = probe.predict(&case.point, Inputs::new(&SoFar { run }))?;
    let metric = probe.decisive().first()?;
    let unit = probe.metrics().into_iter().find(|m| m.id == *metric)?.unit;
    Some(Prediction {
        case: case.index,
        metric: metric.to_string(),
        unit,
        made_unix_ns: now_unix_ns,
        first_round_unix_ns: None,
        account,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_experiment::spec::{BUILT_IN, Spec};

    /// No prediction may lead back to its own case, in any experiment that comes with the tool.
    #[test]
    fn predictions_form_no_cycle_and_never_ask_for_their_own_case() {
        for (name, _) in BUILT_IN {
            let plan = Plan::make_within(&Spec::named(name).unwrap(), None).unwrap();
            let stages = stages(&plan, &[]);
            for case in &plan.cases {
                for needed in rows_needed(&plan, &[], case) {
                    assert!(
                        stages[needed] < stages[case.index],
                        "{name}: {} {} asks for {} {}, which depends on it",
                        case.probe,
                        case.point,
                        plan.cases[needed].probe,
                        plan.cases[needed].point
                    );
                }
            }
        }
    }
}
