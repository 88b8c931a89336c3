//! From which size does a class of mechanisms beat two-copy?

use super::copies::several;
use super::figures::extremes;
use crate::Statement;
use crate::text::words::{LineSizes, Words, and, capital, count, grouped};
use std::collections::BTreeSet;
use syscost_analyze::compare::study::{ALONG, RIVALS};
use syscost_analyze::finding::overtaking::{Overtakes, Overtaking};
use syscost_analyze::finding::{Says, Shown};
use syscost_analyze::recommend::line::Way;
use syscost_core::axis::Point;
use syscost_core::stats::Estimate;
use syscost_core::units::significant;
use syscost_measure::probe::transfer::axes::{FIELDS, THREADS};

/// The first sentence: the ratio is beside it.
pub fn headline(one: &Overtaking, words: &Words) -> String {
    let text = sentence(one, words);
    text.split_once(". ").map_or(text.clone(), |(first, _)| format!("{first}."))
}

/// Against one mechanism, challengers with the same answer are one sentence.
pub fn statements(all: &[Shown], words: &Words) -> Vec<Statement> {
    let known = all.iter().filter_map(|shown| match &shown.says {
        Says::Overtaking(one) => Some((one, shown)),
        _ => None,
    });
    let all: Vec<(&Overtaking, &Shown)> = known.collect();
    let groups = grouped(all.iter().map(|one| ((mechanism(&one.0.theirs), kind(one.0)), *one)));
    let statement = |(_, group): (_, Vec<(&Overtaking, &Shown)>)| {
        let members: Vec<&Overtaking> = group.iter().map(|(one, _)| *one).collect();
        let text = match members[..] {
            [one] => sentence(one, words),
            _ => {
                let ours: BTreeSet<&str> = members.iter().map(|one| mechanism(&one.ours)).collect();
                let rivals = |one: &Overtaking| {
                    mechanism(&one.theirs) == mechanism(&members[0].theirs)
                        && ours.contains(mechanism(&one.ours))
                };
                of_several(&members, all.iter().filter(|(one, _)| rivals(one)).count(), words)
            }
        };
        Statement { text, cells: group.iter().flat_map(|(_, shown)| shown.cells.iter().cloned()).collect() }
    };
    groups.into_iter().map(statement).collect()
}

fn mechanism(way: &Way) -> &str {
    way.text(RIVALS).unwrap_or_default()
}

/// What is said of it without figures.
#[derive(Clone, Copy, PartialEq, Eq)]
enum OvertakingKind {
    From,
    UpTo,
    InTurns,
    Always,
    NoDifference,
    Never,
}

fn kind(one: &Overtaking) -> OvertakingKind {
    match &one.overtakes {
        Overtakes::From { .. } => OvertakingKind::From,
        Overtakes::OnlyUpTo { .. } => OvertakingKind::UpTo,
        Overtakes::Several(_) => OvertakingKind::InTurns,
        Overtakes::Always => OvertakingKind::Always,
        Overtakes::Never if one.worse.is_empty() => OvertakingKind::NoDifference,
        Overtakes::Never => OvertakingKind::Never,
    }
}

/// `sendmsg and writev beat send_fields wherever they differ (CPU and throughput, 12 of 14 comparisons). They are 1.3x to 7x as good at 64 B.`
fn of_several(members: &[&Overtaking], of: usize, words: &Words) -> String {
    let distinct = |of: fn(&Overtaking) -> &str| {
        let names = grouped(members.iter().map(|one| (of(one).to_string(), ())));
        names.into_iter().map(|(name, _)| name).collect::<Vec<String>>()
    };
    let names = distinct(|one| mechanism(&one.ours));
    let metrics = and(&distinct(|one| title(one.metric)));
    let theirs = mechanism(&members[0].theirs);
    let (one, s) = if names.len() == 1 { (true, "s") } else { (false, "") };
    // Between sizes that are not decided nothing is said of a whole range.
    let throughout = members.iter().all(|one| one.is_better_throughout());
    let beats = match (kind(members[0]), throughout) {
        (OvertakingKind::From, true) => format!("beat{s} {theirs} from a size up"),
        (OvertakingKind::From, false) => {
            format!("beat{s} {theirs} at some sizes and lose{s} at smaller ones")
        }
        (OvertakingKind::UpTo, true) => format!("beat{s} {theirs} only up to a size"),
        (OvertakingKind::UpTo, false) => format!("beat{s} {theirs} at some sizes and lose{s} at larger ones"),
        (OvertakingKind::InTurns, _) => format!("beat{s} {theirs} in turns"),
        (OvertakingKind::Always, true) => format!("beat{s} {theirs} at every size tested"),
        (OvertakingKind::Always, false) => format!("beat{s} {theirs} wherever they differ"),
        (OvertakingKind::NoDifference, _) if one => format!("does not differ significantly from {theirs}"),
        (OvertakingKind::NoDifference, _) => format!("do not differ significantly from {theirs}"),
        (OvertakingKind::Never, _) => format!("never beat{s} {theirs}"),
    };
    let scope = if members.len() == of {
        metrics
    } else {
        format!("{metrics}, {} of {of} comparisons", members.len())
    };
    let subject = if one { "it is" } else { "they are" };
    let sizes = line_sizes(members, words);
    let rest =
        [between_borders(members, &sizes), ratios(members, subject, &sizes), undecided(members, "point")];
    format!("{} {beats} ({scope}).{}", several(&names), rest.concat())
}

/// Those of the message where the lines are of several shapes.
fn line_sizes<'a>(members: &[&Overtaking], words: &'a Words) -> LineSizes<'a> {
    let shape = |one: &Overtaking| one.held.get(FIELDS.id).cloned();
    let same = members.iter().all(|one| shape(one) == shape(members[0]));
    let held = if same { members[0].held.clone() } else { Point::default() };
    words.sizes(ALONG.id, &held)
}

/// Over every border.
fn between_borders(members: &[&Overtaking], sizes: &LineSizes<'_>) -> String {
    let at = if sizes.whose().is_empty() { "" } else { "at " };
    let borders: Vec<(u64, u64)> = members.iter().flat_map(|one| borders(&one.overtakes)).collect();
    let low = borders.iter().map(|border| border.0).min();
    let high = borders.iter().map(|border| border.1).max();
    low.zip(high)
        .map_or(String::new(), |(low, high)| format!(" The border lies {at}{}.", between(low, high, sizes)))
}

fn borders(overtakes: &Overtakes) -> Vec<(u64, u64)> {
    match overtakes {
        Overtakes::From { low, high } | Overtakes::OnlyUpTo { low, high } => vec![(*low, *high)],
        Overtakes::Several(borders) => borders.clone(),
        Overtakes::Always | Overtakes::Never => Vec::new(),
    }
}

/// Each is of one size: the smallest at which it is better, else the nearest.
fn ratios(members: &[&Overtaking], subject: &str, line: &LineSizes<'_>) -> String {
    let decisive: Vec<(u64, f64)> =
        members.iter().filter_map(|one| decisive(one)).map(|(size, ratio)| (size, ratio.value)).collect();
    let values: Vec<f64> = decisive.iter().map(|(_, ratio)| *ratio).collect();
    let Some((low, high)) = extremes(&values) else { return String::new() };
    let (low, high) = (significant(low), significant(high));
    let range = if low == high { format!("{low}x") } else { format!("{low}x to {high}x") };
    let is_better = !members[0].better.is_empty();
    let sizes: BTreeSet<u64> = decisive.iter().map(|(size, _)| *size).collect();
    let place = match sizes.first() {
        Some(only) if sizes.len() == 1 => format!(" at {}", line.one(*only)),
        _ if is_better => format!(" at the smallest size where {subject} better"),
        _ => String::new(),
    };
    let begin = if is_better { capital(subject) } else { format!("At best {subject}") };
    format!(" {begin} {range} as good{place}.")
}

/// Where nothing is decided, the ratio is not known to be good or bad.
fn decisive(one: &Overtaking) -> Option<(u64, Estimate)> {
    one.decisive.filter(|(size, _)| !one.undecided.contains(size))
}

/// Nothing was significantly better there.
fn undecided(members: &[&Overtaking], what: &str) -> String {
    let sum = |of: fn(&Overtaking) -> usize| members.iter().map(|one| of(one)).sum::<usize>();
    match (sum(|one| one.undecided.len()), sum(Overtaking::sizes)) {
        (0, _) => String::new(),
        (1, of) => format!(" 1 of {} is undecided.", count(of, what)),
        (some, of) => format!(" {some} of {} are undecided.", count(of, what)),
    }
}

/// `sendmsg beats pack_send from between 4 KiB and 64 KiB up (CPU, 4 thread counts). It is 1.2x [1.1, 1.3] as good, at 64 KiB.`
fn sentence(one: &Overtaking, words: &Words) -> String {
    let name = |way| words.name(way, RIVALS.id, &one.held);
    let (ours, theirs) = (name(&one.ours), name(&one.theirs));
    let line = &line_sizes(&[one], words);
    let border =
        || borders(&one.overtakes).first().map_or(String::new(), |(low, high)| between(*low, *high, line));
    let beats = match (kind(one), one.is_better_throughout()) {
        (OvertakingKind::From, true) => format!("beats {theirs} from {} up", border()),
        (OvertakingKind::UpTo, true) => format!("beats {theirs} only up to {}", border()),
        // A range of sizes at which it wins would hold some at which it loses.
        (OvertakingKind::InTurns, _) => {
            format!("beats {theirs} at {} and loses at {}", named(&one.better, line), named(&one.worse, line))
        }
        (OvertakingKind::From | OvertakingKind::UpTo, false) => {
            format!("beats {theirs} at {} and loses at {}", sizes(&one.better, line), sizes(&one.worse, line))
        }
        (OvertakingKind::Always, true) => format!("beats {theirs} at every size tested"),
        (OvertakingKind::Always, false) => format!("beats {theirs} wherever they differ"),
        (OvertakingKind::NoDifference, _) => format!("does not differ significantly from {theirs}"),
        (OvertakingKind::Never, _) => format!("never beats {theirs}"),
    };
    let threads = match one.threads[..] {
        [] => String::new(),
        [only] => format!(", {}", count(only as usize, "thread")),
        _ => format!(", {} thread counts", one.threads.len()),
    };
    let ratio = decisive(one).map_or(String::new(), |(at, ratio)| {
        let word = if one.better.is_empty() { "At best it is" } else { "It is" };
        let value = significant(ratio.value);
        format!(
            " {word} {value}x [{}, {}] as good, at {}.",
            significant(ratio.low),
            significant(ratio.high),
            line.one(at)
        )
    });
    let place = words.with(&one.held.without(THREADS.id));
    // One bracket for all that it holds at.
    let scope = format!("{ours} {beats}{place} ({}{threads}).", title(one.metric)).replace(") (", ", ");
    format!("{scope}{ratio}{}", undecided(&[one], "size"))
}

fn between(low: u64, high: u64, line: &LineSizes<'_>) -> String {
    format!("{}between {} and {}", line.whose(), line.bare(low), line.bare(high))
}

/// `16 KiB and 64 KiB`, `3 sizes from 16 KiB to 1 MiB`: others may lie between.
fn sizes(sizes: &[u64], line: &LineSizes<'_>) -> String {
    match sizes {
        [] | [_] | [_, _] => named(sizes, line),
        [first, .., last] => format!("{} from {}", count(sizes.len(), "size"), line.range(*first, *last)),
    }
}

fn named(sizes: &[u64], line: &LineSizes<'_>) -> String {
    line.whose() + &and(&sizes.iter().map(|bytes| line.bare(*bytes)).collect::<Vec<_>>())
}

/// At one size, what is cheaper a byte is cheaper a message.
fn title(metric: &str) -> &str {
    if metric.contains("cpu") { "CPU" } else { metric }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::recommendation::recommendation;
    use syscost_analyze::synthetic::{Synthetic, point};
    use syscost_analyze::whole::Analysis;
    use syscost_core::axis::Value;
    use syscost_core::units::Unit;

    /// Zero-copy along eight sizes, four thread counts together.
    fn line(metric: &'static str, better: &[u64], worse: &[u64], overtakes: Overtakes) -> Overtaking {
        let all = [64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20];
        let way = |name: &str| -> Way {
            let mut way = point(name, 64, 1);
            way.retain(|id| id == RIVALS.id);
            way
        };
        let open = |size: &u64| !better.contains(size) && !worse.contains(size);
        let at = better.first().or(worse.last()).copied().unwrap_or(64);
        let ratio = Estimate { value: 2.0, low: 1.5, high: 2.5, level: 0.95, n: 8, unit: Unit::Ratio };
        Overtaking {
            metric,
            ours: way("msg_zerocopy"),
            theirs: way("send_fields"),
            held: Default::default(),
            threads: vec![1, 2, 4, 8],
            overtakes,
            better: better.to_vec(),
            worse: worse.to_vec(),
            same: Vec::new(),
            undecided: all.into_iter().filter(open).collect(),
            decisive: Some((at, ratio)),
        }
    }

    fn told(lines: Vec<Overtaking>) -> (String, Vec<String>) {
        let words = Words::of(&Synthetic::default().run());
        let first = headline(&lines[0], &words);
        let shown: Vec<Shown> =
            lines.into_iter().map(|one| Shown::of(Says::Overtaking(one), Vec::new())).collect();
        (first, statements(&shown, &words).into_iter().map(|statement| statement.text).collect())
    }

    const CPU: &str = "total_cpu_ns_per_byte";
    const SPEED: &str = "throughput";

    /// It was said: only up to between 16 KiB and 256 KiB, where all smaller sizes were undecided.
    #[test]
    fn nothing_is_claimed_at_sizes_that_are_undecided() {
        let up_to = |metric| {
            let border = Overtakes::OnlyUpTo { low: 16384, high: 262144 };
            line(metric, &[16384], &[262144, 1 << 20], border)
        };
        let (headline, alone) = told(vec![up_to(CPU)]);
        let beats = "msg_zerocopy beats send_fields at 16 KiB and loses at 256 KiB and 1 MiB \
                     (CPU, 4 thread counts).";
        assert_eq!(headline, beats);
        assert_eq!(
            alone,
            [format!("{beats} It is 2x [1.5, 2.5] as good, at 16 KiB. 5 of 8 sizes are undecided.")]
        );
        let (_, both) = told(vec![up_to(CPU), up_to(SPEED)]);
        let grouped = "msg_zerocopy beats send_fields at some sizes and loses at larger ones (CPU and throughput). The \
                       border lies between 16 KiB and 256 KiB. It is 2x as good at 16 KiB. 10 of 16 points are undecided.";
        assert_eq!(both, [grouped]);
    }

    /// It was said: in turns, 2 crossings.
    #[test]
    fn sizes_are_named_where_they_alternate() {
        let crossings = Overtakes::Several(vec![(64, 4096), (4096, 16384), (16384, 65536), (65536, 1 << 20)]);
        let (headline, _) = told(vec![line(CPU, &[4096, 65536], &[64, 16384, 1 << 20], crossings)]);
        assert_eq!(
            headline,
            "msg_zerocopy beats send_fields at 4 KiB and 64 KiB and loses at 64 B, 16 KiB and 1 MiB (CPU, 4 thread counts)."
        );
    }

    /// It was said: what never beats it is at best 1.5x [0.8, 2.9] as good.
    #[test]
    fn what_is_undecided_has_no_best() {
        let never = |metric, worse: &[u64]| Overtaking {
            decisive: line(metric, &[], &[], Overtakes::Never).decisive,
            ..line(metric, &[], worse, Overtakes::Never)
        };
        for lines in [vec![never(CPU, &[])], vec![never(CPU, &[256]), never(SPEED, &[1024])]] {
            let (_, texts) = told(lines);
            assert!(texts.iter().all(|text| !text.contains("At best")), "{texts:?}");
        }
        let (_, decided) = told(vec![never(CPU, &[64, 256])]);
        assert!(decided[0].contains("At best it is 2x [1.5, 2.5] as good, at 64 B."), "{decided:?}");
    }

    /// It was said: wherever they differ 6.6x to 7.2x as good, which is so at the smallest size only.
    #[test]
    fn the_ratio_of_one_size_is_said_with_the_size() {
        let all = [64, 256, 1024, 4096, 16384, 65536, 262144, 1 << 20];
        let (_, alike) =
            told(vec![line(CPU, &all, &[], Overtakes::Always), line(SPEED, &all, &[], Overtakes::Always)]);
        assert_eq!(
            alike,
            [
                "msg_zerocopy beats send_fields at every size tested (CPU and throughput). It is 2x as good at 64 B."
            ]
        );
        let (_, apart) = told(vec![
            line(CPU, &all[3..], &all[..2], Overtakes::From { low: 256, high: 4096 }),
            line(SPEED, &all[4..], &all[..2], Overtakes::From { low: 256, high: 16384 }),
        ]);
        assert_eq!(
            apart,
            [
                "msg_zerocopy beats send_fields from a size up (CPU and throughput). The border lies between 256 B and \
              16 KiB. It is 2x as good at the smallest size where it is better. 3 of 16 points are undecided."
            ]
        );
    }

    /// One-copy costs 300 ns more and saves 0.3 ns of each byte: the two cross at a message of 1,000 B, of which 24 B are the
    /// first piece.
    #[test]
    fn a_planted_crossing_is_said_as_the_size_of_the_open_piece() {
        let cost_ns = |p: &Point| {
            let bytes = p.int_at("message_bytes").unwrap() as f64;
            if p.text_at("mechanism") == Some("sendmsg") {
                1300.0 + 0.5 * bytes
            } else {
                1000.0 + 0.8 * bytes
            }
        };
        let (mechanisms, sizes) = (vec!["pack_send", "sendmsg"], vec![64, 256, 4096, 65536]);
        let synthetic = Synthetic {
            mechanisms,
            sizes,
            cost_ns,
            rounds: 12,
            noise: 0.01,
            twin_every: 0,
            ..Default::default()
        };
        let said = |shape: &str| {
            let mut cases = synthetic.cases();
            cases.iter_mut().for_each(|case| case.point.set(FIELDS.id, Value::text(shape)));
            let run = synthetic.run_of(cases);
            let (analysis, words) = (Analysis::of(&run), Words::of(&run));
            let crosses = |shown: &&Shown| matches!(&shown.says, Says::Overtaking(one) if one.metric == CPU);
            let shown =
                analysis.answers.iter().flat_map(|answer| &answer.shown).find(crosses).expect("they cross");
            let told = recommendation(&run, &analysis.recommendation, ALONG.id);
            (
                statements(std::slice::from_ref(shown), &words).remove(0).text,
                told.advice[0].headline.text.clone(),
            )
        };
        let (finding, advice) = said("24,rest");
        assert!(
            finding
                .starts_with("sendmsg beats pack_send from a second piece of between 232 B and 3.98 KiB up"),
            "{finding}"
        );
        assert!(finding.contains("as good, at a second piece of 3.98 KiB."), "{finding}");
        assert!(advice.contains("pack_send up to a second piece of 232 B"), "{advice}");
        assert!(advice.contains("sendmsg from a second piece of 3.98 KiB"), "{advice}");
        let (equal, _) = said("3");
        assert!(equal.starts_with("sendmsg beats pack_send from between 256 B and 4 KiB up"), "{equal}");
    }
}
