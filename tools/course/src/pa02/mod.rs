//! The layout of a course assignment on network I/O primitives (PA02, Graduate Systems): a table of
//! two-copy, one-copy and zero-copy by message size and threads, four plots, data paths, a report to write.
//!
//! Files carry the roll number, and the script of plots has its values written in, as the assignment
//! asks. What it leaves to the student stays empty: code, explanations, the declaration of AI use.
//! Source: public repositories that hand it in (`GRS_PA02`), which agree in names and columns.

mod figure_column;
mod grid;
mod plots;
mod text;

use super::{Artefact, CoursePicture, Unsuitable, csv, fill, number, pictures};
use figure_column::{COLUMNS, FigureColumn};
pub use grid::two_copy;
use grid::{CaseKind, CourseGrid, GridPlace};
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::Run;
use syscost_experiment::run::rows::{CsvColumn, column};
use syscost_report::escape::visible;
use syscost_report::material::Material;
use syscost_report::section::machine;

/// The experiment whose run has everything.
pub const COMMAND: &str = "syscost run pa02-60";
pub const EXPERIMENT: &str = "pa02-60";
/// What counts the misses of its cells in an emulator.
pub const COUNTS: &[&str] = &["lab", "--count", "cache", "--mechanism", "two-copy,one-copy,zero-copy"];
/// All of its sizes, and the few cells of a quick look.
pub const SIZES: &[&str] = &["--size", "256,1K,4K,16K,64K"];
pub const QUICK: &[&str] = &["--quick", "--size", "1K,64K", "--threads", "1,2"];

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

/// Did this machine count cache misses?
pub fn has_misses(run: &Run, analysis: &Analysis) -> bool {
    let misses = |column: &&FigureColumn| column.kind == CaseKind::Transfer && plots::is_of_misses(column);
    let metrics = || COLUMNS.iter().filter(misses).flat_map(|column| column.metrics);
    run.record
        .plan
        .cases
        .iter()
        .any(|case| metrics().any(|m| analysis.cells.estimate(case.index, m).is_some()))
}

/// Every file of the layout. `counts`: a run that counted cache misses in an emulator.
pub fn artefacts(
    run: &Run,
    analysis: &Analysis,
    roll: &str,
    two_copy: Option<&'static str>,
    counts: Option<(&Run, &Analysis)>,
) -> Result<Vec<Artefact>, Unsuitable> {
    let grid = CourseGrid::of(run, &analysis.cells, two_copy, counts)?;
    let pictures = plots::pictures(&grid).into_iter().chain(pictures(run, analysis));
    let pictures: Vec<CoursePicture> = pictures.map(named(roll)).collect();
    let told = text::ReportInputs {
        roll,
        grid: &grid,
        material: Material::of(run, analysis, &[]),
        pictures: &pictures,
    };
    let mut files = vec![
        Artefact::made(format!("{roll}_Part_C_Results.csv"), table(&grid)),
        Artefact::made(format!("{roll}_Part_D_Plots.py"), script(&grid, roll)),
        Artefact::to_write_in(format!("{roll}_Report.md"), text::report(&told)),
        Artefact::to_write_in("README.md", text::readme(&told)),
    ];
    files.extend(pictures.into_iter().map(Artefact::picture));
    Ok(files)
}

/// Data paths belong to the part that explains the copies, curves to the plots.
const PATHS: &str = "Part_A_";

fn named(roll: &str) -> impl Fn(CoursePicture) -> CoursePicture {
    move |p| {
        let part = if p.name.starts_with("data-path") { PATHS } else { "Part_D_" };
        CoursePicture { name: format!("{roll}_{part}{}", p.name), ..p }
    }
}

/// The columns of the table; each figure also has its `_low` and `_high`.
pub fn columns() -> Vec<CsvColumn> {
    let figures: Vec<CsvColumn> = COLUMNS.iter().map(|c| column(c.id, c.help)).collect();
    [BEFORE, &figures, AFTER].concat()
}

/// The headings of the columns that a figure has: its own, and of its interval's ends.
fn headings(column: &FigureColumn) -> [String; 3] {
    ["", "_low", "_high"].map(|end| format!("{}{end}", column.id))
}

/// One row per implementation, size and thread count; each figure between its interval's ends.
fn table(grid: &CourseGrid) -> String {
    let figures: Vec<String> = COLUMNS.iter().flat_map(headings).collect();
    let before = BEFORE.iter().map(|c| c.id);
    let header: Vec<&str> =
        before.chain(figures.iter().map(String::as_str)).chain(AFTER.iter().map(|c| c.id)).collect();
    let rows: Vec<Vec<String>> = grid.places().map(|place| row(grid, &place)).collect();
    csv(&header, &rows)
}

/// The script of plots, with the table's figures written in it: literals of Python that are also of JSON.
fn script(grid: &CourseGrid, roll: &str) -> String {
    let columns: Vec<String> = ["name", "message_bytes", "threads"].map(String::from).into();
    let columns: Vec<String> = columns.into_iter().chain(COLUMNS.iter().flat_map(headings)).collect();
    let line = |place: GridPlace| {
        let name = literal(grid::IMPLEMENTATIONS[place.implementation].name);
        let figures = COLUMNS.iter().flat_map(|column| match column.estimate(grid, &place) {
            Ok(e) => [e.value, e.low, e.high].map(|value| number(Some(value))),
            Err(_) => ["None"; 3].map(String::from),
        });
        let place = [name, place.bytes.to_string(), place.threads.to_string()];
        format!("    [{}],\n", place.into_iter().chain(figures).collect::<Vec<_>>().join(", "))
    };
    fill(include_str!("../../templates/pa02-plots.py"), |name| match name {
        "roll" => roll.to_string(),
        "system" => literal(&format!("{roll}. {}", system(grid.run))),
        "counts" => literal(&match grid.counts {
            Some((counts, _)) => format!(" Modelled cache: run {}.", counts.record.id),
            None => String::new(),
        }),
        "columns" => serde_json::json!(columns).to_string(),
        rows => grid.places().map(line).filter(|_| rows == "rows").collect(),
    })
}

/// A string of Python: a stranger's run must not become a program.
fn literal(text: &str) -> String {
    serde_json::json!(visible(text)).to_string()
}

/// What was measured: the assignment wants it on every plot.
fn system(run: &Run) -> String {
    let record = &run.record;
    let fact = |id: &str| record.host.iter().find(|f| f.id == id).and_then(machine::value);
    let facts = [
        ("cpu_model", ""),
        ("cpus_allowed", "CPUs "),
        ("memory_bytes", "memory "),
        ("kernel_release", "Linux "),
        ("hypervisor", "hypervisor "),
    ];
    let known: Vec<String> =
        facts.iter().filter_map(|(id, before)| Some(format!("{before}{}", fact(id)?))).collect();
    format!("System: {}. Run {} by syscost {}.", known.join(", "), record.id, record.tool.version)
}

fn row(grid: &CourseGrid, place: &GridPlace) -> Vec<String> {
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
            // Counts that repeat have no scatter that a row could be judged by.
            Ok(e) if column.kind == CaseKind::Modelled => {
                row.extend([Some(e.value), Some(e.low), Some(e.high)].map(number));
            }
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
