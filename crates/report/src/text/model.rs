//! Accounts in words: terms, where counts come from, how near they and the forecasts come.

use syscost_analyze::model::counts::CountSource;
use syscost_analyze::model::{Account, Accuracy, TermGroup};
use syscost_core::units::count;
use syscost_host::Unavailable;
use syscost_measure::probe::{Probe, tcp_path};

/// The CPU time of a message by the account of its case.
pub fn accounts(accuracy: &Accuracy) -> String {
    let what = "Added up from its case's counts and from steps that were timed by themselves, the CPU time of a message is \
                accounted for";
    within(what, "accounted for", accuracy)
}

/// The same as it was written down before the first sample of its case.
pub fn forecasts(accuracy: &Accuracy) -> String {
    within("Before its case was measured, the CPU time of a message was forecast", "forecast", accuracy)
}

/// Errors as factors, and which side they are on.
fn within(what: &str, verb: &str, accuracy: &Accuracy) -> String {
    let Accuracy { cases, median, ninth_decile, bias, too_low } = accuracy;
    format!(
        "{what} within {median:.2}x in half of {}. It is within {ninth_decile:.2}x in nine of ten. It is too low in \
         {too_low} of {cases}, and the geometric mean of {verb} over measured is {bias:.2}.",
        count(*cases, "case")
    )
}

/// Measured less the sum of the terms.
pub const NOT_EXPLAINED: &str = "not explained";

pub fn group(group: TermGroup) -> &'static str {
    match group {
        TermGroup::UserCopy => "copy in user memory",
        TermGroup::Calls => "send calls and segments",
        TermGroup::CopyIn => "copy into the kernel",
        TermGroup::Lent => "lent pages, orphan copy",
        TermGroup::Completions => "completions",
        TermGroup::Receive => "receive calls",
        TermGroup::CopyOut => "copy out of the kernel",
        TermGroup::Sleep => "sleeping and waking",
    }
}

/// By its id.
pub fn term(id: &'static str) -> &'static str {
    match id {
        "pack" => "copy in user memory",
        "append" => "calls that only queue bytes",
        "segment" => "calls that send a segment",
        "after_receive" => "calls that follow a receive call",
        "further" => "further segments of a call",
        "pieces" => "further pieces of a call",
        "copy_in" => "copy into the kernel",
        "lend" => "calls that lend pages",
        "lent_bytes" => "pinned pages and orphan copy",
        "completions" => "checks for completions",
        "sender_sleep" => "the sender sleeps and wakes",
        "wake" => "waking the receiver",
        "receive" => "receive calls and acknowledgements",
        "receive_further" => "receive calls for the rest of a segment",
        "take" => "segments taken",
        "copy_out" => "copy out of the kernel",
        "sleep" => "the receiver sleeps and wakes",
        "sender_wake" => "waking the sender",
        "sender_alternates" | "alternates" => "both sides sleep in turns",
        _ => id,
    }
}

pub fn source(from: &CountSource) -> String {
    match from {
        CountSource::MessageBytes => "bytes of the message".into(),
        CountSource::Calls { calls, messages } => {
            format!("{} for {}", count(*calls as usize, "call"), count(*messages as usize, "message"))
        }
        CountSource::SegmentsOf { bytes } => format!("each call's bytes over {bytes} B, rounded up"),
        CountSource::CallsLessSegments(segments) => {
            format!("calls less segments; segments: {}", source(segments))
        }
        CountSource::Counted => "counted in this case".into(),
        CountSource::Unknown => "not counted here".into(),
    }
}

/// What weakens the account of a case whose segments wait for timers.
pub const PACED: &str = "the congestion control paces: no term has the cost of its timers";

/// What weakens the account of a user's own code.
pub const UNSEEN: &str =
    "each system call that your code told is counted as one that sends; its work in user mode is in no term";

/// What weakens an account.
pub fn caveats(account: &Account) -> Vec<&'static str> {
    let all = [(account.paced, PACED), (account.unseen, UNSEEN)];
    all.into_iter().filter(|(holds, _)| *holds).map(|(_, caveat)| caveat).collect()
}

/// What a run without the steps lacks.
pub fn lacking() -> Unavailable {
    let probe = tcp_path::TcpPath.about();
    Unavailable {
        reason: format!("the run has no usable figures of \"{}\" on the path of its transfers", probe.title),
        remedy: format!("syscost run default (its spec has id = \"{}\" beside the transfer)", probe.id),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_error_is_not_rounded_to_none() {
        let said =
            accounts(&Accuracy { cases: 20, median: 1.04, ninth_decile: 1.35, bias: 1.06, too_low: 7 });
        assert!(
            said.contains(
                "accounted for within 1.04x in half of 20 cases. It is within 1.35x in nine of ten."
            ),
            "{said}"
        );
    }
}
