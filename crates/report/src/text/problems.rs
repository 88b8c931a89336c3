//! What is wrong with figures, in words: one sentence a kind, with its range.

use crate::text::words::{capital, count, figure, percent};
use syscost_analyze::problem::{Fault, Problem, ProblemKind, SampleShare};
use syscost_core::sample::Metric;
use syscost_core::units::{Unit, significant};
use syscost_measure::receiver;

/// What problems of one kind share; completes "4 cases: ".
pub fn name(kind: &ProblemKind) -> String {
    match kind {
        ProblemKind::Impossible { fault, .. } => fault_name(*fault).into(),
        ProblemKind::Unverified(_) => "unverified samples".into(),
        ProblemKind::Marked { mark, .. } => format!("samples marked {mark}"),
        ProblemKind::LatePrediction => "late predictions".into(),
        ProblemKind::FewRounds { .. } => "few rounds".into(),
        ProblemKind::WideInterval { .. } => "wide intervals".into(),
        ProblemKind::TwoLevels { .. } => "two levels".into(),
        ProblemKind::Outliers { .. } => "outliers".into(),
        ProblemKind::Drift { .. } => "drift".into(),
        ProblemKind::Shift { .. } => "changed level".into(),
        ProblemKind::NoSteadyState => "no steady state".into(),
        ProblemKind::WarmUp { .. } => "short warm-up".into(),
        ProblemKind::SlowMachine { .. } => "slow machine".into(),
        ProblemKind::HarnessShare { .. } => "harness share".into(),
        ProblemKind::NotDelivered => "nothing delivered".into(),
        ProblemKind::ReceiveCopied { receiver, .. } => format!("copied by {receiver}"),
        ProblemKind::NothingToPoll => "nothing to poll".into(),
        ProblemKind::NoScatterGather => "no scatter-gather".into(),
    }
}

fn fault_name(fault: Fault) -> &'static str {
    match fault {
        Fault::Clock => "impossible clock",
        Fault::Short => "short windows",
        Fault::Bytes => "impossible bytes",
        Fault::CpuTime => "impossible CPU time",
        Fault::Share => "impossible shares",
        Fault::Negative => "negative figures",
        Fault::Throughput => "impossible throughput",
    }
}

/// Completes "3 of 24 samples ".
fn refused(fault: Fault) -> &'static str {
    match fault {
        Fault::Clock => "were refused: their window has no length",
        Fault::Short => "were refused: their window lasted less than half the time asked",
        Fault::Bytes => "were refused: their bytes are not their messages times the size",
        Fault::CpuTime => "were refused: they have more CPU time than their threads had",
        Fault::Share => "were refused: a share is outside 0 to 1",
        Fault::Negative => "were refused: a figure is negative",
        Fault::Throughput => "cannot be true: the machine cannot move so much",
    }
}

/// What helps against it; `None`: nothing does, or it is said with the reason.
pub fn remedy(kind: &ProblemKind) -> Option<&'static str> {
    match kind {
        ProblemKind::FewRounds { .. } | ProblemKind::WideInterval { .. } => Some("a longer --time-limit"),
        // What was subtracted from a figure may have been disturbed.
        ProblemKind::Impossible { fault: Fault::Short | Fault::Negative, .. }
        | ProblemKind::Marked { .. }
        | ProblemKind::TwoLevels { .. }
        | ProblemKind::Outliers { .. }
        | ProblemKind::Drift { .. }
        | ProblemKind::Shift { .. }
        | ProblemKind::NoSteadyState
        | ProblemKind::SlowMachine { .. } => Some("see `syscost doctor`"),
        ProblemKind::Impossible { .. } | ProblemKind::Unverified(_) => Some("see `syscost check`"),
        ProblemKind::WarmUp { .. } => Some("a longer `warmup` under [timing] of a spec"),
        // Every rival carries nearly the same: ratios lose it (docs/deciding.md).
        ProblemKind::HarnessShare { .. }
        | ProblemKind::LatePrediction
        | ProblemKind::NotDelivered
        | ProblemKind::ReceiveCopied { .. }
        | ProblemKind::NothingToPoll
        | ProblemKind::NoScatterGather => None,
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
        ProblemKind::Impossible { fault, .. } => format!("{} {}.", samples(problems), refused(*fault)),
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
        ProblemKind::Impossible { samples, bound, .. } => match bound {
            Some(bound) => format!("{}, above {}", share(*samples), figure(*bound, Unit::BitsPerSecond)),
            None => share(*samples),
        },
        ProblemKind::Unverified(samples) | ProblemKind::Marked { samples, .. } => share(*samples),
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
