//! Two sides of a comparison, each of several runs: what got dearer between them.
//!
//! The replicate is the run; where the sides ran on different boots it is the boot, because boots differ by what no run
//! within one of them shows. A boot on which both sides ran is a stratum of its own.

pub mod facts;
pub mod gate;

use crate::cells::Cells;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::axis::Point;
use syscost_core::decide::sides::{SideContrast, Stratum, decide_sides};
use syscost_core::decide::{Decision, Verdict};
use syscost_core::sample::{Better, Metric};
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Record, Run};
use syscost_host::fingerprint::BOOT;
use syscost_measure::probe;

/// What a message costs both sides together: what is compared of ways to move data.
const CPU: &str = "total_cpu_ns_per_message";
const CONFIDENCE: f64 = 0.95;

/// One figure of a run: which case, and which metric of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureKey {
    probe: String,
    /// Every coordinate, as `axis=value`.
    point: String,
    metric: &'static str,
}

/// A run as a replicate.
#[derive(Clone, Debug)]
pub struct RunFigures {
    pub record: Record,
    /// By case: its index in this run's plan, and the cost.
    figures: BTreeMap<FigureKey, (usize, f64)>,
}

impl RunFigures {
    pub fn of(run: &Run) -> RunFigures {
        let cells = Cells::of(run);
        let cases = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
        let figures = cases.filter_map(|case| {
            let metric = asked(case)?;
            let value = cells.judged(case.index, metric.id)?.value;
            let key = FigureKey {
                probe: case.probe.to_string(),
                point: coordinates(&case.point),
                metric: metric.id,
            };
            (value > 0.0).then_some((key, (case.index, value)))
        });
        RunFigures { record: run.record.clone(), figures: figures.collect() }
    }

    /// Every point that was asked for, whether or not it could run.
    pub fn points(&self) -> BTreeSet<String> {
        let plan = &self.record.plan;
        let cases = plan.cases.iter().map(|case| (&case.probe, &case.point));
        let all = cases.chain(plan.skips.iter().map(|skip| (&skip.probe, &skip.point)));
        all.map(|(probe, point)| format!("{probe} {}", coordinates(point))).collect()
    }

    fn boot(&self) -> Option<&str> {
        self.record.fact(BOOT)
    }
}

/// The metric that a case is compared by.
fn asked(case: &Case) -> Option<Metric> {
    let probe = probe::find(&case.probe)?;
    let metrics = probe.metrics();
    let named = |id: &str| metrics.iter().find(|metric| metric.id == id).copied();
    named(CPU).or_else(|| named(probe.decisive().first()?))
}

pub fn coordinates(point: &Point) -> String {
    point.iter().map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(" ")
}

/// What a side is replicated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicate {
    Run,
    Boot,
}

/// One case on both sides.
#[derive(Clone, Debug)]
pub struct Change {
    /// Its index in the plan of the first run of the base.
    pub case: usize,
    pub metric: Metric,
    /// Medians over the replicates of a side.
    pub base: f64,
    pub candidate: f64,
    /// Of candidate / base.
    pub decision: Decision,
}

impl Change {
    /// Is the candidate worse? `None`: neither.
    pub fn worse(&self) -> Option<bool> {
        match (self.decision.verdict, self.metric.better) {
            (Verdict::More, Better::Lower) | (Verdict::Less, Better::Higher) => Some(true),
            (Verdict::Less, Better::Lower) | (Verdict::More, Better::Higher) => Some(false),
            _ => None,
        }
    }
}

/// What two sides differ by.
#[derive(Clone, Debug)]
pub struct SideComparison {
    pub replicate: Replicate,
    /// Replicates of the base and of the candidate.
    pub replicates: [usize; 2],
    /// Largest first.
    pub changes: Vec<Change>,
    /// Cases that only one side has figures of.
    pub one_sided: usize,
}

impl SideComparison {
    pub fn of(base: &[RunFigures], candidate: &[RunFigures]) -> SideComparison {
        let Questions { replicate, replicates, asked, one_sided } = Questions::of(base, candidate);
        let contrasts: Vec<SideContrast> = asked.iter().map(|one| one.strata.clone()).collect();
        let decisions = decide_sides(&contrasts, CONFIDENCE);
        let mut changes: Vec<Change> = asked.iter().zip(decisions).map(|(one, d)| one.answered(d)).collect();
        changes.sort_by(|a, b| b.decision.ratio.ln().abs().total_cmp(&a.decision.ratio.ln().abs()));
        SideComparison { replicate, replicates, changes, one_sided }
    }
}

/// What both sides have figures of, and how they are replicated.
struct Questions {
    replicate: Replicate,
    replicates: [usize; 2],
    asked: Vec<SideQuestion>,
    one_sided: usize,
}

struct SideQuestion {
    case: usize,
    probe: String,
    metric: Metric,
    strata: SideContrast,
}

impl Questions {
    fn of(base: &[RunFigures], candidate: &[RunFigures]) -> Questions {
        let boots = |side: &[RunFigures]| -> BTreeSet<Option<String>> {
            side.iter().map(|run| run.boot().map(str::to_string)).collect()
        };
        let (of_base, of_candidate) = (boots(base), boots(candidate));
        // Of older runs the boot is not known: all of them count as one.
        let shared = of_base == of_candidate;
        let replicate = if shared { Replicate::Run } else { Replicate::Boot };
        let replicates = match replicate {
            Replicate::Run => [base.len(), candidate.len()],
            Replicate::Boot => [of_base.len(), of_candidate.len()],
        };
        let keys = |side: &[RunFigures]| -> BTreeSet<FigureKey> {
            side.iter().flat_map(|run| run.figures.keys().cloned()).collect()
        };
        let (a, b) = (keys(base), keys(candidate));
        let one = |key: &FigureKey| {
            let (run, index) = base.iter().find_map(|run| Some((run, run.figures.get(key)?.0)))?;
            let case = run.record.plan.cases.iter().find(|case| case.index == index)?;
            let strata = contrast(key, base, candidate, replicate);
            Some(SideQuestion { case: index, probe: key.probe.clone(), metric: asked(case)?, strata })
        };
        let asked = a.intersection(&b).filter_map(one).collect();
        Questions { replicate, replicates, asked, one_sided: a.symmetric_difference(&b).count() }
    }
}

impl SideQuestion {
    fn answered(&self, decision: Decision) -> Change {
        let base = typical(&self.strata, |s| &s.base);
        let candidate = typical(&self.strata, |s| &s.candidate);
        Change { case: self.case, metric: self.metric, base, candidate, decision }
    }
}

/// The geometric mean of a side's replicates.
fn typical(strata: &[Stratum], of: fn(&Stratum) -> &Vec<f64>) -> f64 {
    let all: Vec<f64> = strata.iter().flat_map(|stratum| of(stratum).iter().copied()).collect();
    (all.iter().sum::<f64>() / all.len().max(1) as f64).exp()
}

fn contrast(
    key: &FigureKey,
    base: &[RunFigures],
    candidate: &[RunFigures],
    replicate: Replicate,
) -> SideContrast {
    let by_boot = |side: &[RunFigures]| {
        let mut boots: BTreeMap<Option<String>, Vec<f64>> = BTreeMap::new();
        for run in side {
            if let Some((_, value)) = run.figures.get(key) {
                boots.entry(run.boot().map(str::to_string)).or_default().push(value.ln());
            }
        }
        boots
    };
    let (mut a, mut b) = (by_boot(base), by_boot(candidate));
    match replicate {
        Replicate::Run => {
            let boots: BTreeSet<Option<String>> = a.keys().chain(b.keys()).cloned().collect();
            let of = |side: &mut BTreeMap<_, _>, boot| side.remove(boot).unwrap_or_default();
            boots.iter().map(|boot| Stratum { base: of(&mut a, boot), candidate: of(&mut b, boot) }).collect()
        }
        Replicate::Boot => {
            let means = |side: BTreeMap<Option<String>, Vec<f64>>| {
                side.into_values().map(|logs| logs.iter().sum::<f64>() / logs.len() as f64).collect()
            };
            vec![Stratum { base: means(a), candidate: means(b) }]
        }
    }
}

#[cfg(test)]
mod tests;
