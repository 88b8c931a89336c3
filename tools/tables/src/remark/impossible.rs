//! Figures that no machine can give: more than memory can move, less than a system call, shares over the whole.
//!
//! The bounds are generous: what is beyond them is beyond any machine of today.

use super::{Remark, RemarkKind, place};
use crate::{PublishedRow, PublishedTable, TableColumn};
use std::collections::BTreeMap;
use syscost_core::units::Unit;

/// No core copies more than this through a socket: 100 GB/s is beyond the fastest core's copy in its caches.
const BITS_PER_THREAD: f64 = 8e11;
/// A system call takes longer than this on every processor with protection.
const SHORTEST_CALL_NS: f64 = 20.0;
/// No core runs faster.
const MOST_HERTZ: f64 = 7e9;

/// Why a row cannot be, and by how much it is beyond the bound.
struct Impossible {
    kind: &'static str,
    why: String,
    by: f64,
}

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let mut kinds: BTreeMap<&str, Vec<(&PublishedRow, Impossible)>> = BTreeMap::new();
    for row in &table.rows {
        if let Some(found) = why(row) {
            kinds.entry(found.kind).or_default().push((row, found));
        }
    }
    kinds.into_values().map(|rows| remark(rows, table.rows.len())).collect()
}

/// The worst row says it for all of its kind.
fn remark(rows: Vec<(&PublishedRow, Impossible)>, of: usize) -> Remark {
    let (worst, found) = rows.iter().max_by(|a, b| a.1.by.total_cmp(&b.1.by)).expect("a kind has a row");
    let many = if rows.len() > 1 {
        format!("{} of {of} rows cannot be; the worst: ", rows.len())
    } else {
        String::new()
    };
    let cannot = if rows.len() > 1 { "" } else { " cannot be" };
    let text = format!("{many}{}{cannot}: {}.", place(worst), found.why);
    let lines = rows.iter().map(|(row, _)| row.line).collect();
    Remark { id: "impossible", kind: RemarkKind::Contradiction, text, lines }
}

fn why(row: &PublishedRow) -> Option<Impossible> {
    if let Some((column, figure)) = row.figures.iter().find(|(_, figure)| figure.value < 0.0) {
        let why = format!("{} below zero", column.title());
        return Some(Impossible { kind: "negative", why, by: -figure.value });
    }
    too_fast(row).or_else(|| too_many_cycles(row)).or_else(|| too_short(row))
}

fn too_fast(row: &PublishedRow) -> Option<Impossible> {
    let rate = row.figure(TableColumn::Throughput)?.low();
    let threads = row.value(TableColumn::Threads).unwrap_or(1.0).max(1.0);
    let each = rate / threads;
    if each > BITS_PER_THREAD {
        let why = format!("{} a thread is more than a core can copy", Unit::BitsPerSecond.format(each));
        return Some(Impossible { kind: "bandwidth", why, by: each / BITS_PER_THREAD });
    }
    // One call at least for a message, unless several are packed into one: then the size is that of the pack.
    let message_ns = row.value(TableColumn::MessageBytes)? * 8e9 / each;
    (message_ns < SHORTEST_CALL_NS).then(|| Impossible {
        kind: "message",
        why: format!(
            "a message every {} a thread is less than a system call takes",
            Unit::Nanoseconds.format(message_ns)
        ),
        by: SHORTEST_CALL_NS / message_ns,
    })
}

fn too_many_cycles(row: &PublishedRow) -> Option<Impossible> {
    let cycles =
        row.figure(TableColumn::CyclesPerByte)?.low() * row.figure(TableColumn::Throughput)?.low() / 8.0;
    // Sender and receiver may both be counted.
    let threads = row.value(TableColumn::Threads)?.max(1.0) * 2.0;
    (cycles > threads * MOST_HERTZ).then(|| Impossible {
        kind: "cycles",
        why: format!(
            "its cycles per byte times its bytes per second are {} for {threads} threads",
            Unit::Hertz.format(cycles)
        ),
        by: cycles / (threads * MOST_HERTZ),
    })
}

fn too_short(row: &PublishedRow) -> Option<Impossible> {
    let latency = row.figure(TableColumn::Latency)?;
    (latency.high() < SHORTEST_CALL_NS).then(|| Impossible {
        kind: "latency",
        why: format!(
            "a latency of {} is less than a system call takes",
            Unit::Nanoseconds.format(latency.value)
        ),
        by: SHORTEST_CALL_NS / latency.value,
    })
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn only_what_no_machine_can_do() {
        let told = |row: &str| {
            let text = format!("mechanism,size,threads,throughput_gbps,latency_us,cycles_per_byte\n{row}\n");
            look(&table(&text)).pop().map_or(String::new(), |r| r.text)
        };
        assert!(told("A1,1M,1,2000,1000,0.1").contains("more than a core can copy"));
        assert!(told("A1,64,1,60,1000,0.1").contains("less than a system call takes"));
        assert!(told("A1,64K,1,10,0.01,0.1").contains("latency of 10 ns"));
        assert!(told("A1,64K,1,100,10,40").contains("cycles per byte"));
        assert!(told("A1,64K,1,-1,10,40").contains("below zero"));
        assert_eq!(told("A1,64K,4,286.4,10,0.4"), "");
    }
}
