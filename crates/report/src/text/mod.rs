//! Every sentence of a report: what the analysing crate says as data, in words. A file a question, a line each in
//! `QUESTIONS`.

use crate::Statement;
use crate::text::words::{Words, and, count};
use syscost_analyze::answer::{AnswerVerdict, Caveat, Lack};
use syscost_analyze::finding::{Answer, Says, Shown};

mod along;
mod cause;
mod cache_levels;
mod connections;
pub mod expensive;
pub mod layers;
pub mod copies;
pub mod costs;
pub mod ending;
pub mod latency;
pub mod limits;
pub mod machine_level;
pub mod model;
pub mod own_cost;
pub mod problems;
pub mod profile;
mod overtaking;
pub mod recommendation;
mod regimes;
pub mod figures;
mod not_fastest;
pub mod rulers;
pub mod trust;
mod scatter_gather;
mod threads;
mod unexpected;
mod wakeups;
pub mod words;
mod zero_copy;

/// The words of one question.
pub struct QuestionText {
    /// Of the answer: `scatter_gather`.
    pub id: &'static str,
    pub question: &'static str,
    /// The answer in one sentence, under 25 words.
    headline: fn(&Answer, &Words) -> String,
    /// What shows it, each thing once: near-equal ones are one sentence with their range.
    told: fn(&Answer, &Words) -> Vec<Statement>,
}

/// In the order of reports.
static QUESTIONS: &[QuestionText] = &[
    expensive::TEXT,
    layers::TEXT,
    scatter_gather::TEXT,
    zero_copy::TEXT,
    not_fastest::TEXT,
    cache_levels::TEXT,
    threads::TEXT,
    connections::TEXT,
    wakeups::TEXT,
    regimes::TEXT,
    overtaking::ONE_COPY,
    overtaking::ZERO_COPY,
    unexpected::TEXT,
];

/// Of the first thing shown.
fn headline_of(answer: &Answer, words: &Words, says: fn(&Says, &Words) -> Option<String>) -> String {
    answer.shown.first().and_then(|shown| says(&shown.says, words)).unwrap_or_default()
}

/// What is said to a question.
#[derive(Clone, Debug, PartialEq)]
pub struct AnswerText {
    pub question: &'static str,
    pub verdict: AnswerVerdict,
    pub headline: String,
    pub statements: Vec<Statement>,
    pub caveats: Vec<String>,
    /// What the run lacks, and the command whose run would have it.
    pub lacks: Option<(String, String)>,
}

pub fn answer(answer: &Answer, words: &Words) -> AnswerText {
    let of_question = QUESTIONS.iter().find(|text| text.id == answer.question);
    let lacks =
        answer.lacks.as_ref().map(|lack| (self::lack(lack), answer.command.clone().unwrap_or_default()));
    AnswerText {
        question: of_question.map_or(answer.question, |text| text.question),
        verdict: answer.verdict,
        headline: of_question.map_or_else(String::new, |text| (text.headline)(answer, words)),
        statements: of_question.map_or_else(Vec::new, |text| (text.told)(answer, words)),
        caveats: answer.caveats.iter().map(caveat).collect(),
        lacks,
    }
}

/// A sentence for each thing shown, with the cells it stands on.
fn each(answer: &Answer, words: &Words, says: fn(&Says, &Words) -> Option<String>) -> Vec<Statement> {
    let of = |shown: &Shown| Some(Statement { text: says(&shown.says, words)?, cells: shown.cells.clone() });
    answer.shown.iter().filter_map(of).collect()
}

fn caveat(caveat: &Caveat) -> String {
    match caveat {
        Caveat::CachedMessages => {
            "The messages stay in the caches, because the same ones are sent again and again.".into()
        }
        Caveat::PinsNotCounted { pages } => format!(
            "Pins are not counted. The kernel pins {} or more of each message of the audit. The CPU figures include their cost.",
            count(*pages as usize, "page")
        ),
        Caveat::OneMachine => {
            "The orphan copy happens where both ends are on one machine. A network device fetches \
             pages itself: `syscost lab` counts that."
                .into()
        }
        Caveat::CopiesNotCounted { mechanisms } => {
            format!("The copies of {} were not counted beside the control's.", and(mechanisms))
        }
        Caveat::ZeroCopyCopied { mechanisms, by } => recommendation::copied(mechanisms, *by),
        Caveat::NoDevice { command } => {
            format!("Both ends ran on one machine: on a real NIC this says nothing. Next: `{command}`.")
        }
        Caveat::MissesOfBothSides => {
            "Misses are those of both sides, in user space and the kernel. Fewer misses alone prove no cause.".into()
        }
        Caveat::LevelsNotCounted { levels } => {
            let levels: Vec<String> = levels.iter().map(|l| cache_levels::level(*l).to_string()).collect();
            format!("Not counted: {}.", and(&levels))
        }
        Caveat::ComparisonsOpen { open, of } => format!("{open} of {of} comparisons are undecided."),
        Caveat::ConnectionsInTurn => {
            "A thread serves its connections in turn and waits where one has no room. A server that polls for ready \
             connections pays something else."
                .into()
        }
        // The default experiment has prices; the control alone leaves time for rounds.
        Caveat::OneReadSize => "The receiver read in one size only. Compare two: `syscost run default --mechanism send --threads 1 \
                                --read-bytes buffer,message`."
            .into(),
        Caveat::CausesArePriced => {
            "A cause is named only where its events, at prices measured in this run, explain at least half of the \
             difference. Up to three are added up."
                .into()
        }
        Caveat::MitigationsNotPriced { of } => format!(
            "Mitigations are in force ({}). What they cost takes a second run after a boot with mitigations=off. \
             Next: `syscost report DIR --beside OTHER_DIR`.",
            and(of)
        ),
        Caveat::LevelsCorrected { figures } => {
            format!("The test for two levels is corrected for the {} tested.", count(*figures, "figure"))
        }
        Caveat::CpuOfBothSides => {
            "CPU time covers both sides' threads and the softirqs on top of them.".into()
        }
    }
}

/// Completes "this run has not measured ".
fn lack(lack: &Lack) -> String {
    match lack {
        Lack::CountedCopies => "the copies of a way that packs and of one that gathers".into(),
        Lack::ZeroCopyBesideCopying => "a way that asks for zero-copy beside one that copies".into(),
        Lack::CacheMisses { reason: Some((why, remedy)) } => format!("cache misses ({why}; {remedy})"),
        Lack::CacheMisses { reason: None } => {
            "cache misses of two mechanisms: it needs hardware counters".into()
        }
        Lack::SeveralThreadCounts => "the same transfer with two thread counts".into(),
        Lack::SeveralConnectionCounts => "the same transfer with two numbers of connections".into(),
        Lack::SeveralLayers => "the same transfer over two paths of one machine".into(),
        Lack::PredictedRows => "a row with a prediction, or two ways of doing the same".into(),
        Lack::SleepsBesideThroughput => {
            "throughput and sleeps of two read sizes, or of a mechanism beside the control".into()
        }
        Lack::PriceOfASleep => "what a sleep costs, which the steps of the path (`tcp_path`) tell".into(),
        Lack::ComparableFigures => {
            "neighbouring cases to compare, or enough rounds to show two levels".into()
        }
        Lack::ZeroCopyOverSizes => "zero-copy beside a way that copies, at several sizes".into(),
        Lack::ClassesAtOneSize { challenger } => {
            format!("a two-copy and a {challenger} mechanism at the same size and settings")
        }
    }
}

#[cfg(test)]
mod tests;
