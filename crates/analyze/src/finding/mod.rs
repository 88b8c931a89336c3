//! Questions that a report answers from the data of its run alone: one file each, one visible list.
//!
//! A finding answers a question of a reader by data ([`crate::answer`]); its words are in the report crate. It
//! computes from cells, comparisons and audits that others made ([`Evidence`]); it measures nothing, and
//! it tells of a difference only where [`crate::compare`] does.

use crate::Problem;
use crate::answer::{AnswerVerdict, Caveat, CellRef, ComparisonRef, Lack};
use crate::cells::Cells;
use crate::compare::comparisons::{Comparison, claims};
use crate::compare::family::Family;
use crate::compare::groups::Groups;
use crate::compare::study::Study;
use crate::latency::Latency;
use crate::limits::limiter::Limiter;
use crate::model::Model;
use serde::Serialize;
use std::collections::BTreeSet;
use syscost_core::axis::{Point, Value};
use syscost_core::decide::Verdict;
use syscost_experiment::run::Run;
use syscost_host::remote::transport::words::quote;
use syscost_measure::probe::transfer::axes::{self, PATH};
use syscost_measure::probe::{Probe, transfer};

pub mod along;
pub mod beside;
pub mod overtaking;
mod pairs;

/// What findings are made from.
#[derive(Clone, Copy)]
pub struct Evidence<'a> {
    pub run: &'a Run,
    pub cells: &'a Cells,
    pub groups: &'a Groups,
    pub studies: &'a [Study],
    pub limiters: &'a [Limiter],
    pub latency: &'a Latency,
    pub model: &'a Model,
    pub problems: &'a [Problem],
}

impl<'a> Evidence<'a> {
    /// One headline metric, compared.
    pub fn study(&self, metric: &str) -> Option<&'a Study> {
        self.studies.iter().find(|s| s.comparisons.metric.id == metric)
    }
}

pub trait Finding: Sync {
    /// Anchor on the page: `scatter_gather`.
    fn id(&self) -> &'static str;

    /// Is the question one of this run at all? Most are about the copies and the cost of transfers.
    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        asked_of_transfers(evidence)
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer;
}

/// Are there transfers in the run?
fn asked_of_transfers(evidence: &Evidence<'_>) -> bool {
    let of = transfer::Transfer.about().id;
    evidence.run.record.plan.cases.iter().any(|case| case.probe == of)
}

/// One thing that the run shows.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shown {
    #[serde(flatten)]
    pub says: Says,
    /// What compares names its rows.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub comparisons: Vec<ComparisonRef>,
    /// Nothing about figures is without cells.
    pub cells: Vec<CellRef>,
}

impl Shown {
    pub fn of(says: Says, cells: Vec<CellRef>) -> Shown {
        Shown { says, comparisons: Vec::new(), cells }
    }

    pub fn comparing(says: Says, comparisons: Vec<ComparisonRef>, cells: Vec<CellRef>) -> Shown {
        Shown { says, comparisons, cells }
    }
}

/// Every kind of thing shown: a line for each question or other source, which defines its own kinds.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "about", content = "says", rename_all = "snake_case")]
pub enum Says {
    ScatterGather(scatter_gather::Gathering),
    ZeroCopy(zero_copy::ZeroCopyChange),
    Overtaking(overtaking::Overtaking),
    NotFastest(not_fastest::ZeroCopyPrices),
    CacheLevels(cache_levels::LevelMisses),
    Threads(threads::Scaling),
    Along(along::AlongChanges),
    Latency(latency_along::LatencyChange),
    Unexpected(unexpected::Unforeseen),
    Expensive(expensive::Expense),
    Layers(layers::LayerCost),
    Placement(placement::PlacementCost),
    BesideTcp(beside_tcp::DatagramCost),
    HeldSize(held_size::HeldRoom),
    OwnOperations(own_operations::OwnRatio),
}

/// A question and what the run says to it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// Its id, also on the page: `scatter_gather`.
    pub question: &'static str,
    pub verdict: AnswerVerdict,
    /// Most important first.
    pub shown: Vec<Shown>,
    pub caveats: Vec<Caveat>,
    /// Where the run has not measured it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lacks: Option<Lack>,
    /// A command whose run could answer it, or say more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// The comparisons that this answer needs beside those of the studies; each is a row of comparisons.csv.
    #[serde(skip)]
    pub compared: Vec<Family<'static>>,
}

/// A metric, and two cases whose difference in it is asked for.
pub type AskedPair = (&'static str, usize, usize);

impl Answer {
    pub fn found(
        question: &'static str,
        verdict: AnswerVerdict,
        shown: Vec<Shown>,
        caveats: Vec<Caveat>,
    ) -> Answer {
        Answer { question, verdict, shown, caveats, lacks: None, command: None, compared: Vec::new() }
    }

    /// This answer with the comparisons that it needs.
    pub fn comparing(self, compared: Vec<Family<'static>>) -> Answer {
        Answer { compared, ..self }
    }

    /// Whether pairs differ: what each of them shows by its points, and how many are open.
    pub fn of_claims(
        question: &'static str,
        evidence: &Evidence<'_>,
        asked: &[AskedPair],
        says: impl Fn(&Comparison, [&Point; 2]) -> Option<Says>,
    ) -> Answer {
        let claims = claims(evidence.run, evidence.cells, asked);
        let shown = |claim: &Comparison| {
            let [a, b] = [claim.a, claim.b].map(|case| Some(&evidence.run.case(case)?.point));
            let cells = [claim.a, claim.b].map(|case| CellRef { case, metric: claim.metric });
            Some(Shown::comparing(says(claim, [a?, b?])?, vec![claim.into()], cells.to_vec()))
        };
        let shown: Vec<Shown> = claims.iter().filter_map(shown).collect();
        let are =
            |of: fn(&Verdict) -> bool| claims.iter().filter(|claim| of(&claim.decision.verdict)).count();
        let open = are(|verdict| *verdict == Verdict::Undecided);
        let differ = are(|verdict| matches!(verdict, Verdict::Less | Verdict::More));
        let verdict = AnswerVerdict::at(differ, claims.len()).or_open(open > 0);
        let open = Caveat::open(open, claims.len());
        let answer = Answer::found(question, verdict, shown, open.into_iter().collect());
        answer.comparing(vec![Family::of_pairs(question, claims)])
    }

    pub fn not_measured(question: &'static str, lacks: Lack, command: impl Into<String>) -> Answer {
        let answer = Answer::found(question, AnswerVerdict::NotMeasured, Vec::new(), Vec::new());
        Answer { lacks: Some(lacks), command: Some(command.into()), ..answer }
    }

    /// Without a word the command would measure the default's paths, where all has another price.
    fn over_its_paths(mut self, run: &Run) -> Answer {
        if let (Some(command), true) =
            (&mut self.command, self.lacks.as_ref().is_some_and(Lack::is_of_one_path))
        {
            command.push_str(&paths_of(run));
        }
        self
    }
}

/// What makes a command measure the paths of this run: ` --path loopback`; nothing where it does by default.
pub fn paths_of(run: &Run) -> String {
    let paths: BTreeSet<&str> =
        run.record.plan.cases.iter().filter_map(|case| case.point.text(PATH)).collect();
    let default = axes::find(PATH.id).default();
    if paths.iter().all(|path| default.contains(&Value::text(*path))) {
        return String::new();
    }
    format!(" --path {}", quote(&paths.into_iter().collect::<Vec<_>>().join(",")))
}

syscost_core::registry! {
    /// Every finding, in the order of reports.
    pub static ALL: dyn Finding = [
        pub own_operations::OwnRivals,
        pub expensive::Expensive,
        pub layers::Layers,
        pub scatter_gather::ScatterGather,
        pub zero_copy::ZeroCopy,
        pub not_fastest::NotFastest,
        pub cache_levels::CacheLevels,
        pub threads::Threads,
        connections::Connections,
        pub latency_along::LatencyAlong,
        pub placement::EndsPlaced,
        pub beside_tcp::BesideTcp,
        pub held_size::HeldSize,
        one_copy::OneCopy,
        zero_copy_from::ZeroCopyFrom,
        pub unexpected::Unexpected,
    ];
}

/// What the run says to every question that is asked of it.
pub fn answers(evidence: &Evidence<'_>) -> Vec<Answer> {
    let asked = ALL.iter().filter(|finding| finding.asked(evidence));
    asked.map(|finding| finding.answered(evidence).over_its_paths(evidence.run)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::AnswerVerdict;
    use crate::synthetic::Synthetic;
    use crate::whole::Analysis;

    #[test]
    fn questions_are_distinct_and_every_statement_stands_on_cells_that_exist() {
        let ids: BTreeSet<&str> = ALL.iter().map(|f| f.id()).collect();
        assert_eq!(ids.len(), ALL.len());
        let run = Synthetic::default().run();
        let analysis = Analysis::of(&run);
        assert!(analysis.answers.len() < ALL.len(), "one of them is asked of few runs");
        for answer in &analysis.answers {
            let question = answer.question;
            if answer.verdict == AnswerVerdict::NotMeasured {
                let command = answer.command.as_deref().unwrap_or_default();
                assert!(answer.lacks.is_some() && command.contains("syscost"), "{question}");
                continue;
            }
            assert!(!answer.shown.is_empty(), "{question}");
            for cell in answer.shown.iter().flat_map(|shown| &shown.cells) {
                assert!(cell.exists(&run, &analysis.cells), "{cell:?}");
            }
        }
    }

    /// A run over loopback was told to measure veth, whose steps say nothing of its own.
    #[test]
    fn a_command_measures_the_path_of_its_run() {
        let mut run = Synthetic { threads: vec![1], ..Synthetic::default() }.run();
        let commands = |run: &Run| -> Vec<String> {
            let answers = Analysis::of(run).answers.into_iter();
            let lacking = answers.filter(|a| a.lacks.as_ref().is_some_and(Lack::is_of_one_path));
            lacking.filter_map(|answer| answer.command).collect()
        };
        let over_default = commands(&run);
        assert!(!over_default.is_empty() && over_default.iter().all(|command| !command.contains("--path")));
        for case in &mut run.record.plan.cases {
            case.point.set(PATH.id, Value::text("loopback"));
        }
        let over_loopback: Vec<String> =
            over_default.iter().map(|command| format!("{command} --path loopback")).collect();
        assert_eq!(commands(&run), over_loopback);
    }
}
