//! What to use, in words: a headline for each situation, then a sentence a range; each under 25 words.

mod batching;

use crate::Statement;
use crate::text::words::{Words, and, capital, count, percent};
use std::collections::BTreeSet;
use syscost_analyze::answer::CopiedBy;
use syscost_analyze::cells::metric;
use syscost_analyze::compare::study::{HEADLINES, RIVALS};
use syscost_analyze::compare::winners::Sure;
use syscost_analyze::latency::RANKED;
use syscost_analyze::recommend::advice::{Advice, AdviceGain, AdviceRange, WayAt};
use syscost_analyze::recommend::batching::{BatchingAdvice, BatchingRange};
use syscost_analyze::recommend::line::Way;
use syscost_analyze::recommend::situation::Situation;
use syscost_analyze::recommend::{Recommendation, SituationAdvice};
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Better;
use syscost_core::units::significant;
use syscost_experiment::run::Run;
use syscost_measure::mechanism::MSG_MORE;
use syscost_measure::probe;
use syscost_measure::probe::tcp_latency::axes::RATE;
use syscost_measure::probe::transfer::axes::THREADS;

/// Words of a sentence that is read at once.
const LONGEST: usize = 24;
/// Ways named of a range, and ranges named of a headline.
const NAMES: usize = 2;
const RANGES: usize = 4;

/// tcp(7): 200 ms are the ceiling of TCP_CORK, which MSG_MORE is for one call (send(2)).
const HELD_BACK: &str = "MSG_MORE holds back what does not fill a segment, for up to 200 ms.";

/// What somebody in one situation should use, by one metric and at the same thread counts.
#[derive(Clone, Debug, PartialEq)]
pub struct AdviceText {
    pub situation: Situation,
    /// What to use where messages may wait for one another, if that was measured and helps.
    pub batched: Option<Statement>,
    pub headline: Statement,
    /// A sentence a range, and what else is to be known.
    pub details: Vec<Statement>,
    /// `CPU per message over veth (TCP_NODELAY on), 1 and 2 threads, one message a call`
    pub scope: String,
}

/// The whole recommendation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RecommendationText {
    pub advice: Vec<AdviceText>,
    /// What holds for all of it.
    pub notes: Vec<Statement>,
}

impl RecommendationText {
    /// In the order of reading.
    pub fn statements(&self) -> Vec<Statement> {
        let headlines = |one: &'_ AdviceText| one.batched.clone().into_iter().chain([one.headline.clone()]);
        let advice = self.advice.iter().flat_map(|one| headlines(one).chain(one.details.clone()));
        advice.chain(self.notes.clone()).collect()
    }
}

pub fn recommendation(run: &Run, found: &Recommendation, along: &'static str) -> RecommendationText {
    let words = Words::of(run);
    let namer = AdviceWords { run, words: &words, along };
    let advice = found.situations.iter().flat_map(|of| namer.situation(of)).collect();
    let told = || found.situations.iter().flat_map(|of| &of.advice);
    let cells = told().next().map(|advice| advice.cells.clone()).unwrap_or_default();
    let batching = || told().filter_map(|advice| advice.batching.as_ref());
    let measured = batching().any(|known| matches!(known, BatchingAdvice::Measured(_)));
    let unmeasured = batching().filter(|_| !measured).find_map(|known| match known {
        BatchingAdvice::NotMeasured { command } => Some(command),
        BatchingAdvice::Measured(_) => None,
    });
    let waits = batching::waits(batching());
    let batching = unmeasured.map(|command| format!("Batching was not measured: `{command}`.")).or(waits);
    let notes = batching.into_iter().chain(found.caveats.iter().map(super::caveat));
    let notes = notes.map(|text| Statement { text, cells: cells.clone() }).collect();
    RecommendationText { advice, notes }
}

/// Completes "If ".
pub fn condition(situation: Situation) -> &'static str {
    match situation {
        Situation::Pieces => "your message lies in pieces",
        Situation::OneBuffer => "your message is one buffer",
        Situation::File => "your payload is a file",
        Situation::EncryptedBuffer => "your message is one buffer and must be encrypted",
        Situation::EncryptedFile => "your payload is a file and must be encrypted",
        Situation::Anywhere => "you can choose freely",
    }
}

/// `MSG_ZEROCOPY ..: the kernel copied every byte.`
pub fn copied(mechanisms: &[String], by: CopiedBy) -> String {
    let names = and(mechanisms);
    match by {
        CopiedBy::Counted => {
            format!("The kernel copied what {names} should not copy (bytes counted in the kernel).")
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

struct AdviceWords<'a> {
    run: &'a Run,
    words: &'a Words,
    along: &'static str,
}

impl AdviceWords<'_> {
    fn situation(&self, of: &SituationAdvice) -> Vec<AdviceText> {
        let mut told: Vec<(Vec<u64>, &Advice)> = Vec::new();
        for advice in &of.advice {
            match told.last_mut().filter(|(_, last)| alike(last, advice)) {
                Some((threads, _)) => threads.extend(&advice.scope.threads),
                None => told.push((advice.scope.threads.clone(), advice)),
            }
        }
        let first = told.first().map(|(_, advice)| advice.metric);
        let several = told.len() > 1;
        let scope = self.scope(&told);
        let mut texts: Vec<AdviceText> = told
            .iter()
            .map(|(threads, advice)| {
                let place = if several { self.apart(advice, threads) } else { String::new() };
                self.advice(of.situation, &place, advice, first, &scope)
            })
            .collect();
        if let Some(last) = texts.last_mut() {
            let cells = last.headline.cells.clone();
            let mut leads = of.advice.iter().flat_map(|advice| &advice.ranges).map(|range| &range.lead);
            let held_back = leads.any(|lead| lead.text_at(MSG_MORE.id) == Some("on"));
            let held_back = held_back.then(|| HELD_BACK.to_string());
            let caveats = held_back.into_iter().chain(of.caveats.iter().map(super::caveat));
            last.details.extend(caveats.map(|text| Statement { text, cells: cells.clone() }));
        }
        texts
    }

    fn advice(
        &self,
        situation: Situation,
        place: &str,
        advice: &Advice,
        first: Option<&str>,
        scope: &str,
    ) -> AdviceText {
        let title = self.title(advice.metric);
        // The note says which metric the first is; beside advice by cost a latency says it too.
        let beside_cost = RANKED.contains(&advice.metric) && metric(self.run, HEADLINES[0]).is_some();
        let is_first = first == Some(advice.metric) && !beside_cost;
        let need = if is_first { String::new() } else { format!(", for {title}") };
        let is_batched = matches!(advice.batching, Some(BatchingAdvice::Measured(_)));
        let at_place =
            match (is_batched && advice.scope.messages_per_call == Some(1), place.strip_suffix(')')) {
                (false, _) => place.to_string(),
                (true, Some(others)) => format!("{others}, unbatched)"),
                (true, None) => format!("{place} (unbatched)"),
            };
        let lead = format!("If {}{need}{at_place}", condition(situation));
        let statement = |text: String| Statement { text, cells: advice.cells.clone() };
        let by = if is_first { place.trim_start().to_string() } else { format!("by {title}{place}") };
        let bare = by.strip_prefix('(').and_then(|by| by.strip_suffix(')')).unwrap_or(&by);
        let by = if bare.is_empty() { String::new() } else { format!("{}: ", capital(bare)) };
        let ranges = advice.ranges.iter().map(|range| self.range(advice, range));
        let mut details: Vec<Statement> =
            ranges.filter(|text| !text.is_empty()).map(|text| statement(format!("{by}{text}"))).collect();
        // Where no difference is significant by the first metric, the headline has said so.
        let compared = advice.ranges.iter().any(|range| range.sure != Sure::Alone);
        if !advice.also.is_empty() && compared && self.all_open(advice).is_none() {
            let metrics: Vec<String> = advice.also.iter().map(|id| self.title(id)).collect();
            details.push(statement(format!("By {} nothing is significantly better.", and(&metrics))));
        }
        if let Some(BatchingAdvice::Measured(ranges)) = &advice.batching {
            let of_range = |range: &BatchingRange| {
                let text = format!("{by}{}", self.batching(advice, range));
                Statement { text, cells: range.cells.clone() }
            };
            details.extend(ranges.iter().map(of_range));
        }
        AdviceText {
            situation,
            batched: self.batched(&format!("If {}{need}{place}", condition(situation)), advice),
            headline: statement(self.headline(&lead, advice)),
            details,
            scope: scope.to_string(),
        }
    }

    /// What tells this advice from the other of its situation, but the metric: ` at 1 thread (CPU placement none)`.
    fn apart(&self, advice: &Advice, threads: &[u64]) -> String {
        // One answer over all of them needs no word.
        let apart = advice.scope.threads.len() == 1 && self.words.varies(THREADS.id);
        let threads = if apart { format!(" at {}", self.threads(threads)) } else { String::new() };
        format!("{threads}{}", self.words.with(&advice.scope.held))
    }

    /// What all of it holds for.
    fn scope(&self, told: &[(Vec<u64>, &Advice)]) -> String {
        let Some((_, first)) = told.first() else { return String::new() };
        let held = |id: &str| told.iter().all(|(_, one)| one.scope.held.get(id) == first.scope.held.get(id));
        let mut shared = first.scope.held.clone();
        shared.retain(|id| held(id));
        let place = self.words.place(&shared, &[]);
        let calls = first.scope.messages_per_call.map(|n| match n {
            1 => "one message a call".to_string(),
            n => format!("{n} messages a call"),
        });
        let threads: BTreeSet<u64> = told.iter().flat_map(|(threads, _)| threads.iter().copied()).collect();
        let threads: Vec<u64> = threads.into_iter().collect();
        let threads = (!threads.is_empty()).then(|| self.threads(&threads));
        let place = if place.is_empty() { String::new() } else { format!(" {place}") };
        let parts =
            std::iter::once(format!("{}{place}", self.title(first.metric))).chain(threads).chain(calls);
        capital(&parts.collect::<Vec<_>>().join(", "))
    }

    fn threads(&self, counts: &[u64]) -> String {
        crate::text::words::threads(&counts.iter().map(|n| Value::Int(*n)).collect::<Vec<_>>())
    }

    /// Of ways at one size, a metric per byte ranks as per message does.
    fn title(&self, id: &str) -> String {
        let title = metric(self.run, id).map_or(id, |metric| metric.title);
        title.replace("per byte", "per message")
    }

    /// `If your message lies in pieces: pack_send up to 4 KiB (5 % to 6 % cheaper than sendmsg), sendmsg from 64 KiB.`
    fn headline(&self, lead: &str, advice: &Advice) -> String {
        let gains = (0..=advice.ranges.len()).rev();
        let text = |gains: usize| format!("{lead}: {}.", self.parts(advice, gains));
        let fits = gains
            .filter(|_| advice.ranges.len() <= RANGES)
            .map(text)
            .find(|text| text.split_whitespace().count() <= LONGEST);
        fits.unwrap_or_else(|| format!("{lead}: {}.", self.leads(advice)))
    }

    /// `pack_send up to 64 KiB (undecided at some sizes), sendmsg from 256 KiB`: which way and where, and no more.
    fn leads(&self, advice: &Advice) -> String {
        let all = &advice.ranges;
        let mut parts: Vec<String> = Vec::new();
        let mut first = 0;
        for i in 0..all.len() {
            if all.get(i + 1).is_some_and(|next| next.lead == all[first].lead) {
                continue;
            }
            let range = AdviceRange { to: all[i].to, ..all[first].clone() };
            let open = all[first..=i].iter().filter(|one| one.sure == Sure::Undecided).count();
            let open = match open {
                0 => String::new(),
                open if open == i + 1 - first => " (undecided)".into(),
                _ => format!(" (undecided at some {})", self.places()),
            };
            let span = self.span_of(advice, &range, first == 0, i + 1 == all.len());
            parts.push(format!("{} {span}{open}", self.name(advice, &range.lead)));
            first = i + 1;
        }
        parts.join(", ")
    }

    /// The ranges, so many of them with their gain.
    fn parts(&self, advice: &Advice, gains: usize) -> String {
        if let Some(open) = self.all_open(advice) {
            return open;
        }
        let part = |(i, range): (usize, &AdviceRange)| {
            let gain = range.over_next.as_ref().filter(|_| i < gains);
            let gain = gain.map(|gain| format!(" ({})", self.gain(advice, gain)));
            let span = self.span(advice, i);
            match range.sure {
                Sure::Undecided => {
                    let lead = self.name(advice, &range.lead);
                    let others = match &everywhere(range)[..] {
                        [] => String::new(),
                        [other] => format!(" or {}", self.name(advice, &other.way)),
                        others => format!(" or {}", count(others.len(), "other")),
                    };
                    let more = match somewhere(range).len() {
                        0 => String::new(),
                        n => format!(", {n} more at some {}", self.places()),
                    };
                    format!("{lead}{others} {span} (undecided{more})")
                }
                Sure::Alone if self.along == RATE.id => {
                    format!("only {} keeps up {span}", self.name(advice, &range.lead))
                }
                Sure::Alone => format!("only {} was measured {span}", self.name(advice, &range.lead)),
                _ => format!("{} {span}{}", self.name(advice, &range.lead), gain.unwrap_or_default()),
            }
        };
        advice.ranges.iter().enumerate().map(part).collect::<Vec<String>>().join(", ")
    }

    /// Where nothing is decided: `no difference between sendfile and splice is significant`.
    fn all_open(&self, advice: &Advice) -> Option<String> {
        let open = |range: &AdviceRange| {
            range.sure == Sure::Undecided && range.over_next.is_none() && !everywhere(range).is_empty()
        };
        if !advice.ranges.iter().all(open) {
            return None;
        }
        let of_range = |range: &AdviceRange| {
            let rivals = everywhere(range).into_iter().map(|rival| self.name(advice, &rival.way));
            std::iter::once(self.name(advice, &range.lead)).chain(rivals).collect::<Vec<String>>()
        };
        let names: BTreeSet<String> = advice.ranges.iter().flat_map(of_range).collect();
        Some(match names.iter().collect::<Vec<_>>()[..] {
            [one, other] => format!("no difference between {one} and {other} is significant"),
            _ => format!("no difference among the best {} is significant", count(names.len(), "way")),
        })
    }

    /// `up to 4 KiB`, `from 64 KiB`, `at 16 KiB`, `from 1 KiB to 4 KiB`, `at every size`
    fn span(&self, advice: &Advice, i: usize) -> String {
        self.span_of(advice, &advice.ranges[i], i == 0, i + 1 == advice.ranges.len())
    }

    fn span_of(&self, advice: &Advice, range: &AdviceRange, first: bool, last: bool) -> String {
        let AdviceRange { from, to, .. } = *range;
        let sizes = self.words.sizes(self.along, &advice.scope.held);
        let rated = if self.along == RATE.id { " messages/s" } else { "" };
        let show = |value: u64| format!("{}{rated}", sizes.one(value));
        let end = |value: u64| format!("{}{rated}", sizes.bare(value));
        match (first, last) {
            (true, true) if from == to => format!("at {}", show(from)),
            (true, true) => format!("from {} to {}", show(from), end(to)),
            (true, false) => format!("up to {}", show(to)),
            (false, true) => format!("from {}", show(from)),
            _ if from == to => format!("at {}", show(from)),
            _ => format!("from {} to {}", show(from), end(to)),
        }
    }

    fn name(&self, advice: &Advice, way: &Way) -> String {
        match probe::find(&advice.scope.probe) {
            Some(probe) => self.words.way(probe, way, RIVALS.id),
            None => way.text(RIVALS).unwrap_or_default().to_string(),
        }
    }

    fn names<'w>(&self, advice: &Advice, ways: impl Iterator<Item = &'w Way>) -> String {
        let ways: Vec<&Way> = ways.collect();
        let mut names: Vec<String> = ways.iter().take(NAMES).map(|way| self.name(advice, way)).collect();
        if ways.len() > NAMES {
            names.push(format!("{} more", ways.len() - NAMES));
        }
        and(&names)
    }

    /// `5 % to 6 % cheaper than sendmsg`, `.., at 2 of 3 sizes` where the others are undecided
    fn gain(&self, advice: &Advice, gain: &AdviceGain) -> String {
        let id = advice.metric;
        let over = self.name(advice, &gain.over);
        let (low, high) = (gain.smallest.ratio.value, gain.largest.ratio.value);
        // One kind of figure in a range.
        let by = |ratio: f64| if high >= 2.0 { times(ratio) } else { self.by(id, ratio) };
        let (low, high) = (by(low), by(high));
        let range = if low == high { low } else { format!("{low} to {high}") };
        let average = if advice.scope.threads.len() > 1 { "on average " } else { "" };
        let (some, all) = (gain.significant, gain.places);
        let at = if some == all { String::new() } else { format!(", at {some} of {all} {}", self.places()) };
        format!("{average}{range} {} than {over}{at}", self.comparative(id))
    }

    fn places(&self) -> &'static str {
        if self.along == RATE.id { "rates" } else { "sizes" }
    }

    /// How much better, from a ratio that is above 1 where it is: `6 %`, `3.2x`.
    fn by(&self, id: &str, ratio: f64) -> String {
        let lower = metric(self.run, id).is_some_and(|metric| metric.better == Better::Lower);
        match ratio {
            r if r >= 2.0 => times(r),
            r if lower => percent(1.0 - 1.0 / r),
            r => percent(r - 1.0),
        }
    }

    fn comparative(&self, id: &str) -> &'static str {
        match metric(self.run, id).map(|metric| metric.better) {
            Some(Better::Higher) => "faster",
            _ if id.contains("cpu") => "cheaper",
            _ => "lower",
        }
    }

    /// `Up to 4 KiB pack_send costs 12 to 14 us a message. It is 5 % to 6 % cheaper than sendmsg.`
    fn range(&self, advice: &Advice, range: &AdviceRange) -> String {
        let i = advice.ranges.iter().position(|one| one == range).unwrap_or_default();
        let place = capital(&self.span(advice, i));
        let name = self.name(advice, &range.lead);
        let rivals = |list: &[WayAt]| self.names(advice, list.iter().map(|rival| &rival.way));
        if range.sure == Sure::Alone {
            return match us(range) {
                Some(us) => format!("{place} only {name} was measured: {us} a message."),
                None if self.along == RATE.id => format!("{place} only {name} is known to keep up."),
                None => format!("{place} only {name} was measured."),
            };
        }
        let unbeaten = if range.sure == Sure::Undecided { "is unbeaten" } else { "leads" };
        let cost = us(range).map_or(unbeaten.to_string(), |us| format!("costs {us} a message"));
        let over_control = range.over_control.as_ref().filter(|gain| gain.significant > 0);
        let gain = range.over_next.as_ref().or(over_control);
        let places = self.places();
        // Beaten at some places, it may be open at the others.
        let beaten = gain.filter(|gain| gain.significant == gain.places);
        let other = |rival: &&WayAt| beaten.is_none_or(|gain| gain.over != rival.way);
        let others = |list: &[WayAt]| list.iter().filter(other).cloned().collect::<Vec<WayAt>>();
        let at_some = |what: &str, list: &[WayAt]| match list {
            [] => String::new(),
            list => format!(" {what} at some {places}: {}.", rivals(list)),
        };
        let same = at_some("The same within 3 %", &others(&range.same));
        let all: Vec<WayAt> = everywhere(range).into_iter().cloned().collect();
        let some: Vec<WayAt> = somewhere(range).into_iter().cloned().collect();
        let open = match &others(&all)[..] {
            [] => String::new(),
            all => format!(" Undecided against {}.", rivals(all)),
        };
        let open = open + &at_some("Undecided", &others(&some));
        let gain = gain.map_or(String::new(), |gain| format!(" It is {}.", self.gain(advice, gain)));
        // The headline says all of two ways that nothing tells apart.
        if us(range).is_none()
            && all.len() == 1
            && self.all_open(advice).is_some()
            && advice.ranges.len() == 1
        {
            return format!("{same}{}", at_some("Undecided", &others(&some))).trim_start().into();
        }
        format!("{place} {name} {cost}.{gain}{same}{open}")
    }
}

/// Undecided against it at every place.
fn everywhere(range: &AdviceRange) -> Vec<&WayAt> {
    range.undecided.iter().filter(|rival| rival.at.len() == range.places.len()).collect()
}

/// Undecided against it at some places only.
fn somewhere(range: &AdviceRange) -> Vec<&WayAt> {
    range.undecided.iter().filter(|rival| rival.at.len() < range.places.len()).collect()
}

/// `1.8x`, `28x`
fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.1}x") } else { format!("{ratio:.0}x") }
}

/// Do these say the same, at other thread counts?
fn alike(a: &Advice, b: &Advice) -> bool {
    let key = |advice: &Advice| {
        let ranges = advice.ranges.iter().map(|r| (r.from, r.to, r.lead.clone(), r.sure));
        (advice.metric, advice.scope.held.clone(), ranges.collect::<Vec<(u64, u64, Point, Sure)>>())
    };
    key(a) == key(b)
}

/// `12 to 14 us`
fn us(range: &AdviceRange) -> Option<String> {
    let known = || range.places.iter().filter_map(|place| place.us_per_message);
    let low = known().map(|(low, _)| low).fold(f64::INFINITY, f64::min);
    let high = known().map(|(_, high)| high).fold(0.0, f64::max);
    let (low, high) = (significant(low), significant(high));
    known().next().map(|_| if low == high { format!("{low} us") } else { format!("{low} to {high} us") })
}

#[cfg(test)]
mod tests;
