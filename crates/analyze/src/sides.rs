//! Two sides of a comparison, each of several runs: what got dearer between them.
//!
//! The replicate is the run; where the sides ran on different boots it is the boot, because boots differ by what no run
//! within one of them shows. A boot on which both sides ran is a stratum of its own. Runs that took turns in one group are
//! compared turn by turn; where their slices alternated, slice by slice. Where clocks count instructions, boots do not differ
//! and the replicate is the round.

pub mod facts;
pub mod gate;
pub mod single;

use crate::cells::Cells;
use crate::compare::log_ratios::LogRatios;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use syscost_core::axis::{Name, Point, Value};
use syscost_core::decide::sides::{SideContrast, Stratum, decide_sides};
use syscost_core::decide::{Decision, MARGIN, Verdict};
use syscost_core::sample::{Better, Metric};
use syscost_core::stats::{Estimate, median};
use syscost_core::units::Unit;
use syscost_experiment::plan::{BlockVisit, Case};
use syscost_experiment::run::{Record, Run, SliceFigure};
use syscost_host::fingerprint::BOOT;
use syscost_measure::probe::cost::{self, MESSAGE_INSTRUCTIONS};
use syscost_measure::probe::{self, Probe};

/// What a message costs both sides together: what is compared of ways to move data.
const CPU: &str = "total_cpu_ns_per_message";
const CONFIDENCE: f64 = 0.95;

/// Counts of instructions that differ by less are the same.
pub const COUNTED_MARGIN: f64 = 0.005;
/// Standard errors of the logarithm of a ratio of counts of two builds: what the layout of memory and code changes where
/// nothing costs more. A row that makes processes or takes faults depends on more of both.
const COUNTED_MESSAGE_ERROR: f64 = 0.000_25;
const COUNTED_ROW_ERROR: f64 = 0.001;

/// One figure of a run: which case, and which metric of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FigureKey {
    probe: String,
    /// The coordinates that are no default, as `axis=value`: a run from before an axis was added has what is its default now.
    point: String,
    metric: &'static str,
    /// The point of the rival that it is divided by, which took turns with it; `None`: an absolute cost.
    against: Option<String>,
}

impl fmt::Display for FigureKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", format!("{} {}", self.probe, self.point).trim_end())
    }
}

impl FigureKey {
    fn of(case: &Case, metric: &'static str, against: Option<&Case>) -> FigureKey {
        let against = against.map(|control| asked_apart(&control.probe, &control.point));
        FigureKey {
            probe: case.probe.to_string(),
            point: asked_apart(&case.probe, &case.point),
            metric,
            against,
        }
    }
}

/// A figure of one case of a run.
#[derive(Clone, Debug)]
struct RunFigure {
    case: usize,
    /// The rival that it is divided by.
    against: Option<usize>,
    cost: Estimate,
    /// Logarithms of what a message cost by round and pass, where a run beside this one had the same.
    slices: BTreeMap<(u32, u32), f64>,
    /// Of each round, where these are the replicates.
    rounds: Vec<f64>,
}

impl RunFigure {
    /// ln(this / base) by the slices that both had in the same pass: the mean over rounds of the median over passes.
    fn over(&self, base: &RunFigure) -> Option<f64> {
        let mut rounds: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
        for (place, log) in &self.slices {
            let other = base.slices.get(place);
            other.into_iter().for_each(|other| rounds.entry(place.0).or_default().push(log - other));
        }
        let medians: Vec<f64> = rounds.values().filter_map(|passes| median(passes)).collect();
        (!medians.is_empty()).then(|| medians.iter().sum::<f64>() / medians.len() as f64)
    }
}

/// A run as a replicate.
#[derive(Clone, Debug)]
pub struct RunFigures {
    pub record: Record,
    figures: BTreeMap<FigureKey, RunFigure>,
}

impl RunFigures {
    pub fn of(run: &Run) -> RunFigures {
        let cells = Cells::of(run);
        let twin = |case: &Case| run.record.plan.cases.iter().find(|c| c.twin_of == Some(case.index));
        let cases = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
        let figures = cases.filter_map(|case| {
            let metric = asked(case, &run.record)?;
            let cost = cells.estimate(case.index, metric.id)?;
            let beside = run.record.plan.side_by_side && metric.id == CPU;
            let own = || std::iter::once(case).chain(twin(case)).map(|case| case.index);
            let slices = if beside {
                run.slices.logs(&own().collect::<Vec<_>>(), SliceFigure::TotalCpu)
            } else {
                BTreeMap::new()
            };
            let rounds = cells.cell(case.index, metric.id).filter(|_| counts(&run.record));
            let rounds = rounds.map_or(Vec::new(), |cell| cell.rounds.values());
            let figure = RunFigure { case: case.index, against: None, cost, slices, rounds };
            (cost.value > 0.0).then_some((FigureKey::of(case, metric.id, None), figure))
        });
        let figures = figures.chain(against_rivals(run, &cells)).collect();
        RunFigures { record: run.record.clone(), figures }
    }

    /// What this run measured of a change.
    pub fn figure(&self, change: &Change) -> Option<Estimate> {
        self.figures.get(&change.key).map(|figure| figure.cost)
    }

    /// Of the case that has most.
    fn rounds(&self) -> usize {
        self.figures.values().map(|figure| figure.rounds.len()).max().unwrap_or(0)
    }

    fn boot(&self) -> Option<&str> {
        self.record.fact(BOOT)
    }

    /// What it shares with runs of the other side: the boot, or the turn.
    fn stratum(&self, replicate: Replicate) -> Option<String> {
        if replicate == Replicate::Round {
            return None;
        }
        let turn = self.record.names.turn.as_deref().filter(|_| replicate == Replicate::Turn);
        turn.or(self.boot()).map(str::to_string)
    }
}

/// Each rival's cost over that of the control of its block, by their alternating slices: what both share cancels.
fn against_rivals(run: &Run, cells: &Cells) -> Vec<(FigureKey, RunFigure)> {
    let mut found = Vec::new();
    if run.slices.is_empty() {
        return found;
    }
    let ratios = LogRatios::new(run, cells);
    for block in run.record.plan.blocks().iter().filter(|block| block.visit == BlockVisit::InTurns) {
        let (controls, rivals) = block.cases.split_at(block.controls);
        for (rival, control) in rivals.iter().filter_map(|rival| Some((*rival, *controls.first()?))) {
            let logs: Vec<f64> = ratios.of(CPU, (rival, control)).iter().map(|ratio| ratio.log).collect();
            let (Some(case), Some(other)) = (run.case(rival), run.case(control)) else { continue };
            if logs.is_empty() {
                continue;
            }
            let value = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
            let (low, high, n) = (value, value, logs.len() as u32);
            let cost = Estimate { value, low, high, level: 0.0, n, unit: Unit::Ratio };
            let (slices, rounds) = (BTreeMap::new(), Vec::new());
            let figure = RunFigure { case: rival, against: Some(control), cost, slices, rounds };
            found.push((FigureKey::of(case, CPU, Some(other)), figure));
        }
    }
    found
}

/// Do the clocks of this run count instructions?
pub fn counts(record: &Record) -> bool {
    record.repeats()
}

/// The metric that a case of this run is compared by.
pub fn asked(case: &Case, record: &Record) -> Option<Metric> {
    let probe = probe::find(&case.probe)?;
    if counts(record) { cost::counted_metric(probe) } else { compared_metric(probe) }
}

/// The metric that cases of a probe are compared by.
pub fn compared_metric(probe: &dyn Probe) -> Option<Metric> {
    let metrics = probe.metrics();
    let named = |id: &str| metrics.iter().find(|metric| metric.id == id).copied();
    named(CPU).or_else(|| named(probe.decisive().first()?))
}

pub fn coordinates(point: &Point) -> String {
    joined(point.iter())
}

fn joined<'a>(point: impl Iterator<Item = (&'a Name, &'a Value)>) -> String {
    point.map(|(axis, value)| format!("{axis}={value}")).collect::<Vec<_>>().join(" ")
}

/// The coordinates that are no axis's one default.
fn asked_apart(probe: &str, point: &Point) -> String {
    let axes = probe::find(probe).map_or(Vec::new(), |probe| probe.axes());
    let is_default = |(id, value): &(&Name, &Value)| {
        axes.iter().any(|axis| axis.id == id.as_str() && axis.is_default(value))
    };
    joined(point.iter().filter(|coordinate| !is_default(coordinate)))
}

/// Was one side measured before the other began, so that what drifts is a difference? Turns alternate, and boots and
/// counts do not drift.
pub fn one_after_the_other(replicate: Replicate, base: &[RunFigures], candidate: &[RunFigures]) -> bool {
    let times = |side: &[RunFigures]| side.iter().map(|run| run.record.started_unix_ns).collect::<Vec<_>>();
    let before = |a: &[u64], b: &[u64]| a.iter().max() < b.iter().min();
    let (base, candidate) = (times(base), times(candidate));
    replicate == Replicate::Run && (before(&base, &candidate) || before(&candidate, &base))
}

/// What a side is replicated by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replicate {
    Run,
    /// One run of each side, measured next to each other.
    Turn,
    Boot,
    /// A fresh process in a guest that repeats itself.
    Round,
}

impl Replicate {
    fn of(base: &[RunFigures], candidate: &[RunFigures]) -> Replicate {
        if base.iter().chain(candidate).all(|run| counts(&run.record)) {
            return Replicate::Round;
        }
        let boots = |side: &[RunFigures]| -> BTreeSet<Option<String>> {
            side.iter().map(|run| run.boot().map(str::to_string)).collect()
        };
        // Of older runs the boot is not known: all of them count as one.
        if boots(base) != boots(candidate) {
            return Replicate::Boot;
        }
        // A turn that a run of one side has not is none to pair by.
        let turns = |side: &[RunFigures]| -> Option<BTreeSet<String>> {
            side.iter().map(|run| run.record.names.turn.clone()).collect()
        };
        let paired = turns(base).zip(turns(candidate)).is_some_and(|(a, b)| !a.is_disjoint(&b));
        if paired { Replicate::Turn } else { Replicate::Run }
    }

    /// `8 runs`
    pub fn count(self, number: usize) -> String {
        syscost_core::units::count(number, self.word())
    }

    pub fn word(self) -> &'static str {
        match self {
            Replicate::Run => "run",
            Replicate::Turn => "turn",
            Replicate::Boot => "boot",
            Replicate::Round => "round",
        }
    }

    /// Costs whose ratio is within this are the same.
    pub fn margin(self) -> f64 {
        if self == Replicate::Round { COUNTED_MARGIN } else { MARGIN }
    }

    /// How many of these a comparison has of each side.
    fn counts(self, base: &[RunFigures], candidate: &[RunFigures]) -> [usize; 2] {
        let strata = |side: &[RunFigures]| -> BTreeSet<Option<String>> {
            side.iter().map(|run| run.stratum(self)).collect()
        };
        match self {
            Replicate::Run => [base.len(), candidate.len()],
            Replicate::Round => [base, candidate].map(|side| side.iter().map(RunFigures::rounds).sum()),
            Replicate::Boot => [strata(base).len(), strata(candidate).len()],
            Replicate::Turn => [strata(base).intersection(&strata(candidate)).count(); 2],
        }
    }
}

/// One case on both sides.
#[derive(Clone, Debug)]
pub struct Change {
    key: FigureKey,
    /// Its index in the plan of the first run of the base.
    pub case: usize,
    /// The rival that its cost is divided by, likewise; `None`: an absolute cost.
    pub against: Option<usize>,
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
    /// Of ratios to rivals: what changed of one and not of the other. A family of its own, likewise sorted.
    pub rivals: Vec<Change>,
    /// What the base alone has figures of, and what the candidate alone has.
    pub one_sided: [Vec<FigureKey>; 2],
}

impl SideComparison {
    pub fn of(base: &[RunFigures], candidate: &[RunFigures]) -> SideComparison {
        let Questions { replicate, replicates, asked, one_sided } = Questions::of(base, candidate);
        let (ratios, costs): (Vec<_>, Vec<_>) = asked.into_iter().partition(|one| one.against.is_some());
        // A comparison claims nothing false at the error of one family.
        let families = if ratios.is_empty() { 1.0 } else { 2.0 };
        let [changes, rivals] =
            [costs, ratios].map(|asked| SideComparison::decided(&asked, replicate, families));
        SideComparison { replicate, replicates, changes, rivals, one_sided }
    }

    /// The answers of a family of questions, the largest change first. So many families share the error.
    fn decided(asked: &[SideQuestion], replicate: Replicate, families: f64) -> Vec<Change> {
        let contrasts: Vec<SideContrast> = asked.iter().map(|one| one.strata.clone()).collect();
        let decisions = decide_sides(&contrasts, CONFIDENCE, families, replicate.margin());
        let mut changes: Vec<Change> = asked.iter().zip(decisions).map(|(one, d)| one.answered(d)).collect();
        changes.sort_by(|a, b| b.decision.ratio.ln().abs().total_cmp(&a.decision.ratio.ln().abs()));
        changes
    }
}

/// What both sides have figures of, and how they are replicated.
struct Questions {
    replicate: Replicate,
    replicates: [usize; 2],
    asked: Vec<SideQuestion>,
    one_sided: [Vec<FigureKey>; 2],
}

struct SideQuestion {
    case: usize,
    against: Option<usize>,
    key: FigureKey,
    metric: Metric,
    strata: SideContrast,
}

impl Questions {
    fn of(base: &[RunFigures], candidate: &[RunFigures]) -> Questions {
        let replicate = Replicate::of(base, candidate);
        let replicates = replicate.counts(base, candidate);
        let keys = |side: &[RunFigures]| -> BTreeSet<FigureKey> {
            side.iter().flat_map(|run| run.figures.keys().cloned()).collect()
        };
        let (a, b) = (keys(base), keys(candidate));
        let one = |key: &FigureKey| {
            let (run, figure) = base.iter().find_map(|run| Some((run, run.figures.get(key)?)))?;
            let case = run.record.plan.cases.iter().find(|case| case.index == figure.case)?;
            let strata = contrast(key, base, candidate, replicate);
            Some(SideQuestion {
                case: figure.case,
                against: figure.against,
                key: key.clone(),
                metric: asked(case, &run.record)?,
                strata,
            })
        };
        let asked = a.intersection(&b).filter_map(one).collect();
        let only = |one: &BTreeSet<FigureKey>, other: &BTreeSet<FigureKey>| {
            one.difference(other).filter(|key| key.against.is_none()).cloned().collect()
        };
        let one_sided = [only(&a, &b), only(&b, &a)];
        Questions { replicate, replicates, asked, one_sided }
    }
}

impl SideQuestion {
    fn answered(&self, decision: Decision) -> Change {
        let base = typical(&self.strata, |s| &s.base);
        let candidate = typical(&self.strata, |s| &s.candidate);
        Change {
            key: self.key.clone(),
            case: self.case,
            against: self.against,
            metric: self.metric,
            base,
            candidate,
            decision,
        }
    }
}

/// The geometric mean of a side's replicates.
fn typical(strata: &[Stratum], of: fn(&Stratum) -> &Vec<f64>) -> f64 {
    let all: Vec<f64> = strata.iter().flat_map(|stratum| of(stratum).iter().copied()).collect();
    (all.iter().sum::<f64>() / all.len().max(1) as f64).exp()
}

type SideStrata<'a> = BTreeMap<Option<String>, Vec<&'a RunFigure>>;

/// The figures of a side, by what they share with those of the other.
fn by_stratum<'a>(key: &FigureKey, side: &'a [RunFigures], replicate: Replicate) -> SideStrata<'a> {
    let mut strata = SideStrata::new();
    for run in side {
        if let Some(figure) = run.figures.get(key) {
            strata.entry(run.stratum(replicate)).or_default().push(figure);
        }
    }
    strata
}

/// Rounds by their number: a kernel does the same in the same round of either side, whatever it did in the rounds before.
fn of_rounds(key: &FigureKey, base: &SideStrata<'_>, candidate: &SideStrata<'_>) -> SideContrast {
    let least_error =
        if key.metric == MESSAGE_INSTRUCTIONS { COUNTED_MESSAGE_ERROR } else { COUNTED_ROW_ERROR };
    let rounds = |side: &SideStrata<'_>| -> Vec<Vec<f64>> {
        let runs = side.values().flatten();
        let mut rounds: Vec<Vec<f64>> = Vec::new();
        for (number, count) in runs.flat_map(|run| run.rounds.iter().enumerate()) {
            rounds.resize(rounds.len().max(number + 1), Vec::new());
            rounds[number].extend((*count > 0.0).then(|| count.ln()));
        }
        rounds
    };
    let both = rounds(base).into_iter().zip(rounds(candidate));
    both.map(|(base, candidate)| Stratum { base, candidate, least_error }).collect()
}

fn contrast(
    key: &FigureKey,
    base: &[RunFigures],
    candidate: &[RunFigures],
    replicate: Replicate,
) -> SideContrast {
    let logs = |figures: &[&RunFigure]| figures.iter().map(|one| one.cost.value.ln()).collect::<Vec<f64>>();
    let [a, b] = [base, candidate].map(|side| by_stratum(key, side, replicate));
    match replicate {
        Replicate::Round => of_rounds(key, &a, &b),
        Replicate::Run | Replicate::Turn => {
            let all: BTreeSet<&Option<String>> = a.keys().chain(b.keys()).collect();
            let of = |one: &Option<String>| {
                let both = [&a, &b].map(|side| side.get(one).map_or(&[][..], |figures| figures));
                let [base, mut candidate] = both.map(logs);
                if let [[before], [after]] = both {
                    if let Some(change) = after.over(before) {
                        candidate = vec![base[0] + change];
                    }
                }
                Stratum { base, candidate, least_error: 0.0 }
            };
            all.into_iter().map(of).collect()
        }
        Replicate::Boot => {
            let means = |side: SideStrata<'_>| {
                let mean =
                    |figures: Vec<&RunFigure>| logs(&figures).iter().sum::<f64>() / figures.len() as f64;
                side.into_values().map(mean).collect()
            };
            vec![Stratum { base: means(a), candidate: means(b), least_error: 0.0 }]
        }
    }
}

#[cfg(test)]
mod tests;
