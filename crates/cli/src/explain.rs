//! `explain CASE`: one case's account, term by term: counts times unit costs, and where each is from.
//!
//! Everything is computed from the record.

use crate::args::{ExplainArgs, Global};
use crate::baseline::RUNS;
use crate::output::{self, Paint, WIDTH, entry};
use crate::sought::find;
use anyhow::{Context, Result, anyhow};
use serde_json::json;
use std::path::PathBuf;
use syscost_analyze::cells::Cells;
use syscost_analyze::finding::paths_of;
use syscost_analyze::grouped::grouped;
use syscost_analyze::model::{Account, Item, Model, Side, counts, steps};
use syscost_core::axis::Point;
use syscost_core::units::{Unit, significant};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::is_run;
use syscost_measure::probe::own_code;
use syscost_measure::probe::transfer::axes::MECHANISM;
use syscost_report::text::model;
use syscost_report::text::words::{Words, percent};

const INDENT: usize = 6;

pub fn run(args: &ExplainArgs, global: &Global) -> Result<()> {
    let dir = args.run.clone().map_or_else(newest, Ok)?;
    let run = RunDir::load(&dir)?;
    let cells = Cells::of(&run);
    let account = account(&run, &cells, find(&run, &args.case)?)?;
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
    let none = "there is no run here to explain: make one with `syscost run`, or name its directory";
    let listed = std::fs::read_dir(RUNS).map_err(|_| anyhow!(none))?;
    let runs = listed.filter_map(|entry| Some(entry.ok()?.path())).filter(|path| is_run(path));
    runs.max().with_context(|| format!("{RUNS} has no run: name one, or make one with syscost run"))
}

fn account(run: &Run, cells: &Cells, case: &Case) -> Result<Account> {
    let account = Model::of(run, cells).account(case.index).cloned();
    account.ok_or_else(|| {
        let lacking = model::lacking().reason;
        let own = !own_code(&case.point).is_empty();
        let why = match steps::sources(run).is_empty() {
            true => lacking,
            false if own && cells.cell(case.index, counts::COUNTERS[0]).is_none() => {
                "your code does not count its system calls (counts->system_calls, docs/own-code.md)".into()
            }
            false => format!("no model for its mechanism or receiver, no usable sample, or {lacking}"),
        };
        anyhow!(
            "no account of {}: {why} (`syscost run default{}` measures what is needed)",
            name(&case.point, &Words::of(run)),
            paths_of(run)
        )
    })
}

/// `send, 64 KiB and 1 thread over veth (TCP_NODELAY on)`
fn name(point: &Point, words: &Words) -> String {
    let title = words.name(point, MECHANISM.id, &point.without(MECHANISM.id));
    format!("{title}, {}", words.place(point, &[MECHANISM.id]))
}

fn text(account: &Account, words: &Words, paint: Paint) -> String {
    let title = format!("Case {}: {}", account.case, name(&account.point, words));
    let mut out = format!("{}\n", paint.bold(&title));
    out += "CPU time of one message: a sum of counts times unit costs.\n";
    for caveat in model::caveats(account) {
        let note = output::wrap(&format!("Note: {caveat}."), WIDTH).join("\n");
        out += &format!("{}\n", paint.yellow(&note));
    }
    let measured = account.measured;
    for side in [Side::Sender, Side::Receiver] {
        out += &format!("\n{}\n", paint.bold(side.name()));
        for item in account.items.iter().filter(|item| item.about.side == side) {
            let cost = Unit::Nanoseconds.format(item.unit.ns);
            out += &row(
                model::term(item.about.id),
                &format!("{} x {cost}", significant(item.count.n)),
                item.ns(),
            );
            let from =
                format!("{}; {} ({})", model::source(&item.count.from), item.unit.formula, cases(item));
            out += &entry("", INDENT, &from);
        }
        out += &sum(&format!("{}, accounted for", side.name()), account.accounted_of(side));
        let ns = if side == Side::Sender { measured.sender_ns } else { measured.receiver_ns };
        out += &sum(&format!("{}, measured", side.name()), ns);
    }
    out += "\n";
    out += &sum("accounted for", account.accounted_ns());
    out += &sum("measured (a steady stream)", measured.total_ns);
    let left = account.not_explained_ns();
    out + &sum(&format!("{} ({})", model::NOT_EXPLAINED, percent(left / measured.total_ns)), left)
}

/// `cases 105 and 107`: where a unit cost was measured.
fn cases(item: &Item) -> String {
    // Several figures of a case, at several places of a formula, are of one case.
    let cases = grouped(item.unit.cells.iter().map(|cell| (cell.case, cell)));
    let names: Vec<String> = cases.iter().map(|(case, _)| case.to_string()).collect();
    format!("case{} {}", if names.len() == 1 { "" } else { "s" }, syscost_report::text::words::and(&names))
}

/// Columns of the figure at a line's end.
const FIGURE: usize = 12;
const MIDDLE: usize = 26;

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
            "term": item.about.id, "title": model::term(item.about.id), "side": item.about.side.name(),
            "group": model::group(item.about.group), "count": item.count.n, "count_from": model::source(&item.count.from),
            "count_cells": inputs(&item.count.cells), "unit_ns": item.unit.ns, "formula": item.unit.formula,
            "unit_cells": inputs(&item.unit.cells), "ns": item.ns(),
        })
    };
    let items: Vec<serde_json::Value> = account.items.iter().map(term).collect();
    let measured = account.measured;
    json!({
        "case": account.case, "point": account.point,
        "terms": items, "caveats": model::caveats(account),
        "accounted_sender_ns": account.accounted_of(Side::Sender),
        "accounted_receiver_ns": account.accounted_of(Side::Receiver),
        "accounted_ns": account.accounted_ns(),
        "measured_sender_ns": measured.sender_ns,
        "measured_receiver_ns": measured.receiver_ns,
        "measured_ns": measured.total_ns,
        "not_explained_ns": account.not_explained_ns(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::CellRef;
    use syscost_analyze::model::counts::{Count, CountSource};
    use syscost_analyze::model::figure::Figure;
    use syscost_analyze::model::{TermAbout, TermGroup};

    #[test]
    fn a_case_is_cited_once_whatever_stands_between_its_figures() {
        let cells = [(9, "cost"), (0, "cost"), (9, "sleeps")].map(|(case, metric)| CellRef { case, metric });
        let unit = Figure { ns: 1.0, formula: String::new(), cells: cells.into() };
        let about = TermAbout { id: "wake", side: Side::Sender, group: TermGroup::Sleep };
        let item = Item { about, count: Count::rule(1.0, CountSource::Unknown), unit };
        assert_eq!(cases(&item), "cases 9 and 0");
    }
}
