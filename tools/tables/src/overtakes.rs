//! From which size does one-copy, and zero-copy, beat two-copy? The answer of somebody's table, by its own
//! figures: per thread count, by throughput and by cycles per byte.
//!
//! Nothing is claimed: a table of single runs says which of two figures is larger, not which way is better.

use super::remark::{LineEnd, lines, size, threads};
use super::{PublishedTable, TableColumn};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};
use syscost_measure::mechanism::Class;

/// Figures of a mechanism by message size.
type TableLine<'t> = BTreeMap<u64, LineEnd<'t>>;

/// Who beats whom along the sizes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Overtake {
    pub challenger: String,
    pub incumbent: String,
    pub metric: TableColumn,
    pub threads: Option<u64>,
    /// Sizes at which both have a figure, and those at which the challenger's is better, beyond rounding.
    pub compared: Vec<u64>,
    pub better_at: Vec<u64>,
    /// Sizes at which the two differ by less than the table's digits.
    pub equal_at: Vec<u64>,
    /// Lines of the file.
    pub lines: Vec<usize>,
}

impl Overtake {
    /// `zero-copy (msg_zerocopy) beats two-copy (pack_send) at no size ...`
    pub fn sentence(&self) -> String {
        let with = self.threads.map_or_else(String::new, |n| format!("With {}, by ", threads(n)));
        let by = if with.is_empty() { "By " } else { &with };
        let what = format!("{by}{}, {} beats {}", self.metric.title(), self.challenger, self.incumbent);
        let at = match (self.better_at.len(), self.from()) {
            (0, _) => "at no size".into(),
            (all, _) if all == self.compared.len() => "at every size".into(),
            (_, Some(at)) => {
                let below = self.compared.iter().rev().find(|s| **s < at);
                let from =
                    below.map_or_else(|| size(at), |b| format!("between {} and {}", size(*b), size(at)));
                format!("from {from} up")
            }
            _ => format!("only at {}", sizes(&self.better_at)),
        };
        let mut text = format!("{what} {at} ({})", tested(&self.compared));
        if !self.equal_at.is_empty() {
            text += &format!("; at {} the digits given do not tell them apart", sizes(&self.equal_at));
        }
        text + "."
    }

    /// With the sizes at which both have a figure; `None` where there are none.
    fn along(mut self, olds: &TableLine, news: &TableLine) -> Option<Overtake> {
        for (at, (_, old, old_figure)) in olds {
            let Some((_, new, new_figure)) = news.get(at) else { continue };
            let more_is_better = self.metric == TableColumn::Throughput;
            let (worse, better) =
                if more_is_better { (old_figure, new_figure) } else { (new_figure, old_figure) };
            self.compared.push(*at);
            self.lines.extend([old.line, new.line]);
            if better.low() > worse.high() {
                self.better_at.push(*at);
            } else if better.high() >= worse.low() {
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

fn tested(compared: &[u64]) -> String {
    match compared {
        [] => "none".into(),
        [only] => format!("only {} has both", size(*only)),
        [first, .., last] => format!("{} sizes, {} to {}", compared.len(), size(*first), size(*last)),
    }
}

fn sizes(list: &[u64]) -> String {
    syscost_analyze::words::and(&list.iter().map(|n| size(*n)).collect::<Vec<_>>())
}

const INCUMBENT: Class = Class::TwoCopy;
const CHALLENGERS: [Class; 2] = [Class::OneCopy, Class::ZeroCopy];

/// Every answer that the table has figures for; empty where it lacks the columns or the ways.
pub fn overtakes(table: &PublishedTable) -> Vec<Overtake> {
    let mut found = Vec::new();
    for metric in [TableColumn::Throughput, TableColumn::CyclesPerByte] {
        let lines = lines(table, TableColumn::MessageBytes, metric);
        let names: BTreeSet<&str> = lines.keys().map(|(name, _)| *name).collect();
        let of = |class: Class| names.iter().filter(move |name| class.holds(name));
        for class in CHALLENGERS {
            for (incumbent, challenger) in of(INCUMBENT).flat_map(|i| of(class).map(move |c| (i, c))) {
                for ((_, threads), olds) in lines.iter().filter(|((name, _), _)| name == incumbent) {
                    let overtake = Overtake {
                        challenger: format!("{} ({challenger})", class.word()),
                        incumbent: format!("{} ({incumbent})", INCUMBENT.word()),
                        metric,
                        threads: *threads,
                        compared: Vec::new(),
                        better_at: Vec::new(),
                        equal_at: Vec::new(),
                        lines: Vec::new(),
                    };
                    found.extend(
                        lines.get(&(*challenger, *threads)).and_then(|news| overtake.along(olds, news)),
                    );
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::remark::table;
    use super::*;

    fn told(rows: &str) -> Vec<String> {
        let text = format!("mechanism,message_bytes,threads,throughput_gbps\n{rows}");
        overtakes(&table(&text)).iter().map(Overtake::sentence).collect()
    }

    #[test]
    fn never_always_from_a_size_and_only_somewhere() {
        let rows = |zero: [f64; 3]| {
            let sizes = [1024, 4096, 16384];
            let row = |(bytes, gbps): (i32, f64)| format!("A1,{bytes},4,5.0\nA3,{bytes},4,{gbps:.1}\n");
            told(&sizes.into_iter().zip(zero).map(row).collect::<String>()).remove(0)
        };
        assert!(rows([1.0, 2.0, 3.0]).contains("at no size (3 sizes, 1 KiB to 16 KiB)"));
        assert!(rows([6.0, 7.0, 8.0]).contains("at every size"));
        assert!(rows([1.0, 7.0, 8.0]).contains("from between 1 KiB and 4 KiB up"));
        assert!(rows([1.0, 7.0, 3.0]).contains("only at 4 KiB"));
        assert!(rows([1.0, 2.0, 5.0]).contains("at 16 KiB the digits given do not tell them apart"));
    }

    #[test]
    fn by_thread_count_and_only_where_both_have_figures() {
        let all = told("A1,64,1,1\nA3,64,1,2\nA1,64,8,3\nA3,64,8,1\nA1,512,8,3\nA2,64,1,\n");
        assert_eq!(all.len(), 2, "{all:?}");
        assert!(
            all[0].starts_with("With 1 thread, by throughput, zero-copy")
                && all[0].contains("only 64 B has both")
        );
        assert!(all[1].contains("With 8 threads") && all[1].contains("at no size"));
    }
}
