//! Figures in the documents come from committed runs: never typed, always rebuilt.
//!
//! A document holds `<!-- result: docs/runs/NAME -->` ... `<!-- result: end -->`; between them stands
//! what the run's samples say today. `NAME beside OTHER...` shows the figures of other runs too.
//! `<!-- section: docs/runs/NAME#time -->` shows the sentences of one section of its report instead.
//! `SYSCOST_BLESS=1 cargo test --test docs` writes it anew.

use std::path::{Path, PathBuf};
use syscost_analyze::beside::Beside;
use syscost_analyze::whole::Analysis;
use syscost_experiment::run::Run;
use syscost_experiment::run::files::RunDir;
use syscost_report::terminal::{self, Look};
use syscost_report::{Block, build};

const BEGIN: &str = "<!-- result: docs/runs/";
const SECTION: &str = "<!-- section: docs/runs/";
const END: &str = "<!-- result: end -->";

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// Every document of the project.
fn documents() -> Vec<PathBuf> {
    let markdown = |dir: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(dir).expect("the directory exists");
        let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
        paths.filter(|path| path.extension().is_some_and(|e| e == "md")).collect()
    };
    let mut found = markdown(&root());
    found.extend(markdown(&root().join("docs")));
    found.sort();
    found
}

fn fact(run: &Run, id: &str) -> String {
    let fact = run.record.host.iter().find(|fact| fact.id == id);
    fact.and_then(|fact| fact.value.clone()).unwrap_or_else(|| panic!("the run does not record {id}"))
}

fn load(name: &str) -> Run {
    let dir = format!("docs/runs/{name}");
    RunDir::load(&root().join(&dir)).unwrap_or_else(|error| panic!("{dir}: {error}"))
}

/// What a document says of a run, or of one beside others: the terminal's text, and where it was measured
/// and how.
fn said(marker: &str, document: &Path) -> String {
    let mut names = marker.split_whitespace().filter(|word| *word != "beside");
    let name = names.next().expect("a marker names a run");
    let run = load(name);
    let title = |name: &str| name.rsplit('/').next().expect("a name has a last part").to_string();
    let beside: Vec<Beside> = names.map(|other| Beside::run(&title(other), &load(other))).collect();
    let report = build::report_beside(&run, &Analysis::of(&run), &beside);
    let text = terminal::text(&report, None, Look { width: 80, colour: false });
    format!("{BEGIN}{marker} -->\n```text\n{}\n```\n\n{}", text.trim_end(), measured(&run, name, document))
}

/// The sentences of a section of the report.
fn quoted(marker: &str, document: &Path) -> String {
    let (name, section) = marker.split_once('#').expect("a marker names a section");
    let run = load(name);
    let report = build::report(&run, &Analysis::of(&run));
    let section = report.sections.iter().find(|s| s.id == section).expect("the report has the section");
    let sentences: Vec<String> = section
        .blocks
        .iter()
        .filter_map(|block| match block {
            Block::Statement(statement) => Some(format!("> {}\n", statement.text)),
            _ => None,
        })
        .collect();
    assert!(!sentences.is_empty(), "the section says something");
    format!("{SECTION}{marker} -->\n{}\n{}", sentences.join(">\n"), measured(&run, name, document))
}

/// Where a run was measured and how, and the end of what a document says of it.
fn measured(run: &Run, name: &str, document: &Path) -> String {
    let command: Vec<&str> = run.record.command.iter().skip(1).map(String::as_str).collect();
    let link =
        if document.parent() == Some(&root()) { format!("docs/runs/{name}") } else { format!("runs/{name}") };
    format!(
        "Measured on {} (CPUs {}, virtual machine: {}), Linux {}, by `syscost {}`:\n[the recorded run]({link}).\n{END}",
        fact(run, "cpu_model"),
        fact(run, "cpus_online"),
        fact(run, "hypervisor"),
        fact(run, "kernel_release"),
        command.join(" "),
    )
}

/// The document with every result rebuilt.
fn rebuilt(text: &str, document: &Path) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((at, begin)) = [BEGIN, SECTION].iter().filter_map(|b| Some((rest.find(b)?, *b))).min() {
        let from_name = &rest[at + begin.len()..];
        let marker = from_name.split(" -->").next().expect("split gives one piece at least");
        let end = rest.find(END).unwrap_or_else(|| panic!("{}: no {END}", document.display()));
        out.push_str(&rest[..at]);
        out.push_str(&if begin == BEGIN { said(marker, document) } else { quoted(marker, document) });
        rest = &rest[end + END.len()..];
    }
    out + rest
}

#[test]
fn results_in_documents_are_what_their_runs_say() {
    let bless = std::env::var_os("SYSCOST_BLESS").is_some();
    let mut results = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("a document is text");
        let wanted = rebuilt(&text, &document);
        results += wanted.matches(BEGIN).count();
        if bless {
            std::fs::write(&document, &wanted).expect("the document can be written");
        } else {
            assert!(
                text == wanted,
                "{} does not say what its run says: SYSCOST_BLESS=1 cargo test --test docs",
                document.display()
            );
        }
    }
    assert!(results >= 2, "the README and one more document show a run");
}
