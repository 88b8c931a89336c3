//! Predictions: evaluated in the first round, each before its case's first sample.
//!
//! Cases whose formula needs other rows come after those rows in the first round: its order is
//! the seeded one, sorted by how far a case is from the hardware. A case that is asked about while
//! it has no result yet is an unknown input; a prediction never sees its own samples, because it is
//! recorded before there are any. A transfer is forecast from a smaller and a larger message ([`transfer_line`]), so the
//! ends of its sizes come first, then what lies in the middle of them, and so on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{self, Metric, Sample};
use syscost_core::stats;
use syscost_core::units::Unit;
use syscost_experiment::plan::{Case, Plan};
use syscost_experiment::run::Run;
use syscost_host::Fact;
use syscost_measure::probe::prediction::{Input, Inputs, Known, PredictedCost, Prediction, RowRef};
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;
use syscost_measure::probe::transfer::forecast::{self as transfer_line, OtherSize};
use syscost_measure::probe::transfer::{Transfer, far};
use syscost_measure::probe::{self, Probe, cost};

/// The cases of a smaller and of a larger message, by the case that is forecast from them.
pub type SizesBeside = BTreeMap<usize, [usize; 2]>;

/// Halves each line of sizes: what lies in the middle is forecast from its ends, which have no forecast.
pub fn sizes_beside(plan: &Plan) -> SizesBeside {
    let mut lines: BTreeMap<Point, Vec<&Case>> = BTreeMap::new();
    for case in plan.cases.iter().filter(|c| c.probe == Transfer.about().id && c.twin_of.is_none()) {
        lines.entry(case.point.without(MESSAGE_BYTES.id)).or_default().push(case);
    }
    let mut beside = SizesBeside::new();
    for line in lines.values_mut() {
        line.sort_by_key(|case| case.point.int(MESSAGE_BYTES));
        let mut spans = vec![(0, line.len() - 1)];
        while let Some((low, high)) = spans.pop() {
            let middle = (low + high) / 2;
            if middle > low {
                beside.insert(line[middle].index, [line[low].index, line[high].index]);
                spans.extend([(low, middle), (middle, high)]);
            }
        }
    }
    beside
}

/// For each case how far it is from the hardware: 0 needs no other row, n needs one of n - 1.
pub fn stages(plan: &Plan, facts: &[Fact], beside: &SizesBeside) -> Vec<usize> {
    let needed = |case: &Case| match beside.get(&case.index) {
        Some(ends) => ends.to_vec(),
        None => rows_needed(plan, facts, case),
    };
    let needs: Vec<Vec<usize>> = plan.cases.iter().map(needed).collect();
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
    fn fact(&self, id: &str) -> Option<Input> {
        found_among(self.facts, id).or_else(|| Some(Input::new(id, 1.0, Unit::Count, "")))
    }

    fn says(&self, id: &str) -> Option<String> {
        text_among(self.facts, id)
    }

    fn row(&self, row: &RowRef) -> Option<Input> {
        self.rows.borrow_mut().push(row.clone());
        self.fact("")
    }
}

/// What a run knows so far.
struct SoFar<'r> {
    run: &'r Run,
}

impl Known for SoFar<'_> {
    fn fact(&self, id: &str) -> Option<Input> {
        found_among(&self.run.record.host, id)
    }

    fn says(&self, id: &str) -> Option<String> {
        text_among(&self.run.record.host, id)
    }

    fn row(&self, row: &RowRef) -> Option<Input> {
        self.figure(find(&self.run.record.plan, row)?, row.metric)
    }
}

impl SoFar<'_> {
    /// The median of a case's rounds so far.
    fn figure(&self, case: &Case, metric: &str) -> Option<Input> {
        let metrics = probe::find(&case.probe)?.metrics();
        let metric = metrics.iter().find(|m| m.id == metric)?;
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
        let source = format!("{} of case {} so far: {} {}", metric.id, case.index, case.probe, case.point);
        Some(Input { case: Some(case.index), ..Input::new("", value, metric.unit, source) })
    }

    /// What a message of the case costs between the other sizes; `None`: one of them was not measured.
    fn on_the_line(&self, case: &Case, ends: [usize; 2]) -> Option<PredictedCost> {
        let end = |index: usize| {
            let case = self.run.case(index)?;
            let ns = self.figure(case, transfer_line::METRIC)?.value?;
            Some(OtherSize { case: index, bytes: case.point.int(MESSAGE_BYTES)?, ns })
        };
        let ends = [end(ends[0])?, end(ends[1])?];
        Some(transfer_line::forecast(case.point.int(MESSAGE_BYTES)?, ends))
    }
}

fn found_among(facts: &[Fact], id: &str) -> Option<Input> {
    let Fact { value, source, .. } = facts.iter().find(|fact| fact.id == id)?;
    let value = value.as_ref()?.parse().ok()?;
    Some(Input::new(id, value, unit_of(id), format!("{id} ({source})")))
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
pub fn predict(run: &Run, case: &Case, beside: &SizesBeside, now_unix_ns: u64) -> Option<Prediction> {
    let probe: &dyn Probe = probe::find(&case.probe)?;
    let so_far = SoFar { run };
    let (metric, cost) = match beside.get(&case.index) {
        Some(ends) => (&transfer_line::METRIC, so_far.on_the_line(case, *ends)?),
        // Rows of this machine and its facts price nothing that happens between two others.
        None if far::both(&case.point) => return None,
        None => (probe.decisive().first()?, probe.predict(&case.point, Inputs::new(&so_far))?),
    };
    let unit = probe.metrics().into_iter().find(|m| m.id == *metric)?.unit;
    Some(Prediction {
        case: case.index,
        metric: metric.to_string(),
        unit,
        made_unix_ns: now_unix_ns,
        first_round_unix_ns: None,
        cost,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_experiment::run::files::RunDir;
    use syscost_experiment::spec::{BUILT_IN, Spec};

    /// No prediction may lead back to its own case, in any experiment that comes with the tool.
    #[test]
    fn predictions_form_no_cycle_and_never_ask_for_their_own_case() {
        for (name, _) in BUILT_IN {
            let plan = Plan::make_within(&Spec::named(name).unwrap(), None).unwrap();
            let beside = sizes_beside(&plan);
            let stages = stages(&plan, &[], &beside);
            for case in &plan.cases {
                let ends = beside.get(&case.index).copied().unwrap_or([case.index; 2]);
                assert!(ends.iter().all(|end| *end == case.index || stages[*end] < stages[case.index]));
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

    #[test]
    fn all_sizes_but_the_two_ends_are_forecast_from_a_smaller_and_a_larger_one() {
        let plan = Plan::make_within(&Spec::named("default").unwrap(), None).unwrap();
        let beside = sizes_beside(&plan);
        let bytes = |index: usize| plan.cases[index].point.int(MESSAGE_BYTES).unwrap();
        let transfers =
            || plan.cases.iter().filter(|c| c.probe == Transfer.about().id && c.twin_of.is_none());
        let sizes = || transfers().map(|case| bytes(case.index));
        let ends = [sizes().min().unwrap(), sizes().max().unwrap()];
        for case in transfers() {
            let own = bytes(case.index);
            let found = beside.get(&case.index);
            assert_eq!(found.is_none(), ends.contains(&own), "{}", case.point);
            assert!(
                found.is_none_or(|[low, high]| bytes(*low) < own && own < bytes(*high)),
                "{}",
                case.point
            );
        }
    }

    /// Each case of a recorded run is forecast from the first rounds of two other sizes, and judged by the median of all its
    /// rounds. docs/model.md has what that reaches; the limits here leave room for a run that is recorded anew.
    #[test]
    fn recorded_transfers_are_forecast() {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runs");
        for recorded in ["default", "profile"] {
            let run = RunDir::load(&root.join(recorded)).unwrap();
            let beside = sizes_beside(&run.record.plan);
            let mut first = run.clone();
            let begun = run.samples.iter().filter(|sample| sample.round == 0);
            first.samples = begun.cloned().collect::<Vec<Sample>>().into();
            let mut errors = Vec::new();
            for case in beside.keys().filter_map(|index| run.case(*index)) {
                let measured =
                    SoFar { run: &run }.figure(case, transfer_line::METRIC).and_then(|found| found.value);
                // Its own samples are never asked for.
                let forecast = predict(&first, case, &beside, 1).and_then(|forecast| forecast.cost.predicted);
                let Some((forecast, measured)) = forecast.zip(measured) else { continue };
                errors.push((forecast / measured).max(measured / forecast));
            }
            let at = |share: f64| stats::quantile(&errors, share).unwrap();
            assert!(errors.len() > 5 && errors.len() == beside.len(), "{recorded}: {}", errors.len());
            assert!(at(0.5) <= 1.2 && at(0.9) <= 1.5, "{recorded}: {} {}", at(0.5), at(0.9));
        }
    }
}
