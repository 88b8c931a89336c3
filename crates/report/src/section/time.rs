//! Where the time goes: each transfer's account beside what was measured, and what is not explained; how near forecasts came.

use super::unless_empty;
use crate::escape::slug;
use crate::material::Material;
use crate::text;
use crate::text::words::Words;
use crate::{Block, CellRef, Entry, Section, StackedBar, StackedBars, Statement, Table};
use std::collections::BTreeMap;
use syscost_analyze::model::{self, Account, Accuracy, TermGroup};
use syscost_core::axis::{IntAxis, NameAxis, Point};
use syscost_core::units::Unit;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};

const METHOD: &str = "Each account is a sum of counts times unit costs. Counts are the case's own where no rule says them. Unit costs are those of the steps of the path and of memory \
     copies. Other probes measured them in this run. No transfer's time is among them, and nothing is fitted. \"Not explained\" is \
     what was measured less the sum. `syscost explain CASE` prints one account.";

/// Sizes that get bars: the smallest, the middle one, the largest.
const DRAWN: usize = 3;
const RIVALS: NameAxis = MECHANISM;
const SIZE: IntAxis = MESSAGE_BYTES;

pub fn section(m: &Material) -> Option<Section> {
    let model = &m.analysis.model;
    let mut blocks = Vec::new();
    match text::rulers::left_out(m.run) {
        Some(left_out) => blocks.push(Block::Text(left_out)),
        None if model.lacks_steps => {
            let why = text::model::lacking();
            blocks.push(Block::Text(format!("Not measured: {}. Measure it: {}", why.reason, why.remedy)));
        }
        None => {}
    }
    let limited = if m.compared() { text::limits::statement(&m.analysis.limiters) } else { None };
    blocks.extend(summary(m).into_iter().chain(limited).map(Block::Statement));
    if !model.accounts.is_empty() {
        blocks.push(Block::Text(METHOD.into()));
        blocks.extend(bars(m).iter().map(|bars| Block::Table(parts(bars))));
    }
    unless_empty("time", "Where the time goes", blocks)
}

/// How near accounts and forecasts come.
fn summary(m: &Material) -> Vec<Statement> {
    let model = &m.analysis.model;
    let accounts =
        model.accounts.iter().filter_map(|account| Some((account.case, account.ratio()?))).collect();
    let told = |all: Vec<(usize, f64)>, text: fn(&Accuracy) -> String| {
        let (cases, ratios): (Vec<usize>, Vec<f64>) = all.into_iter().unzip();
        let cells = cases.into_iter().map(|case| CellRef { case, metric: model::TOTAL }).collect();
        Some(Statement { text: text(&Accuracy::of(&ratios)?), cells })
    };
    let told = [told(accounts, text::model::accounts), told(model.forecasts.clone(), text::model::forecasts)];
    told.into_iter().flatten().collect()
}

/// One drawing for each of a few sizes, with the fewest threads: a bar a mechanism.
pub fn bars(m: &Material) -> Vec<StackedBars> {
    let mut places: BTreeMap<(u64, Point), Vec<&Account>> = BTreeMap::new();
    for account in &m.analysis.model.accounts {
        let Some(size) = account.point.int(SIZE) else { continue };
        let shared = shared(&account.point);
        places.entry((size, shared)).or_default().push(account);
    }
    let fewest = places.keys().filter_map(|(_, p)| p.int(THREADS)).min();
    places.retain(|(_, point), _| point.int(THREADS) == fewest);
    let drawn = [0, places.len() / 2, places.len().saturating_sub(1)];
    let words = Words::of(m.run);
    let mut all: Vec<StackedBars> = Vec::new();
    for (at, ((_, point), accounts)) in places.iter().enumerate() {
        if all.len() < DRAWN && drawn.contains(&at) {
            let place = words.place(point, &[RIVALS.id]);
            // The first names the place, the others only what differs.
            let rest = [&[RIVALS.id][..], &words.constant()].concat();
            let title = if all.is_empty() { format!("CPU time, {place}") } else { words.place(point, &rest) };
            all.push(StackedBars {
                id: slug(&format!("time {place}")),
                title,
                unit: Unit::Nanoseconds,
                parts: TermGroup::ALL.iter().map(|group| text::model::group(*group).to_string()).collect(),
                bars: accounts.iter().map(|account| bar(&words, point, account)).collect(),
            });
        }
    }
    all
}

/// The figures of a drawing: a row for each of its bars.
fn parts(bars: &StackedBars) -> Table {
    let used = bars.legend();
    let names = used.iter().map(|(name, _)| *name);
    let columns: Vec<&str> = std::iter::once("")
        .chain(names)
        .chain(["sum", "not explained", "measured (a steady stream)"])
        .collect();
    let row = |bar: &StackedBar| {
        let sum: f64 = bar.parts.iter().sum();
        let figures = used.iter().map(|(_, part)| bar.parts[*part]);
        let figures = figures.chain([sum, bar.measured - sum, bar.measured]);
        let figures = figures.map(|ns| Entry::Number(ns, bars.unit));
        std::iter::once(Entry::Text(bar.label.clone())).chain(figures).collect()
    };
    let rows = bars.bars.iter().map(row).collect();
    Table::new(format!("{}-table", bars.id), &columns, rows)
        .titled(format!("CPU time of a message, {}", bars.title.trim_start_matches("CPU time, ")))
}

/// The point without what only some mechanisms have.
fn shared(point: &Point) -> Point {
    let common = syscost_measure::probe::transfer::axes::COMMON;
    let mut bare = point.without(RIVALS.id);
    bare.retain(|id| common.iter().any(|axis| axis.id == id));
    bare
}

fn bar(words: &Words, place: &Point, account: &Account) -> StackedBar {
    let of = |group: &TermGroup| {
        let items = account.items.iter().filter(|item| item.about.group == *group);
        items.map(|item| item.ns()).sum()
    };
    StackedBar {
        label: words.name(&account.point, RIVALS.id, place),
        parts: TermGroup::ALL.iter().map(of).collect(),
        measured: account.measured.total_ns,
    }
}
