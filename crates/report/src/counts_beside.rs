//! Counts of two runs side by side where only one of them is of modelled caches: how far a model is from hardware.

use crate::escape::slug;
use crate::section::cases::COUNTS;
use crate::sides::CaseNames;
use crate::{Block, Entry, Report, Section, Table};
use syscost_analyze::cells::Cells;
use syscost_core::units::significant;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, RECEIVER, THREADS};

/// Settings that another run may have differently say little of misses; these make another case.
const SAME: [&str; 5] = [MECHANISM.id, MESSAGE_BYTES.id, THREADS.id, PATH.id, RECEIVER.id];

const ABOUT: &str = "One run counted by hardware, the other in a model with an emulated CPU (no prefetcher, stores count too). \
                     The ratio is how far the model is from this processor; nothing is compared by it.";

/// Adds the table, unless nothing was counted by both.
pub fn show(report: &mut Report, ours: &Run, name: &str, theirs: &Run) {
    if ours.record.modelled_caches().is_some() == theirs.record.modelled_caches().is_some() {
        return;
    }
    let names = CaseNames::of(ours);
    let cells = [ours, theirs].map(Cells::of);
    let mut rows = Vec::new();
    for case in ours.record.plan.cases.iter().filter(|case| case.twin_of.is_none()) {
        let Some(other) = theirs.record.plan.cases.iter().find(|other| same(case, other)) else { continue };
        for metric in COUNTS {
            let [own, other] = [(&cells[0], case), (&cells[1], other)]
                .map(|(cells, case)| cells.estimate(case.index, metric));
            if let Some((own, other)) = own.zip(other).filter(|(own, _)| own.value > 0.0) {
                let ratio = format!("{}x", significant(other.value / own.value));
                let figures = [own, other].map(|estimate| Entry::estimate(estimate, None));
                let words = [names.name(case.index), metric.to_string()].map(Entry::Text);
                rows.push(words.into_iter().chain(figures).chain([Entry::Text(ratio)]).collect());
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    let columns = ["case", "metric", "this run", name, "theirs / ours"];
    let id = format!("counts-beside-{}", slug(name));
    let blocks = vec![Block::Text(ABOUT.into()), Block::Table(Table::new(id.clone(), &columns, rows))];
    let place = report.sections.iter().position(|section| section.folded.is_some());
    let place = place.unwrap_or(report.sections.len());
    report.sections.insert(place, Section::new(id, format!("Counts beside {name}"), blocks));
}

fn same(one: &Case, other: &Case) -> bool {
    one.probe == other.probe && SAME.iter().all(|axis| one.point.get(axis) == other.point.get(axis))
}
