//! The cost model in words: terms, where counts come from, what weakens an account.

use syscost_analyze::model::counts::CountSource;
use syscost_analyze::model::{Accuracy, TermGroup};
use syscost_core::units::count;
use syscost_host::Unavailable;
use syscost_measure::probe::{Probe, tcp_path};

/// Errors as factors, and whether they are on one side.
pub fn accuracy(accuracy: &Accuracy) -> String {
    let cases = count(accuracy.cases, "case");
    format!(
        "Added up from steps that were timed by themselves, the CPU time of a message is predicted within {:.2}x in half \
         of {cases}. It is within {:.2}x in nine of ten. {}",
        accuracy.median,
        accuracy.ninth_decile,
        side(accuracy)
    )
}

/// A share of cases that no two even sides would have: most errors are on it.
const ONE_SIDED: f64 = 0.75;

fn side(accuracy: &Accuracy) -> String {
    let Accuracy { cases, too_low, bias, .. } = *accuracy;
    let mean = format!("the geometric mean of predicted over measured is {bias:.2}");
    if too_low as f64 >= ONE_SIDED * cases as f64 {
        format!("The error is one-sided: too low in {too_low} of {cases}, and {mean}.")
    } else if (cases - too_low) as f64 >= ONE_SIDED * cases as f64 {
        format!("The error is one-sided: too high in {} of {cases}, and {mean}.", cases - too_low)
    } else {
        format!("It is too low in {too_low} of {cases}, and {mean}.")
    }
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

/// Of an account whose congestion control paces.
pub const PACED: &str = "the congestion control paces: no term has the cost of its timers";

/// What a run without the steps lacks.
pub fn lacking() -> Unavailable {
    let probe = tcp_path::TcpPath.about();
    Unavailable {
        reason: format!("the run has no usable figures of \"{}\" on the path of its transfers", probe.title),
        remedy: format!("syscost run default (its spec has id = \"{}\" beside the transfer)", probe.id),
    }
}
