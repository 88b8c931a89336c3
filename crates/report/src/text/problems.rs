//! What is wrong with figures, in words: one sentence a kind, with its range.

use crate::text::words::{capital, count, figure, percent};
use syscost_analyze::problem::{Fault, Problem, ProblemKind, SampleShare};
use syscost_core::sample::Metric;
use syscost_core::units::{Unit, significant};
use syscost_measure::receiver;

const LONGER: Option<&str> = Some("a longer --time-limit");
const DOCTOR: Option<&str> = Some("see `syscost doctor`");
const CHECK: Option<&str> = Some("see `syscost check`");

/// What problems of one kind share, which completes "4 cases: ", and what helps against them; `None`: nothing does, or it is
/// said with the reason.
pub fn about(kind: &ProblemKind) -> (String, Option<&'static str>) {
    let (name, remedy) = match kind {
        ProblemKind::Impossible { fault, .. } => fault_about(*fault),
        ProblemKind::Unverified(_) => ("unverified samples", CHECK),
        ProblemKind::Marked { mark, .. } => return (format!("samples marked {mark}"), DOCTOR),
        ProblemKind::LatePrediction => ("late predictions", None),
        ProblemKind::FewRounds { .. } => ("few rounds", LONGER),
        ProblemKind::WideInterval { .. } => ("wide intervals", LONGER),
        ProblemKind::TwoLevels { .. } => ("two levels", DOCTOR),
        ProblemKind::Outliers { .. } => ("outliers", DOCTOR),
        ProblemKind::Drift { .. } => ("drift", DOCTOR),
        ProblemKind::Shift { .. } => ("changed level", DOCTOR),
        ProblemKind::NoSteadyState => ("no steady state", DOCTOR),
        ProblemKind::WarmUp { .. } => ("short warm-up", Some("a longer `warmup` under [timing] of a spec")),
        ProblemKind::SlowMachine { .. } => ("slow machine", DOCTOR),
        // Every rival carries nearly the same: ratios lose it (docs/deciding.md).
        ProblemKind::HarnessShare { .. } => ("harness share", None),
        ProblemKind::NotDelivered => ("nothing delivered", None),
        ProblemKind::ReceiveCopied { receiver, .. } => return (format!("copied by {receiver}"), None),
        ProblemKind::NothingToPoll => ("nothing to poll", None),
        ProblemKind::NoScatterGather => ("no scatter-gather", None),
    };
    (name.into(), remedy)
}

fn fault_about(fault: Fault) -> (&'static str, Option<&'static str>) {
    match fault {
        Fault::Clock => ("impossible clock", CHECK),
        Fault::Short => ("short windows", DOCTOR),
        Fault::Bytes => ("impossible bytes", CHECK),
        Fault::CpuTime => ("impossible CPU time", CHECK),
        Fault::Share => ("impossible shares", CHECK),
        // What was subtracted from a figure may have been disturbed.
        Fault::Negative => ("negative figures", DOCTOR),
    }
}

/// Completes "3 of 24 samples were refused: ".
fn refused(fault: Fault) -> &'static str {
    match fault {
        Fault::Clock => "their window has no length",
        Fault::Short => "their window lasted less than half the time asked",
        Fault::Bytes => "their bytes are not their messages times the size",
        Fault::CpuTime => "they have more CPU time than their threads had",
        Fault::Share => "a share is outside 0 to 1",
        Fault::Negative => "a figure is negative",
    }
}

/// One sentence for problems of one kind.
pub fn summary(problems: &[&Problem]) -> String {
    let Some(first) = problems.first() else { return String::new() };
    let n = problems.len();
    let is = |one: &str, many: &str| format!("{} {}", count(n, "figure"), if n == 1 { one } else { many });
    let have = is("has", "have");
    let span = |show: &dyn Fn(f64) -> String| range(problems.iter().map(|p| size(&p.kind)), show);
    match &first.kind {
        ProblemKind::Impossible { fault, .. } => {
            format!("{} were refused: {}.", samples(problems), refused(*fault))
        }
        ProblemKind::Unverified(_) => format!("{} failed verification and are not used.", samples(problems)),
        ProblemKind::Marked { mark, .. } => format!("{} are marked {mark} and not used.", samples(problems)),
        ProblemKind::LatePrediction => {
            format!("Not used, as made after the first round: {}.", count(n, "prediction"))
        }
        ProblemKind::FewRounds { .. } => format!("{have} too few rounds for an interval."),
        ProblemKind::WideInterval { asked, .. } => {
            let widest = problems.iter().map(|p| size(&p.kind)).fold(0.0, f64::max);
            format!(
                // Figures with fewer rounds are a kind of their own, however wide.
                "{} with enough rounds for an interval {} imprecise: {}±{}, where ±{} was asked.",
                count(n, "figure"),
                if n == 1 { "is" } else { "are" },
                if n == 1 { "" } else { "up to " },
                percent(widest),
                percent(*asked)
            )
        }
        ProblemKind::TwoLevels { .. } => {
            format!(
                "{have} two levels, {} apart. The median may be of one of them or lie between.",
                span(&signed)
            )
        }
        ProblemKind::Outliers { .. } => {
            let rounds = span(&|n| n.to_string());
            format!("{have} outlying rounds ({rounds} each). They stay in the median.")
        }
        ProblemKind::Drift { .. } => {
            format!("{} over the rounds: {} from start to end.", is("drifts", "drift"), span(&signed))
        }
        ProblemKind::Shift { .. } => {
            format!("{} level during the run: {}.", is("changes", "change"), span(&signed))
        }
        ProblemKind::NoSteadyState => format!("{have} no steady state over the rounds."),
        ProblemKind::WarmUp { .. } => format!(
            "{} to warm up: the first sample of a round is {} off the later ones.",
            is("takes longer", "take longer"),
            span(&signed)
        ),
        ProblemKind::SlowMachine { slower_than, .. } => format!(
            "{} mostly on rounds in which the machine was more than {} slower than usual.",
            is("rests", "rest"),
            percent(*slower_than)
        ),
        ProblemKind::HarnessShare { .. } => {
            format!("{} the harness's own clocks and loops: {}.", is("contains", "contain"), span(&percent))
        }
        ProblemKind::NotDelivered => {
            format!("{} only a bound: the receiver drops the data.", is("is", "are"))
        }
        ProblemKind::ReceiveCopied { receiver, .. } => {
            let why = receiver::find(receiver).and_then(|receiver| receiver.copies_because());
            let why = why.map(|why| format!(" {}. What helps: {}.", capital(&why.reason), why.remedy));
            let cases = count(n, "case");
            format!(
                "{receiver} copied {} of the bytes in {cases}.{}",
                span(&percent),
                why.unwrap_or_default()
            )
        }
        ProblemKind::NothingToPoll => {
            format!("Busy polling had no effect in {}: no queue can be polled (NAPI).", count(n, "case"))
        }
        ProblemKind::NoScatterGather => format!(
            "In {} the sending device cannot gather: the kernel copies every zero-copy packet.",
            count(n, "case")
        ),
    }
}

/// What the range of a kind's sentence is made from; ratios of 1 are no change.
fn size(kind: &ProblemKind) -> f64 {
    match kind {
        ProblemKind::FewRounds { rounds } => f64::from(*rounds),
        ProblemKind::WideInterval { half_width, .. } => *half_width,
        ProblemKind::TwoLevels { low, high, .. } => high / low,
        ProblemKind::Outliers { values, .. } => values.len() as f64,
        ProblemKind::Drift { change } | ProblemKind::Shift { change, .. } => 1.0 + change,
        ProblemKind::WarmUp { first_over_later } => first_over_later.value,
        ProblemKind::ReceiveCopied { copied, .. } => *copied,
        ProblemKind::HarnessShare { slices, windows } => slices.unwrap_or(0.0).max(windows.unwrap_or(0.0)),
        _ => 0.0,
    }
}

/// One problem, for a column beside its case: `±31 % after 9 rounds`.
pub fn detail(kind: &ProblemKind, metric: Option<&Metric>) -> String {
    let unit = metric.map_or(Unit::Ratio, |metric| metric.unit);
    match kind {
        ProblemKind::Impossible { samples, .. }
        | ProblemKind::Unverified(samples)
        | ProblemKind::Marked { samples, .. } => share(*samples),
        ProblemKind::LatePrediction
        | ProblemKind::NoSteadyState
        | ProblemKind::NotDelivered
        | ProblemKind::NothingToPoll
        | ProblemKind::NoScatterGather => String::new(),
        ProblemKind::ReceiveCopied { copied, .. } => percent(*copied),
        ProblemKind::FewRounds { rounds } => count(*rounds as usize, "round"),
        ProblemKind::WideInterval { rounds, half_width, .. } => {
            format!("±{} after {}", percent(*half_width), count(*rounds as usize, "round"))
        }
        ProblemKind::TwoLevels { low, high, low_share, p } => format!(
            "{} in {} of the rounds, else {} (p = {})",
            figure(*low, unit),
            percent(*low_share),
            figure(*high, unit),
            significant(*p)
        ),
        ProblemKind::Outliers { values, median } => {
            let values: Vec<String> = values.iter().map(|value| figure(*value, unit)).collect();
            format!("{}; median {}", values.join(", "), figure(*median, unit))
        }
        ProblemKind::Drift { change } => signed(1.0 + change),
        ProblemKind::Shift { after_rounds, change } => {
            format!("{} after {}", signed(1.0 + change), count(*after_rounds, "round"))
        }
        ProblemKind::WarmUp { first_over_later } => {
            let ends = [first_over_later.low, first_over_later.high].map(signed);
            format!("{} [{}]", signed(first_over_later.value), ends.join(", "))
        }
        ProblemKind::SlowMachine { slow_rounds, rounds, .. } => {
            format!("{slow_rounds} of {}", count(*rounds, "round"))
        }
        ProblemKind::HarnessShare { slices, windows } => {
            let parts = [(slices, "slices"), (windows, "windows")];
            let told =
                |(share, name): (&Option<f64>, &str)| Some(format!("{} of {name}", percent((*share)?)));
            parts.into_iter().filter_map(told).collect::<Vec<_>>().join(", ")
        }
    }
}

/// `3 of 24 samples at 2 cases`
fn samples(problems: &[&Problem]) -> String {
    let all = problems.iter().filter_map(|p| match &p.kind {
        ProblemKind::Impossible { samples, .. }
        | ProblemKind::Unverified(samples)
        | ProblemKind::Marked { samples, .. } => Some(*samples),
        _ => None,
    });
    let (some, of) = all.fold((0, 0), |sum, share| (sum.0 + share.samples, sum.1 + share.of));
    format!("{} of {}", share(SampleShare { samples: some, of }), count(problems.len(), "case"))
}

fn share(share: SampleShare) -> String {
    format!("{} of {}", share.samples, count(share.of, "sample"))
}

/// `+12 %`, `-3 %`, `3.2x`
fn signed(ratio: f64) -> String {
    match ratio {
        many if many >= 2.0 => format!("{}x", significant(many)),
        more if more >= 1.0 => format!("+{}", percent(more - 1.0)),
        less => format!("-{}", percent(1.0 - less)),
    }
}

fn range(values: impl Iterator<Item = f64>, show: &dyn Fn(f64) -> String) -> String {
    let ends = values.map(|value| (value, value)).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)));
    let Some((low, high)) = ends.map(|(low, high)| (show(low), show(high))) else { return String::new() };
    if low == high { high } else { format!("{low} to {high}") }
}
