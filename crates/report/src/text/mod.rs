//! Every sentence of a report: what the analysing crate says as data, in words. A question is a line of `QUESTIONS` and a
//! file of sentences.

use crate::Statement;
use crate::material::Material;
use crate::text::words::{Words, and, count};
use std::mem::discriminant;
use syscost_analyze::answer::{AnswerVerdict, Caveat, Lack};
use syscost_analyze::finding::{Answer, Says, Shown};

mod along;
pub mod beside_tcp;
mod cache_levels;
pub mod expensive;
pub mod layers;
pub mod copies;
pub mod costs;
pub mod ending;
pub mod late;
pub mod latency;
pub mod held_size;
pub mod latency_along;
pub mod limits;
pub mod machine_level;
pub mod model;
pub mod own_cost;
pub mod problems;
pub mod profile;
mod overtaking;
pub mod placement;
pub mod recommendation;
pub mod figures;
mod not_fastest;
pub mod own_operations;
pub mod rulers;
pub mod trust;
mod scatter_gather;
mod threads;
mod unexpected;
pub mod words;
mod zero_copy;

/// The id of each question and its words, in the order of reports.
static QUESTIONS: &[(&str, &str)] = &[
    (OWN_OPERATIONS, "Which of your operations or commands costs less?"),
    ("expensive", "What is expensive here, and what would change it?"),
    (LAYERS, "What does each layer and setting between the two ends cost?"),
    ("scatter_gather", "Which copy did scatter-gather remove?"),
    ("zero_copy", "What did zero-copy remove, and what did it add?"),
    ("not_fastest", "Why is zero-copy not always fastest?"),
    ("cache_levels", "Which cache level's misses fall most, and between which mechanisms?"),
    ("threads", "Where does scaling with threads stop, and why?"),
    ("connections", "What does it cost when a thread serves more connections?"),
    (LATENCY, "How does latency change with threads, message size and rate?"),
    (PLACEMENT, "What do one CPU for both ends and the scheduler's choice cost?"),
    (BESIDE_TCP, "What does a datagram cost beside a TCP message?"),
    ("held_size", "How large is the file cache?"),
    ("one_copy", "From which size does one-copy beat two-copy?"),
    ("zero_copy_from", "From which size does zero-copy beat two-copy?"),
    ("unexpected", "What is unexpected?"),
];

/// How latency changes along an axis.
pub const LATENCY: &str = "latency";
/// Where both ends run.
pub const PLACEMENT: &str = "placement";
/// A datagram beside a TCP message.
pub const BESIDE_TCP: &str = "beside_tcp";
/// A user's own operations, compared.
pub const OWN_OPERATIONS: &str = "own_operations";
/// What a report of layers opens with.
pub const LAYERS: &str = "layers";

/// The answer in one sentence, under 25 words: that of the first thing shown.
fn headline(answer: &Answer, words: &Words) -> Option<String> {
    Some(match &answer.shown.first()?.says {
        Says::Expensive(expense) => expensive::headline(expense),
        Says::Layers(_) => layers::headline(answer, words),
        Says::Placement(_) => placement::headline(answer),
        Says::BesideTcp(_) => beside_tcp::headline(answer),
        Says::HeldSize(room) => held_size::headline(room),
        Says::OwnOperations(ratio) => own_operations::sentence(ratio),
        Says::ScatterGather(gathering) => scatter_gather::headline(gathering),
        Says::ZeroCopy(change) => zero_copy::headline(change),
        Says::NotFastest(prices) => not_fastest::headline(prices),
        Says::CacheLevels(misses) => cache_levels::headline(misses),
        Says::Threads(scaling) => threads::headline(scaling, answer.verdict),
        Says::Along(changes) => along::headline(changes),
        Says::Latency(change) => latency_along::headline(change),
        Says::Overtaking(one) => overtaking::headline(one, words),
        Says::Unexpected(unforeseen) => unexpected::headline(answer, unforeseen),
    })
}

/// What shows it, each thing once: near-equal ones are one sentence with their range.
fn told(answer: &Answer, words: &Words) -> Vec<Statement> {
    let Some(first) = answer.shown.first().map(|shown| &shown.says) else { return Vec::new() };
    // Beside the scaling of threads stands what changes along them: data for programs.
    let alike = |shown: &&Shown| discriminant(&shown.says) == discriminant(first);
    let each = |shown: &Shown| Statement { text: sentence(&shown.says, words), cells: shown.cells.clone() };
    match first {
        Says::ScatterGather(_) => scatter_gather::statements(&answer.shown),
        Says::ZeroCopy(_) => zero_copy::statements(&answer.shown),
        Says::Overtaking(_) => overtaking::statements(&answer.shown, words),
        Says::Latency(_) => latency_along::statements(&answer.shown, words),
        _ => answer.shown.iter().filter(alike).map(each).collect(),
    }
}

/// Names operations that cost more than they must, and what would change it.
pub fn dear(m: &Material) -> Vec<Statement> {
    let shown = m.analysis.answers.iter().flat_map(|answer| &answer.shown);
    let text = |shown: &Shown| match &shown.says {
        Says::Expensive(expense) => Some(expensive::opening(expense)),
        Says::HeldSize(room) => Some(held_size::headline(room)),
        _ => None,
    };
    shown.filter_map(|shown| Some(Statement { text: text(shown)?, cells: shown.cells.clone() })).collect()
}

/// What is told one by one.
fn sentence(says: &Says, words: &Words) -> String {
    match says {
        Says::Expensive(expense) => expensive::sentence(expense),
        Says::Layers(cost) => layers::sentence(cost, words),
        Says::Placement(cost) => placement::sentence(cost),
        Says::BesideTcp(cost) => beside_tcp::sentence(cost),
        Says::HeldSize(room) => held_size::sentence(room),
        Says::OwnOperations(ratio) => own_operations::sentence(ratio),
        Says::NotFastest(prices) => not_fastest::sentence(prices),
        Says::CacheLevels(misses) => cache_levels::sentence(misses),
        Says::Threads(scaling) => threads::sentence(scaling, words),
        Says::Along(changes) => along::sentence(changes),
        Says::Unexpected(unforeseen) => unexpected::sentence(unforeseen, words),
        Says::ScatterGather(_) | Says::ZeroCopy(_) | Says::Overtaking(_) | Says::Latency(_) => String::new(),
    }
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
    let question = QUESTIONS.iter().find(|(id, _)| *id == answer.question);
    let lacks =
        answer.lacks.as_ref().map(|lack| (self::lack(lack), answer.command.clone().unwrap_or_default()));
    AnswerText {
        question: question.map_or(answer.question, |(_, question)| question),
        verdict: answer.verdict,
        headline: headline(answer, words).unwrap_or_default(),
        statements: told(answer, words),
        caveats: answer.caveats.iter().map(caveat).collect(),
        lacks,
    }
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
        Caveat::ModelledCaches { caches } => format!(
            "Modelled cache, emulated CPU ({caches}): no prefetcher, and stores count too. A hardware counter says \
             something else."
        ),
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
        Lack::ComparableFigures => {
            "neighbouring cases to compare, or enough rounds to show two levels".into()
        }
        Lack::ZeroCopyOverSizes => "zero-copy beside a way that copies, at several sizes".into(),
        Lack::ClassesAtOneSize { challenger } => {
            format!("a two-copy and a {challenger} mechanism at the same size and settings")
        }
        Lack::HeldSize { holder, largest, room, reason } => {
            held_size::lack(holder, *largest, *room, reason.as_ref())
        }
    }
}

#[cfg(test)]
mod tests;
