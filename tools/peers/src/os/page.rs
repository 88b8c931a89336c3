//! The comparison as text: a table for the terminal, and the page. Pure.

use super::compare::{AGREEMENT, Against, Compared, LEVEL, Verdict};
use super::peer;
use super::record::{OURS, Record};
use crate::aligned;

const HEADERS: [&str; 8] =
    ["row", "syscost", "peer", "its figure", "syscost / peer", "our spread", "its spread", "within 10 %"];

pub fn terminal(rows: &[Compared]) -> String {
    let cells: Vec<_> = table_rows(rows).iter().map(|cells| cells.to_vec()).collect();
    let table = aligned::columns(&HEADERS, &cells);
    format!("{table}\n\n{}\n", sentences(rows).join("\n"))
}

/// What stands between the page's markers.
pub fn markdown(record: &Record, rows: &[Compared]) -> String {
    let mut text = sentences(rows).join("\n\n") + "\n\n";
    text += &line(&HEADERS.map(String::from));
    text += &format!("|{}\n", "---|".repeat(HEADERS.len()));
    table_rows(rows).iter().for_each(|cells| text += &line(cells));
    text += "\n### Where they do not agree, and why\n\n";
    let explained: Vec<String> = rows.iter().flat_map(explanations).collect();
    text += &if explained.is_empty() { "Nowhere.\n".to_string() } else { explained.concat() };
    let missing: Vec<String> = rows.iter().flat_map(failures).collect();
    if !missing.is_empty() {
        text += &format!("\n### Visits without a figure\n\n{}", missing.concat());
    }
    text += "\n### What each command does otherwise\n\n";
    rows.iter().flat_map(differences).for_each(|item| text += &item);
    text += "\n| measured with | |\n|---|---|\n";
    record.facts.iter().for_each(|(label, value)| text += &line(&[label.clone(), value.replace('|', "/")]));
    text
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn table_rows(rows: &[Compared]) -> Vec<[String; 8]> {
    rows.iter().flat_map(|row| row.against.iter().map(move |against| cells(row, against))).collect()
}

fn cells(row: &Compared, against: &Against) -> [String; 8] {
    let unit = row.row.unit;
    let ours = row.ours.as_ref();
    let ratio = against
        .ratio
        .as_ref()
        .map_or("n/a".into(), |r| format!("{:.2} [{:.2}-{:.2}]", r.value, r.low, r.high));
    [
        row.row.title.into(),
        ours.map_or("n/a".into(), |figures| unit.format(figures.median)),
        against.peer.tool.clone(),
        unit.format(against.peer.median),
        ratio,
        percent(ours.and_then(|figures| figures.spread)),
        percent(against.peer.spread),
        match against.verdict() {
            Verdict::Agrees => "yes",
            Verdict::Undecided => "cannot be told",
            Verdict::Differs => "no",
            Verdict::NoCommonRound => "n/a",
        }
        .into(),
    ]
}

fn percent(share: Option<f64>) -> String {
    share.map_or("n/a".into(), |share| format!("{:.1} %", 100.0 * share))
}

/// What the table says, with the figures that show it.
fn sentences(rows: &[Compared]) -> Vec<String> {
    let pairs: Vec<(&Compared, &Against)> =
        rows.iter().flat_map(|row| row.against.iter().map(move |against| (row, against))).collect();
    let verdicts = |wanted: Verdict| pairs.iter().filter(|(_, against)| against.verdict() == wanted).count();
    // Our spread over the peer's, where both have enough rounds.
    let spreads: Vec<f64> =
        pairs.iter().filter_map(|(row, a)| Some(row.ours.as_ref()?.spread? / a.peer.spread?)).collect();
    let rounds = rows.iter().filter_map(|row| Some(row.ours.as_ref()?.rounds)).min().unwrap_or(0);
    let level = pairs.iter().filter_map(|(_, a)| Some(a.ratio?.level)).fold(f64::INFINITY, f64::min);
    let reached = if level < LEVEL { format!(" (too few for {} %)", 100.0 * LEVEL) } else { String::new() };
    let level = if level.is_finite() { format!("{:.1} %{reached}", 100.0 * level) } else { "n/a".into() };
    vec![
        format!(
            "`syscost` and a peer agree within {:.0} % in {} of {} comparisons; in {} more the interval reaches that far; in {} \
             they differ.",
            100.0 * (AGREEMENT - 1.0),
            verdicts(Verdict::Agrees),
            pairs.len(),
            verdicts(Verdict::Undecided),
            verdicts(Verdict::Differs)
        ),
        format!(
            "From run to run, `syscost` spreads no more than the peer in {} of {} comparisons.",
            spreads.iter().filter(|ratio| **ratio <= 1.0).count(),
            spreads.len()
        ),
        format!(
            "Figures are medians over at least {rounds} rounds; ratios are paired by round, in brackets their interval at {level}; \
             spread is the interquartile range over the median."
        ),
    ]
}

/// The comparisons that do not agree, with the reason that is known.
fn explanations(row: &Compared) -> Vec<String> {
    let apart = row.against.iter().filter(|a| matches!(a.verdict(), Verdict::Differs | Verdict::Undecided));
    let item = |against: &Against| {
        let ratio = against.ratio.map_or(f64::NAN, |ratio| ratio.value);
        let why = differs(against).unwrap_or("no reason is known");
        format!("- {}, {:.2} times `{}`: {why}.\n", row.row.title, ratio, against.peer.tool)
    };
    apart.map(item).collect()
}

fn failures(row: &Compared) -> Vec<String> {
    let item = |(tool, count, reason): &(String, usize, String)| {
        let reason: String = reason.split_whitespace().collect::<Vec<_>>().join(" ");
        format!("- {}, `{tool}`, {count} times: {reason}\n", row.row.title)
    };
    row.failures.iter().map(item).collect()
}

fn differences(row: &Compared) -> Vec<String> {
    let item = |against: &Against| {
        let why = differs(against).unwrap_or("not listed any more");
        format!("- {} (`{}`): {why}.\n", row.row.title, against.peer.command)
    };
    row.against.iter().map(item).collect()
}

/// What the measure says of itself.
fn differs(against: &Against) -> Option<&'static str> {
    debug_assert_ne!(against.peer.tool, OURS);
    let peer = peer::ALL.iter().find(|peer| peer.id() == against.peer.tool)?;
    let measure = peer.measures().iter().find(|measure| measure.command == against.peer.command)?;
    Some(measure.differs)
}
