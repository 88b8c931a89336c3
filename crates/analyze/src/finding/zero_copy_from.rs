//! From which size does zero-copy beat two-copy? By throughput and by CPU, for every number of threads, with
//! what the completions say beside it: what was asked to be zero-copy may have been copied.

use super::{Evidence, Finding, SentenceAnswer, overtake};
use syscost_measure::mechanism::Class;

pub struct ZeroCopyFrom;

impl Finding for ZeroCopyFrom {
    fn id(&self) -> &'static str {
        "zero_copy_from"
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        overtake::answer(evidence, Class::ZeroCopy)
    }
}
