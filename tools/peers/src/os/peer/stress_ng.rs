//! stress-ng: operations a second of its stressors. A load generator: its figures hold more than
//! the operation, and each measure says what.

use super::{Measure, Peer, figure, first_line, one};
use crate::parse::stress_ng::{nanoseconds_per_bogo_operation, own_metric};

pub struct StressNg;

const MEASURES: &[Measure] = &[
    one(
        "stress-ng --fork 1 -t 1 --metrics-brief",
        &[figure("fork", |output| nanoseconds_per_bogo_operation(output, "fork"))],
        "its parent has 168 mappings with 318 pages of its own (/proc/PID/smaps), which a fork copies and an exit removes; every \
         child makes nine system calls before it ends (setpgid, setsid, vhangup, sched_yield; seen with strace)",
    ),
    one(
        "stress-ng --vfork 1 -t 1 --metrics-brief",
        &[figure("vfork", |output| nanoseconds_per_bogo_operation(output, "vfork"))],
        "one second by the wall clock over all vforks, its bookkeeping included",
    ),
    one(
        "stress-ng --fault 1 -t 1 --metrics-brief",
        &[figure("fault_anonymous", |output| own_metric(output, "nanosecs per page fault"))],
        "the touch of a shared page of a file that was just allocated: the file system finds its block and the page cache gets a \
         page, which anonymous memory needs not",
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
