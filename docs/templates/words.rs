//! Did TCP have to send anything twice?
//!
//! Template of the words of a finding: the answer in one sentence of less than 25 words, and a sentence for each thing that
//! the analysis shows. The question itself, as a reader asks it, stands in the list of `text/mod.rs`.

use crate::text::words::count;
use syscost_analyze::finding::repeats::Retransmitted;
use syscost_core::units::significant;

pub fn headline(said: &Retransmitted) -> String {
    match said.with_any {
        0 => format!("No segment was retransmitted in {}.", count(said.cases, "case")),
        some => format!("{some} of {} retransmitted.", count(said.cases, "case")),
    }
}

/// What the headline does not say.
pub fn sentence(said: &Retransmitted) -> String {
    format!("At most {} segments a sample were sent again.", significant(said.most))
}
