//! mbw: memcpy between two arrays.

use super::{Measure, Peer, figure, one};
use crate::parse::mbw::bytes_per_second;

pub struct Mbw;

const MEASURES: &[Measure] = &[one(
    "mbw -q -t 0 -n 8 128",
    &[figure("copy_256m", bytes_per_second)],
    "the C library's memcpy, which may store past the caches at this size (its non-temporal threshold): no line of the \
         target is then read first, so it may exceed ours, which stores through the caches as most programs do",
)];

impl Peer for Mbw {
    fn id(&self) -> &'static str {
        "mbw"
    }

    fn source(&self) -> &'static str {
        "Debian: mbw"
    }

    fn version(&self) -> Result<String, String> {
        self.program("mbw").map(|_| "without a version of its own".into())
    }

    fn measures(&self) -> &'static [Measure] {
        MEASURES
    }
}
