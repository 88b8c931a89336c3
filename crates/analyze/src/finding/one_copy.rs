//! From which size does one-copy beat two-copy? By throughput and by CPU, for every number of threads.

use super::{Answer, Evidence, Finding, Question, overtake};
use syscost_measure::mechanism::Class;

pub struct OneCopy;

impl Finding for OneCopy {
    fn about(&self) -> Question {
        Question { id: "one_copy", question: "From which size does one-copy beat two-copy?" }
    }

    fn answer(&self, evidence: &Evidence<'_>) -> Answer {
        overtake::answer(evidence, Class::OneCopy)
    }
}
