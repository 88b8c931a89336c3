//! ping of iputils: ICMP echo, each as soon as the one before is answered.

use super::{Measure, Peer, figure, first_line, one};
use crate::parse::ping::nanoseconds;

pub struct Ping;

const MEASURES: &[Measure] = &[one(
    "ping -n -U -i 0 -c 5000 127.0.0.1",
    &[figure("icmp", nanoseconds)],
    "-U: until the program has the answer, not until the kernel stamps it. gettimeofday before and after, a poll and a \
         recvmsg with a control buffer in between; printed in microseconds, so the mean of 5000",
)];

impl Peer for Ping {
    fn id(&self) -> &'static str {
        "ping"
    }

    fn source(&self) -> &'static str {
        "Debian: iputils-ping"
    }

    fn version(&self) -> Result<String, String> {
        first_line(&self.program("ping")?, &["-V"])
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
