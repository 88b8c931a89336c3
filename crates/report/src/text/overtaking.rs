//! From which size does a class of mechanisms beat two-copy?

use super::copies::several;
use super::figures::extremes;
use super::{QuestionText, headline_of};
use crate::Statement;
use crate::text::words::{Words, and, count};
use std::collections::BTreeSet;
use syscost_analyze::compare::study::{ALONG, RIVALS};
use syscost_analyze::finding::overtaking::{Overtakes, Overtaking};
use syscost_analyze::finding::{Answer, Says, Shown};
use syscost_analyze::recommend::line::Way;
use syscost_core::units::significant;
use syscost_measure::probe::transfer::axes::THREADS;

pub const ONE_COPY: QuestionText = text("one_copy", "From which size does one-copy beat two-copy?");
pub const ZERO_COPY: QuestionText = text("zero_copy_from", "From which size does zero-copy beat two-copy?");

const fn text(id: &'static str, question: &'static str) -> QuestionText {
    QuestionText {
        id,
        question,
        headline: |answer: &Answer, words: &Words| headline_of(answer, words, headline),
        told: statements,
    }
}

fn known(says: &Says) -> Option<&Overtaking> {
    if let Says::Overtaking(one) = says { Some(one) } else { None }
}

/// The first sentence: the ratio is beside it.
fn headline(says: &Says, words: &Words) -> Option<String> {
    let text = sentence(known(says)?, words);
    Some(text.split_once(". ").map_or(text.clone(), |(first, _)| format!("{first}.")))
}

/// Against one mechanism, challengers with the same answer are one sentence.
fn statements(answer: &Answer, words: &Words) -> Vec<Statement> {
    let all: Vec<(&Overtaking, &Shown)> =
        answer.shown.iter().filter_map(|shown| Some((known(&shown.says)?, shown))).collect();
    let mut groups: Vec<Vec<(&Overtaking, &Shown)>> = Vec::new();
    for one in &all {
        let alike = |group: &&mut Vec<(&Overtaking, &Shown)>| {
            let (first, _) = group[0];
            mechanism(&first.theirs) == mechanism(&one.0.theirs) && kind(first) == kind(one.0)
        };
        match groups.iter_mut().find(alike) {
            Some(group) => group.push(*one),
            None => groups.push(vec![*one]),
        }
    }
    let statement = |group: &Vec<(&Overtaking, &Shown)>| {
        let members: Vec<&Overtaking> = group.iter().map(|(one, _)| *one).collect();
        let text = match members[..] {
            [one] => sentence(one, words),
            _ => {
                let ours: BTreeSet<&str> = members.iter().map(|one| mechanism(&one.ours)).collect();
                let rivals = |one: &Overtaking| {
                    mechanism(&one.theirs) == mechanism(&members[0].theirs)
                        && ours.contains(mechanism(&one.ours))
                };
                grouped(&members, all.iter().filter(|(one, _)| rivals(one)).count(), words)
            }
        };
        Statement { text, cells: group.iter().flat_map(|(_, shown)| shown.cells.iter().cloned()).collect() }
    };
    groups.iter().map(statement).collect()
}

fn mechanism(way: &Way) -> &str {
    way.text(RIVALS).unwrap_or_default()
}

/// What is said of it without figures.
fn kind(one: &Overtaking) -> u8 {
    match &one.overtakes {
        Overtakes::From { .. } => 0,
        Overtakes::OnlyUpTo { .. } => 1,
        Overtakes::Several(_) => 2,
        Overtakes::Always => 3,
        Overtakes::Never if one.worse.is_empty() => 4,
        Overtakes::Never => 5,
    }
}

/// `sendmsg and writev beat send_fields wherever they differ (CPU and throughput, 12 of 14 comparisons). They are 1.3x to 7x as good.`
fn grouped(members: &[&Overtaking], of: usize, words: &Words) -> String {
    let distinct = |of: fn(&Overtaking) -> &str| {
        let mut names: Vec<String> = Vec::new();
        members.iter().for_each(|one| {
            if !names.iter().any(|n| n == of(one)) {
                names.push(of(one).into())
            }
        });
        names
    };
    let names = distinct(|one| mechanism(&one.ours));
    let metrics = and(&distinct(|one| title(one.metric)));
    let theirs = mechanism(&members[0].theirs);
    let (one, s) = if names.len() == 1 { (true, "s") } else { (false, "") };
    let beats = match kind(members[0]) {
        0 => format!("beat{s} {theirs} from a size up"),
        1 => format!("beat{s} {theirs} only up to a size"),
        2 => format!("beat{s} {theirs} in turns"),
        3 => format!("beat{s} {theirs} wherever they differ"),
        4 if one => format!("does not differ significantly from {theirs}"),
        4 => format!("do not differ significantly from {theirs}"),
        _ => format!("never beat{s} {theirs}"),
    };
    let borders: Vec<(u64, u64)> = members.iter().flat_map(|one| borders(&one.overtakes)).collect();
    let low = borders.iter().map(|border| border.0).min();
    let high = borders.iter().map(|border| border.1).max();
    let borders = low.zip(high).map_or(String::new(), |(low, high)| {
        format!(
            " The border lies between {} and {}.",
            words.range(ALONG.id, low, low),
            words.range(ALONG.id, high, high)
        )
    });
    let scope = if members.len() == of {
        metrics
    } else {
        format!("{metrics}, {} of {of} comparisons", members.len())
    };
    let ratios: Vec<f64> = members.iter().filter_map(|one| Some(one.decisive?.1.value)).collect();
    let ratios = extremes(&ratios).map_or(String::new(), |(low, high)| {
        let at_best = if members[0].better.is_empty() { "At best " } else { "" };
        let (low, high) = (significant(low), significant(high));
        let range = if low == high { format!("{low}x") } else { format!("{low}x to {high}x") };
        let subject = match (at_best.is_empty(), one) {
            (true, true) => "It is",
            (true, false) => "They are",
            (false, true) => "it is",
            (false, false) => "they are",
        };
        format!(" {at_best}{subject} {range} as good.")
    });
    format!("{} {beats} ({scope}).{borders}{ratios}", several(&names))
}

fn borders(overtakes: &Overtakes) -> Vec<(u64, u64)> {
    match overtakes {
        Overtakes::From { low, high } | Overtakes::OnlyUpTo { low, high } => vec![(*low, *high)],
        Overtakes::Several(borders) => borders.clone(),
        Overtakes::Always | Overtakes::Never => Vec::new(),
    }
}

/// `sendmsg beats pack_send from between 4 KiB and 64 KiB up (CPU, 4 thread counts). It is 1.2x [1.1, 1.3] as good, at 64 KiB.`
fn sentence(one: &Overtaking, words: &Words) -> String {
    let name = |way| words.name(way, RIVALS.id, &one.held);
    let show = |at: u64| words.range(ALONG.id, at, at);
    let between = |low: u64, high: u64| format!("between {} and {}", show(low), show(high));
    let (ours, theirs) = (name(&one.ours), name(&one.theirs));
    let beats = match &one.overtakes {
        Overtakes::From { low, high } => format!("beats {theirs} from {} up", between(*low, *high)),
        Overtakes::OnlyUpTo { low, high } => format!("beats {theirs} only up to {}", between(*low, *high)),
        Overtakes::Several(borders) => {
            format!("beats {theirs} in turns ({})", count(borders.len(), "crossing"))
        }
        Overtakes::Always if one.same.len() + one.undecided.len() == 0 => {
            format!("beats {theirs} at every size tested")
        }
        Overtakes::Always => format!("beats {theirs} wherever they differ"),
        Overtakes::Never if one.worse.is_empty() => format!("does not differ significantly from {theirs}"),
        Overtakes::Never => format!("never beats {theirs}"),
    };
    let threads = match one.threads[..] {
        [] => String::new(),
        [only] => format!(", {}", count(only as usize, "thread")),
        _ => format!(", {} thread counts", one.threads.len()),
    };
    let ratio = one.decisive.map_or(String::new(), |(at, ratio)| {
        let word = if one.better.is_empty() { "At best it is" } else { "It is" };
        let value = significant(ratio.value);
        format!(
            " {word} {value}x [{}, {}] as good, at {}.",
            significant(ratio.low),
            significant(ratio.high),
            show(at)
        )
    });
    let place = words.with(&one.held.without(THREADS.id));
    // One bracket for all that it holds at.
    let scope = format!("{ours} {beats}{place} ({}{threads}).", title(one.metric)).replace(") (", ", ");
    format!("{scope}{ratio}")
}

/// At one size, what is cheaper a byte is cheaper a message.
fn title(metric: &str) -> &str {
    if metric.contains("cpu") { "CPU" } else { metric }
}
