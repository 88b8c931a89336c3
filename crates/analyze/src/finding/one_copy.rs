//! From which size does one-copy beat two-copy? By throughput and by CPU, for every number of threads.

use super::{Evidence, Finding, SentenceAnswer, overtake};
use syscost_measure::mechanism::Class;

pub struct OneCopy;

impl Finding for OneCopy {
    fn id(&self) -> &'static str {
        "one_copy"
    }

    fn answer(&self, evidence: &Evidence<'_>) -> SentenceAnswer {
        overtake::answer(evidence, Class::OneCopy)
    }
}
