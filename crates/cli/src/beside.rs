//! `report --beside`: figures from elsewhere that are shown beside a run's. They are another run's, or those of any table
//! that `analyse` reads: operations by their name, transfers by mechanism, size and threads.

use crate::args::ReadingArgs;
use crate::{analyse, output};
use anyhow::{Result, anyhow};
use std::path::{Path, PathBuf};
use syscost_analyze::operations::beside::{Beside, BesideRow};
use syscost_analyze::whole::Analysis;
use syscost_core::sample::Metric;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_experiment::run::group::is_run;
use syscost_measure::probe;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, THREADS};
use syscost_report::side_page::CaseBeside;
use syscost_tables::cells::{CellPlace, RowsCell, cells};
use syscost_tables::compare::possible;
use syscost_tables::remark::remarks;
use syscost_tables::{PublishedRow, PublishedTable, TableColumn, role};

/// What is known of one source.
pub struct BesideSource {
    /// Its operations.
    pub operations: Beside,
    /// Another run, whole.
    pub run: Option<Run>,
    /// Of a table of transfers, the cases that both have; or why there are none.
    pub cases: Option<Result<Vec<CaseBeside>, String>>,
}

/// The figures of a directory or of the tables of a file.
pub fn read(path: &PathBuf, args: &ReadingArgs, run: &Run, ours: &Analysis) -> Result<Vec<BesideSource>> {
    if path.is_dir() && is_run(path) {
        let name = path.canonicalize().ok().and_then(|p| Some(p.file_name()?.to_string_lossy().into_owned()));
        let (name, theirs) = (name.unwrap_or_else(|| path.display().to_string()), RunDir::load(path)?);
        return Ok(vec![BesideSource {
            operations: Beside::run(&name, &theirs),
            run: Some(theirs),
            cases: None,
        }]);
    }
    let (tables, bad) = analyse::tables(std::slice::from_ref(path), args)?;
    if let Some(bad) = bad.first() {
        return Err(
            anyhow!("{}", bad.error).context(format!("cannot show {} beside the run", path.display()))
        );
    }
    Ok(tables.iter().map(|table| of_table(table, run, ours)).collect())
}

fn of_table(table: &PublishedTable, run: &Run, ours: &Analysis) -> BesideSource {
    let file = Path::new(&table.name).file_name().map_or(table.name.as_str().into(), |f| f.to_string_lossy());
    let rows: Vec<BesideRow> = table.rows.iter().filter_map(operation).collect();
    let (transfers, comments) = (rows.is_empty(), table.comments.iter().map(String::as_str));
    let operations = Beside::table(file.trim_end_matches(".csv"), comments, rows);
    let known = ours.operations.iter().any(|own| operations.find(own).is_some());
    let unknown = "no operation of this run is named as a row of it, in a unit that both have";
    let cases = match transfers {
        true => Some(cases(table, run, ours)),
        false => (!known).then(|| Err(unknown.into())),
    };
    if let Some(Err(why)) = &cases {
        output::complain(&format!("note: nothing of {} is compared: {why}", table.name));
    }
    BesideSource { operations, run: None, cases }
}

/// A row of a table of operations, if its unit is one that ours have.
fn operation(row: &PublishedRow) -> Option<BesideRow> {
    let (unit, factor) = match row.text(TableColumn::Unit).unwrap_or_default() {
        "ns" => (Unit::Nanoseconds, 1.0),
        "us/4KiB" => (Unit::Nanoseconds, 1e3),
        "bit/s" => (Unit::BitsPerSecond, 1.0),
        "B" => (Unit::Bytes, 1.0),
        _ => return None,
    };
    let text = |column| row.text(column).unwrap_or_default().to_string();
    let operation = row.text(TableColumn::Operation)?.into();
    let measured = row.value(TableColumn::Measured).map(|value| value * factor);
    Some(BesideRow { operation, variant: text(TableColumn::Variant), unit, measured })
}

/// What a table of transfers and a run may both have measured.
const METRICS: [(TableColumn, &str); 3] = [
    (TableColumn::Throughput, "throughput"),
    (TableColumn::MessageRate, "messages_per_second"),
    (TableColumn::CyclesPerByte, "cycles_per_byte"),
];

/// Cases of ours at the mechanism, size and threads of a cell of theirs. What a table does not say fits every case.
fn cases(table: &PublishedTable, run: &Run, ours: &Analysis) -> Result<Vec<CaseBeside>, String> {
    if table.fields {
        return Err("its sizes are those of fields, not of messages".into());
    }
    let (mut found, possible) = (Vec::new(), possible(table, &remarks(table)));
    for (column, id) in METRICS {
        let cells = cells(&possible, column);
        for case in run.record.plan.cases.iter().filter(|case| case.twin_of.is_none()) {
            let (mechanism, point) = (case.point.text(MECHANISM), &case.point);
            let fits = |((name, _, bytes, threads), _): &(&CellPlace, &RowsCell)| {
                mechanism.is_some_and(|mechanism| role::names(name, mechanism))
                    && bytes.is_none_or(|bytes| point.int(MESSAGE_BYTES) == Some(bytes))
                    && threads.is_none_or(|threads| point.int(THREADS) == Some(threads))
            };
            let (Some(figure), Some(metric)) = (ours.cells.cell(case.index, id), metric(&case.probe, id))
            else {
                continue;
            };
            let value = figure.estimate.value;
            found.extend(cells.iter().filter(fits).map(|((name, variant, ..), cell)| CaseBeside {
                case: case.index,
                metric,
                ours: value,
                theirs: cell.figure.value,
                called: [*name, *variant].join(" ").trim_end().into(),
            }));
        }
    }
    found.sort_by_key(|one| one.case);
    if found.is_empty() {
        return Err("no case of this run has the mechanism, size and threads of a row of it, and a figure that both have".into());
    }
    Ok(found)
}

fn metric(probe: &str, id: &str) -> Option<Metric> {
    probe::find(probe)?.metrics().into_iter().find(|metric| metric.id == id)
}
