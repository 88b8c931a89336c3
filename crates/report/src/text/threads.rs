//! Where does scaling with threads stop, and why?

use super::figures::{at_places, short_place, times};
use crate::text::words::{Words, count, percent};
use syscost_analyze::answer::AnswerVerdict;
use syscost_analyze::compare::study::RIVALS;
use syscost_analyze::finding::along::LargestChange;
use syscost_analyze::finding::threads::{GAIN, Scaling, ScalingStop};
use syscost_analyze::limits::limiter::Limit;
use syscost_measure::probe::transfer::Transfer;

/// Where it is decided; `Scaling stops at 2 to 4 threads (12 of 16 places), and more are slower at 3.`
pub fn headline(all: &Scaling, verdict: AnswerVerdict) -> String {
    match verdict {
        AnswerVerdict::Undecided => {
            format!("Undecided where scaling stops: more threads may still gain {}.", percent(GAIN))
        }
        AnswerVerdict::No => rising(all),
        _ => stopping(all),
    }
}

fn rising(all: &Scaling) -> String {
    let most = all.stops.last().map_or(0, |stop| stop.threads);
    format!("Throughput rises up to {}, the most measured.", count(most as usize, "thread"))
}

fn stopping(all: &Scaling) -> String {
    let settled = |stop: &&ScalingStop| stop.places > stop.rising + stop.undecided;
    let stops: Vec<&ScalingStop> = all.stops.iter().filter(settled).collect();
    let places: usize = stops.iter().map(|stop| stop.places - stop.rising - stop.undecided).sum();
    let slower: usize = stops.iter().map(|stop| stop.slower).sum();
    let (Some(first), Some(last)) = (stops.first(), stops.last()) else { return String::new() };
    let at = match first.threads == last.threads {
        true => count(last.threads as usize, "thread"),
        false => format!("{} to {} threads", first.threads, last.threads),
    };
    let falls = if slower > 0 { format!(", and more are slower at {slower}") } else { String::new() };
    let none = percent(GAIN);
    format!("Scaling stops at {at}{}: more gain less than {none}{falls}.", at_places(places, all.places))
}

/// The gain and the loss with whose they are, and the limit of most places.
pub fn sentence(all: &Scaling, words: &Words) -> String {
    let change = |verb: &str, change: &LargestChange| {
        let LargestChange { from, to, ratio, place } = change;
        let name = words.way(&Transfer, place, RIVALS.id);
        let who = format!("{name} {}", short_place(place)).trim().to_string();
        let who = if who.is_empty() { who } else { format!("{who}, ") };
        format!("{verb} up to {} ({who}{from} to {to})", times(ratio.value))
    };
    let gain = all.gain.as_ref().map(|gain| change("gain", gain));
    let loss = all.loss.as_ref().map(|loss| change("lose", loss));
    let changes: Vec<String> = gain.into_iter().chain(loss).collect();
    let mut told = match changes.is_empty() {
        true => "No two thread counts differ significantly in throughput.".to_string(),
        false => format!("More threads {}.", changes.join(" and ")),
    };
    if let Some((limit, places)) = all.limits.iter().max_by_key(|(_, places)| *places) {
        let of: usize = all.limits.iter().map(|(_, places)| places).sum();
        told += &format!(" Where scaling stops, {}{}.", limited(*limit), at_places(*places, of));
    }
    if let Some(cpus) = all.cpus_allowed {
        told += &format!(" The run had {}.", count(cpus, "CPU"));
    }
    told
}

fn limited(limit: Limit) -> &'static str {
    match limit {
        Limit::BothCpus => "the CPUs of both sides are the limit",
        Limit::SenderCpu => "the sender's CPU is the limit",
        Limit::ReceiverCpu => "the receiver's CPU is the limit",
        Limit::Link => "the link is the limit",
        Limit::NoSide => "no side fills its CPUs",
        Limit::Undecided => "the limit is undecided",
    }
}
