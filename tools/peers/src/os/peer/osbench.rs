//! osbench: threads, processes and programs, a hundred at a time.
//!
//! Its programs have no version and no folder of their own: PEERS_OSBENCH names the folder where they were built.

use super::{Measure, Peer, figure, one};
use crate::parse::osbench::each;
use std::path::PathBuf;

pub struct Osbench;

const MEASURES: &[Measure] = &[
    one(
        "create_threads",
        &[figure("thread", each)],
        "a hundred threads made before the first is joined, the best of half a second: each maps a stack of its own, where \
         ours uses the one that the thread before left",
    ),
    one(
        "create_processes",
        &[figure("fork", each)],
        "a hundred children made before the first is waited for, the best of half a second; its parent is smaller than ours",
    ),
    one(
        "launch_programs",
        &[figure("fork_exec", each)],
        "executes itself, a hundred children before the first is waited for, the best of half a second",
    ),
];

impl Peer for Osbench {
    fn id(&self) -> &'static str {
        "osbench"
    }

    fn source(&self) -> &'static str {
        "https://github.com/mbitsnbites/osbench (docs/comparison.md), then PEERS_OSBENCH=DIRECTORY"
    }

    fn program(&self, name: &str) -> Result<PathBuf, String> {
        let folder = std::env::var_os("PEERS_OSBENCH").ok_or("PEERS_OSBENCH names no folder")?;
        let program = PathBuf::from(folder).join(name);
        program.is_file().then(|| program.clone()).ok_or_else(|| format!("no {}", program.display()))
    }

    fn version(&self) -> Result<String, String> {
        self.program("create_threads").map(|_| "without a version of its own, BENCHMARK_TIME 0.5".into())
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
