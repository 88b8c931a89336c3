//! `explain CASE`: one case's account, term by term: counts times unit costs, and where each is from.
//!
//! A case that was not run is predicted, and says so. Everything is computed from the record.

use crate::args::{ExplainArgs, Global};
use crate::output::{self, Paint, WIDTH, entry};
use crate::run::RUNS;
use anyhow::{Context, Result, anyhow, bail, ensure};
use serde_json::json;
use std::path::PathBuf;
use syscost_analyze::cells::Cells;
use syscost_analyze::model::{self, Account, Item, Model, NOT_EXPLAINED, Side, what_if};
use syscost_analyze::words::{Words, percent};
use syscost_core::axis::{IntAxis, Point, Value};
use syscost_core::units::{Unit, significant};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_measure::probe::Probe;
use syscost_measure::probe::transfer::Transfer;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};

const SIZE: IntAxis = MESSAGE_BYTES;
/// Cases that an ambiguous name lists.
const SHOWN: usize = 5;
const INDENT: usize = 6;

pub fn run(args: &ExplainArgs, global: &Global) -> Result<()> {
    let dir = args.run.clone().map_or_else(newest, Ok)?;
    let run = RunDir::load(&dir)?;
    let cells = Cells::of(&run);
    let account = account(&run, &cells, args)?;
    run.samples.intact()?;
    let words = Words::of(&run);
    if global.json {
        output::print_json(&document(&account))
    } else {
        output::print(&text(&account, &words, Paint::stdout(global.color)))
    }
}

/// The newest run: directories begin with their time.
fn newest() -> Result<PathBuf> {
    let listed =
        std::fs::read_dir(RUNS).with_context(|| format!("no run is named, and there is no {RUNS} here"))?;
    let runs =
        listed.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| path.join("run.json").exists());
    runs.max().with_context(|| format!("{RUNS} holds no run: name one, or make one with syscost run"))
}

fn account(run: &Run, cells: &Cells, args: &ExplainArgs) -> Result<Account> {
    let case = find(run, &args.case)?;
    let mut point = case.point.clone();
    for (axis, text) in [(SIZE, &args.size), (THREADS, &args.threads)] {
        if let Some(text) = text {
            point.set(axis.id, value(axis.id, text)?);
        }
    }
    let found = transfers(run).find(|case| case.point == point);
    let account = match found {
        Some(case) => Model::of(run, cells).account(case.index).cloned(),
        None => what_if::account(run, cells, &point),
    };
    account.ok_or_else(|| {
        let why = model::lacking();
        anyhow!(
            "no account can be made of {point}: its mechanism or receiver has none, it has no usable sample, or {} \
             (the default study measures them: syscost run)",
            why.reason
        )
    })
}

fn transfers(run: &Run) -> impl Iterator<Item = &Case> {
    let cases = run.record.plan.cases.iter();
    cases.filter(|case| case.probe == Transfer.about().id && case.twin_of.is_none())
}

/// A value of an axis of a transfer, as a person writes it.
fn value(axis: &str, text: &str) -> Result<Value> {
    let axes = Transfer.axes();
    let axis = axes.iter().find(|a| a.id == axis).context("a transfer has this axis")?;
    Ok(axis.parse(text)?)
}

/// A case by its number or by what tells it apart. Words that no case has at once name the nearest one.
fn find<'r>(run: &'r Run, text: &str) -> Result<&'r Case> {
    if let Ok(index) = text.parse::<usize>() {
        let case = run.record.plan.cases.get(index);
        let case = case.with_context(|| {
            format!("the run has cases 0 to {}, not {index}", run.record.plan.cases.len().saturating_sub(1))
        })?;
        ensure!(
            case.probe == Transfer.about().id,
            "case {index} is one of {}, and accounts are of transfers over TCP; `syscost report` shows the \
             predictions of other rows",
            case.probe
        );
        // A twin repeats a case to measure the noise.
        let index = case.twin_of.unwrap_or(index);
        return run.record.plan.cases.get(index).context("a twin has a case");
    }
    let wanted = wanted(text)?;
    let has = |case: &&Case| wanted.iter().all(|(axis, value)| case.point.get(axis) == Some(value));
    let found: Vec<&Case> = transfers(run).filter(has).collect();
    match found[..] {
        [] => bail!("no transfer of this run is \"{text}\"; other sizes and threads: --size, --threads"),
        [one] => Ok(one),
        // Size and threads may follow in flags; anything else has to be told.
        [first, ..] => {
            let bare = |case: &Case| case.point.without(SIZE.id).without(THREADS.id);
            if found.iter().all(|case| bare(case) == bare(first)) {
                return Ok(first);
            }
            let shown: Vec<String> =
                found.iter().take(SHOWN).map(|case| format!("{}: {}", case.index, case.point)).collect();
            bail!("\"{text}\" is {} cases; name one by its number, as in {}", found.len(), shown.join("; "))
        }
    }
}

/// `sendmsg 64K 2 threads nodelay=on`
fn wanted(text: &str) -> Result<Point> {
    let axes = Transfer.axes();
    let mut point = Point::default();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        if words.peek().is_some_and(|next| matches!(*next, "thread" | "threads")) {
            point.set(THREADS.id, value(THREADS.id, word)?);
            words.next();
            continue;
        }
        if let Some((name, text)) = word.split_once('=') {
            let axis = axes.iter().find(|a| a.flag == name || a.id == name);
            let axis = axis.with_context(|| format!("a transfer has no axis {name}"))?;
            point.set(axis.id, axis.parse(text)?);
            continue;
        }
        let named = axes.iter().filter(|a| !a.kind.names().is_empty() && a.kind.names() != ["on", "off"]);
        let named = named.filter_map(|a| Some((a.id, a.parse(word).ok()?))).next();
        let size = || {
            let size = value(SIZE.id, word);
            Ok((SIZE.id, size.with_context(|| format!("{word:?} is neither a name nor a message size"))?))
        };
        let (axis, value) = named.map_or_else(size, anyhow::Ok)?;
        point.set(axis, value);
    }
    Ok(point)
}

fn text(account: &Account, words: &Words, paint: Paint) -> String {
    let title = words.name(&account.point, "mechanism", &account.point.without(MECHANISM.id));
    let place = words.place(&account.point, &["mechanism"]);
    let number = account.case.map_or_else(|| "Prediction".into(), |case| format!("Case {case}"));
    let mut out = format!("{}\n", paint.bold(&format!("{number}: {title}, {place}")));
    out += "CPU time of one message: a sum of counts times unit costs.\n";
    for caveat in &account.caveats {
        out += &format!("{}\n", paint.yellow(&format!("Mind: {caveat}.")));
    }
    for side in [Side::Sender, Side::Receiver] {
        out += &format!("\n{}\n", paint.bold(side.name()));
        for item in account.items.iter().filter(|item| item.about.side == side) {
            let cost = Unit::Nanoseconds.format(item.unit.ns);
            out += &row(item.about.title, &format!("{} x {cost}", significant(item.count.n)), item.ns());
            let from = format!("{}; {} ({})", item.count.says, item.unit.formula, cases(item));
            out += &entry("", INDENT, &from);
        }
        out += &sum(&format!("{}, predicted", side.name()), account.predicted_of(side));
        if let Some(measured) = account.measured {
            let ns = if side == Side::Sender { measured.sender_ns } else { measured.receiver_ns };
            out += &sum(&format!("{}, measured", side.name()), ns);
        }
    }
    out += "\n";
    out += &sum("predicted", account.predicted_ns());
    if let Some(measured) = account.measured {
        out += &sum("measured", measured.total_ns);
        let left = account.not_explained_ns().unwrap_or(0.0);
        out += &sum(&format!("{NOT_EXPLAINED} ({})", percent(left / measured.total_ns)), left);
    }
    out
}

/// `cases 105 and 107`: where a unit cost was measured.
fn cases(item: &Item) -> String {
    let mut cases: Vec<usize> = item.unit.cells.iter().map(|cell| cell.case).collect();
    cases.dedup();
    let names: Vec<String> = cases.iter().map(usize::to_string).collect();
    format!("case{} {}", if names.len() == 1 { "" } else { "s" }, syscost_analyze::words::and(&names))
}

/// Columns of the figure at a line's end.
const FIGURE: usize = 12;
const MIDDLE: usize = 28;

fn row(title: &str, middle: &str, ns: f64) -> String {
    let room = WIDTH - FIGURE - MIDDLE - 2;
    format!("  {title:<room$}{middle:>MIDDLE$}{:>FIGURE$}\n", Unit::Nanoseconds.format(ns))
}

fn sum(title: &str, ns: f64) -> String {
    let room = WIDTH - FIGURE;
    format!("{title:<room$}{:>FIGURE$}\n", Unit::Nanoseconds.format(ns))
}

fn document(account: &Account) -> serde_json::Value {
    let inputs = |cells: &[syscost_analyze::CellRef]| -> Vec<serde_json::Value> {
        cells.iter().map(|c| json!({ "case": c.case, "metric": c.metric })).collect()
    };
    let term = |item: &Item| {
        json!({
            "term": item.about.id, "title": item.about.title, "side": item.about.side.name(),
            "group": item.about.group.title(), "count": item.count.n, "count_from": item.count.says,
            "count_cells": inputs(&item.count.cells), "unit_ns": item.unit.ns, "formula": item.unit.formula,
            "unit_cells": inputs(&item.unit.cells), "ns": item.ns(),
        })
    };
    let items: Vec<serde_json::Value> = account.items.iter().map(term).collect();
    let measured = account.measured;
    json!({
        "case": account.case, "point": account.point, "prediction_only": measured.is_none(),
        "terms": items, "caveats": account.caveats,
        "predicted_sender_ns": account.predicted_of(Side::Sender),
        "predicted_receiver_ns": account.predicted_of(Side::Receiver),
        "predicted_ns": account.predicted_ns(),
        "measured_sender_ns": measured.map(|m| m.sender_ns),
        "measured_receiver_ns": measured.map(|m| m.receiver_ns),
        "measured_ns": measured.map(|m| m.total_ns),
        "not_explained_ns": account.not_explained_ns(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use syscost_experiment::run::files::RunDir;

    #[test]
    fn a_case_is_found_by_its_number_or_its_words() {
        let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/runs/default");
        let run = RunDir::load(&recorded).unwrap();
        let find = |text: &str| super::find(&run, text).map(|case| case.index).map_err(|e| e.to_string());
        let wanted = transfers(&run).find(|case| {
            case.point.text_at("mechanism") == Some("sendmsg")
                && case.point.int(SIZE) == Some(65536)
                && case.point.int(THREADS) == Some(2)
        });
        let wanted = wanted.expect("it is in the grid").index;
        for text in ["sendmsg 64K 2 threads", "one-copy size=64K threads=2", &wanted.to_string()] {
            assert_eq!(find(text), Ok(wanted), "{text}");
        }
        assert!(find("sendmsg").is_ok(), "size and threads may follow");
        assert!(find("64K").unwrap_err().contains("cases; name one"));
        assert!(find("sendmsg 5K").unwrap_err().contains("--size"));
        assert!(find("no_such_thing").unwrap_err().contains("neither"));
        assert!(find("4711").unwrap_err().contains("cases 0 to"));
        let twin = run.record.plan.cases.iter().find(|case| case.twin_of.is_some()).expect("there are twins");
        assert_eq!(find(&twin.index.to_string()).ok(), twin.twin_of);
    }
}
