//! A store as its readers see it: DuckDB, pandas and polars by one line each, several writers at once, and after a crash.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_host::Fact;
use syscost_host::fingerprint::{BOOT, MACHINE};
use syscost_store::add::{OpenStore, RUNS, read_runs};
use syscost_store::history::{CellQuery, boots, history, labelled};
use syscost_store::table::StoreTable;

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The recorded run under another id, on a boot of one machine.
fn run(id: &str, boot: &str) -> Run {
    let mut run = RunDir::load(&top().join("tests/data/small-run")).unwrap();
    run.record.id = id.into();
    run.record.host.retain(|fact| fact.id != BOOT && fact.id != MACHINE);
    for (id, value) in [(BOOT, boot), (MACHINE, "3f2a")] {
        let (id, title, value) = (id.to_string(), id.to_string(), Some(value.to_string()));
        run.record.host.push(Fact { id, title, value, source: String::new() });
    }
    run
}

fn add(store: &Path, runs: &[Run]) -> usize {
    let mut open = OpenStore::make(store).unwrap();
    runs.iter()
        .for_each(|run| open.add(run, Path::new("/runs").join(&run.record.id).as_path(), true).unwrap());
    open.finish().unwrap()
}

/// A cell of the recorded run: every one of its probe and metric, at one point.
fn query(run: &Run) -> CellQuery {
    let case = &run.record.plan.cases[0];
    let coordinates = case.point.iter().map(|(axis, value)| format!("{axis}={value}")).collect();
    let metric = syscost_analyze::sides::compared_metric(syscost_measure::probe::find(&case.probe).unwrap());
    CellQuery {
        probe: case.probe.to_string(),
        metric: metric.unwrap().id.into(),
        coordinates,
        ..CellQuery::default()
    }
}

#[test]
fn runs_of_a_label_are_found_where_they_were_added_from_the_oldest_first() {
    let scratch = tempfile::tempdir().unwrap();
    let mut runs = [run("a", "one"), run("b", "one"), run("c", "one")];
    for (run, (label, started)) in runs.iter_mut().zip([("new", 2), ("old", 3), ("new", 1)]) {
        run.record.names.label = Some(label.into());
        run.record.started_unix_ns = started;
    }
    add(scratch.path(), &runs);
    let found = labelled(scratch.path(), "new").unwrap();
    assert_eq!(found, [PathBuf::from("/runs/c"), PathBuf::from("/runs/a")]);
    assert!(labelled(scratch.path(), "none").unwrap().is_empty());
    assert!(labelled(&scratch.path().join("nowhere"), "new").unwrap().is_empty());
}

#[test]
fn a_cell_is_found_again_by_run_and_by_boot() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    let runs = [run("a", "one"), run("b", "one"), run("c", "two")];
    assert_eq!(add(&store, &runs), 3);
    assert_eq!(add(&store, &runs[..1]), 3, "a run that is added again replaces itself");
    let (points, unread) = history(&store, &query(&runs[0])).unwrap();
    assert_eq!((points.len(), unread.len()), (3, 0));
    assert!(points.iter().all(|point| point.value > 0.0 && point.machine == "3f2a"));
    assert_eq!(boots(&points).iter().map(|boot| boot.runs).sum::<usize>(), 3);
    assert_eq!(boots(&points).len(), 2);
    let other = CellQuery { machine: "ffff".into(), ..query(&runs[0]) };
    assert_eq!(history(&store, &other).unwrap().0.len(), 0);
    assert!(history(scratch.path(), &query(&runs[0])).is_err(), "no store");
}

#[test]
fn writers_at_once_lose_nothing() {
    const WRITERS: usize = 4;
    let scratch = tempfile::tempdir().unwrap();
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let store = scratch.path().join("store");
            scope.spawn(move || {
                for number in 0..3 {
                    add(&store, &[run(&format!("w{writer}-{number}"), "one")]);
                }
            });
        }
    });
    let store = scratch.path().join("store");
    assert_eq!(read_runs(&store).unwrap().rows(), 3 * WRITERS);
    assert_eq!(history(&store, &query(&run("a", "one"))).unwrap().0.len(), 3 * WRITERS);
    assert_eq!(by_month(&store), 3 * WRITERS * rows_of_a_run());
}

/// Rows of results in the files of months.
fn by_month(store: &Path) -> usize {
    let of_machine = fs::read_dir(store.join("months/machine=3f2a")).unwrap();
    let rows = |path: PathBuf| StoreTable::read(fs::File::open(path).unwrap(), &[]).unwrap().rows();
    of_machine.map(|entry| rows(entry.unwrap().path())).sum()
}

fn rows_of_a_run() -> usize {
    syscost_store::rows::of_results(&run("a", "one")).rows()
}

#[test]
fn a_month_has_the_rows_of_a_run_once() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    add(&store, &[run("a", "one"), run("b", "one"), run("a", "one")]);
    add(&store, &[run("a", "two")]);
    assert_eq!(by_month(&store), 2 * rows_of_a_run());
    assert_eq!(read_runs(&store).unwrap().rows(), 2);
}

/// A writer that dies leaves a part of a file under a hidden name, or results that no row of `runs.parquet` names.
#[test]
fn a_crash_leaves_a_store_that_is_read_and_added_to() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("store");
    add(&store, &[run("a", "one")]);
    let mut dies = OpenStore::make(&store).unwrap();
    dies.add(&run("b", "one"), scratch.path(), false).unwrap();
    drop(dies);
    let folder = fs::read_dir(store.join("results/machine=3f2a")).unwrap().next().unwrap().unwrap().path();
    fs::write(folder.join(".c.parquet.1-1.tmp"), "PAR1 and no more").unwrap();
    let (points, unread) = history(&store, &query(&run("a", "one"))).unwrap();
    assert_eq!((points.len(), unread.len()), (2, 0));
    assert_eq!(read_runs(&store).unwrap().rows(), 1);
    fs::write(folder.join("d.parquet"), "damaged by others").unwrap();
    let (points, unread) = history(&store, &query(&run("a", "one"))).unwrap();
    assert_eq!((points.len(), unread.len()), (2, 1), "one file that cannot be read hides no other");
    assert_eq!(add(&store, &[run("b", "one")]), 2);
}

#[test]
fn a_run_whose_id_leads_elsewhere_is_refused() {
    let scratch = tempfile::tempdir().unwrap();
    let mut store = OpenStore::make(&scratch.path().join("store")).unwrap();
    assert!(store.add(&run("../../outside", "one"), scratch.path(), false).is_err());
    assert!(!scratch.path().join("outside.parquet").exists());
}

/// The lines of docs/comparing.md, and the rows that each must see.
#[test]
fn duckdb_pandas_and_polars_read_a_store_by_one_line_each() {
    let scratch = tempfile::tempdir().unwrap();
    let store = scratch.path().join("syscost-store");
    add(&store, &[run("a", "one"), run("b", "two")]);
    let rows = rows_of_a_run() * 2;
    let docs = fs::read_to_string(top().join("docs/comparing.md")).unwrap();
    for (module, called) in
        [("duckdb", "duckdb.sql("), ("pandas", "pd.read_parquet("), ("polars", "pl.scan_parquet(")]
    {
        let line =
            docs.lines().find(|line| line.contains(called)).unwrap_or_else(|| panic!("docs: {called}"));
        let code = format!("{}\nprint(len(table))", line.trim());
        let done = Command::new("python3")
            .args(["-c", &code])
            .current_dir(scratch.path())
            .env("PYTHONPATH", top().join("target/python"))
            .output();
        let Ok(done) = done else { return eprintln!("skipped: no python3") };
        let (said, wrong) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        if wrong.contains("No module named") || wrong.contains("ImportError") {
            eprintln!(
                "skipped: no {module} (pip install --target target/python duckdb pandas pyarrow polars)"
            );
            continue;
        }
        assert_eq!(
            said.split_whitespace().next(),
            Some(rows.to_string().as_str()),
            "{module}: {said}{wrong}"
        );
    }
    assert!(store.join(RUNS).exists());
}
