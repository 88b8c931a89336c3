//! From which size does zero-copy beat two-copy? By throughput and by CPU, for every number of threads, with
//! what the completions say beside it: what was asked to be zero-copy may have been copied.

use super::{Answer, Evidence, Finding, Question, overtake};
use syscost_measure::mechanism::Class;

pub struct ZeroCopyFrom;

impl Finding for ZeroCopyFrom {
    fn about(&self) -> Question {
        Question { id: "zero_copy_from", question: "From which size does zero-copy beat two-copy?" }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        overtake::answer(evidence, Class::ZeroCopy)
    }
}
