//! The search path of the hosts that tests stand up: what this machine has, but no `syscost` that somebody installed.
//! A host that has one is asked with it, and tests are about the binary under test and its copies.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

const PROGRAM: &str = "syscost";

/// Folders as in `PATH`; in the place of one with a `syscost`, a folder of links to its other programs.
pub fn path() -> &'static str {
    static FOLDERS: LazyLock<String> = LazyLock::new(|| {
        let folders = std::env::var("PATH").unwrap_or_default();
        let folders: Vec<String> = folders.split(':').map(without).collect();
        folders.join(":")
    });
    &FOLDERS
}

fn without(folder: &str) -> String {
    let at = Path::new(folder);
    if !at.is_absolute() || !at.join(PROGRAM).exists() {
        return folder.to_string();
    }
    // One for all test runs: links that an earlier one made are as good.
    let links = Path::new(env!("CARGO_TARGET_TMPDIR")).join(folder.replace('/', "-"));
    std::fs::create_dir_all(&links).expect("a folder of links");
    let entries = std::fs::read_dir(at).expect("a folder of programs");
    for entry in entries.map(|entry| entry.expect("an entry")) {
        if entry.file_name() != PROGRAM {
            let made = symlink(entry.path(), links.join(entry.file_name()));
            assert!(made.is_ok() || links.join(entry.file_name()).is_symlink(), "{made:?}");
        }
    }
    links.display().to_string()
}
