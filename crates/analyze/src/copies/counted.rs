//! How often data was copied, from the audits of the run: counted where the kernel could be traced.
//!
//! A mechanism's name is a promise; this is what was counted of it. Nothing is inferred: where nobody counted, or the
//! count does not add up, nothing is concluded.

use crate::compare::study::RIVALS;
use serde::Serialize;
use syscost_experiment::plan::Case;
use syscost_experiment::run::audit::TOLERANCE;
use syscost_experiment::run::{Audit, Run};
use syscost_measure::mechanism::{self, Class};
use syscost_measure::probe;

/// So near the share of flagged completions the share of copied bytes agrees: retransmissions and the few bytes around
/// them move a count, and a completion covers whole messages.
const SLACK: f64 = 0.02;

/// The audit that stands for a case: of the same way to move data.
pub fn of_case<'r>(run: &'r Run, case: &Case) -> Option<&'r Audit> {
    let copies = probe::find(&case.probe)?.copies()?;
    run.record.audits.iter().find(|a| a.probe == case.probe && copies.same_way(&a.point, &case.point))
}

/// Where a payload is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CopyPlace {
    UserSpace,
    IntoKernel,
    /// The orphan copy of lent pages on arrival.
    Orphan,
    OutToReceiver,
}

/// Copies per byte, step by step.
pub fn places(audit: &Audit) -> [(CopyPlace, f64); 4] {
    let counts = audit.counts.unwrap_or_default();
    [
        (CopyPlace::UserSpace, audit.per_byte(audit.user_copied)),
        (CopyPlace::IntoKernel, audit.per_byte(counts.copied_in)),
        (CopyPlace::Orphan, audit.per_byte(counts.orphan_copied)),
        (CopyPlace::OutToReceiver, audit.per_byte(counts.copied_out)),
    ]
}

/// What a name says of copying up to the receiver's socket, and what was counted.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    pub class: Class,
    pub counted: ClaimCount,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ClaimCount {
    No,
    /// It does not add up.
    Wrong,
    NothingCopied,
    /// More than the name says: copies per byte, and which share of the bytes was sent again.
    Copied {
        at: Vec<(CopyPlace, f64)>,
        again: f64,
    },
}

impl Claim {
    /// Was no more copied than the name says? `None`: not known.
    pub fn kept(&self) -> Option<bool> {
        match self.counted {
            ClaimCount::No | ClaimCount::Wrong => None,
            ClaimCount::NothingCopied => Some(true),
            ClaimCount::Copied { .. } => Some(false),
        }
    }
}

/// What a mechanism's interface asks for on the sender's side: by its class. Without one (the control, or a mechanism
/// that this version lacks), whoever waits for completions asked for zero-copy.
fn promise(audit: &Audit) -> Option<(Class, f64)> {
    let facts = audit.point.text(RIVALS).and_then(mechanism::find).map(|m| m.about().facts);
    let named = facts.and_then(|facts| Some((facts.class()?, facts.copies()?)));
    named.or((audit.completions > 0).then_some((Class::ZeroCopy, 0.0)))
}

/// Was it to be sent without copying?
pub fn zero_copy_asked(audit: &Audit) -> bool {
    promise(audit).is_some_and(|(_, copies)| copies == 0.0)
}

/// What stands beside the name: of zero-copy always, of the others where there was more copying than they speak of.
pub fn claim(audit: &Audit) -> Option<Claim> {
    let (class, promised) = promise(audit)?;
    let zero = promised == 0.0;
    let claim = |counted| Some(Claim { class, counted });
    let Some(counts) = audit.counts else { return claim(ClaimCount::No).filter(|_| zero) };
    if audit.balanced() == Some(false) {
        return claim(ClaimCount::Wrong).filter(|_| zero);
    }
    let [user, kernel, orphan, _] = places(audit);
    let mut at = vec![user, kernel, orphan];
    if at.iter().map(|(_, copies)| copies).sum::<f64>() <= promised + TOLERANCE {
        return claim(ClaimCount::NothingCopied).filter(|_| zero);
    }
    at.retain(|(_, copies)| *copies > TOLERANCE);
    let excess = orphan.1 > 1.0 + SLACK;
    let again = if excess { audit.per_byte(counts.retransmitted) } else { 0.0 };
    claim(ClaimCount::Copied { at, again })
}

/// The shares of completions flagged as copied and of bytes that were, where the two disagree: the flag is known to say
/// copied where nothing was, and the other way round.
pub fn contradiction(audit: &Audit) -> Option<(f64, f64)> {
    let (flagged, counts) = (audit.flagged()?, audit.counts?);
    let sent = audit.per_byte(counts.copied_in) + audit.per_byte(counts.orphan_copied);
    Some((flagged, sent.min(1.0))).filter(|(flagged, sent)| (flagged - sent).abs() > SLACK)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::audit;
    use syscost_measure::ledger::{Counts, Functions};

    fn lent() -> Counts {
        Counts { uncopied_in: 1000, copied_out: 1000, ..Counts::default() }
    }

    fn copied() -> Counts {
        Counts { copied_in: 1000, copied_out: 1000, ..Counts::default() }
    }

    /// Of a way that waits for completions, all of them flagged.
    fn asked(counts: Counts) -> Audit {
        audit("msg_zerocopy", Some(counts), (8, 8))
    }

    fn counted(audit: &Audit) -> ClaimCount {
        claim(audit).expect("a counted audit says something").counted
    }

    fn more(at: &[(CopyPlace, f64)], again: f64) -> ClaimCount {
        ClaimCount::Copied { at: at.to_vec(), again }
    }

    #[test]
    fn what_a_name_promises_is_compared_with_the_bytes() {
        use CopyPlace::{IntoKernel, Orphan, UserSpace};
        let orphaned = Counts { orphan_copied: 1000, ..lent() };
        assert_eq!(counted(&asked(orphaned)), more(&[(Orphan, 1.0)], 0.0));
        let mixed = Counts { copied_in: 400, uncopied_in: 600, orphan_copied: 600, ..lent() };
        assert_eq!(counted(&asked(mixed)), more(&[(IntoKernel, 0.4), (Orphan, 0.6)], 0.0));
        let again = Counts { orphan_copied: 1170, retransmitted: 170, ..lent() };
        assert_eq!(counted(&asked(again)), more(&[(Orphan, 1.17)], 0.17));
        assert_eq!(claim(&asked(lent())).unwrap().kept(), Some(true));
        let plain = audit("sendmsg", Some(copied()), (0, 0));
        assert_eq!(claim(&plain), None, "one copy was promised");
        let gathered = Audit { user_copied: 1000, ..plain };
        assert_eq!(counted(&gathered), more(&[(UserSpace, 1.0), (IntoKernel, 1.0)], 0.0));
        let packed = Audit { user_copied: 1000, ..audit("pack_send", Some(copied()), (0, 0)) };
        assert_eq!(claim(&packed), None, "two copies were promised");
    }

    #[test]
    fn nothing_is_claimed_of_what_was_not_counted_or_does_not_add_up() {
        assert_eq!(counted(&audit("msg_zerocopy", None, (8, 8))), ClaimCount::No);
        assert_eq!(claim(&audit("sendmsg", None, (0, 0))), None);
        assert_eq!(counted(&asked(Counts { uncopied_in: 900, ..lent() })), ClaimCount::Wrong);
        let functions = Functions { sent: 1000, sent_uncopied: 995, received: 1000, ..Functions::default() };
        let differ = Audit { functions: Some(functions), ..asked(lent()) };
        assert_eq!(claim(&differ).unwrap().kept(), None, "two readings that differ prove nothing");
    }

    #[test]
    fn the_flag_is_compared_with_the_count() {
        assert_eq!(contradiction(&asked(lent())), Some((1.0, 0.0)), "flagged and not copied");
        assert_eq!(contradiction(&asked(Counts { orphan_copied: 1003, ..lent() })), None);
        let half = Audit { completions: 100, completions_copied: 52, ..asked(copied()) };
        assert_eq!(contradiction(&half), Some((0.52, 1.0)), "every byte was copied");
    }
}
