//! libFuzzer's entry: one program holds every target, and the environment says which one it is.
//!
//! One program, so that the library is built and linked once. It must not know what a target looks at.
//! Source: <https://llvm.org/docs/LibFuzzer.html>.
#![no_main]

mod targets;

use libfuzzer_sys::{Corpus, fuzz_target};
use std::sync::OnceLock;
use targets::Look;
use tempfile::TempDir;

/// Which target; fuzz/run sets it.
const CHOICE: &str = "SYSCOST_FUZZ";

static CHOSEN: OnceLock<(Look, TempDir)> = OnceLock::new();

fuzz_target!(
    init: {
        let look = chosen();
        let scratch = tempfile::tempdir().expect("a directory");
        assert!(CHOSEN.set((look, scratch)).is_ok(), "started once");
    },
    |bytes: &[u8]| -> Corpus {
        let (look, scratch) = CHOSEN.get().expect("set at the start");
        look(bytes, scratch.path());
        Corpus::Keep
    }
);

fn chosen() -> Look {
    let wanted = std::env::var(CHOICE).unwrap_or_default();
    match targets::ALL.iter().find(|(name, _)| *name == wanted) {
        Some((_, look)) => *look,
        None => {
            let names: Vec<&str> = targets::ALL.iter().map(|(name, _)| *name).collect();
            eprintln!("error: {CHOICE}={wanted:?} is no target: set it to one of {}", names.join(", "));
            std::process::exit(2);
        }
    }
}
