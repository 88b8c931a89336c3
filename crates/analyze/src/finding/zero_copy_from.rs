//! From which size does zero-copy beat two-copy? By every headline metric, with what audits and completions say
//! beside it: what was asked to be zero-copy may have been copied.

use super::{Answer, Evidence, Finding, overtaking};
use syscost_measure::mechanism::Class;

pub struct ZeroCopyFrom;

impl Finding for ZeroCopyFrom {
    fn id(&self) -> &'static str {
        "zero_copy_from"
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        overtaking::answer(evidence, self.id(), Class::ZeroCopy)
    }
}
