//! The results.csv of this program: a row for each figure of a case becomes a row for each case.

use crate::grid::{Grid, GridLine};
use crate::{BadTable, PublishedRow, PublishedTable, TableColumn};
use std::collections::{BTreeMap, BTreeSet};
use syscost_measure::probe;

/// What its figures are called here, in the base units of both.
const METRICS: &[(&str, TableColumn)] = &[
    ("throughput", TableColumn::Throughput),
    ("latency_p50", TableColumn::Latency),
    ("cycles_per_byte", TableColumn::CyclesPerByte),
];
/// Columns of a case that are columns here; every other one that varies is part of the variant.
const PLACES: &[&str] = &["mechanism", "message_bytes", "threads"];

/// `None`: another table.
pub fn table(name: &str, grid: &Grid) -> Option<Result<PublishedTable, BadTable>> {
    let has = |id: &str| grid.headings.cells.iter().any(|heading| heading == id);
    ["case", "probe", "metric", "unit", "value"].iter().all(|id| has(id)).then(|| {
        let rows = OwnResults { headings: &grid.headings.cells, rows: &grid.rows }.rows();
        let rows =
            rows.ok_or_else(|| BadTable::whole(name, "it has the headings of results.csv and no case"))?;
        let table =
            PublishedTable::of_tool(name, rows, "results of syscost: a row is a case, a run is a round");
        Ok(PublishedTable { tool: false, ..table })
    })
}

struct OwnResults<'r> {
    headings: &'r [String],
    rows: &'r [GridLine],
}

impl OwnResults<'_> {
    fn cell<'c>(&self, row: &'c GridLine, id: &str) -> Option<&'c str> {
        let at = self.headings.iter().position(|heading| heading == id)?;
        row.cells.get(at).map(String::as_str).filter(|text| !text.is_empty())
    }

    fn number(&self, row: &GridLine, id: &str) -> Option<f64> {
        self.cell(row, id)?.parse().ok()
    }

    fn rows(&self) -> Option<Vec<PublishedRow>> {
        let mut cases: BTreeMap<u64, Vec<&GridLine>> = BTreeMap::new();
        for row in self.rows {
            cases.entry(self.number(row, "case")? as u64).or_default().push(row);
        }
        let varied = self.varied();
        let rows: Vec<PublishedRow> = cases.values().filter_map(|rows| self.case(rows, &varied)).collect();
        (!rows.is_empty()).then_some(rows)
    }

    /// The axes of a case, between its probe and its metric.
    fn axes(&self) -> impl Iterator<Item = &str> {
        let after = self.headings.iter().skip_while(|h| *h != "probe").skip(1);
        after.take_while(|h| *h != "metric").map(String::as_str)
    }

    /// The axes in which rivals differ beside size and threads.
    fn varied(&self) -> Vec<&str> {
        let rivals: Vec<&GridLine> =
            self.rows.iter().filter(|row| self.cell(row, "mechanism").is_some()).collect();
        let values = |id: &str| rivals.iter().filter_map(|row| self.cell(row, id)).collect::<BTreeSet<_>>();
        self.axes().filter(|id| !PLACES.contains(id) && values(id).len() > 1).collect()
    }

    fn case(&self, rows: &[&GridLine], varied: &[&str]) -> Option<PublishedRow> {
        match self.cell(rows.first()?, "mechanism") {
            Some(mechanism) => Some(self.transfer(rows, mechanism, varied)),
            None => self.operation(rows),
        }
    }

    fn transfer(&self, rows: &[&GridLine], mechanism: &str, varied: &[&str]) -> PublishedRow {
        let first = rows[0];
        let mut row = PublishedRow { line: first.line, ..PublishedRow::default() };
        row.set(self.number(first, "rounds").map(|n| (TableColumn::Runs, n)));
        row.texts.insert(TableColumn::Mechanism, mechanism.into());
        let plain = probe::ALL.iter().find(|probe| probe.compared()).map(|probe| probe.about().id);
        let other = self.cell(first, "probe").filter(|probe| Some(*probe) != plain).map(str::to_string);
        let axes = varied.iter().filter_map(|id| Some(format!("{id} {}", self.cell(first, id)?)));
        let variant: Vec<String> = other.into_iter().chain(axes).collect();
        if !variant.is_empty() {
            row.texts.insert(TableColumn::Variant, variant.join(", "));
        }
        let places = [("message_bytes", TableColumn::MessageBytes), ("threads", TableColumn::Threads)];
        row.set(places.into_iter().filter_map(|(id, column)| Some((column, self.number(first, id)?))));
        for record in rows {
            let known = METRICS.iter().find(|(id, _)| Some(*id) == self.cell(record, "metric"));
            if let (Some((_, column)), Some(value)) = (known, self.number(record, "value")) {
                row.set([(*column, value)]);
                row.scatter.extend(self.scatter(record).map(|spread| (*column, spread)));
            }
        }
        row
    }

    /// Half of its confidence interval.
    fn scatter(&self, record: &GridLine) -> Option<f64> {
        Some((self.number(record, "ci_high")? - self.number(record, "ci_low")?) / 2.0)
    }

    /// An operation of the system: the figure that was predicted, else its first.
    fn operation(&self, rows: &[&GridLine]) -> Option<PublishedRow> {
        let record = rows.iter().find(|row| self.cell(row, "predicted").is_some()).or(rows.first())?;
        let unit = self.cell(record, "unit").unwrap_or_default();
        let value = self.number(record, "value")?;
        let mut row = PublishedRow::of_operation(record.line, self.cell(record, "probe")?, unit, value);
        let variant: Vec<&str> = self.axes().filter_map(|id| self.cell(record, id)).collect();
        row.texts.insert(TableColumn::Variant, variant.join(", "));
        let figures = [
            ("rounds", TableColumn::Runs),
            ("predicted", TableColumn::Predicted),
            ("base_hardware", TableColumn::BaseHardware),
            ("software_overhead", TableColumn::SoftwareOverhead),
        ];
        row.set(figures.into_iter().filter_map(|(id, column)| Some((column, self.number(record, id)?))));
        row.scatter.extend(self.scatter(record).map(|spread| (TableColumn::Measured, spread)));
        Some(row)
    }
}
