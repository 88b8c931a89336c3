//! The committed objects are what their sources say.

use crate::support::skipped;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn program(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("crates/measure/src/ledger/program").join(file)
}

/// What a command prints, where it can be started.
fn told(command: &str, argument: &str) -> Option<String> {
    let output = Command::new(command).arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

#[test]
fn the_committed_objects_are_rebuilt_from_their_sources() {
    const TEST: &str = "the_committed_objects_are_rebuilt_from_their_sources";
    let (Some(clang), Some(_)) = (told("clang", "-dumpversion"), told("llvm-strip", "--version")) else {
        return skipped(TEST, "clang or llvm-strip is missing (apt-get install clang llvm libbpf-dev)");
    };
    if !Path::new("/usr/include/bpf/bpf_core_read.h").exists() {
        return skipped(TEST, "libbpf's headers are missing (apt-get install libbpf-dev)");
    }
    let committed_by = fs::read_to_string(program("clang-version")).expect("the compiler's version");
    let major = |version: &str| version.trim().split('.').next().unwrap_or_default().to_string();
    if major(&clang) != major(&committed_by) {
        let reason = format!("clang {clang} does not make the bytes of clang {}", committed_by.trim());
        return skipped(TEST, &reason);
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let output = Command::new(program("build")).arg(scratch.path()).output().expect("the script starts");
    assert!(output.status.success(), "{}", crate::support::said(&output));
    let sources = fs::read_dir(program(".")).expect("the folder").filter_map(|entry| entry.ok());
    let names = sources.filter_map(|entry| Some(entry.file_name().to_str()?.strip_suffix(".c")?.to_string()));
    let names: Vec<String> = names.collect();
    assert!(names.len() >= 2, "{names:?}");
    for name in names {
        let object = format!("{name}.o");
        let read = |path: &Path| fs::read(path).expect("an object");
        assert!(
            read(&scratch.path().join(&object)) == read(&program(&object)),
            "{object} is not what its source makes: run crates/measure/src/ledger/program/build and commit both"
        );
    }
}
