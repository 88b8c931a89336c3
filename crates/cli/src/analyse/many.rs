//! Many tables: what each holds in a line, and each contradiction in a sentence.

use super::{AnalysedTable, BadFile, places};
use crate::output::{Paint, entry};
use syscost_core::units::count;
use syscost_tables::compare::sentences;
use syscost_tables::remark::RemarkKind;

/// So many tables fit a screen with who is ahead.
const FEW: usize = 4;

pub fn told(tables: &[AnalysedTable], bad: &[BadFile], paint: Paint) -> String {
    let wrong = tables.iter().filter(|one| !one.summary.contradictions.is_empty()).count();
    let unread = if bad.is_empty() { String::new() } else { format!(", {} not read", bad.len()) };
    let all = count(tables.len() + bad.len(), "table");
    let mut out = format!("{}\n", paint.bold(&format!("{all}: {wrong} with contradictions{unread}")));
    for one in tables {
        let summary = &one.summary;
        let [least, most] = summary.runs;
        let runs = if least == most { least.to_string() } else { format!("{least}-{most}") };
        out += &format!("\n{}\n", paint.bold(&one.table.name));
        let columns: Vec<String> = one.table.columns.iter().map(|column| one.table.title(*column)).collect();
        let read = format!("{}, runs a cell: {runs}. {}", count(summary.cells, "cell"), columns.join(", "));
        out += &entry("", 2, &read);
        for remark in one.remarks.iter().filter(|remark| remark.kind == RemarkKind::Contradiction) {
            out += &entry("", 2, &format!("{}{}", remark.claim(), places(&one.table, &remark.lines)));
        }
        // Of a few tables each is read to its end.
        if tables.len() <= FEW {
            for sentence in sentences(&one.table, &one.comparisons.all) {
                out += &entry("", 2, &sentence);
            }
        }
    }
    out + "\n`syscost analyse FILE` tells one table whole; --csv prints a row a table.\n"
}

/// The same rows for programs.
pub fn csv(tables: &[AnalysedTable], bad: &[BadFile]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = [
        "file",
        "rows",
        "cells",
        "runs_min",
        "runs_max",
        "contradictions",
        "found",
        "unexpected",
        "cannot_say",
        "error",
    ];
    let good = tables.iter().map(|AnalysedTable { table, summary, .. }| {
        let gaps: Vec<&str> = summary.cannot_say.iter().map(|gap| gap.short()).collect();
        let [least, most] = summary.runs;
        let counts =
            [summary.rows, summary.cells, least as usize, most as usize, summary.contradictions.len()];
        let mut row = vec![table.name.clone()];
        row.extend(counts.map(|n| n.to_string()));
        row.extend([
            summary.contradictions.join("; "),
            summary.unexpected.to_string(),
            gaps.join("; "),
            String::new(),
        ]);
        row
    });
    let unread = bad.iter().map(|bad| {
        let mut row = vec![String::new(); header.len()];
        (row[0], row[header.len() - 1]) = (bad.name.clone(), bad.error.clone());
        row
    });
    // Writing into memory cannot fail.
    for row in std::iter::once(header.map(String::from).to_vec()).chain(good).chain(unread) {
        writer.write_record(row).expect("in memory");
    }
    String::from_utf8(writer.into_inner().expect("in memory")).expect("only text was written")
}
