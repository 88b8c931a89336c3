//! From which size does one-copy, and zero-copy, beat two-copy? The answer of somebody's table, by its own
//! figures and names: per thread count, by throughput and by cycles per byte.
//!
//! Nothing is claimed: a table of single runs says which of two figures is larger, not which way is better.

use super::remark::{LineEnd, LineKey, lines, size};
use super::{PublishedRow, PublishedTable, TableColumn};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_core::units::{and, count};
use syscost_measure::mechanism::Class;

const MORE_IS_BETTER: [TableColumn; 3] =
    [TableColumn::Throughput, TableColumn::BareThroughput, TableColumn::MessageRate];

/// Figures of a mechanism by message size.
type TableLine<'t> = BTreeMap<u64, LineEnd<'t>>;

/// Who beats whom along the sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overtake {
    pub challenger: String,
    pub incumbent: String,
    pub metric: TableColumn,
    /// What both share beside size and threads, where the table says more.
    pub variant: String,
    pub threads: Option<u64>,
    /// What these are: threads, or connections.
    #[serde(skip)]
    pub parallel: &'static str,
    /// Does the table give sizes? Without them there is one comparison, of a size that nobody says.
    pub sized: bool,
    /// Sizes at which both have a figure, and those at which the challenger's is better, beyond rounding.
    pub compared: Vec<u64>,
    pub better_at: Vec<u64>,
    /// Sizes at which the two differ by less than the table's digits.
    pub equal_at: Vec<u64>,
    /// Lines of the file.
    pub lines: Vec<usize>,
    /// Rows that repeat are compared by their median.
    #[serde(skip)]
    pub medians: bool,
}

impl Overtake {
    /// `at no size`, `from 16 KiB up`
    fn range(&self) -> String {
        let mut text = match (self.better_at.len(), self.from()) {
            (0, _) => "at no size".into(),
            _ if !self.sized => "at the size tested".into(),
            (all, _) if all == self.compared.len() => "at every size".into(),
            (_, Some(at)) => format!("from {} up", size(at)),
            _ => format!("only at {}", sizes(&self.better_at)),
        };
        if !self.equal_at.is_empty() {
            let at = if self.sized { format!(" at {}", sizes(&self.equal_at)) } else { String::new() };
            text += &format!(" (equal in the digits given{at})");
        }
        text
    }

    fn pair(&self) -> (&str, &str, TableColumn, &str) {
        (&self.challenger, &self.incumbent, self.metric, &self.variant)
    }

    /// With the sizes at which both have a figure; `None` where there are none.
    fn along(mut self, olds: &TableLine, news: &TableLine) -> Option<Overtake> {
        for (at, (_, old, old_figure)) in olds {
            let Some((_, new, new_figure)) = news.get(at) else { continue };
            let (worse, better) = if MORE_IS_BETTER.contains(&self.metric) {
                (old_figure, new_figure)
            } else {
                (new_figure, old_figure)
            };
            self.compared.push(*at);
            self.lines.extend([old.line, new.line]);
            if better.is_above(worse) {
                self.better_at.push(*at);
            } else if !worse.is_above(better) {
                self.equal_at.push(*at);
            }
        }
        (!self.compared.is_empty()).then_some(self)
    }

    /// The size from which on it is better at every larger one.
    fn from(&self) -> Option<u64> {
        let better: BTreeSet<u64> = self.better_at.iter().copied().collect();
        let tail = self.compared.iter().rev().take_while(|s| better.contains(s)).count();
        (tail == better.len() && tail > 0).then(|| self.compared[self.compared.len() - tail])
    }
}

/// A sentence for each pair and metric: thread counts with one answer share it.
pub fn sentences(overtakes: &[Overtake]) -> Vec<String> {
    let same = |a: &Overtake, b: &Overtake| a.pair() == b.pair();
    overtakes.chunk_by(same).map(sentence).collect()
}

fn sentence(group: &[Overtake]) -> String {
    let first = &group[0];
    let more = match first.metric {
        TableColumn::MessageRate => "a higher",
        TableColumn::Throughput | TableColumn::BareThroughput => "more",
        TableColumn::Latency | TableColumn::BareLatency => "lower",
        _ => "fewer",
    };
    let mut ranges: Vec<(String, Vec<&Overtake>)> = Vec::new();
    for overtake in group {
        let range = overtake.range();
        match ranges.iter_mut().find(|known| known.0 == range) {
            Some(known) => known.1.push(overtake),
            None => ranges.push((range, vec![overtake])),
        }
    }
    let told: Vec<String> = ranges.into_iter().map(|(range, of)| format!("{range}{}", with(&of))).collect();
    let compared: BTreeSet<u64> = group.iter().flat_map(|o| o.compared.iter().copied()).collect();
    let compared: Vec<u64> = compared.into_iter().collect();
    format!(
        "{} has {more} {} than {}{} {} ({}{}).",
        first.challenger,
        first.metric.title(),
        first.incumbent,
        if first.variant.is_empty() { String::new() } else { format!(" (both {})", first.variant) },
        told.join("; "),
        if first.sized {
            // Each thread count may have sizes of its own.
            match group.iter().all(|overtake| overtake.compared == compared) {
                true => format!("compared at {}", spanned(&compared)),
                false => {
                    let most = group.iter().map(|overtake| overtake.compared.len()).max().unwrap_or(0);
                    let up_to = if most > 1 { "up to " } else { "" };
                    format!("compared at {up_to}{} each", count(most, "size"))
                }
            }
        } else {
            "the table names no size".into()
        },
        if group.iter().any(|overtake| overtake.medians) { "; medians of rows that repeat" } else { "" }
    )
}

/// ` with 1, 2 and 4 threads`
fn with(overtakes: &[&Overtake]) -> String {
    let counts: Vec<u64> = overtakes.iter().filter_map(|o| o.threads).collect();
    match counts[..] {
        [] => String::new(),
        [one] => format!(" with {}", count(one as usize, overtakes[0].parallel)),
        ref many => {
            let many: Vec<String> = many.iter().map(u64::to_string).collect();
            format!(" with {} {}s", and(&many), overtakes[0].parallel)
        }
    }
}

fn spanned(compared: &[u64]) -> String {
    match compared {
        [] => "no size".into(),
        [only] => size(*only),
        [first, .., last] => format!("{} sizes, {} to {}", compared.len(), size(*first), size(*last)),
    }
}

fn sizes(list: &[u64]) -> String {
    and(&list.iter().map(|n| size(*n)).collect::<Vec<_>>())
}

/// Names that are compared with the first; a table of more is one of kinds, not of rivals.
const MOST_RIVALS: usize = 8;

/// Who competes with whom, by the names of the table: one-copy and zero-copy with two-copy; without roles, the others
/// with the first.
fn rivals(table: &PublishedTable) -> Vec<(&str, &str)> {
    let mut names: Vec<&str> = Vec::new();
    for name in table.rows.iter().filter_map(|row| row.text(TableColumn::Mechanism)) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let of = |class: Class| names.iter().copied().filter(move |name| table.role(name) == Some(class));
    let incumbents: Vec<&str> = of(Class::TwoCopy).collect();
    let challengers: Vec<&str> = of(Class::OneCopy).chain(of(Class::ZeroCopy)).collect();
    if names.len() > MOST_RIVALS && incumbents.is_empty() {
        return Vec::new();
    }
    match names.split_first() {
        Some((first, others)) if incumbents.is_empty() || challengers.is_empty() => {
            others.iter().map(|other| (*first, *other)).collect()
        }
        _ => incumbents.iter().flat_map(|old| challengers.iter().map(move |new| (*old, *new))).collect(),
    }
}

/// Does a cell have more than one of these rows?
fn have_repeats<'t>(mut rows: impl Iterator<Item = &'t PublishedRow>) -> bool {
    let mut seen = BTreeSet::new();
    let name = |row: &PublishedRow| {
        [TableColumn::Mechanism, TableColumn::Variant].map(|column| row.text(column).map(str::to_string))
    };
    let place = |row: &PublishedRow| {
        [TableColumn::MessageBytes, TableColumn::Threads].map(|column| row.count(column))
    };
    !rows.all(|row| seen.insert((name(row), place(row))))
}

/// Every answer that the table has figures for; empty where it lacks the columns or the ways.
pub fn overtakes(table: &PublishedTable) -> Vec<Overtake> {
    let mut found = Vec::new();
    // In a stream, latency repeats the throughput.
    let times = [TableColumn::Latency, TableColumn::BareLatency];
    let speed = MORE_IS_BETTER.into_iter().chain(times).find(|column| table.has(*column));
    let sized = table.has(TableColumn::MessageBytes);
    let comparable = table.is_transfer() && (sized || !have_repeats(table.rows.iter()));
    let rivals = if comparable { rivals(table) } else { Vec::new() };
    for metric in speed.into_iter().chain([TableColumn::CyclesPerByte]) {
        let lines = lines(table, TableColumn::MessageBytes, metric);
        let medians = have_repeats(table.rows.iter().filter(|row| row.figure(metric).is_some()));
        for (incumbent, challenger) in &rivals {
            for (key, olds) in lines.iter().filter(|(key, _)| key.mechanism == *incumbent) {
                let overtake = Overtake {
                    challenger: challenger.to_string(),
                    incumbent: incumbent.to_string(),
                    metric,
                    variant: key.variant.into(),
                    threads: key.fixed,
                    parallel: table.parallel.unwrap_or("thread"),
                    sized,
                    compared: Vec::new(),
                    better_at: Vec::new(),
                    equal_at: Vec::new(),
                    lines: Vec::new(),
                    medians,
                };
                let news = lines.get(&LineKey { mechanism: challenger, ..*key });
                found.extend(news.and_then(|news| overtake.along(olds, news)));
            }
        }
    }
    // Thread counts of one pair follow each other.
    found.sort_by(|a, b| (a.pair(), a.threads).cmp(&(b.pair(), b.threads)));
    found
}

#[cfg(test)]
mod tests {
    use super::super::remark::table;
    use super::*;

    fn told(rows: &str) -> Vec<String> {
        let text = format!("mechanism,message_bytes,threads,throughput_gbps\n{rows}");
        sentences(&overtakes(&table(&text)))
    }

    #[test]
    fn never_always_from_a_size_and_only_somewhere() {
        let rows = |zero: [f64; 3]| {
            let sizes = [1024, 4096, 16384];
            let row = |(bytes, gbps): (i32, f64)| format!("A1,{bytes},4,5.0\nA3,{bytes},4,{gbps:.1}\n");
            told(&sizes.into_iter().zip(zero).map(row).collect::<String>()).remove(0)
        };
        let never = rows([1.0, 2.0, 3.0]);
        assert!(
            never.contains("at no size with 4 threads (compared at 3 sizes, 1 KiB to 16 KiB)"),
            "{never}"
        );
        assert!(rows([6.0, 7.0, 8.0]).contains("at every size"));
        assert!(rows([1.0, 7.0, 8.0]).contains("from 4 KiB up"));
        assert!(rows([1.0, 7.0, 3.0]).contains("only at 4 KiB"));
        assert!(rows([1.0, 2.0, 5.0]).contains("at no size (equal in the digits given at 16 KiB)"));
    }

    #[test]
    fn thread_counts_with_one_answer_share_it_and_only_figures_of_both_are_compared() {
        let all =
            told("A1,64,1,1.0\nA3,64,1,2.0\nA1,64,8,3.0\nA3,64,8,1.0\nA1,64,4,3.0\nA3,64,4,2.0\nA2,64,1,\n");
        assert_eq!(all.len(), 1, "{all:?}");
        assert!(all[0].contains("at every size with 1 thread; at no size with 4 and 8 threads"), "{all:?}");
    }

    #[test]
    fn rows_that_repeat_are_compared_by_their_median() {
        let two = told("A1,64,4,18.0547\nA1,64,4,17.3716\nA3,64,4,16.9472\nA3,64,4,18.5770\n");
        assert!(two[0].contains("at every size with 4 threads"), "17.76 is above 17.71: {two:?}");
        assert!(two[0].contains("(compared at 64 B; medians of rows that repeat)"), "{two:?}");
        let three = told("A1,64,1,1\nA1,64,1,2\nA1,64,1,2.9\nA3,64,1,1.5\nA3,64,1,1.6\nA3,64,1,3\n");
        assert!(three[0].contains("at no size"), "{three:?}");
        assert!(!told("A1,64,1,1\nA3,64,1,2\n")[0].contains("median"));
    }

    #[test]
    fn a_table_without_sizes_is_compared_where_each_name_has_one_figure() {
        let told = |text: &str| sentences(&overtakes(&table(text)));
        let wide = "| Threads | A1 | A3 |\n|---|---|---|\n| 1 | 2.0 Gbps | 3.0 Gbps |\n| 4 | 8.0 Gbps | 6.0 Gbps |\n";
        assert_eq!(
            told(wide),
            [
                "A3 has more throughput than A1 at the size tested with 1 thread; at no size with 4 threads (the table \
                 names no size)."
            ]
        );
        // What tells these rows apart, no column says.
        let repeated = "impl,threads,gbps\nA1,1,2\nA1,1,9\nA3,1,3\n";
        assert!(told(repeated).is_empty(), "{:?}", told(repeated));
    }
}
