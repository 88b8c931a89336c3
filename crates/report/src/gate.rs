//! What a gate answers, for people and for the programs that read it: one writer for each format.

use crate::escape;
use crate::export::{markdown_table, paragraphs};
use crate::sides::{CaseNames, DRIFT, interval, undecided};
use crate::text::ending::EndTable;
use maud::{PreEscaped, html};
use serde_json::{Value, json};
use syscost_analyze::sides::gate::{BudgetState, GateAnswer, JudgedCase};
use syscost_core::sample::Better;
use syscost_core::units::{count, percent};
use syscost_experiment::run::Run;

const INTERVALS: &str = "Intervals: 90 % for each case by itself; over budget, 95 % for all cases together.";

/// A gate and how its cases are called.
pub struct GateReport<'a> {
    pub answer: &'a GateAnswer,
    names: CaseNames<'a>,
    /// Is an undecided case a failure for whoever reads the file?
    undecided_fails: bool,
}

/// A format that other programs read.
#[derive(Debug)]
pub struct GateFormat {
    pub name: &'static str,
    pub help: &'static str,
    pub write: fn(&GateReport) -> String,
}

pub const FORMATS: &[GateFormat] = &[
    GateFormat { name: "junit", help: "JUnit XML", write: junit },
    GateFormat { name: "markdown", help: "a table for the summary of a job", write: markdown },
    GateFormat { name: "github", help: "annotations of GitHub Actions", write: github },
];

impl<'a> GateReport<'a> {
    /// Cases are called as in this run, the first of the base.
    pub fn of(answer: &'a GateAnswer, first: &'a Run, undecided_fails: bool) -> GateReport<'a> {
        GateReport { answer, names: CaseNames::of(first), undecided_fails }
    }

    fn name(&self, case: &JudgedCase) -> String {
        escape::visible(&self.names.of_change(&case.change))
    }

    fn verdict(&self, case: &JudgedCase) -> String {
        match case.state {
            BudgetState::Within => "within budget".into(),
            BudgetState::Exceeded => "over budget".into(),
            BudgetState::Undecided => undecided(&case.change.decision, self.answer.replicate),
        }
    }

    /// The answer, in a sentence.
    pub fn sentence(&self) -> String {
        let [over, within, open] = [BudgetState::Exceeded, BudgetState::Within, BudgetState::Undecided]
            .map(|state| self.answer.count(state));
        let rest = match self.answer.without_budget {
            0 => String::new(),
            rest => format!(" No budget covers {}.", count(rest, "case")),
        };
        format!("{over} over budget, {within} within budget, {open} undecided.{rest}")
    }

    fn detail(&self, case: &JudgedCase) -> String {
        format!(
            "{} of the base's cost, budget {}: {}",
            interval(&case.change.decision),
            percent(case.budget),
            self.verdict(case)
        )
    }

    pub fn table(&self) -> EndTable {
        // The last goes first where a terminal is narrow.
        let columns = ["case", "candidate / base", "budget", "verdict", "base"].map(String::from).to_vec();
        let row = |case: &JudgedCase| {
            let base = case.change.metric.unit.format(case.change.base);
            vec![
                self.name(case),
                interval(&case.change.decision),
                percent(case.budget),
                self.verdict(case),
                base,
            ]
        };
        let rows = self.answer.judged.iter().map(row).collect();
        EndTable { title: None, columns, rows, note: None }
    }

    /// What the reader must know before the table is believed.
    pub fn notes(&self) -> Vec<&'static str> {
        let turned = self.answer.judged.iter().any(|case| case.change.metric.better == Better::Higher);
        let turned = turned.then_some("Of rates the ratio is base / candidate: above 1 is worse.");
        let drift = self.answer.one_after_the_other.then_some(DRIFT);
        [INTERVALS].into_iter().chain(turned).chain(drift).collect()
    }

    pub fn json(&self) -> Value {
        let case = |case: &JudgedCase| {
            let decision = &case.change.decision;
            let known = |value: f64| value.is_finite().then_some(value);
            json!({
                "case": self.name(case), "probe": case.probe, "metric": case.change.metric.id,
                "base": case.change.base, "candidate": case.change.candidate, "cost_ratio": decision.ratio,
                "ci_low": known(decision.low), "ci_high": known(decision.high), "ci_level": decision.level,
                "budget": case.budget, "verdict": word(case.state),
            })
        };
        json!({
            "verdict": word(self.answer.state()),
            "answer": self.sentence(),
            "cases": self.answer.judged.iter().map(case).collect::<Vec<_>>(),
        })
    }
}

pub fn word(state: BudgetState) -> &'static str {
    match state {
        BudgetState::Within => "within",
        BudgetState::Exceeded => "exceeded",
        BudgetState::Undecided => "undecided",
    }
}

/// As Jenkins reads it: `skipped` has no attribute that other readers would refuse.
fn junit(report: &GateReport) -> String {
    let failed = |case: &JudgedCase| {
        case.state == BudgetState::Exceeded || case.state == BudgetState::Undecided && report.undecided_fails
    };
    let judged = &report.answer.judged;
    let failures = judged.iter().filter(|case| failed(case)).count();
    let skipped = judged.iter().filter(|case| case.state == BudgetState::Undecided && !failed(case)).count();
    let document = html! {
        testsuites name="syscost gate" tests=(judged.len()) failures=(failures) errors="0" {
            testsuite name="syscost gate" tests=(judged.len()) failures=(failures) errors="0" skipped=(skipped) {
                @for case in judged {
                    testcase classname=(case.probe) name=(report.name(case)) {
                        @if failed(case) {
                            failure type=(word(case.state)) message=(report.detail(case)) {}
                        } @else if case.state == BudgetState::Undecided {
                            skipped { (report.detail(case)) }
                        }
                    }
                }
            }
        }
    };
    let PreEscaped(text) = document;
    format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n{text}\n")
}

fn markdown(report: &GateReport) -> String {
    let notes = paragraphs(report.notes().into_iter().map(String::from));
    format!("### syscost gate: {}\n{}{notes}", report.sentence(), markdown_table(&report.table()))
}

/// One annotation for each case that is not within its budget.
fn github(report: &GateReport) -> String {
    let data = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let one = |case: &JudgedCase| {
        let fails = case.state == BudgetState::Exceeded || report.undecided_fails;
        let level = if fails { "error" } else { "warning" };
        let text = data(&format!("{}: {}", report.name(case), report.detail(case)));
        format!("::{level} title=syscost gate::{text}\n")
    };
    report.answer.judged.iter().filter(|case| case.state != BudgetState::Within).map(one).collect()
}
