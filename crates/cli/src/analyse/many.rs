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
        // Sentences on each table are read where the tables are few.
        if tables.len() <= FEW {
            for sentence in sentences(&one.table, one.comparisons.as_deref().unwrap_or_default()) {
                out += &entry("", 2, &sentence);
            }
        }
    }
    out + "\n`syscost analyse FILE` tells one table whole; --json has every table.\n"
}
