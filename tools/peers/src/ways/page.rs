//! The comparison as text: a table for the terminal, and the page. Pure.

use super::compare::{self, Against, LEVEL, Row};
use super::record::Record;
use crate::aligned;
use syscost_core::units::{short_bytes, significant};

const HEADERS: [&str; 6] = ["path", "size", "syscost", "program", "its figure", "times as fast"];

pub fn terminal(record: &Record, rows: &[Row]) -> String {
    let headers = [&["contest"], &HEADERS[..]].concat();
    let named = |row: &Row, cells: [String; 6]| [vec![row.contest.id.to_string()], cells.to_vec()].concat();
    let rows_of = |row| lines(row).into_iter().map(move |cells| named(row, cells));
    let table = aligned::columns(&headers, &rows.iter().flat_map(rows_of).collect::<Vec<_>>());
    format!("{table}\n\n{}\n", sentences(record, rows).join("\n"))
}

/// What stands between the page's markers.
pub fn markdown(record: &Record, rows: &[Row]) -> String {
    let mut text = sentences(record, rows).join("\n\n") + "\n";
    let mut contests: Vec<&str> = rows.iter().map(|row| row.contest.id).collect();
    contests.dedup();
    for id in contests {
        let of_contest: Vec<&Row> = rows.iter().filter(|row| row.contest.id == id).collect();
        text += &format!("\n### {}\n\nEqual and not: {}.\n\n", id, of_contest[0].contest.terms);
        text += &line(&HEADERS.map(String::from));
        text += &format!("|{}\n", "---|".repeat(HEADERS.len()));
        of_contest.iter().flat_map(|row| lines(row)).for_each(|cells| text += &line(&cells));
    }
    text += "\n| measured with | |\n|---|---|\n";
    record.facts.iter().for_each(|(label, value)| text += &line(&[label.clone(), value.replace('|', "/")]));
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// One line for each program, the fastest in bold.
fn lines(row: &Row) -> Vec<[String; 6]> {
    let unit = row.contest.measure.unit();
    let own = row.ours.map_or("no figure".into(), |figure| unit.format(figure));
    let start = [row.cell.path.to_string(), short_bytes(row.cell.message_bytes), own];
    let best = row.best().map(|against| against.tool.as_str());
    let of = |against: &Against| {
        let name = if best == Some(&against.tool) && row.against.len() > 1 {
            format!("**{}**", against.tool)
        } else {
            against.tool.clone()
        };
        let times = &against.times_as_fast;
        let times = format!("{:.2} [{:.2}-{:.2}]", times.value, times.low, times.high);
        let [path, size, own] = start.clone();
        [path, size, own, name, unit.format(against.median), times]
    };
    if row.against.is_empty() {
        let [path, size, own] = start;
        return vec![[path, size, own, "none".into(), "no figure".into(), "n/a".into()]];
    }
    row.against.iter().map(of).collect()
}

/// What the tables say, with the cells that show it.
fn sentences(record: &Record, rows: &[Row]) -> Vec<String> {
    let compared: Vec<(&Row, &Against)> = rows.iter().filter_map(|row| Some((row, row.best()?))).collect();
    let sure = |against: &Against| against.times_as_fast.reaches(LEVEL);
    let count = |test: &dyn Fn(&Against) -> bool| compared.iter().filter(|(_, best)| test(best)).count();
    let mut sentences = vec![format!(
        "`syscost` is at least as fast as the fastest program in {} of {} cells (the whole interval in {}; slower, with the \
         whole interval, in {}).",
        count(&|best| best.times_as_fast.value >= 1.0),
        compared.len(),
        count(&|best| sure(best) && best.times_as_fast.low >= 1.0),
        count(&|best| sure(best) && best.times_as_fast.high < 1.0)
    )];
    let below: Vec<String> = compared
        .iter()
        .filter(|(_, best)| sure(best) && best.times_as_fast.high < 1.0)
        .map(|(row, best)| {
            let size = short_bytes(row.cell.message_bytes);
            format!("{}, {} {size} ({:.2})", row.contest.id, row.cell.path, best.times_as_fast.value)
        })
        .collect();
    if !below.is_empty() {
        sentences.push(format!("Slower than the fastest program: {}.", below.join("; ")));
    }
    sentences.push(intervals(rows, &compared));
    for (contest, tool, count, reason) in compare::failures(record) {
        let reason = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        sentences.push(format!("{contest}, {tool}: {count} visits without a figure; the first: {reason}."));
    }
    sentences
}

fn intervals(rows: &[Row], compared: &[(&Row, &Against)]) -> String {
    let rounds = rows.iter().map(|row| row.rounds).filter(|rounds| *rounds > 0);
    let (fewest, most) = (rounds.clone().min().unwrap_or(0), rounds.max().unwrap_or(0));
    let rounds = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    let level = compared.iter().map(|(_, against)| against.times_as_fast.level).fold(f64::INFINITY, f64::min);
    if !level.is_finite() {
        return format!("{rounds} rounds; no ratio.");
    }
    let note = if level < LEVEL { ": too few rounds for 95 %, the extremes are shown" } else { "" };
    format!(
        "Times as fast: of throughputs ours over the program's, of times the program's over ours. Medians over {rounds} \
         rounds, paired by round; in brackets their interval at {} %{note}. In bold the fastest program.",
        significant(level * 100.0)
    )
}
