//! Why a figure is worse: what its events explain at their price, or the command that would show it.

use super::rulers::typed;
use crate::text::words::{capital, figure};
use syscost_analyze::cause::{Cause, PricedEvents};
use syscost_core::axis::{Point, Value};
use syscost_core::stats::Estimate;
use syscost_core::units::{Unit, and, significant};
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, PATH, THREADS};
use syscost_measure::probe::{self, Probe, transfer};

/// `Sleeps of the receiver explain 82 % of it (95 % CI 61 % to 104 %).`
pub fn sentence(cause: &Cause) -> String {
    match cause {
        Cause::Priced(events) => {
            let each: Vec<String> =
                events.iter().map(|one| format!("{}.", capital(&explained(one)))).collect();
            each.join(" ")
        }
        Cause::Together { events: all, share, .. } => {
            let each: Vec<String> = all
                .iter()
                .map(|one| format!("{} ({})", events(one.metric), percent(one.share.value)))
                .collect();
            format!("Together, {} explain {}.", and(&each), of_it(share))
        }
        Cause::NotShown { nearest, ruled_out } => {
            // Too few rounds count events, or these have no price: they may be the cause.
            let verdict = if *ruled_out { "Cause not shown by this run" } else { "Cause undecided" };
            let nearest =
                nearest.as_ref().map_or(String::new(), |nearest| format!(": {}", explained(nearest)));
            format!("{verdict}{nearest}.")
        }
    }
}

/// How often the events come, and what each costs.
pub fn price(one: &PricedEvents) -> String {
    format!(
        "They come {} instead of {} times a message, at {} each.",
        significant(one.per_message.worse),
        significant(one.per_message.better),
        figure(one.price_ns, Unit::Nanoseconds)
    )
}

fn explained(one: &PricedEvents) -> String {
    format!("{} explain {}", events(one.metric), of_it(&one.share))
}

fn percent(share: f64) -> String {
    format!("{:.0} %", (share * 100.0).round() + 0.0)
}

/// `82 % of it (95 % CI 61 % to 104 %)`
fn of_it(share: &Estimate) -> String {
    let Estimate { value, low, high, level, .. } = share;
    let level = (level * 100.0 + 1e-9).floor();
    format!("{} of it ({level:.0} % CI {} to {})", percent(*value), percent(*low), percent(*high))
}

/// Of a counter: `sleeps of the receiver`
pub fn events(counter: &'static str) -> &'static str {
    match counter {
        "copied_fraction" => "copies in the kernel",
        "sender_involuntary_switches_per_message" => "preemptions of the sender",
        "receiver_involuntary_switches_per_message" => "preemptions of the receiver",
        "sender_voluntary_switches_per_message" => "sleeps of the sender",
        "receiver_voluntary_switches_per_message" => "sleeps of the receiver",
        "sender_system_calls_per_message" => "send calls",
        "receiver_system_calls_per_message" => "receive calls",
        other => other,
    }
}

/// The command that samples where the time goes there: at both ends of a step along an axis.
pub fn command(probe: &str, place: &Point, step: Option<(&str, u64, u64)>) -> String {
    let Some(known) = probe::find(probe).filter(|p| p.about().id == transfer::Transfer.about().id) else {
        return format!("syscost profile {probe}");
    };
    let always = [MECHANISM.id, MESSAGE_BYTES.id, THREADS.id, PATH.id];
    let mut command = "syscost profile".to_string();
    for axis in known.axes() {
        let values: Vec<Value> = match step.filter(|(id, ..)| *id == axis.id) {
            Some((_, from, to)) => vec![Value::Int(from), Value::Int(to)],
            None => place.get(axis.id).cloned().into_iter().collect(),
        };
        if values.is_empty() || (!always.contains(&axis.id) && axis.default() == values) {
            continue;
        }
        let typed: Vec<String> = values.iter().map(|value| typed(&axis, value)).collect();
        command += &format!(" --{} {}", axis.flag, typed.join(","));
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two windows that count sleeps decide nothing of a cause.
    #[test]
    fn a_cause_that_is_not_ruled_out_is_undecided() {
        let told = |ruled_out| sentence(&Cause::NotShown { nearest: None, ruled_out });
        assert_eq!([false, true].map(told), ["Cause undecided.", "Cause not shown by this run."]);
    }
}
