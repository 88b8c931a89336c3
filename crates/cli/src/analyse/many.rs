//! Many tables: a row each, then each contradiction in a sentence.

use super::{AnalysedTable, BadFile, places};
use crate::output::{Paint, entry, wrap};
use std::collections::BTreeSet;
use std::path::Path;
use syscost_core::units::count;
use syscost_tables::remark::RemarkKind;
use syscost_tables::summary::{TableGap, TableSummary};

/// Columns of a file's name at most, of its contradictions, and of all.
const NAME: usize = 27;
const CONTRADICTIONS: usize = 14;
const WIDTH: usize = 80;

pub fn told(tables: &[AnalysedTable], bad: &[BadFile], paint: Paint) -> String {
    let wrong = tables.iter().filter(|one| !one.summary.contradictions.is_empty()).count();
    let unread = if bad.is_empty() { String::new() } else { format!(", {} not read", bad.len()) };
    let mut out = paint
        .bold(&format!("{}: {wrong} with contradictions{unread}", count(tables.len() + bad.len(), "file")));
    let names = Names::of(tables, bad);
    out += &format!("\n\n{}", row(&names, ["file", "cells", "runs", "contradictions", "cannot say"]));
    for one in tables {
        let summary = &one.summary;
        let gaps: Vec<&str> = summary.cannot_say.iter().map(|gap| gap.short().0).collect();
        let wrong: Vec<&str> = summary.contradictions.iter().map(|id| short(id)).collect();
        let wrong = wrong.join(", ");
        out += &row(
            &names,
            [
                &names.short(&one.table.name),
                &summary.cells.to_string(),
                &runs(summary),
                &wrong,
                &gaps.join(" "),
            ],
        );
    }
    for one in bad {
        out += &row(&names, [&names.short(&one.name), "-", "-", "not read", ""]);
    }
    out += &legend(tables);
    out += &contradictions(tables, &names, paint);
    out + "\n`syscost analyse FILE` tells one table whole; --csv prints these rows.\n"
}

fn contradictions(tables: &[AnalysedTable], names: &Names, paint: Paint) -> String {
    let mut out = String::new();
    for one in tables {
        let wrong = one.remarks.iter().filter(|remark| remark.kind == RemarkKind::Contradiction);
        for (index, remark) in wrong.enumerate() {
            if index == 0 {
                out += &format!("\n{}\n", paint.bold(&names.short(&one.table.name)));
            }
            out += &entry("", 2, &format!("{}{}", remark.claim(), places(&one.table, &remark.lines)));
        }
    }
    out
}

/// What the words of the last column mean.
fn legend(tables: &[AnalysedTable]) -> String {
    let all: BTreeSet<TableGap> =
        tables.iter().flat_map(|one| one.summary.cannot_say.iter().copied()).collect();
    let told: Vec<String> =
        all.into_iter().map(|gap| gap.short()).map(|(id, what)| format!("{id}: {what}")).collect();
    if told.is_empty() { told.concat() } else { format!("\n{}", entry("Cannot say", 12, &told.join("; "))) }
}

fn runs(summary: &TableSummary) -> String {
    let [least, most] = summary.runs;
    if least == most { least.to_string() } else { format!("{least}-{most}") }
}

/// A contradiction's name in a row.
fn short(id: &str) -> &str {
    match id {
        "derived_latency" => "latency",
        "not_its_totals" => "totals",
        "not_a_sum" => "sums",
        "better_than_hardware" => "hardware",
        "same_figures" | "same_counters" => "copied",
        other => other,
    }
}

/// Files are called by their last part where that tells them apart.
struct Names {
    whole: bool,
    width: usize,
}

impl Names {
    fn of(tables: &[AnalysedTable], bad: &[BadFile]) -> Names {
        let all: Vec<&str> = tables
            .iter()
            .map(|one| one.table.name.as_str())
            .chain(bad.iter().map(|one| one.name.as_str()))
            .collect();
        let distinct: BTreeSet<&str> = all.iter().map(|name| last(name)).collect();
        let mut names = Names { whole: distinct.len() < all.len(), width: NAME };
        names.width =
            all.iter().map(|name| names.short(name).chars().count()).max().unwrap_or(0).clamp(4, NAME);
        names
    }

    /// The end of a name tells more than its beginning.
    fn short(&self, name: &str) -> String {
        let name = if self.whole { name } else { last(name) };
        let over = name.chars().count().saturating_sub(self.width);
        if over == 0 {
            name.to_string()
        } else {
            format!("..{}", name.chars().skip(over + 2).collect::<String>())
        }
    }
}

fn last(name: &str) -> &str {
    Path::new(name).file_name().and_then(|last| last.to_str()).unwrap_or(name)
}

fn row(names: &Names, [file, cells, runs, wrong, gaps]: [&str; 5]) -> String {
    let before = names.width + 2 + 5 + 2 + 5 + 2;
    let rest = before + CONTRADICTIONS + 2;
    let (wrong, gaps) = (wrap(wrong, CONTRADICTIONS), wrap(gaps, WIDTH - rest));
    let start = format!("{file:<width$}  {cells:>5}  {runs:>5}  ", width = names.width);
    let line = |index: usize| {
        let cell = |of: &[String]| of.get(index).cloned().unwrap_or_default();
        let start = if index == 0 { start.clone() } else { " ".repeat(before) };
        let line = format!("{start}{:<CONTRADICTIONS$}  {}", cell(&wrong), cell(&gaps));
        format!("{}\n", line.trim_end())
    };
    (0..wrong.len().max(gaps.len()).max(1)).map(line).collect()
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
        let gaps: Vec<&str> = summary.cannot_say.iter().map(|gap| gap.short().1).collect();
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
