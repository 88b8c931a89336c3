//! The layout of a course assignment on network I/O primitives (PA02, Graduate Systems): a table of
//! two-copy, one-copy and zero-copy by message size and threads, four plots, data paths, a report to write.
//!
//! Files carry the roll number, and the script of plots has its values written in, as the assignment
//! asks. What it leaves to the student stays empty: code, explanations, the declaration of AI use.
//! Source: public repositories that hand it in (`GRS_PA02`), which agree in names and columns.

mod figure_column;
mod figures;
mod grid;
mod text;

use super::{Artefact, Unsuitable, chart, csv, figure, number, python};
use figure_column::COLUMNS;
pub use grid::two_copy;
use grid::{CaseKind, CourseGrid};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::Run;
use syscost_experiment::run::rows::{CsvColumn, column};
use syscost_report::material::Material;
use syscost_report::{SvgDrawing, section};

/// The experiment whose run has everything.
pub const COMMAND: &str = "syscost run pa02-60";

/// Columns before the figures.
const BEFORE: &[CsvColumn] = &[
    column("implementation", "the part of the assignment: `A1`, `A2`, `A3`"),
    column(
        "name",
        "what it is: `two-copy`, `one-copy`, `zero-copy`, aliases of the mechanisms that are measured",
    ),
    column("message_bytes", "bytes of a message, over its eight fields"),
    column("threads", "sending threads, each with a connection and a receiving thread"),
    column("interface", "that was measured for the part: an id of `syscost list`"),
    column(
        "case",
        "number of the transfer's case in the run: `syscost explain CASE RUN`, and the brackets of the report",
    ),
    column("latency_case", "number of the case of its round trips"),
];
/// Columns after them.
const AFTER: &[CsvColumn] = &[
    column("runs", "fresh processes behind the row's weakest figure"),
    column("confidence", "of the row's weakest interval"),
    column("not_measured", "the figures that are empty, and why"),
];

/// A roll number that can begin a file name.
pub fn roll(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if text.is_empty() || text.len() > 32 || !text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        return Err("a roll number begins with a letter or digit and has at most 32 characters".into());
    }
    if !text.chars().all(plain) {
        return Err("it begins file names: letters, digits, '-' and '_' only".into());
    }
    Ok(text.to_string())
}

/// Every file of the layout.
pub fn artefacts(
    run: &Run,
    analysis: &Analysis,
    roll: &str,
    two_copy: Option<&'static str>,
) -> Result<Vec<Artefact>, Unsuitable> {
    let grid = CourseGrid::of(run, &analysis.cells, two_copy)?;
    let material = Material::of(run, analysis, &[]);
    let figures = figures::figures(&grid, &material, roll);
    let named = |end: &str| format!("{roll}_{end}");
    let mut files = vec![Artefact::made(named(RESULTS), table(&grid))];
    files.extend(figures.iter().map(|f| Artefact::made(format!("{}.pdf", f.name), chart::pdf(f))));
    let colours: Vec<String> = (0..grid::IMPLEMENTATIONS.len()).map(|s| figure::hex(s).to_string()).collect();
    let about = format!(
        "Plots of {roll}: every value is written below, none is read from a file.\n\nMade by syscost {} from the run {}.",
        run.record.tool.version, run.record.id
    );
    files.push(Artefact::made(named(PLOTS), python::script(&about, &figures, &colours)));
    let copies = section::copies::section(&material);
    let mut drawings = Vec::new();
    for diagram in section::copies::diagrams(&material) {
        let name = format!("{roll}_Part_A_{}.svg", diagram.id);
        files.push(Artefact::made(name.clone(), diagram.standalone()));
        drawings.push(name);
    }
    let told =
        text::ReportInputs { roll, grid: &grid, material: &material, figures: &figures, drawings: &drawings };
    files.push(Artefact::to_write_in(named(REPORT), text::report(&told, copies.as_ref())));
    files.push(Artefact::to_write_in("README.md", text::readme(&told)));
    Ok(files)
}

/// The columns of the table; each figure also has its `_low` and `_high`.
pub fn columns() -> Vec<CsvColumn> {
    let figures: Vec<CsvColumn> = COLUMNS.iter().map(|c| column(c.id, c.help)).collect();
    [BEFORE, &figures, AFTER].concat()
}

/// What follows the roll number in the names of files.
const RESULTS: &str = "Part_C_Results.csv";
const PLOTS: &str = "Part_D_Plots.py";
const REPORT: &str = "Report.md";

/// One row per implementation, size and thread count; each figure between its interval's ends.
fn table(grid: &CourseGrid) -> String {
    let mut header: Vec<String> = BEFORE.iter().map(|c| c.id.to_string()).collect();
    header.extend(COLUMNS.iter().flat_map(|c| ["", "_low", "_high"].map(|end| format!("{}{end}", c.id))));
    header.extend(AFTER.iter().map(|c| c.id.to_string()));
    let rows: Vec<Vec<String>> = grid.places().map(|place| row(grid, &place)).collect();
    csv(&header, &rows)
}

fn row(grid: &CourseGrid, place: &grid::GridPlace) -> Vec<String> {
    let implementation = &grid::IMPLEMENTATIONS[place.implementation];
    let mut row = vec![
        implementation.part.to_string(),
        implementation.name.to_string(),
        place.bytes.to_string(),
        place.threads.to_string(),
        grid.mechanisms[place.implementation].to_string(),
    ];
    let case = |kind| grid.number(kind, place).map_or(String::new(), |case| case.to_string());
    row.extend([CaseKind::Transfer, CaseKind::RoundTrip].map(case));
    let mut missing: Vec<(Vec<&str>, String)> = Vec::new();
    // The weakest figure of the row: what is said holds for all.
    let (mut runs, mut level): (Option<u32>, Option<f64>) = (None, None);
    for column in COLUMNS {
        let found = column.estimate(grid, place);
        match &found {
            Ok(e) => {
                runs = Some(runs.map_or(e.n, |n| n.min(e.n)));
                level = Some(level.map_or(e.level, |l| l.min(e.level)));
                row.extend([Some(e.value), Some(e.low), Some(e.high)].map(number));
            }
            Err(why) => {
                row.extend(std::iter::repeat_n(String::new(), 3));
                match missing.iter_mut().find(|known| known.1 == *why) {
                    Some(known) => known.0.push(column.id),
                    None => missing.push((vec![column.id], why.clone())),
                }
            }
        }
    }
    row.push(runs.unwrap_or(0).to_string());
    row.push(number(level));
    let missing: Vec<String> =
        missing.iter().map(|(ids, why)| format!("{}: {why}", ids.join(", "))).collect();
    row.push(missing.join("; "));
    row
}

#[cfg(test)]
mod tests {
    use super::roll;

    #[test]
    fn a_roll_number_can_only_begin_a_file_name() {
        assert_eq!(roll("MT25057").unwrap(), "MT25057");
        for bad in ["", "../x", "a/b", "-x", ".x", "a b", "x\n", &"x".repeat(33)] {
            assert!(roll(bad).is_err(), "{bad:?}");
        }
    }
}
