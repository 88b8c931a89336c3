//! The comparison as text: a table for the terminal, and the page. Pure.

use super::compare::{AGREEMENT, Against, Compared, LEVEL, Steadier, VariantShown, Verdict};
use super::row::{self, Visited};
use crate::record::{Record, table};

const HEADERS: [&str; 8] =
    ["row", "syscost", "peer", "its figure", "syscost / peer", "our spread", "its spread", "within 10 %"];
const SHOWN: [&str; 7] = [
    "row",
    "peer",
    "syscost / peer",
    "ours, done as the peer does it",
    "its figure",
    "that / peer",
    "explained",
];
const STEADY: [&str; 6] = ["row", "our spread", "steadiest peer", "its spread", "p", "p by Holm"];
/// Where the chance is smaller, we scatter more than the peer.
const ALPHA: f64 = 0.05;

/// What stands between the page's markers.
pub fn markdown(record: &Record<Visited>, rows: &[Compared]) -> String {
    let mut text = sentences(rows).join("\n\n") + "\n\n";
    text += &table(&HEADERS, table_rows(rows).into_iter().map(Vec::from));
    text += &who_is_right(rows);
    text += &steadiness(rows);
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

/// The variants that were measured beside a comparison.
fn who_is_right(rows: &[Compared]) -> String {
    let cells = |row: &Compared, against: &Against| {
        let (shown, ratio) = (against.likewise.as_ref()?, against.ratio.as_ref()?);
        Some(line(&[
            row.row.title.clone(),
            against.peer.tool.clone(),
            format!("{:.2}", ratio.value),
            shown.what.clone(),
            row.row.show(shown.median),
            format!("{:.2} [{:.2}-{:.2}]", shown.ratio.value, shown.ratio.low, shown.ratio.high),
            explained(against, shown),
        ]))
    };
    let lines: Vec<String> =
        rows.iter().flat_map(|row| row.against.iter().filter_map(move |a| cells(row, a))).collect();
    if lines.is_empty() {
        return String::new();
    }
    let intro = "\n### Who is right: ours, done as the peer does it\n\nEach was measured in the same rounds. Where it agrees with \
                 the peer and ours does not, what it does otherwise makes the difference. A share is of the logarithm of the ratio.\n\n";
    format!("{intro}{}|{}\n{}", line(&SHOWN.map(String::from)), "---|".repeat(SHOWN.len()), lines.concat())
}

fn explained(against: &Against, shown: &VariantShown) -> String {
    match (against.verdict(), shown.share) {
        (Verdict::Agrees, _) | (_, None) => "nothing to explain".into(),
        _ if shown.agrees() => "yes".into(),
        (_, Some(share)) if share > 0.0 => format!("in part ({:.0} %)", 100.0 * share.min(1.0)),
        _ => "no".into(),
    }
}

/// Do our figures scatter more from round to round than those of the steadiest peer?
fn steadiness(rows: &[Compared]) -> String {
    let tested: Vec<(&Compared, &Steadier)> =
        rows.iter().filter_map(|row| Some((row, row.steadier.as_ref()?))).collect();
    if tested.is_empty() {
        return String::new();
    }
    let worse: Vec<&str> =
        tested.iter().filter(|(_, s)| s.holm <= ALPHA).map(|(row, _)| row.row.title.as_str()).collect();
    let said = match worse.is_empty() {
        true => format!("In none of {} rows", tested.len()),
        false => format!("In {} of {} rows ({})", worse.len(), tested.len(), worse.join("; ")),
    };
    let cells = |row: &Compared, steadier: &Steadier| {
        let peer = row.against.iter().find(|against| against.peer.tool == steadier.peer);
        line(&[
            row.row.title.clone(),
            percent(row.ours.as_ref().and_then(|figures| figures.spread)),
            steadier.peer.clone(),
            percent(peer.and_then(|against| against.peer.spread)),
            format!("{:.4}", steadier.p),
            format!("{:.3}", steadier.holm),
        ])
    };
    let lines: String = tested.iter().map(|(row, steadier)| cells(row, steadier)).collect();
    format!(
        "\n### Steadiness\n\n{said} our figures scatter significantly more from round to round than those of the steadiest peer \
         (one-sided permutation test of the mean distance from the median, in logarithms; Holm over rows, {ALPHA}).\n\n{}|{}\n{lines}",
        line(&STEADY.map(String::from)),
        "---|".repeat(STEADY.len())
    )
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn table_rows(rows: &[Compared]) -> Vec<[String; 8]> {
    rows.iter().flat_map(|row| row.against.iter().map(move |against| cells(row, against))).collect()
}

fn cells(row: &Compared, against: &Against) -> [String; 8] {
    let ours = row.ours.as_ref();
    let ratio = against
        .ratio
        .as_ref()
        .map_or("n/a".into(), |r| format!("{:.2} [{:.2}-{:.2}]", r.value, r.low, r.high));
    [
        row.row.title.clone(),
        ours.map_or("n/a".into(), |figures| row.row.show(figures.median)),
        against.peer.tool.clone(),
        row.row.show(against.peer.median),
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
        let shown = against.likewise.as_ref().map_or(" No variant of ours shows it.".into(), |shown| {
            let (low, high) = (shown.ratio.low, shown.ratio.high);
            format!(" Ours, {}, is {:.2} [{low:.2}-{high:.2}] times it.", shown.what, shown.ratio.value)
        });
        format!("- {}, {:.2} times `{}`: {why}.{shown}\n", row.row.title, ratio, against.peer.tool)
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
    let program = row::programs().iter().find(|program| program.id == against.peer.tool)?;
    let measure = program.measure.iter().find(|measure| measure.command == against.peer.command)?;
    Some(&measure.differs)
}
