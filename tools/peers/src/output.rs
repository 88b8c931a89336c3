//! Renders the comparison: a terminal table, `ratios.csv`, and the markdown page.

use crate::aligned;
use crate::compare::{Entry, LEVEL, Row, Standing};
use anyhow::{Context, Result, bail};
use std::path::Path;
use syscost_core::stats::Estimate;
use syscost_core::units::{Unit, short_bytes, significant};

/// What stands above the table, and the table.
pub struct Page<'a> {
    pub subject: &'static str,
    pub rows: &'a [Row],
    pub standing: Standing,
    pub facts: Vec<(&'static str, String)>,
    /// Tool and version.
    pub tools: Vec<(&'static str, String)>,
    /// Tool and why it is not here.
    pub absent: Vec<(&'static str, String)>,
    /// Visits without a figure: tool, how many, the first reason.
    pub failures: Vec<(&'static str, usize, String)>,
    pub rounds: u32,
    pub planned_rounds: u32,
    pub command: String,
}

const BEGIN: &str = "<!-- peers:begin (generated; edits are lost) -->";
const END: &str = "<!-- peers:end -->";

/// The table for a terminal: each ratio above its interval.
pub fn terminal(page: &Page<'_>) -> String {
    let rows: Vec<_> = page.rows.iter().map(|row| cells(row, "\n")).collect();
    let headers = headers(page);
    let headers: Vec<&str> = headers.iter().map(String::as_str).collect();
    let table = aligned::columns(&headers, &rows);
    format!("{table}\n\n{}\n", sentences(page).join("\n"))
}

/// The page between its markers.
pub fn markdown(page: &Page<'_>) -> String {
    let mut text = String::new();
    for sentence in sentences(page) {
        text += &format!("{sentence}\n\n");
    }
    let line = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    text += &line(headers(page));
    text += &format!("|{}\n", "---|".repeat(headers(page).len()));
    for row in page.rows {
        text += &line(cells(row, " "));
    }
    text += "\n| machine | |\n|---|---|\n";
    for (label, value) in &page.facts {
        text += &line(vec![label.to_string(), value.replace('|', "/")]);
    }
    text += "\n| tool | version |\n|---|---|\n";
    for (tool, version) in &page.tools {
        text += &line(vec![format!("`{tool}`"), version.replace('|', "/")]);
    }
    for (tool, reason) in &page.absent {
        text += &line(vec![format!("`{tool}`"), format!("not compared: {reason}")]);
    }
    text += &format!("\nCommand:\n\n    {}\n", page.command);
    text
}

/// Replaces what is between a page's markers.
pub fn splice(file: &Path, generated: &str) -> Result<()> {
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (Some(begin), Some(end)) = (text.find(BEGIN), text.find(END)) else {
        bail!("{} lacks the markers {BEGIN} and {END}", file.display());
    };
    let spliced = format!("{}{BEGIN}\n\n{generated}\n{}", &text[..begin], &text[end..]);
    std::fs::write(file, spliced).with_context(|| format!("cannot write {}", file.display()))
}

/// `ratios.csv`: one row per cell and peer.
pub fn ratios_csv(rows: &[Row], subject: &str, path: &Path) -> Result<()> {
    let mut file =
        csv::Writer::from_path(path).with_context(|| format!("cannot write {}", path.display()))?;
    file.write_record([
        "path",
        "nodelay",
        "streams",
        "message_bytes",
        "subject",
        "peer",
        "subject_throughput_bits_per_second",
        "peer_throughput_bits_per_second",
        "ratio",
        "ratio_low",
        "ratio_high",
        "level",
        "rounds",
        "best_peer",
        "not_applicable",
    ])?;
    let number = |value: Option<f64>| value.map(|v| v.to_string()).unwrap_or_default();
    for row in rows {
        let best = row.best().map(|(peer, ..)| peer);
        for against in &row.against {
            let (ratio, throughput, reason) = match &against.entry {
                Entry::Ratio { ratio, peer_bits_per_second } => {
                    (Some(ratio), Some(*peer_bits_per_second), "")
                }
                Entry::NotApplicable(reason) => (None, None, *reason),
                Entry::NoFigure => (None, None, ""),
            };
            file.write_record([
                row.cell.path.to_string(),
                row.cell.nodelay_text().to_string(),
                row.cell.streams.to_string(),
                row.cell.message_bytes.to_string(),
                subject.to_string(),
                against.peer.to_string(),
                number(row.subject_bits_per_second),
                number(throughput),
                number(ratio.map(|r| r.value)),
                number(ratio.map(|r| r.low)),
                number(ratio.map(|r| r.high)),
                number(ratio.map(|r| r.level)),
                ratio.map(|r| r.n.to_string()).unwrap_or_default(),
                if best == Some(against.peer) { "yes" } else { "no" }.to_string(),
                reason.to_string(),
            ])?;
        }
    }
    file.flush()?;
    Ok(())
}

fn headers(page: &Page<'_>) -> Vec<String> {
    let mut headers: Vec<String> = ["path", "NODELAY", "streams", "size"].map(String::from).to_vec();
    headers.push(page.subject.to_string());
    headers.push("best peer".into());
    headers.push(format!("{} / best", page.subject));
    let peers = page.rows.first().map(|row| row.against.iter().map(|a| format!("/ {}", a.peer)));
    headers.extend(peers.into_iter().flatten());
    headers
}

fn cells(row: &Row, between: &str) -> Vec<String> {
    let gigabits = |rate: f64| Unit::BitsPerSecond.format(rate);
    let cell = &row.cell;
    let mut cells = vec![
        cell.path.to_string(),
        cell.nodelay_text().to_string(),
        cell.streams.to_string(),
        short_bytes(cell.message_bytes),
        row.subject_bits_per_second.map_or("no figure".into(), gigabits),
    ];
    match row.best() {
        Some((peer, ratio, rate)) => {
            cells.push(format!("{peer}{between}{}", gigabits(rate)));
            cells.push(show(ratio, between));
        }
        None => cells.extend(["none".into(), "n/a".into()]),
    }
    cells.extend(row.against.iter().map(|against| match &against.entry {
        Entry::Ratio { ratio, .. } => show(ratio, between),
        Entry::NotApplicable(_) => "n/a".into(),
        Entry::NoFigure => "no figure".into(),
    }));
    cells
}

/// `1.23 [1.10-1.41]`.
fn show(ratio: &Estimate, between: &str) -> String {
    format!("{:.2}{between}[{:.2}-{:.2}]", ratio.value, ratio.low, ratio.high)
}

/// The result and its caveats, each from the figures.
fn sentences(page: &Page<'_>) -> Vec<String> {
    let standing = &page.standing;
    let mut sentences = vec![format!(
        "`{}` reaches at least 1x the best peer in {} of {} cells (the whole interval in {}, none of it in {}).",
        page.subject,
        standing.at_least_equal,
        standing.compared,
        standing.surely_at_least_equal,
        standing.surely_below.len()
    )];
    if !standing.surely_below.is_empty() {
        let cells: Vec<String> = standing.surely_below.iter().map(|cell| cell.to_string()).collect();
        sentences.push(format!("Below the best peer: {}.", cells.join("; ")));
    }
    sentences.push(intervals(page));
    for reason in reasons(page.rows) {
        sentences.push(reason);
    }
    for (tool, count, reason) in &page.failures {
        sentences.push(format!("{tool}: {count} visits without a figure; the first: {reason}"));
    }
    sentences
}

fn intervals(page: &Page<'_>) -> String {
    let levels = page.rows.iter().filter_map(|row| Some(row.best()?.1.level));
    let lowest = levels.fold(f64::INFINITY, f64::min);
    let rounds = match page.rounds == page.planned_rounds {
        true => format!("{} rounds", page.rounds),
        false => format!("{} of {} rounds (stopped early)", page.rounds, page.planned_rounds),
    };
    if !lowest.is_finite() {
        return format!("{rounds}; no ratio.");
    }
    let note = if lowest < LEVEL { ": too few rounds for 95 %, the extremes are shown" } else { "" };
    format!(
        "Ratios are medians over {rounds}, paired by round; in brackets their interval at {} %{note}.",
        significant(lowest * 100.0)
    )
}

/// Each peer's "n/a" reasons, once.
fn reasons(rows: &[Row]) -> Vec<String> {
    let mut seen: Vec<String> = Vec::new();
    for against in rows.iter().flat_map(|row| &row.against) {
        if let Entry::NotApplicable(reason) = against.entry {
            let sentence = format!("{}: n/a where {reason}.", against.peer);
            if !seen.contains(&sentence) {
                seen.push(sentence);
            }
        }
    }
    seen
}
