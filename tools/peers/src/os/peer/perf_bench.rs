//! `perf bench` of the Linux kernel's tree.

use super::{Measure, Peer, figure, first_line, one};
use crate::parse::perf_bench::{bytes_per_second, nanoseconds};

pub struct PerfBench;

const MEASURES: &[Measure] = &[
    one(
        "perf bench syscall basic -l 1000000",
        &[figure("getppid", nanoseconds)],
        "mean over a million calls of the C library's getppid, interrupts and loop included",
    ),
    one(
        "perf bench sched pipe -l 50000",
        &[figure("pipe_processes", nanoseconds)],
        "mean over 50000 round trips of 4 bytes, interrupts included; ours is a median of 1 byte",
    ),
    one(
        "perf bench sched pipe -T -l 50000",
        &[figure("pipe_threads", nanoseconds)],
        "mean over 50000 round trips of 4 bytes, interrupts included; ours is a median of 1 byte",
    ),
    one(
        "perf bench mem memcpy -s 128MB -l 4 -f default",
        &[figure("copy_256m", bytes_per_second)],
        "the C library's memcpy, which may store past the caches at this size (its non-temporal threshold): no line of the \
         target is then read first, so it may exceed ours, which stores through the caches as most programs do",
    ),
];

impl Peer for PerfBench {
    fn id(&self) -> &'static str {
        "perf"
    }

    fn source(&self) -> &'static str {
        "Debian: linux-perf"
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program("perf")?, &["--version"])
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
