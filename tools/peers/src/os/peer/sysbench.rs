//! sysbench memory: reads or writes 8-byte words of one block, over and over.

use super::{Measure, Peer, figure, first_line, one};
use crate::parse::sysbench::bytes_per_second;

pub struct Sysbench;

const MEASURES: &[Measure] = &[
    one(
        "sysbench memory --threads=1 --time=1 --memory-total-size=1T --memory-block-size=256M --memory-oper=read run",
        &[figure("read_256m", bytes_per_second)],
        "loads volatile 8-byte words, one a step: the loop, not memory, limits it; ours loads vectors",
    ),
    one(
        "sysbench memory --threads=1 --time=1 --memory-total-size=1T --memory-block-size=256M --memory-oper=write run",
        &[figure("write_256m", bytes_per_second)],
        "stores volatile 8-byte words, one a step; ours stores vectors",
    ),
];

impl Peer for Sysbench {
    fn id(&self) -> &'static str {
        "sysbench"
    }

    fn source(&self) -> &'static str {
        "Debian: sysbench"
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program("sysbench")?, &["--version"])
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
