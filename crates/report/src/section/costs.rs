//! The one table: a row a size, a column a way; what it costs, how precisely that is known, and the verdict against the
//! control. Other figures and thread counts stand behind tabs.

use super::{threads, unless_empty};
use crate::context::SIZE;
use crate::material::Material;
use crate::rivals::{COST, FieldRow, FieldScope, RivalField, study};
use crate::text::ending::figure::{digits, within};
use crate::{Block, Compared, ComparedWith, Entry, Section, Table};
use syscost_analyze::compare::study::Study;
use syscost_core::axis::Value;
use syscost_core::decide::Verdict;
use syscost_core::units::{Unit, short_bytes};

/// Ways that are columns; more are rows.
const COLUMNS: usize = 7;
/// Sizes of one table.
const PLACES: usize = 8;

/// A tab: its title, the metric, and the one whose comparisons are its own.
struct CostTab {
    title: &'static str,
    metric: &'static str,
    study: Option<&'static str>,
}

const TABS: &[CostTab] = &[
    CostTab { title: "CPU", metric: "total_cpu_ns_per_message", study: Some(COST) },
    CostTab { title: "throughput", metric: "throughput", study: Some("throughput") },
    CostTab { title: "system calls", metric: "sender_system_calls_per_message", study: None },
    CostTab { title: "sender sleeps", metric: "sender_sleeps_per_second", study: None },
    CostTab { title: "cache misses", metric: "cache_misses_per_message", study: None },
    CostTab { title: "cycles", metric: "cycles_per_byte", study: None },
];

pub fn section(m: &Material) -> Option<Section> {
    let fields = RivalField::all(m);
    let mut places = Vec::new();
    for (at, field) in fields.iter().enumerate() {
        let metrics = TABS.iter().filter(|tab| field.layout.has(tab.metric));
        let tabs: Vec<(String, Vec<Block>)> = metrics
            .filter_map(|tab| {
                let title = match field.layout.metric(tab.metric) {
                    Some(metric) => format!("{}, {}", tab.title, unit(field, &metric).1),
                    None => tab.title.into(),
                };
                let blocks = of_metric(m, field, tab, at);
                (!blocks.is_empty()).then_some((title, blocks))
            })
            .collect();
        if !tabs.is_empty() {
            places.push((field.title.clone(), Block::tabs(&format!("metrics-{at}"), tabs)));
        }
    }
    let mut blocks = Block::tabs("table-places", places);
    if !blocks.is_empty() {
        blocks.push(Block::Note(LEGEND.into()));
        blocks.extend(fields.iter().find_map(|field| field.layout.left_out.clone()).map(Block::Note));
    }
    unless_empty("table", "What a message costs", blocks)
}

const LEGEND: &str = "Green: not significantly dearer than the best. Ratio: to the first way; same: within 3 %. Hatched: undecided.";

/// A table for each number of threads.
fn of_metric(m: &Material, field: &RivalField, tab: &CostTab, at: usize) -> Vec<Block> {
    let study = tab.study.and_then(|id| study(m, id));
    // Looks at every case: once for all tables.
    let scale = field.layout.metric(tab.metric).map_or(1.0, |metric| unit(field, &metric).0);
    let tables = field.scopes().into_iter().filter_map(|scope| {
        let name = match scope {
            FieldScope::Over if field.along_threads() => String::new(),
            FieldScope::Over => "all threads".into(),
            FieldScope::At(count) => threads(count),
        };
        let costs =
            CostTable { field, tab, study, scope, scale, id: format!("costs-{at}-{}-{name}", tab.metric) };
        let blocks = if field.ways.len() > COLUMNS { costs.by_way() } else { costs.by_size() };
        (!blocks.is_empty()).then_some((name, blocks))
    });
    Block::tabs(&format!("threads-{at}-{}", tab.metric), tables.collect())
}

struct CostTable<'a> {
    field: &'a RivalField<'a>,
    tab: &'a CostTab,
    study: Option<&'a Study>,
    scope: FieldScope,
    /// Of the unit that figures are in.
    scale: f64,
    id: String,
}

impl CostTable<'_> {
    /// Of many sizes those that most ways were measured at: refinement adds sizes for few of them.
    fn places(&self) -> Vec<FieldRow> {
        let rows = self.field.rows(self.scope);
        let measured = |row: &FieldRow| {
            (0..self.field.ways.len()).filter(|way| !self.field.cases_of(*way, *row).is_empty()).count()
        };
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(measured(&rows[*i])));
        let mut kept: Vec<usize> = order.into_iter().take(PLACES).collect();
        kept.sort_unstable();
        kept.into_iter().map(|i| rows[i]).collect()
    }

    /// The control first.
    fn ways(&self) -> Vec<usize> {
        let control = self.field.control;
        let others = (0..self.field.ways.len()).filter(|way| *way != control);
        std::iter::once(control).chain(others).collect()
    }

    fn by_size(&self) -> Vec<Block> {
        let ways = self.ways();
        let head = if self.field.along_threads() { "threads" } else { "" };
        let names = ways.iter().map(|way| self.field.ways[*way].name.clone());
        let rows: Vec<Vec<Entry>> = self
            .places()
            .into_iter()
            .map(|row| {
                let entries = self.entries(&ways, row);
                std::iter::once(Entry::Text(self.label(row))).chain(entries).collect()
            })
            .collect();
        let kinds = std::iter::once(String::new()).chain(ways.iter().map(|way| self.kind(*way)));
        self.table(std::iter::once(head.to_string()).chain(names).collect(), kinds.collect(), rows)
            .map(|table| vec![Block::Table(table)])
            .unwrap_or_default()
    }

    /// Too many ways for columns: a row each, the drawn ones first, the rest folded.
    fn by_way(&self) -> Vec<Block> {
        let drawn = |way: &usize| *way == self.field.control || self.field.ways[*way].style.is_some();
        let (shown, rest): (Vec<usize>, Vec<usize>) = self.ways().into_iter().partition(drawn);
        let mut blocks: Vec<Block> = Vec::new();
        let kinds = self.field.kinds();
        for (at, (name, _)) in kinds.iter().enumerate() {
            let of: Vec<usize> = shown.iter().copied().filter(|way| self.kind_of(*way) == at).collect();
            let table = self.of_ways(&of, ["", "-batched"][at]);
            blocks.extend(table.map(|table| Block::Table(table.titled(*name))));
        }
        let title = format!("{} more", super::plural(rest.len(), "way"));
        let folded = self.of_ways(&rest, "-more").filter(|table| !table.rows.is_empty());
        blocks.extend(folded.map(|table| Block::Folded { title, blocks: vec![Block::Table(table)] }));
        blocks
    }

    /// Which of the field's kinds a way is of.
    fn kind_of(&self, way: usize) -> usize {
        self.field.kinds().iter().position(|(_, ways)| ways.contains(&way)).unwrap_or_default()
    }

    fn of_ways(&self, ways: &[usize], suffix: &str) -> Option<Table> {
        let places = self.places();
        let columns = std::iter::once("way".into()).chain(places.iter().map(|row| self.label(*row)));
        let by_place: Vec<Vec<Entry>> = places.iter().map(|row| self.entries(ways, *row)).collect();
        let row = |(i, way): (usize, &usize)| {
            let entries = by_place.iter().map(|entries| entries[i].clone());
            std::iter::once(Entry::Text(self.field.ways[*way].name.clone())).chain(entries).collect()
        };
        let rows = ways.iter().enumerate().map(row).collect();
        let table = self.table(columns.collect(), Vec::new(), rows)?;
        Some(Table { id: format!("{}{suffix}", table.id), ..table })
    }

    fn table(&self, columns: Vec<String>, kinds: Vec<String>, rows: Vec<Vec<Entry>>) -> Option<Table> {
        let figures = rows.iter().flatten().any(|entry| matches!(entry, Entry::Compared(_)));
        figures.then(|| Table { id: crate::escape::slug(&self.id), columns, kinds, rows, ..Table::default() })
    }

    fn kind(&self, way: usize) -> String {
        let known = &self.field.ways[way];
        if way == self.field.control { "control".into() } else { known.kind.to_string() }
    }

    fn label(&self, row: FieldRow) -> String {
        if self.field.along_threads() {
            return row.x.to_string();
        }
        let axis = self.field.layout.axis(SIZE.id);
        axis.map_or_else(|| short_bytes(row.x), |axis| axis.show(&Value::Int(row.x)))
    }

    /// One for each of these ways.
    fn entries(&self, ways: &[usize], row: FieldRow) -> Vec<Entry> {
        let kinds = self.field.kinds();
        let of = |study| kinds.iter().flat_map(move |(_, kind)| self.field.unbeaten(study, row, kind));
        let unbeaten: Vec<usize> = self.study.into_iter().flat_map(of).collect();
        ways.iter().map(|way| self.entry(*way, row, &unbeaten)).collect()
    }

    fn entry(&self, way: usize, row: FieldRow, unbeaten: &[usize]) -> Entry {
        let Some(figure) = self.field.middle(way, self.tab.metric, row) else { return Entry::Missing };
        let ratio = self.study.and_then(|study| self.field.ratio(study, way, row));
        let with = match (&ratio, self.study) {
            _ if way == self.field.control => ComparedWith::Nothing,
            (None, _) => ComparedWith::Nothing,
            (Some((_, Verdict::Same)), _) => ComparedWith::Same,
            (Some((_, Verdict::Undecided)), _) => ComparedWith::Undecided,
            (Some((ratio, _)), _) => ComparedWith::Ratio(ratio_text(ratio.value)),
        };
        Entry::Compared(Compared {
            value: digits(&figure, self.scale),
            within: within(&figure),
            with,
            best: unbeaten.contains(&way),
            detail: match &ratio {
                Some((ratio, _)) if way != self.field.control => {
                    format!("{} [{:.2}, {:.2}]", ratio_text(ratio.value), ratio.low, ratio.high)
                }
                _ => String::new(),
            },
        })
    }
}

/// One unit for all tables of a metric of a field: people think of a message in microseconds.
fn unit(field: &RivalField, metric: &syscost_core::sample::Metric) -> (f64, String) {
    let cases = field.layout.cases.iter();
    let values = cases.filter_map(|case| Some(field.layout.estimate(case.index, metric.id)?.0.value));
    let largest = values.fold(0.0, f64::max);
    match metric.unit {
        Unit::Nanoseconds if largest >= 1e3 => (1e3, "us".into()),
        Unit::Count => (1.0, "a message".into()),
        unit => unit.scale_for(largest),
    }
}

/// `1.07x`, `7.9x`, `24x`
pub fn ratio_text(ratio: f64) -> String {
    match ratio {
        r if r >= 9.95 => format!("{r:.0}x"),
        r if r >= 1.995 => format!("{r:.1}x"),
        r => format!("{r:.2}x"),
    }
}
