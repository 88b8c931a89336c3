//! From the record to the comparison: how many times as fast ours is as each program. Pure.

use crate::cell::Cell;
use crate::contest::{Contest, Page};
use crate::record::{Record, Side, Visited};
use std::collections::BTreeMap;
use syscost_core::decide::{Contrast, Decision, Looks, decide};
use syscost_core::sample::Better;
use syscost_core::stats;

pub const LEVEL: f64 = 0.95;
/// The only one at a record.
const LOOK: Looks = Looks { whole: 1.0 - LEVEL, now: 1.0 - LEVEL };
/// A cell is behind where its whole interval is below this.
pub const BEHIND: f64 = 0.95;
/// Two tools agree on an operation where their ratio is no further from 1 than this, either way.
pub const AGREEMENT: f64 = 1.1;
/// Quartiles of fewer figures say nothing.
const FEWEST_FOR_SPREAD: usize = 4;

/// A contest with a visit in the record.
pub struct ContestResult {
    pub contest: &'static Contest,
    /// In the contest's order.
    pub programs: Vec<ProgramResult>,
}

/// A program beside ours. Ratios are times as fast: of throughputs ours over theirs, of times theirs over ours.
pub struct ProgramResult {
    pub program: String,
    /// The mean over cells, each of which counts alike, with an interval by what they differ by.
    pub pooled: Decision,
    pub quads: usize,
    pub cells: BTreeMap<Cell, CellResult>,
}

pub struct CellResult {
    /// In the contest's unit, side by side.
    pub ours: SideResult,
    pub theirs: SideResult,
    /// Held over all cells and programs of the contest.
    pub decision: Decision,
}

/// The figures of one side.
pub struct SideResult {
    pub median: f64,
    /// The interquartile range over the median: what one visit differs from the next, without the
    /// weight that one disturbed visit would have in a standard deviation. `None` with too few to say.
    pub spread: Option<f64>,
}

impl SideResult {
    fn of(figures: &[f64]) -> SideResult {
        let median = stats::median(figures).expect("a whole quad has figures");
        let quartiles = stats::quantile(figures, 0.25).zip(stats::quantile(figures, 0.75));
        let spread = quartiles.filter(|_| figures.len() >= FEWEST_FOR_SPREAD);
        SideResult { median, spread: spread.map(|(low, high)| (high - low) / median) }
    }
}

/// Does a program agree with ours?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Agrees,
    /// The ratio is further away, but the interval reaches into the agreement.
    Undecided,
    /// The whole interval is further away.
    Differs,
}

impl CellResult {
    pub fn behind(&self) -> bool {
        self.decision.high < BEHIND
    }

    pub fn verdict(&self) -> Verdict {
        let Decision { ratio, low, high, .. } = self.decision;
        let (least, most) = (1.0 / AGREEMENT, AGREEMENT);
        if (least..=most).contains(&ratio) {
            Verdict::Agrees
        } else if low <= most && high >= least {
            Verdict::Undecided
        } else {
            Verdict::Differs
        }
    }
}

pub fn results(page: Page, record: &Record) -> Vec<ContestResult> {
    page.contests().filter_map(|contest| result(contest, record)).collect()
}

/// What is known of a program in a cell.
#[derive(Default)]
struct Quads {
    /// By round: log ratios of visits next to each other.
    logs: Vec<f64>,
    ours: Vec<f64>,
    theirs: Vec<f64>,
}

fn result(contest: &'static Contest, record: &Record) -> Option<ContestResult> {
    let higher = contest.measured().is_ok_and(|metric| metric.better == Better::Higher);
    let visits: Vec<&Visited> = record.visits.iter().filter(|visit| visit.contest == contest.id).collect();
    let position = |program: &str| contest.rivals().position(|rival| rival.id == program);
    let mut rounds: BTreeMap<(Option<usize>, &str, Cell, u32), Vec<&Visited>> = BTreeMap::new();
    for visit in visits {
        let key = (position(&visit.program), visit.program.as_str(), visit.cell(), visit.round);
        rounds.entry(key).or_default().push(visit);
    }
    let mut quads: BTreeMap<(Option<usize>, &str, Cell), Quads> = BTreeMap::new();
    for ((position, program, cell, _), visits) in rounds {
        let all = quads.entry((position, program, cell)).or_default();
        let Some((ours, theirs)) = whole(&visits) else { continue };
        let more = mean_log(&ours) - mean_log(&theirs);
        all.logs.push(if higher { more } else { -more });
        all.ours.extend(ours);
        all.theirs.extend(theirs);
    }
    quads.retain(|_, quads| !quads.logs.is_empty());
    (!quads.is_empty()).then(|| ContestResult { contest, programs: programs(&quads) })
}

/// The figures of both sides, where every one of the four visits has one.
fn whole(visits: &[&Visited]) -> Option<(Vec<f64>, Vec<f64>)> {
    let of = |side: Side| -> Vec<f64> {
        let mine = visits.iter().filter(|visit| visit.side == side);
        mine.filter_map(|visit| visit.value).filter(|figure| *figure > 0.0).collect()
    };
    let (ours, theirs) = (of(Side::Ours), of(Side::Theirs));
    (ours.len() == 2 && theirs.len() == 2).then_some((ours, theirs))
}

fn programs(quads: &BTreeMap<(Option<usize>, &str, Cell), Quads>) -> Vec<ProgramResult> {
    let mut names: Vec<&str> = quads.keys().map(|(_, program, _)| *program).collect();
    names.dedup();
    let mut cells: Vec<Cell> = quads.keys().map(|(.., cell)| *cell).collect();
    cells.sort();
    cells.dedup();
    let contrast = |((_, program, cell), quads): (&(Option<usize>, &str, Cell), &Quads)| Contrast {
        pool: names.iter().position(|name| name == program).expect("named"),
        place: cells.iter().position(|one| one == cell).expect("seen"),
        ..Contrast::of(quads.logs.clone())
    };
    let contrasts: Vec<Contrast> = quads.iter().map(contrast).collect();
    let decisions = decide(&contrasts, &LOOK).points;
    let of_program = |name: &&str| {
        let mine = || quads.iter().zip(&decisions).filter(|(((_, program, _), _), _)| program == name);
        let means: Vec<f64> = mine().map(|((_, quads), _)| mean(&quads.logs)).collect();
        let cell = |(((_, _, cell), quads), decision): ((&(_, _, Cell), &Quads), &Decision)| {
            let (ours, theirs) = (SideResult::of(&quads.ours), SideResult::of(&quads.theirs));
            (*cell, CellResult { ours, theirs, decision: *decision })
        };
        ProgramResult {
            program: (*name).into(),
            pooled: decide(&[Contrast::of(means)], &LOOK).points[0],
            quads: mine().map(|((_, quads), _)| quads.logs.len()).sum(),
            cells: mine().map(cell).collect(),
        }
    };
    names.iter().map(of_program).collect()
}

fn mean_log(figures: &[f64]) -> f64 {
    mean(&figures.iter().map(|figure| figure.ln()).collect::<Vec<_>>())
}

pub fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Visits without a figure by contest and program: how many, and the first reason.
pub fn failures(record: &Record) -> Vec<(&str, &str, usize, &str)> {
    let mut failures: Vec<(&str, &str, usize, &str)> = Vec::new();
    for visit in record.visits.iter().filter(|visit| visit.value.is_none()) {
        let (contest, program) = (visit.contest.as_str(), visit.program.as_str());
        match failures.iter_mut().find(|known| (known.0, known.1) == (contest, program)) {
            Some((_, _, count, _)) => *count += 1,
            None => failures.push((contest, program, 1, &visit.failure)),
        }
    }
    failures
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cell::Path;

    fn visit(contest: &str, round: u32, turn: u32, side: Side, figure: Option<f64>) -> Visited {
        Visited {
            contest: contest.into(),
            path: Path::Veth,
            nodelay: "on".into(),
            streams: 1,
            message_bytes: 64,
            program: if contest == "send" { "netperf" } else { "netperf TCP_RR" }.into(),
            round,
            turn,
            side,
            value: figure,
            failure: String::new(),
            unit: "x".into(),
        }
    }

    fn quad(contest: &str, round: u32, ours: [f64; 2], theirs: [f64; 2]) -> Vec<Visited> {
        [(Side::Ours, ours[0]), (Side::Theirs, theirs[0]), (Side::Theirs, theirs[1]), (Side::Ours, ours[1])]
            .into_iter()
            .enumerate()
            .map(|(turn, (side, figure))| visit(contest, round, turn as u32, side, Some(figure)))
            .collect()
    }

    #[test]
    fn a_drift_falls_on_both_sides_alike_and_times_are_turned() {
        // Ours is twice as fast, while everything gets 10 % slower at each visit.
        let drift = |at: i32, figure: f64| figure * 0.9f64.powi(at);
        let visits = quad("send", 0, [drift(0, 8.0), drift(3, 8.0)], [drift(1, 4.0), drift(2, 4.0)]);
        let times = quad("round_trip_p50", 0, [8.0, 8.0], [4.0, 4.0]);
        let record = Record { facts: Vec::new(), visits: [visits, times].concat() };
        let results = results(Page::Plain, &record);
        let ratio = |contest: &str| {
            let found = results.iter().find(|result| result.contest.id == contest).unwrap();
            found.programs[0].pooled.ratio
        };
        assert!((ratio("send") - 2.0).abs() < 1e-9);
        assert!((ratio("round_trip_p50") - 0.5).abs() < 1e-9);
    }

    #[test]
    fn a_quad_with_a_visit_that_failed_counts_for_nothing_and_is_told() {
        let mut visits = quad("send", 0, [1.0, 1.0], [1.0, 1.0]);
        visits.extend(quad("send", 1, [9.0, 9.0], [1.0, 1.0]));
        (visits[6].value, visits[6].failure) = (None, "it broke".into());
        let record = Record { facts: Vec::new(), visits };
        let program = &results(Page::Plain, &record)[0].programs[0];
        assert_eq!((program.quads, program.pooled.ratio), (1, 1.0));
        assert_eq!(failures(&record), [("send", "netperf", 1, "it broke")]);
    }
}
