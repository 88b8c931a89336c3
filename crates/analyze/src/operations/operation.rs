//! The operations of a run: each case that is a row or a point of a curve, with its prediction
//! beside its measurement and the spread of what was measured.
//!
//! A ratio is the measured interval over the predicted number: a prediction has no interval of its
//! own. A prediction that was made after its case's first round began is none, and is named.

use crate::CellRef;
use crate::cells::Cells;
use crate::cells::sanity::Limits;
use crate::problem::{Problem, ProblemKind};
use std::collections::BTreeMap;
use syscost_core::axis::Point;
use syscost_core::sample::{Metric, Sample};
use syscost_core::stats::{Estimate, median, quantile};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::cost::{self, counted_metric};
use syscost_measure::probe::prediction::Prediction;
use syscost_measure::probe::row::Row;
use syscost_measure::probe::{self, Probe};

/// One case as an operation.
#[derive(Clone, Debug)]
pub struct Operation {
    pub case: usize,
    pub point: Point,
    /// Id and title of its probe.
    pub probe: &'static str,
    pub title: &'static str,
    pub row: Row,
    /// The probe's headline metric.
    pub metric: Metric,
    /// `None`: nothing usable was measured.
    pub measured: Option<Estimate>,
    /// The least cost that could be told from the loop and the clock, where less than that was measured: no figure.
    pub unresolved: Option<f64>,
    pub prediction: Option<Prediction>,
    /// Measured over predicted, where both are positive.
    pub ratio: Option<Estimate>,
    pub spread: Option<Spread>,
}

/// How far the windows of one case lie apart, relative to its median.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Median over rounds of the interquartile range of a round's windows.
    pub within: Option<f64>,
    /// Interquartile range of the rounds.
    pub between: Option<f64>,
    /// The window farthest from the median: signed.
    pub largest: f64,
    pub rounds: usize,
    pub samples: usize,
}

impl Operation {
    /// `reading the time (rdtsc)`
    pub fn name(&self) -> String {
        row_name(self.title, &self.row)
    }

    pub fn cell(&self) -> CellRef {
        CellRef { case: self.case, metric: self.metric.id }
    }

    pub fn predicted(&self) -> Option<f64> {
        self.prediction.as_ref().and_then(|p| p.cost.predicted)
    }

    /// Inputs that the prediction would need.
    pub fn needs(&self) -> Vec<&str> {
        let inputs = self.prediction.iter().flat_map(|p| &p.cost.inputs);
        inputs.filter(|i| i.value.is_none()).map(|i| i.name.as_str()).collect()
    }
}

/// `reading the time (rdtsc)`
pub fn row_name(title: &str, row: &Row) -> String {
    if row.label.is_empty() { title.to_string() } else { format!("{title} ({})", row.label) }
}

/// The metric that a probe's rows show.
pub fn headline(probe: &dyn Probe) -> Option<Metric> {
    let id = *probe.decisive().first()?;
    probe.metrics().into_iter().find(|m| m.id == id)
}

/// Every case that its probe calls a row, in plan order; no twins.
pub fn operations(run: &Run, cells: &Cells) -> Vec<Operation> {
    let predictions: BTreeMap<usize, &Prediction> =
        run.record.predictions.iter().rev().map(|p| (p.case, p)).collect();
    let cases = run.record.plan.cases.iter().filter(|c| c.twin_of.is_none());
    let operation = |case: &Case| {
        let probe = probe::find(&case.probe)?;
        let row = probe.row(&case.point)?;
        let metric = if run.record.repeats() { counted_metric(probe) } else { headline(probe) }?;
        let measured = cells.cell(case.index, metric.id).map(|c| c.estimate);
        let unresolved = measured.and_then(|measured| unresolved(cells, case.index, measured));
        let prediction = predictions.get(&case.index).filter(|p| p.metric == metric.id && !late(p));
        let prediction = prediction.map(|p| Prediction::clone(p));
        let predicted = prediction.as_ref().and_then(|p| p.cost.predicted);
        let limits = Limits::of(case, run.record.spec.timing);
        let own = run.samples.of_case(case.index);
        let sound: Vec<&Sample> = own.iter().filter(|s| s.usable() && limits.fault(s).is_none()).collect();
        Some(Operation {
            case: case.index,
            point: case.point.clone(),
            probe: probe.about().id,
            title: probe.about().title,
            row,
            metric,
            ratio: measured.filter(|_| unresolved.is_none()).zip(predicted).and_then(|(m, p)| over(m, p)),
            unresolved,
            spread: measured.and_then(|m| spread(&sound, &metric, &case.point, m.value)),
            measured,
            prediction,
        })
    };
    cases.filter_map(operation).collect()
}

/// Where a cost is less than what its subtraction resolves: that.
fn unresolved(cells: &Cells, case: usize, cost: Estimate) -> Option<f64> {
    let gross = cells.cell(case, "gross")?.estimate;
    Some(cost::resolution(gross.value))
        .filter(|resolution| cost.unit == gross.unit && cost.value < *resolution)
}

/// An estimate over a number; `None` where a ratio would mean nothing.
pub fn over(e: Estimate, number: f64) -> Option<Estimate> {
    let sound = e.value > 0.0 && number > 0.0 && number.is_finite();
    sound.then(|| Estimate {
        value: e.value / number,
        low: e.low / number,
        high: e.high / number,
        unit: syscost_core::units::Unit::Ratio,
        ..e
    })
}

/// Was it made when the case was already being measured? Then it is no prediction.
pub fn late(prediction: &Prediction) -> bool {
    prediction.first_round_unix_ns.is_some_and(|first| first <= prediction.made_unix_ns)
}

/// Predictions that saw what they should predict.
pub fn problems(run: &Run) -> Vec<Problem> {
    let late = run.record.predictions.iter().filter(|p| late(p));
    let problem = |p: &Prediction| {
        let case = run.case(p.case)?;
        let metric = headline(probe::find(&case.probe)?)?.id;
        Some(Problem {
            kind: ProblemKind::LatePrediction,
            case: p.case,
            cells: vec![CellRef { case: p.case, metric }],
        })
    };
    late.filter_map(problem).collect()
}

fn spread(samples: &[&Sample], metric: &Metric, point: &Point, middle: f64) -> Option<Spread> {
    let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        if let Some(value) = (metric.of)(sample, point).filter(|v| v.is_finite()) {
            rounds.entry(sample.round).or_default().push(value);
        }
    }
    let range = |values: &[f64]| Some(quantile(values, 0.75)? - quantile(values, 0.25)?);
    let relative = |range: f64| (middle != 0.0).then(|| range / middle.abs());
    let several = rounds.values().filter(|v| v.len() > 1);
    let within: Vec<f64> = several.filter_map(|v| range(v)).collect();
    let middles: Vec<f64> = rounds.values().filter_map(|v| median(v)).collect();
    let deviations = rounds.values().flatten().filter_map(|v| relative(v - middle));
    Some(Spread {
        within: median(&within).and_then(relative),
        between: if middles.len() > 1 { range(&middles).and_then(relative) } else { None },
        largest: deviations.max_by(|a, b| a.abs().total_cmp(&b.abs()))?,
        rounds: rounds.len(),
        samples: rounds.values().map(Vec::len).sum(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operations::beside::Beside;
    use crate::synthetic::clocks;

    #[test]
    fn a_row_has_its_prediction_ratio_and_spread() {
        let run = clocks(8, Some(1.0), 3.0);
        let all = operations(&run, &Cells::of(&run));
        assert!(all.len() >= 3 && all.iter().all(|o| o.row.listed && o.measured.is_some()));
        let first = &all[0];
        let ratio = first.ratio.unwrap();
        assert!((ratio.value - 3.0).abs() < 0.3 && ratio.low <= ratio.value && ratio.value <= ratio.high);
        let spread = first.spread.unwrap();
        assert_eq!((spread.rounds, spread.samples), (8, 24));
        assert!(spread.within.unwrap() < 0.1 && spread.between.unwrap() < 0.1 && spread.largest.abs() < 0.2);
        assert!(first.name().starts_with("reading the time ("), "{}", first.name());
    }

    #[test]
    fn a_cost_that_the_loop_hides_has_no_ratio() {
        let run = clocks(8, Some(1.0), 0.001);
        let all = operations(&run, &Cells::of(&run));
        assert!(all.iter().all(|o| o.ratio.is_none() && o.predicted().is_some()));
        let least = all[0].unresolved.expect("a thousandth of a nanosecond in a loop of two");
        assert!((least / 0.02 - 1.0).abs() < 0.02, "{least}");
        let beside = Beside::run("itself", &run);
        assert!(all.iter().all(|o| beside.find(o).is_none_or(|found| found.ratio.is_none())));
    }

    #[test]
    fn unknown_and_late_predictions_give_no_ratio() {
        let unknown = clocks(8, None, 3.0);
        let all = operations(&unknown, &Cells::of(&unknown));
        assert!(all.iter().all(|o| o.ratio.is_none() && o.predicted().is_none()));
        assert_eq!(all[0].needs(), ["frequency"]);
        let mut late = clocks(8, Some(1.0), 3.0);
        late.record.predictions[0].first_round_unix_ns = Some(1);
        let all = operations(&late, &Cells::of(&late));
        assert!(all[0].prediction.is_none() && all[1].prediction.is_some());
        assert_eq!(
            problems(&late).into_iter().map(|p| (p.kind, p.case)).collect::<Vec<_>>(),
            [(ProblemKind::LatePrediction, 0)]
        );
    }
}
