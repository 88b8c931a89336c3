//! The committed object is what its source says.

use crate::skipped;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn program(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src/ledger/program").join(file)
}

/// What a command prints, where it can be started.
fn told(command: &str, argument: &str) -> Option<String> {
    let output = Command::new(command).arg(argument).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
}

#[test]
fn the_committed_object_is_rebuilt_from_its_source() {
    const TEST: &str = "the_committed_object_is_rebuilt_from_its_source";
    let (Some(clang), Some(_)) = (told("clang", "-dumpversion"), told("llvm-strip", "--version")) else {
        return skipped(TEST, "clang or llvm-strip is missing (apt-get install clang llvm libbpf-dev)");
    };
    if !Path::new("/usr/include/bpf/bpf_core_read.h").exists() {
        return skipped(TEST, "libbpf's headers are missing (apt-get install libbpf-dev)");
    }
    let committed_by = fs::read_to_string(program("ledger.bpf.clang")).expect("the compiler's version");
    let major = |version: &str| version.trim().split('.').next().unwrap_or_default().to_string();
    if major(&clang) != major(&committed_by) {
        let reason = format!("clang {clang} does not make the bytes of clang {}", committed_by.trim());
        return skipped(TEST, &reason);
    }
    let scratch = tempfile::tempdir().expect("a scratch directory");
    let rebuilt = scratch.path().join("ledger.bpf.o");
    let output = Command::new(program("build")).arg(&rebuilt).output().expect("the script starts");
    assert!(output.status.success(), "{}", crate::said(&output));
    let read = |path: &Path| fs::read(path).expect("an object");
    assert!(
        read(&rebuilt) == read(&program("ledger.bpf.o")),
        "ledger.bpf.o is not what ledger.bpf.c makes: run src/ledger/program/build and commit both"
    );
}
