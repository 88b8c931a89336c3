//! Scaling that surprises: throughput that falls as threads rise, or rises faster than the threads.

use super::{LineEnd, Remark, RemarkKind, neighbours, threads};
use crate::{PublishedRow, PublishedTable, TableColumn};
use syscost_analyze::words::percent;
use syscost_core::units::Unit;

/// Less than this may be noise of single runs.
const NOISE: f64 = 0.2;

pub fn look(table: &PublishedTable) -> Vec<Remark> {
    let steps = neighbours(table, TableColumn::Threads).into_iter();
    steps.filter_map(|(name, before, after, _)| step(&name, before, after)).collect()
}

fn step(name: &str, (few, before, was): LineEnd, (many, after, is): LineEnd) -> Option<Remark> {
    let rates =
        format!("{} to {}", Unit::BitsPerSecond.format(was.value), Unit::BitsPerSecond.format(is.value));
    let (id, what) = if is.high() < (1.0 - NOISE) * was.low() {
        let fall = percent(1.0 - is.value / was.value);
        ("falls_with_threads", format!("falls by {fall} ({rates}){}", cause(before, after)))
    } else if is.low() > (1.0 + NOISE) * was.high() * many as f64 / few as f64 {
        let what = "rises more than the threads do";
        let why = "the cell with fewer threads was held back by something else";
        ("faster_than_threads", format!("{what} ({rates}): {why}"))
    } else {
        return None;
    };
    let text = format!("{name}: from {} to {} the throughput {what}.", threads(few), threads(many));
    Some(Remark { id, kind: RemarkKind::Unexpected, text, lines: vec![before.line, after.line] })
}

/// What the table itself shows beside it.
fn cause(before: &PublishedRow, after: &PublishedRow) -> String {
    let rise = |column: TableColumn| {
        let (was, is) = (before.value(column)?, after.value(column)?);
        (was > 0.0 && is > 3.0 * was).then(|| {
            format!("{} rise from {} to {}", column.title(), Unit::Count.format(was), Unit::Count.format(is))
        })
    };
    let seen: Vec<String> =
        [TableColumn::ContextSwitches, TableColumn::CacheMisses].into_iter().filter_map(rise).collect();
    if seen.is_empty() {
        "; cause not shown by the data".into()
    } else {
        format!("; {} there", seen.join(" and "))
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
        let texts: Vec<&str> = told.iter().map(|r| r.text.as_str()).collect();
        assert_eq!(told.len(), 3, "{texts:?}");
        let falls = texts.iter().find(|t| t.contains("64 KiB")).unwrap();
        assert!(
            falls.contains("falls by 63 %") && falls.contains("context switches rise from 1996"),
            "{falls}"
        );
        assert!(texts.iter().any(|t| t.contains("cause not shown by the data")));
        assert!(texts.iter().any(|t| t.contains("rises more than the threads do")));
    }
}
