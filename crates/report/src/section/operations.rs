//! What the operations cost, by probe: prediction beside measurement, how far the figure can be trusted, how it was timed,
//! and (folded away) each formula with its inputs.

use super::published::{measured, none, off, without_empty_columns};
use super::{capital, grouped, plural, unless_empty};
use crate::context::Layout;
use crate::escape::slug;
use crate::material::Material;
use crate::{Block, Entry, Section, Statement, Table};
use syscost_analyze::operations::{Operation, Spread};
use syscost_core::units::{Unit, significant};
use syscost_measure::probe::prediction::{Input, PredictedCost};

/// Each probe's rows with their spread, its drawings, its method and its formulas.
pub fn section(m: &Material) -> Option<Section> {
    let blocks: Vec<Block> = m.layouts.iter().flat_map(|layout| probe(m, layout)).collect();
    let blocks = if blocks.is_empty() { blocks } else { introduced(m, blocks) };
    unless_empty("operations", "Operations by probe: spread, method, formulas", blocks)
}

fn introduced(m: &Material, blocks: Vec<Block>) -> Vec<Block> {
    let text = "Predicted is what a row's formula makes of base hardware and software overhead: their sum, or the larger where \
         they go on at once. It was recorded before the row's first sample, from what other rows showed so far. Measured is the median over rounds with its interval; spread is the interquartile \
         range within a round (median over rounds) and between rounds, as a share of the median; farthest is the \
         window that lies farthest from the median. A cost below 1 % of the loop that it is timed in is hidden by it: <.";
    let mut all = vec![Block::Text(text.into())];
    all.extend(m.beside.iter().map(|b| Block::Text(format!("{}: {}", b.name, b.about))));
    all.extend(blocks);
    all
}

/// Everything about one probe's rows but its drawings.
fn probe(m: &Material, layout: &Layout) -> Vec<Block> {
    let about = layout.probe.about();
    let mine: Vec<&Operation> = m.analysis.operations.iter().filter(|o| o.probe == about.id).collect();
    if mine.is_empty() {
        return Vec::new();
    }
    let listed: Vec<&Operation> = mine.iter().copied().filter(|o| o.row.listed).collect();
    let mut blocks = vec![Block::Heading(capital(about.title))];
    if !listed.is_empty() {
        blocks.push(Block::Table(table(m, layout, &listed)));
    }
    blocks.push(Block::Text(format!("{} Source: {}.", about.method, about.source.trim_end_matches('.'))));
    blocks.extend(formulas(&mine, layout));
    blocks
}

/// Columns before those of figures from elsewhere, and after them.
const COLUMNS: &[&str] =
    &["operation", "base hardware", "software overhead", "predicted", "measured", "measured / predicted"];
const TRUST: &[&str] = &["TSC cycles", "spread within", "between", "farthest", "rounds x samples"];

/// The rows of one probe with their spread.
pub fn table(m: &Material, layout: &Layout, listed: &[&Operation]) -> Table {
    let mut columns: Vec<String> = COLUMNS.iter().map(|c| c.to_string()).collect();
    for beside in m.beside {
        columns.extend([beside.name.clone(), format!("ours / {}", beside.name)]);
    }
    columns.extend(TRUST.iter().map(|c| c.to_string()));
    let mut table = Table {
        id: slug(&format!("operations {}", layout.probe.about().id)),
        columns,
        rows: listed.iter().map(|o| row(m, layout, o)).collect(),
        ..Table::default()
    };
    without_empty_columns(&mut table);
    table
}

fn row(m: &Material, layout: &Layout, o: &Operation) -> Vec<Entry> {
    let cost = o.prediction.as_ref().map(|p| &p.cost);
    let unit = o.metric.unit;
    let part = |value: Option<f64>| value.map_or(none(), |v| Entry::Number(v, unit));
    let mut row = vec![
        Entry::Text(label(o).into()),
        part(cost.and_then(|a| a.base_hardware)),
        part(cost.and_then(|a| a.software_overhead)),
        predicted(o),
        measured(o, Some(o.cell())),
        o.ratio.map_or(none(), |ratio| off(m, ratio)),
    ];
    for beside in m.beside {
        let found = beside.find(o);
        row.push(match &found {
            Some(found) => {
                found.estimate.map_or(Entry::Number(found.value, unit), |e| Entry::estimate(e, None))
            }
            None => none(),
        });
        row.push(found.and_then(|f| f.ratio).map_or(none(), |e| Entry::estimate(e, None)));
    }
    let cycles = layout.tsc_cycles(o.case).filter(|_| o.unresolved.is_none());
    row.push(cycles.map_or(none(), |cycles| Entry::Number(cycles, Unit::Count)));
    row.extend(spread(o.spread.as_ref()));
    row
}

/// The number, or which inputs it would need.
pub fn predicted(o: &Operation) -> Entry {
    match (o.predicted(), &o.prediction) {
        (Some(value), _) => Entry::Number(value, o.metric.unit),
        (None, None) => none(),
        (None, Some(_)) if o.needs().is_empty() => Entry::Text("unknown".into()),
        (None, Some(_)) => Entry::Text(format!("unknown: needs {}", o.needs().join(", "))),
    }
}

fn spread(spread: Option<&Spread>) -> [Entry; 4] {
    let Some(spread) = spread else { return [none(), none(), none(), none()] };
    let part = |share: Option<f64>| share.map_or(none(), |share| Entry::Share { share, signed: false });
    let each = match spread.samples.checked_rem(spread.rounds) {
        Some(0) => format!("{} x {}", spread.rounds, spread.samples / spread.rounds),
        // Some windows were marked and are not used.
        _ => format!("{} ({})", spread.rounds, plural(spread.samples, "sample")),
    };
    [
        part(spread.within),
        part(spread.between),
        Entry::Share { share: spread.largest, signed: true },
        Entry::Text(each),
    ]
}

/// Formulas with their inputs, and what was subtracted: a row each.
fn formulas(mine: &[&Operation], layout: &Layout) -> Option<Block> {
    let mut rows = Vec::new();
    for o in mine {
        let cost = o.prediction.as_ref().map(|p| &p.cost);
        let gross = |id: &str| layout.estimate(o.case, id).map(|(e, _)| Entry::Number(e.value, e.unit));
        let (with, less) = (gross("gross"), gross("overhead"));
        let worst = gross("worst");
        if cost.is_none() && with.is_none() {
            continue;
        }
        rows.push(vec![
            Entry::Text(label(o).into()),
            cost.map_or(none(), |a| Entry::Text(a.formula.clone())),
            cost.map_or(none(), |a| Entry::Text(inputs(a))),
            with.unwrap_or(none()),
            less.unwrap_or(none()),
            worst.unwrap_or(none()),
        ]);
    }
    let id = slug(&format!("formulas {}", layout.probe.about().id));
    let columns = [
        "operation",
        "formula",
        "inputs",
        "with overhead",
        "overhead subtracted",
        "slowest of a window (median)",
    ];
    let table = Table::new(id, &columns, rows);
    (!table.rows.is_empty()).then(|| Block::Folded {
        title: format!("Formulas, inputs and overhead of {}", plural(table.rows.len(), "row")),
        blocks: vec![Block::Table(table)],
    })
}

/// Each formula with the inputs of the first row that it is of, where no table has room for them.
pub fn derivations(rows: &[&Operation]) -> Option<Block> {
    let told = grouped(rows.iter().filter_map(|o| {
        let cost = &o.prediction.as_ref()?.cost;
        Some((&cost.formula, (label(o), cost)))
    }));
    let told = told.into_iter().map(|(formula, rows)| {
        let ((label, cost), more) = (rows[0], rows.len() - 1);
        let more = if more > 0 { format!(" (and {})", plural(more, "more row")) } else { String::new() };
        Statement::bare(format!("Predicted for {label}{more}: {formula}, with {}", inputs(cost)))
    });
    let told: Vec<Statement> = told.collect();
    (!told.is_empty()).then_some(Block::Statements(told))
}

/// What a row is called among those of its probe.
fn label(o: &Operation) -> &str {
    if o.row.label.is_empty() { o.title } else { &o.row.label }
}

fn inputs(cost: &PredictedCost) -> String {
    cost.inputs.iter().map(input).collect::<Vec<_>>().join("; ")
}

/// `frequency 3.7 GHz (fact core_hertz of this machine)`
fn input(input: &Input) -> String {
    let value = match input.value {
        Some(value) if input.unit == Unit::Ratio => significant(value),
        Some(value) => input.unit.format(value),
        None => "unknown".into(),
    };
    format!("{} = {value} ({})", input.name, input.source)
}
