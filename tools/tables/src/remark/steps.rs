//! Steps of throughput between neighbours that surprise: cliffs along the message size, and throughput that falls as
//! threads rise, or rises faster than the threads.

use super::{Remark, RemarkKind, called, capital, rate, shown, size};
use crate::cells::cells;
use crate::{PublishedFigure, PublishedRow, PublishedTable, TableColumn, TableColumn::*, grouped};
use std::collections::BTreeSet;
use syscost_core::units::{percent, significant};

/// A fall to less than this share is a cliff, rounding included.
const FALL: f64 = 1.0 / 3.0;
/// Less than this may be noise of single runs; sentences say it.
const NOISE: f64 = 0.2;
/// What else of the table may have risen with the threads.
const BESIDE: [TableColumn; 4] = [ContextSwitches, LlcMisses, CacheMisses, L1Misses];
/// By so much.
const RISE: f64 = 3.0;

/// A place on a line, its row, and the figure there.
type LineEnd<'t> = (u64, &'t PublishedRow, PublishedFigure);

/// Two neighbours on a line of throughputs.
struct TableStep<'t> {
    /// `sendmsg with 4 threads`
    line: String,
    from: LineEnd<'t>,
    to: LineEnd<'t>,
    next: Option<LineEnd<'t>>,
}

impl TableStep<'_> {
    fn ratio(&self) -> f64 {
        self.to.2.value / self.from.2.value
    }

    fn falls(&self, to: f64) -> bool {
        self.to.2.high() < to * self.from.2.low()
    }
}

fn lines_of(steps: &[TableStep]) -> Vec<usize> {
    let lines: BTreeSet<usize> = steps.iter().flat_map(|step| [step.from.1.line, step.to.1.line]).collect();
    lines.into_iter().collect()
}

/// Neighbours among cells that differ in one coordinate; those that fall most come first.
fn steps(table: &PublishedTable, along: TableColumn) -> Vec<TableStep<'_>> {
    let mut found: Vec<TableStep> = Vec::new();
    // Their places ascend by size, then by threads.
    let lines = grouped(cells(table, Throughput).into_iter().filter_map(|(place, cell)| {
        let (name, variant, bytes, threads) = place;
        let (at, other) = if along == MessageBytes { (bytes, threads) } else { (threads, bytes) };
        Some(((name, variant, other), (at?, cell.row, cell.figure)))
    }));
    for ((mechanism, variant, fixed), line) in lines {
        let fixed = fixed.map_or(String::new(), |n| match along {
            MessageBytes => format!(" with {}", table.threads(n)),
            _ => format!(" at {}", size(n)),
        });
        let variant = if variant.is_empty() { String::new() } else { format!(" ({variant})") };
        let name = format!("{}{fixed}{variant}", called(mechanism));
        found.extend(line.windows(2).enumerate().map(|(i, pair)| TableStep {
            line: name.clone(),
            from: pair[0],
            to: pair[1],
            next: line.get(i + 2).copied(),
        }));
    }
    found.sort_by(|a, b| a.ratio().total_cmp(&b.ratio()));
    found
}

/// Throughput that falls to a fraction while messages grow.
pub fn cliffs(table: &PublishedTable) -> Vec<Remark> {
    let mut cliffs = steps(table, MessageBytes);
    cliffs.retain(|step| step.falls(FALL));
    // `A3 with 4 threads, 256 B to 1 KiB, 50x (10 Mbit/s to 200 kbit/s, 24.2 Gbit/s at 4 KiB)`
    let told = cliffs.iter().map(|TableStep { line, from, to, next }| {
        let again = next.filter(|(.., again)| again.low() > from.2.high());
        let again = again.map_or(String::new(), |(at, _, f)| format!(", {} at {}", rate(f.value), size(at)));
        let by = significant(from.2.value / to.2.value);
        let (was, is) = (rate(from.2.value), rate(to.2.value));
        format!("{line}, {} to {}, {by}x ({was} to {is}{again})", size(from.0), size(to.0))
    });
    let text = format!(
        "Throughput falls to less than a third while sizes grow: {}. The table does not show the cause.",
        shown(told)
    );
    Remark::of(RemarkKind::Unexpected, "cliff", text, lines_of(&cliffs)).into_iter().collect()
}

/// Throughput that falls as threads rise, or rises faster than they do.
pub fn scaling(table: &PublishedTable) -> Vec<Remark> {
    let steps = steps(table, Threads);
    let of = steps.len();
    let (falls, rises): (Vec<TableStep>, Vec<TableStep>) =
        steps.into_iter().partition(|step| step.falls(1.0 - NOISE));
    let outruns = |TableStep { from, to, .. }: &TableStep| {
        to.2.low() > (1.0 + NOISE) * from.2.high() * to.0 as f64 / from.0 as f64
    };
    let faster: Vec<TableStep> = rises.into_iter().rev().filter(outruns).collect();
    let (title, noise) = (table.title(Threads), percent(NOISE));
    let place = |step: &TableStep| format!("{}, {} to {}", step.line, step.from.0, table.threads(step.to.0));
    let fallen = falls.iter().map(|step| {
        let (by, was, is) = (percent(1.0 - step.ratio()), rate(step.from.2.value), rate(step.to.2.value));
        format!("{}, by {by} ({was} to {is})", place(step))
    });
    let outrun = faster.iter().map(|step| format!("{}: {}x", place(step), significant(step.ratio())));
    let fallen = format!(
        "More {title}, less throughput in {} of {of} steps, by more than {noise}: {}. {}",
        falls.len(),
        shown(fallen),
        beside(&falls)
    );
    let outrun = format!(
        "Throughput grows more than {noise} faster than the {title} in {} of {of} steps: {}.",
        faster.len(),
        shown(outrun)
    );
    let told = [("falls_with_threads", fallen, falls), ("faster_than_threads", outrun, faster)].into_iter();
    told.filter_map(|(id, text, steps)| Remark::of(RemarkKind::Unexpected, id, text, lines_of(&steps)))
        .collect()
}

/// What the table itself shows beside the falls.
fn beside(falls: &[TableStep]) -> String {
    let rises = |column: TableColumn| {
        let rose = |step: &&TableStep| {
            let counts = step.from.1.value(column).zip(step.to.1.value(column));
            counts.is_some_and(|(was, is)| was > 0.0 && is > RISE * was)
        };
        let rose = falls.iter().filter(rose).count();
        (rose > 0).then(|| format!("{} rise more than 3x in {rose} of them", column.title()))
    };
    let told: Vec<String> = BESIDE.into_iter().filter_map(rises).collect();
    if told.is_empty() {
        "The table does not show the cause.".into()
    } else {
        capital(&told.join(", ")) + "."
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn a_pit_is_found_and_a_gentle_fall_is_not() {
        let told = cliffs(&table(
            "mechanism,size,threads,throughput_gbps\nA3,256,4,0.01\nA3,1024,4,0.0002\nA3,4096,4,24.17\n\
             A3,16384,4,20\nA1,256,4,2\nA1,1024,4,1\n",
        ));
        assert_eq!(told.len(), 1, "{told:?}");
        let fall = "A3 with 4 threads, 256 B to 1 KiB, 50x (10 Mbit/s to 200 kbit/s, 24.2 Gbit/s at 4 KiB)";
        assert!(told[0].text.contains(fall), "{}", told[0].text);
        assert_eq!(told[0].lines, [2, 3]);
        // Sessions of several machines, one below the other.
        let sessions = "mechanism,size,throughput_gbps\nnetperf,16384,0.02\nnetperf,16384,5\nnetperf,16384,1.8\nnetperf,131072,0.03\n";
        assert!(cliffs(&table(sessions)).is_empty());
    }

    #[test]
    fn falls_name_what_rose_beside_them() {
        let told = scaling(&table(
            "mechanism,size,threads,throughput_gbps,context_switches\nA2,64K,1,75,1238\nA2,64K,4,286,1996\n\
             A2,64K,8,107,28372\nA1,64,1,1.0,\nA1,64,2,0.5,\nA1,4K,1,1.0,\nA1,4K,2,5.0,\n",
        ));
        let [falls, faster] = &told[..] else { panic!("one remark a kind: {told:?}") };
        assert!(
            falls.text.contains("in 2 of 4 steps, by more than 20 %: A2 at 64 KiB, 4 to 8 threads, by 63 %"),
            "{}",
            falls.text
        );
        assert!(falls.text.contains("Context switches rise more than 3x in 1 of them."), "{}", falls.text);
        assert!(faster.text.contains("A1 at 4 KiB, 1 to 2 threads: 5x"), "{}", faster.text);
        let alone = scaling(&table("mechanism,size,threads,throughput_gbps\nA1,64,1,1.0\nA1,64,2,0.5\n"));
        assert!(alone[0].text.contains("does not show the cause"), "{}", alone[0].text);
    }
}
