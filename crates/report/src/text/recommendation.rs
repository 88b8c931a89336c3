//! What to use, in words: a sentence a range, each under 25 words.

use syscost_analyze::answer::CopiedBy;
use syscost_analyze::words::{and, percent};

/// `MSG_ZEROCOPY ..: the kernel copied every byte.`
pub fn copied(mechanisms: &[String], by: CopiedBy) -> String {
    let names = and(mechanisms);
    match by {
        CopiedBy::Counted => {
            format!("The kernel copied what {names} should not copy (counted byte by byte).")
        }
        CopiedBy::Flagged { least, most } if least == most => {
            format!("The kernel reports that it copied {} of the messages of {names}.", percent(most))
        }
        CopiedBy::Flagged { least, most } => format!(
            "The kernel reports that it copied {} to {} of the messages of {names}.",
            percent(least),
            percent(most)
        ),
    }
}
