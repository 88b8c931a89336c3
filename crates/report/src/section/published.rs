//! What an operation costs: the rows of the published tables by what they are of, measured first, then predicted, then the
//! figures of other machines; then the curves. The parts of a prediction are below, by probe.

use super::{drawings, plural, unless_empty};
use crate::context::Layout;
use crate::material::Material;
use crate::text::costs::hidden;
use crate::text::words::capital;
use crate::{Block, Entry, Section, Standing, Table};
use std::cmp::Reverse;
use syscost_analyze::CellRef;
use syscost_analyze::operations::Operation;
use syscost_analyze::operations::accuracy::{self, Fit};
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::operations::machine::{ComparedMachine, MACHINE};
use syscost_analyze::whole::Analysis;
use syscost_core::stats::Estimate;
use syscost_experiment::run::Run;

/// Rows of the table in sight: what is printed on one page.
const ROWS: usize = 48;
/// So many rows of one probe have its name above them.
const HEADED: usize = 3;
/// So many rows of a published table make a run one of the same kind.
const ENOUGH: usize = 8;
/// Curves that are not folded away: a row of them.
const DRAWINGS: usize = 3;

/// The published figures that a run of the same operations is shown beside.
pub fn of(run: &Run, analysis: &Analysis) -> Vec<Beside> {
    let found = |beside: &Beside| {
        let measured = analysis.operations.iter().filter(|o| o.measured.is_some());
        measured.filter(|o| beside.find(o).is_some()).count() >= ENOUGH
    };
    Beside::published(run).into_iter().filter(found).collect()
}

pub fn section(m: &Material) -> Option<Section> {
    let here = ComparedMachine::of(m.run);
    let blocks = machines(m, &here).into_iter().chain(rows(m)).collect();
    unless_empty("table", "What an operation costs", blocks)
}

/// The drawings of all probes: a curve each of the fullest in sight.
pub fn curves(m: &Material) -> Option<Section> {
    let drawn_cases =
        |layout: &&Layout| layout.cases.iter().filter(|c| drawings::drawn(layout, &c.point)).count();
    let mut layouts: Vec<&Layout> = m.layouts.iter().collect();
    layouts.sort_by_key(|layout| Reverse(drawn_cases(layout)));
    let (mut first, mut more) = (Vec::new(), Vec::new());
    for layout in layouts {
        let mut drawn = drawings::blocks(m, layout);
        let curve = drawn.iter().position(|block| matches!(block, Block::Plot(_)));
        if let Some(curve) = curve.filter(|_| first.len() < DRAWINGS) {
            first.push(drawn.remove(curve));
        }
        more.extend(drawn);
    }
    if !more.is_empty() {
        first.push(Block::Folded { title: plural(more.len(), "more drawing"), blocks: more });
    }
    unless_empty("curves", "Curves", first)
}

/// The machines, one below the other.
fn machines(m: &Material, here: &ComparedMachine) -> Option<Block> {
    let row = |name: &str, machine: &ComparedMachine| {
        let told = MACHINE.iter().map(|(id, _)| machine.says(id).map_or(none(), Entry::Text));
        std::iter::once(Entry::Text(name.into())).chain(told).collect::<Vec<_>>()
    };
    let theirs = m.beside.iter().map(|beside| row(&beside.name, &beside.machine));
    let rows: Vec<Vec<Entry>> = std::iter::once(row("here", here)).chain(theirs).collect();
    let columns: Vec<&str> = std::iter::once("machine").chain(MACHINE.iter().map(|known| known.1)).collect();
    (rows.len() > 1).then(|| Block::Table(Table::new("machines", &columns, rows)))
}

fn rows(m: &Material) -> Option<Block> {
    let measured: Vec<&Operation> =
        m.analysis.operations.iter().filter(|o| o.row.listed && o.measured.is_some()).collect();
    let published = measured.iter().copied().filter(|o| o.row.published.is_some()).collect::<Vec<_>>();
    let shown = if published.is_empty() { &measured } else { &published };
    let mut columns =
        ["operation", "measured", "predicted", "measured / predicted"].map(String::from).to_vec();
    for beside in m.beside {
        columns.extend([beside.name.clone(), "here / theirs".into()]);
    }
    let shown = &shown[..shown.len().min(ROWS)];
    let left = measured.len() - shown.len();
    let group = |of: &[&Operation]| {
        // A few of a kind need no heading.
        let headed = of.len() >= HEADED;
        let blank = |text: &str| vec![Entry::Text(text.into()); columns.len()];
        let mut heading = blank("");
        heading[0] = Entry::Text(capital(of[0].title));
        let rows = of.iter().map(|o| row(m, o, headed)).collect::<Vec<_>>();
        headed.then_some(heading).into_iter().chain(rows).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<Entry>> = shown.chunk_by(|a, b| a.probe == b.probe).flat_map(group).collect();
    let note = (left > 0).then(|| format!("{} below, by probe.", plural(left, "more row")));
    let mut table = Table { id: "operations-rows".into(), columns, rows, note, ..Table::default() };
    without_empty_columns(&mut table);
    (!table.rows.is_empty()).then_some(Block::Table(table))
}

fn row(m: &Material, o: &Operation, headed: bool) -> Vec<Entry> {
    let part = |value: Option<f64>| value.map_or(none(), |value| Entry::Number(value, o.metric.unit));
    let name = if headed { format!("\u{2003}{}", o.row.label) } else { capital(&o.name()) };
    let mut row = vec![
        Entry::Text(name),
        measured(o, None),
        part(o.predicted()),
        o.ratio.map_or(none(), |ratio| off(m, ratio)),
    ];
    for beside in m.beside {
        let found = beside.find(o);
        row.push(part(found.as_ref().map(|f| f.value)));
        row.push(found.as_ref().and_then(|f| f.ratio).map_or(none(), |e| Entry::estimate(e, None)));
    }
    row
}

/// The figure, or what it is below.
pub fn measured(o: &Operation, cell: Option<CellRef>) -> Entry {
    let figure = || o.measured.map_or(Entry::Missing, |estimate| Entry::estimate(estimate, cell));
    hidden(o).map_or_else(figure, Entry::Text)
}

/// A ratio of measured to predicted, marked where it lies outside what was foreseen.
pub fn off(m: &Material, ratio: Estimate) -> Entry {
    let outside = accuracy::fit(&ratio, m.run.record.spec.confidence) == Fit::Outside;
    Entry::Estimate {
        estimate: ratio,
        cell: None,
        standing: if outside { Standing::Off } else { Standing::None },
    }
}

/// A rate has no cycles, and its parts no sum: what applies to no row is no column.
pub fn without_empty_columns(table: &mut Table) {
    let says = |column: usize| {
        table
            .rows
            .iter()
            .any(|row| row.get(column).is_some_and(|e| *e != none() && *e != Entry::Text(String::new())))
    };
    let kept: Vec<bool> = (0..table.columns.len()).map(says).collect();
    let mut keep = kept.iter();
    table.columns.retain(|_| keep.next() == Some(&true));
    for row in &mut table.rows {
        let mut keep = kept.iter();
        row.retain(|_| keep.next() == Some(&true));
    }
}

/// Does not apply, or nobody says.
pub fn none() -> Entry {
    Entry::Text("–".into())
}
