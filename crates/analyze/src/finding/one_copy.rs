//! From which size does one-copy beat two-copy? By every headline metric.

use super::{Answer, Evidence, Finding, overtaking};
use syscost_measure::mechanism::Class;

pub struct OneCopy;

impl Finding for OneCopy {
    fn id(&self) -> &'static str {
        "one_copy"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        overtaking::answer(evidence, self.id(), Class::OneCopy)
    }
}
