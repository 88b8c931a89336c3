//! Scaling that surprises: throughput that falls as threads rise, or rises faster than the threads.

use super::{Remark, RemarkKind, TableStep, capital, shown, steps};
use crate::{PublishedTable, TableColumn};
use syscost_core::units::percent;
use syscost_core::units::{Unit, significant};

/// Less than this may be noise of single runs; sentences say it.
const NOISE: f64 = 0.2;
/// What else of the table may have risen with the threads.
const BESIDE: [TableColumn; 4] =
    [TableColumn::ContextSwitches, TableColumn::LlcMisses, TableColumn::CacheMisses, TableColumn::L1Misses];
/// By so much.
const RISE: f64 = 3.0;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let steps = steps(table, TableColumn::Threads);
    let all = steps.len();
    let (falls, others): (Vec<TableStep>, Vec<TableStep>) = steps.into_iter().partition(falls);
    let faster = others.into_iter().filter(faster).collect();
    fallen(table, falls, all).into_iter().chain(outrun(table, faster, all)).collect()
}

fn falls(step: &TableStep) -> bool {
    step.to.2.high() < (1.0 - NOISE) * step.from.2.low()
}

fn faster(step: &TableStep) -> bool {
    step.to.2.low() > (1.0 + NOISE) * step.from.2.high() * step.to.0 as f64 / step.from.0 as f64
}

fn ratio(step: &TableStep) -> f64 {
    step.to.2.value / step.from.2.value
}

fn remark(id: &'static str, text: String, steps: &[TableStep]) -> Option<Remark> {
    let kind = RemarkKind::Unexpected;
    (!steps.is_empty()).then(|| Remark { id, kind, text, lines: TableStep::lines(steps) })
}

fn fallen(table: &PublishedTable, mut falls: Vec<TableStep>, of: usize) -> Option<Remark> {
    falls.sort_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let rate = |value| Unit::BitsPerSecond.format(value);
    let told = falls.iter().map(|step| {
        format!(
            "{}, {} to {}, by {} ({} to {})",
            step.line,
            step.from.0,
            table.threads(step.to.0),
            percent(1.0 - ratio(step)),
            rate(step.from.2.value),
            rate(step.to.2.value)
        )
    });
    let text = format!(
        "More {}, less throughput in {} of {of} steps, by more than {}: {}. {}",
        table.title(TableColumn::Threads),
        falls.len(),
        percent(NOISE),
        shown(told),
        beside(&falls)
    );
    remark("falls_with_threads", text, &falls)
}

fn outrun(table: &PublishedTable, mut faster: Vec<TableStep>, of: usize) -> Option<Remark> {
    faster.sort_by(|a, b| ratio(b).total_cmp(&ratio(a)));
    let told = faster.iter().map(|step| {
        format!(
            "{}, {} to {}: {}x",
            step.line,
            step.from.0,
            table.threads(step.to.0),
            significant(ratio(step))
        )
    });
    let text = format!(
        "Throughput grows more than {} faster than the {} in {} of {of} steps: {}.",
        percent(NOISE),
        table.title(TableColumn::Threads),
        faster.len(),
        shown(told)
    );
    remark("faster_than_threads", text, &faster)
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
    match told.join(", ") {
        none if none.is_empty() => "The table does not show the cause.".into(),
        told => capital(&told) + ".",
    }
}

#[cfg(test)]
mod tests {
    use super::super::table;
    use super::*;

    #[test]
    fn falls_name_what_rose_beside_them() {
        let told = look(&table(
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
        let alone = look(&table("mechanism,size,threads,throughput_gbps\nA1,64,1,1.0\nA1,64,2,0.5\n"));
        assert!(alone[0].text.contains("does not show the cause"), "{}", alone[0].text);
    }
}
