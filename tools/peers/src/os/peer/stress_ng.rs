//! stress-ng: operations a second of its stressors. A load generator: its figures hold more than
//! the operation, and each measure says what.

use super::{Measure, Peer, figure, first_line, one};
use crate::parse::stress_ng::{nanoseconds_per_bogo_operation, own_metric};

pub struct StressNg;

const MEASURES: &[Measure] = &[
    one(
        "stress-ng --fork 1 -t 1 --metrics-brief",
        &[figure("fork", |output| nanoseconds_per_bogo_operation(output, "fork"))],
        "its parent has more memory mapped, and every child makes nine system calls before it ends (setpgid, setsid, vhangup, \
         sched_yield; seen with strace): higher than a bare fork",
    ),
    one(
        "stress-ng --vfork 1 -t 1 --metrics-brief",
        &[figure("vfork", |output| nanoseconds_per_bogo_operation(output, "vfork"))],
        "one second by the wall clock over all vforks, its bookkeeping included",
    ),
    one(
        "stress-ng --pthread 1 --pthread-max 1 -t 1 --metrics-brief",
        &[figure("thread", |output| nanoseconds_per_bogo_operation(output, "pthread"))],
        "each thread makes some forty system calls of its own (signals to itself, /proc, madvise; seen with strace) before it \
         ends, and is waited for: far above create and join, another operation",
    ),
    one(
        "stress-ng --fault 1 -t 1 --metrics-brief",
        &[figure("fault_anonymous", |output| own_metric(output, "nanosecs per page fault"))],
        "all its faults together, of files and anonymous, with the calls that make them (mmap, truncate, unlink): an \
         upper bound",
    ),
];

impl Peer for StressNg {
    fn id(&self) -> &'static str {
        "stress-ng"
    }

    fn source(&self) -> &'static str {
        "Debian: stress-ng"
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program("stress-ng")?, &["--version"])
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
