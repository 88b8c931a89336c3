//! Every file that the code makes is what the code makes today.

use std::path::PathBuf;
use xtask::{Generated, Tree, answers, documents, figure, program, reports};

fn up_to_date(files: fn(&Tree) -> anyhow::Result<Vec<Generated>>) {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let tree = Tree { root, program: env!("CARGO_BIN_EXE_syscost").into() };
    let files = files(&tree).unwrap_or_else(|error| panic!("{error:#}"));
    assert!(!files.is_empty());
    let stale: Vec<String> = files.iter().filter_map(|file| file.difference(&tree)).collect();
    assert!(stale.is_empty(), "{}", stale.join("\n"));
}

#[test]
fn documents_show_what_registries_and_recorded_runs_say() {
    up_to_date(documents::files);
}

#[test]
fn the_picture_of_the_readme_and_the_published_report() {
    up_to_date(figure::files);
}

#[test]
fn reports_of_a_recorded_run_and_what_a_course_asks_for() {
    up_to_date(reports::files);
}

#[test]
fn answers_of_recorded_runs() {
    up_to_date(answers::files);
}

#[test]
fn what_the_program_prints() {
    up_to_date(program::files);
}
