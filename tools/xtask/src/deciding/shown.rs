//! What the rows of `studies.csv` show, beside what was asked of it beforehand.

use super::rows::{CPU, RivalScope, RivalVerdict, StudyRow, THROUGHPUT, defined};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Of each of the two families of a metric (points; over threads): half of 5 %.
const FAMILY_ERROR: f64 = 0.05 / 2.0;
/// Below it the false answers are significantly more than the stated rate allows.
const SIGNIFICANT: f64 = 0.05;
const SCOPES: [(RivalScope, &str); 2] =
    [(RivalScope::Point, "point"), (RivalScope::OverThreads, "size over threads")];

/// So many of so many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FoundPart {
    pub of: usize,
    pub found: usize,
}

impl FoundPart {
    fn of<'a>(rows: impl Iterator<Item = &'a StudyRow>, found: impl Fn(&StudyRow) -> bool) -> FoundPart {
        rows.fold(FoundPart::default(), |part, row| part.with(found(row)))
    }

    fn with(self, found: bool) -> FoundPart {
        FoundPart { of: self.of + 1, found: self.found + usize::from(found) }
    }

    fn share(self) -> Option<f64> {
        (self.of > 0).then(|| self.found as f64 / self.of as f64)
    }

    fn text(self) -> String {
        let share =
            self.share().map(|share| format!("{} of {} ({:.1} %)", self.found, self.of, share * 100.0));
        share.unwrap_or("-".into())
    }

    fn reaches(self, least: f64) -> Option<bool> {
        self.share().map(|share| share >= least)
    }
}

/// What is asked of a metric: shares of decided answers by point and by size over threads, in each run of 60 s and of 120 s.
struct AskedOfMetric {
    id: &'static str,
    title: &'static str,
    short: [f64; 2],
    long: [f64; 2],
}

const ASKED: [AskedOfMetric; 2] = [
    AskedOfMetric { id: CPU, title: "CPU time", short: [0.75, 0.9], long: [0.9, 0.97] },
    AskedOfMetric { id: THROUGHPUT, title: "Throughput", short: [0.6, 0.8], long: [0.75, 0.9] },
];

/// For each metric the tables, each with an empty line after it: what was asked, and what was found of what was planted.
/// Then where scaling with threads stops, by run: sizes at which that is decided.
pub fn text(rows: &[StudyRow], scaling: &[FoundPart]) -> String {
    let of_metric = |asked: &AskedOfMetric| {
        let own: Vec<StudyRow> = rows.iter().filter(|row| row.metric == asked.id).cloned().collect();
        let tables = [targets(&own, asked), planted(&own)].map(|table| table + "\n").concat();
        format!("**{}**\n\n{tables}", asked.title)
    };
    let least = scaling.iter().min_by(|a, b| a.share().unwrap_or(0.0).total_cmp(&b.share().unwrap_or(0.0)));
    let threads = least.map_or(String::new(), |least| {
        let met = if least.reaches(0.5) == Some(true) { "met" } else { "**not met**" };
        format!(
            "Where scaling with threads stops is decided at {} sizes in the least of {} default runs; half was asked: {met}.\n\n",
            least.text(),
            scaling.len()
        )
    });
    ASKED.iter().map(of_metric).collect::<String>() + &threads
}

fn table(heading: &str, lines: impl IntoIterator<Item = String>) -> String {
    let rule = "---|".repeat(heading.split(" | ").count());
    let lines: String = lines.into_iter().map(|line| format!("| {line} |\n")).collect();
    format!("| {heading} |\n|{rule}\n{lines}")
}

/// Rows of these studies that are held against the control.
fn against_control<'a>(
    rows: &'a [StudyRow],
    studies: &'a [&str],
    scope: RivalScope,
) -> impl Iterator<Item = &'a StudyRow> {
    let known = move |row: &&StudyRow| studies.contains(&row.study.as_str()) && row.scope == scope;
    rows.iter().filter(known).filter(|row| row.against == defined().control)
}

fn planted_by(rows: &[StudyRow], percent: f64, scope: RivalScope) -> impl Iterator<Item = &StudyRow> {
    against_control(rows, &["planted"], scope).filter(move |row| row.planted_percent == Some(percent))
}

/// The ratio that a comparison has over many runs: the geometric mean of the other runs of the study. What was planted
/// says only the least that it can be: a rival that spins also changes how often the receiver sleeps. `None`: fewer than
/// two others. Identical rivals have 1.
fn lasting_ratio(rows: &[StudyRow], row: &StudyRow) -> Option<f64> {
    if row.planted_percent == Some(0.0) {
        return Some(1.0);
    }
    let is_other = |other: &&StudyRow| {
        (&other.study, other.scope, other.message_bytes, other.threads, &other.rival, &other.against)
            == (&row.study, row.scope, row.message_bytes, row.threads, &row.rival, &row.against)
            && other.run != row.run
    };
    let logs: Vec<f64> = rows.iter().filter(is_other).filter_map(|other| Some(other.ratio?.ln())).collect();
    (logs.len() >= 2).then(|| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
}

/// Intervals that hold the lasting ratio, of those that are known.
fn covered<'a>(rows: &[StudyRow], some: impl Iterator<Item = &'a StudyRow>) -> FoundPart {
    let inside = |row: &StudyRow| {
        let (low, truth, high) = (row.ci_low?, lasting_ratio(rows, row)?, row.ci_high?);
        Some(low <= truth && truth <= high)
    };
    some.filter_map(inside).fold(FoundPart::default(), FoundPart::with)
}

fn is_decided(row: &StudyRow) -> bool {
    row.verdict != RivalVerdict::Undecided
}

fn targets(rows: &[StudyRow], of: &AskedOfMetric) -> String {
    let line = |asked: &str, shown: String, met: Option<bool>| {
        let met = met.map_or("not measured", |met| if met { "met" } else { "**not met**" });
        format!("{asked} | {shown} | {met}")
    };
    let (point, over) = (RivalScope::Point, RivalScope::OverThreads);
    let chance = false_answers(rows, &["aa", "aa_busy"], point);
    let chance_over = false_answers(rows, &["aa", "aa_busy"], over);
    let holds = |chance: &FalseAnswers| chance.p().map(|p| p >= SIGNIFICANT);
    let enough = chance.answers.of >= 200;
    let found = |percent, scope| {
        FoundPart::of(planted_by(rows, percent, scope), |row| row.verdict == RivalVerdict::Slower)
    };
    let (ten, five) = (found(15.0, point), found(8.0, over));
    let all_planted = || SCOPES.into_iter().flat_map(|(scope, _)| against_control(rows, &["planted"], scope));
    let truth = covered(rows, all_planted().filter(|row| row.planted_percent > Some(0.0)));
    let shares = |study: &str, scope| by_run(rows, study, scope).into_values().collect::<Vec<FoundPart>>();
    let least = |parts: &[FoundPart], least: f64| {
        let all = parts.iter().map(|part| part.reaches(least)).collect::<Option<Vec<bool>>>()?;
        (!all.is_empty()).then(|| all.iter().all(|met| *met))
    };
    let of_runs = |parts: &[FoundPart]| {
        let least = parts.iter().min_by(|a, b| a.share().unwrap_or(0.0).total_cmp(&b.share().unwrap_or(0.0)));
        least.map_or("-".into(), |least| format!("the least run: {}", least.text()))
    };
    let share_line = |asked: &str, study, scope, target| {
        let parts = shares(study, scope);
        line(asked, of_runs(&parts), least(&parts, target))
    };
    let asked = |share: f64, time: &str, by: &str| {
        format!("Default study, {time}: {:.0} % decided by {by}", share * 100.0)
    };
    let again = Agreement::of(rows);
    table(
        "asked | shown | ",
        [
            line(
                "Identical rivals, at least 200 points: false answers not significantly above the stated rate",
                chance.answers.text(),
                holds(&chance).map(|holds| holds && enough),
            ),
            line("the same, by size over threads", chance_over.answers.text(), holds(&chance_over)),
            line(
                "Planted about 10 % of all CPU time (15 % of the sender's) is found at 90 % of points",
                ten.text(),
                ten.reaches(0.9),
            ),
            line(
                "Planted about 5 % (8 % of the sender's) is found at 90 % of sizes over threads",
                five.text(),
                five.reaches(0.9),
            ),
            line(
                "The lasting ratio is inside the interval 93 % of the time",
                truth.text(),
                truth.reaches(0.93),
            ),
            share_line(&asked(of.short[0], "60 s", "point, in each run"), "default", point, of.short[0]),
            share_line(&asked(of.short[1], "60 s", "size over threads"), "default", over, of.short[1]),
            share_line(&asked(of.long[0], "120 s", "point"), "long", point, of.long[0]),
            share_line(&asked(of.long[1], "120 s", "size over threads"), "long", over, of.long[1]),
            line(
                "No verdict turns round between two runs",
                format!("{} of {} compared", again.turned, again.compared),
                (again.compared > 0).then_some(again.turned == 0),
            ),
            line(
                "85 % of decided pairs are decided again the same way",
                again.again.text(),
                again.again.reaches(0.85),
            ),
        ],
    )
}

/// What identical rivals were called.
struct FalseAnswers {
    answers: FoundPart,
    /// Runs of a study with any.
    families: FoundPart,
}

impl FalseAnswers {
    /// Chance of as many families with a false answer at the stated rate (exact binomial).
    fn p(&self) -> Option<f64> {
        (self.families.of > 0).then(|| at_least(self.families.found, self.families.of, FAMILY_ERROR))
    }
}

fn false_answers(rows: &[StudyRow], studies: &[&str], scope: RivalScope) -> FalseAnswers {
    // What was not reached cannot err.
    let measured = || against_control(rows, studies, scope).filter(|row| row.rounds > 0);
    let mut families: BTreeMap<(&str, u32), bool> = BTreeMap::new();
    for row in measured() {
        *families.entry((&row.study, row.run)).or_default() |= row.verdict.differs();
    }
    FalseAnswers {
        answers: FoundPart::of(measured(), |row| row.verdict.differs()),
        families: FoundPart { of: families.len(), found: families.values().filter(|any| **any).count() },
    }
}

/// The chance of at least `found` of `of` at this rate.
fn at_least(found: usize, of: usize, rate: f64) -> f64 {
    let mut mass = (1.0 - rate).powi(of as i32);
    let mut below = 0.0;
    for n in 0..found {
        below += mass;
        mass *= (of - n) as f64 / (n + 1) as f64 * rate / (1.0 - rate);
    }
    (1.0 - below).clamp(0.0, 1.0)
}

fn planted(rows: &[StudyRow]) -> String {
    let all = SCOPES.into_iter().flat_map(|(scope, _)| against_control(rows, &["planted"], scope));
    let mut percents: Vec<f64> = all.filter_map(|row| row.planted_percent).collect();
    percents.sort_by(f64::total_cmp);
    percents.dedup();
    let lines = percents.into_iter().flat_map(|percent| {
        SCOPES.map(|(scope, by)| {
            let of = || planted_by(rows, percent, scope);
            let middle = |ratios: Vec<f64>| {
                syscost_core::stats::median(&ratios).map_or("-".into(), |ratio| format!("{ratio:.3}"))
            };
            let lasting = middle(of().filter_map(|row| lasting_ratio(rows, row)).collect());
            let widths: Vec<f64> =
                of().filter_map(|row| Some((row.ci_high? / row.ci_low?).ln() / 2.0 * 100.0)).collect();
            let width =
                syscost_core::stats::median(&widths).map_or("-".into(), |width| format!("±{width:.1} %"));
            let found = FoundPart::of(of(), |row| row.verdict == RivalVerdict::Slower).text();
            let inside = covered(rows, of()).text();
            format!("{percent} % | {by} | {lasting} | {found} | {inside} | {width}")
        })
    });
    let heading = "planted (of the sender's time) | by | lasting ratio, median | called `slower` | lasting ratio inside | interval, median";
    table(heading, lines)
}

/// How much was decided of each run.
fn by_run(rows: &[StudyRow], study: &str, scope: RivalScope) -> BTreeMap<u32, FoundPart> {
    let mut runs: BTreeMap<u32, FoundPart> = BTreeMap::new();
    for row in against_control(rows, &[study], scope) {
        let part = runs.entry(row.run).or_default();
        *part = part.with(is_decided(row));
    }
    runs
}

/// Do runs of the default study agree?
#[derive(Debug, Default, PartialEq)]
struct Agreement {
    /// Of every decided row in every other run.
    again: FoundPart,
    /// `faster` in one and `slower` in another, of so many that two runs both answered.
    turned: usize,
    compared: usize,
}

impl Agreement {
    fn of(rows: &[StudyRow]) -> Agreement {
        type Question<'a> = (bool, u64, Option<u64>, &'a str);
        let mut questions: BTreeMap<Question, Vec<RivalVerdict>> = BTreeMap::new();
        for (scope, _) in SCOPES {
            for row in against_control(rows, &["default"], scope) {
                let question =
                    (scope == RivalScope::Point, row.message_bytes, row.threads, row.rival.as_str());
                questions.entry(question).or_default().push(row.verdict);
            }
        }
        let mut agreement = Agreement::default();
        for answers in questions.values() {
            for (at, one) in answers.iter().enumerate() {
                for other in &answers[at + 1..] {
                    agreement.see(*one, *other);
                }
            }
        }
        agreement
    }

    fn see(&mut self, one: RivalVerdict, other: RivalVerdict) {
        self.compared += 1;
        self.turned += usize::from(one.differs() && other.differs() && one != other);
        for first in [one, other].into_iter().filter(|verdict| *verdict != RivalVerdict::Undecided) {
            let second = if first == one { other } else { one };
            self.again = self.again.with(first == second);
        }
    }
}

#[cfg(test)]
mod tests;
