//! Sentences of advice that is made by hand.

use super::*;
use std::path::Path;
use syscost_analyze::recommend::advice::{AdviceScope, PlaceAdvice};
use syscost_analyze::recommend::line::GainAt;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::run::RunDir;
use syscost_measure::probe::transfer::axes::MESSAGE_BYTES;

fn way(mechanism: &str) -> Way {
    let mut way = Way::default();
    way.set(RIVALS.id, Value::text(mechanism));
    way
}

/// At 64 B and 1 KiB: undecided against these, each at some of them.
fn open(rivals: &[(&str, &[u64])]) -> Advice {
    let place = |at: u64| PlaceAdvice {
        at,
        sure: Sure::Undecided,
        best: std::iter::once("sendmsg").chain(rivals.iter().map(|rival| rival.0)).map(way).collect(),
        us_per_message: None,
    };
    let range = AdviceRange {
        from: 64,
        to: 1024,
        border: None,
        sure: Sure::Undecided,
        lead: way("sendmsg"),
        same: Vec::new(),
        undecided: rivals.iter().map(|(name, at)| WayAt { way: way(name), at: at.to_vec() }).collect(),
        over_next: None,
        over_control: None,
        places: [64, 1024].map(place).to_vec(),
    };
    Advice {
        metric: "total_cpu_ns_per_byte",
        scope: AdviceScope {
            probe: "transfer".into(),
            held: Point::default(),
            threads: Vec::new(),
            messages_per_call: None,
        },
        ranges: vec![range],
        also: vec!["throughput"],
        batching: None,
        cells: Vec::new(),
        comparisons: Vec::new(),
    }
}

fn default_run() -> Run {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/runs/default");
    RunDir::load(&root).unwrap()
}

fn recommended(run: &Run, advice: Vec<Advice>, along: &'static str) -> RecommendationText {
    let of = SituationAdvice { situation: Situation::Pieces, advice, caveats: Vec::new() };
    recommendation(run, &Recommendation { situations: vec![of], caveats: Vec::new() }, along)
}

fn told(advice: Advice, along: &'static str) -> Vec<String> {
    let told = recommended(&default_run(), vec![advice], along).statements();
    told.into_iter().map(|statement| statement.text).collect()
}

/// What holds at one place is not said under the place of another.
#[test]
fn advice_at_several_places_says_where_each_sentence_holds() {
    let at = |path: &str| {
        let mut advice = open(&[("pack_send", &[64])]);
        advice.scope.held.set("path", Value::text(path));
        advice.ranges[0].lead = way(if path == "veth" { "sendmsg" } else { "send" });
        advice
    };
    let mut run = default_run();
    let over_veth = run.record.plan.cases.iter_mut().filter(|case| case.point.get("path").is_some());
    over_veth.step_by(2).for_each(|case| case.point.set("path", Value::text("bridge")));
    let found = recommended(&run, vec![at("veth"), at("bridge")], MESSAGE_BYTES.id).advice;
    let first = |of: &AdviceText| of.details[0].text.clone();
    assert!(first(&found[0]).starts_with("Over veth: "), "{found:?}");
    assert!(first(&found[1]).starts_with("Over bridge: "), "{found:?}");
    assert!(found.iter().all(|one| !one.scope.contains("over")), "{found:?}");
}

#[test]
fn a_rival_at_some_places_is_none_at_all_of_them() {
    let rivals: [(&str, &[u64]); 2] = [("writev", &[64, 1024]), ("pack_send", &[64])];
    let said = [
        "If your message lies in pieces: no difference between sendmsg and writev is significant.",
        "Undecided at some sizes: pack_send.",
    ];
    assert_eq!(told(open(&rivals), MESSAGE_BYTES.id), said);
}

/// It was beaten at 64 KiB and, open at 16 KiB, stood in neither list.
#[test]
fn a_rival_that_is_beaten_at_some_places_is_undecided_at_the_others() {
    let mut advice = open(&[("writev", &[64, 1024]), ("pack_send", &[64])]);
    let ratio = Estimate { value: 1.5, low: 1.4, high: 1.6, level: 0.95, n: 8, unit: Unit::Ratio };
    let at = GainAt { at: 1024, ratio };
    let gain = |significant| AdviceGain {
        over: way("pack_send"),
        places: 2,
        significant,
        smallest: at,
        largest: at,
    };
    advice.ranges[0].over_next = Some(gain(1));
    let said = told(advice.clone(), MESSAGE_BYTES.id);
    assert!(
        said[0].ends_with("sendmsg or writev from 64 B to 1 KiB (undecided, 1 more at some sizes)."),
        "{said:?}"
    );
    assert!(said[1].ends_with(" Undecided against writev. Undecided at some sizes: pack_send."), "{said:?}");
    advice.ranges[0].over_next = Some(gain(2));
    assert!(!told(advice, MESSAGE_BYTES.id)[1].contains("some sizes"));
}

/// It was said: only sendmsg was measured.
#[test]
fn ways_that_differ_in_a_setting_alone_are_ranked_as_any_others() {
    let mut advice = open(&[("sendmsg", &[64, 1024])]);
    let ratio = Estimate { value: 1.5, low: 1.4, high: 1.6, level: 0.95, n: 8, unit: Unit::Ratio };
    let at = GainAt { at: 64, ratio };
    let mut over = way("sendmsg");
    over.set("msg_more", Value::text("on"));
    let gain = AdviceGain { over, places: 2, significant: 2, smallest: at, largest: at };
    advice.ranges[0].over_next = Some(gain);
    advice.ranges[0].sure = Sure::Best;
    let said = told(advice, MESSAGE_BYTES.id).remove(0);
    assert!(
        said.starts_with("If your message lies in pieces: sendmsg ") && said.contains("cheaper"),
        "{said}"
    );
}

#[test]
fn a_headline_that_is_too_long_still_names_ranges_and_ways() {
    let mut advice = open(&[("writev", &[64])]);
    // Of one range it stays said that nothing is decided.
    let mut single = advice.clone();
    single.ranges[0].undecided[0].at = vec![64, 1024];
    let long = "a name of so many words that a sentence with it has no room, and so has to be without it";
    single.ranges[0].undecided[0].way = way(long);
    let said = told(single, MESSAGE_BYTES.id).remove(0);
    assert!(!said.contains(long) && said.ends_with("(undecided)."), "{said}");
    let range = |from, to, sure, lead: &str| AdviceRange {
        from,
        to,
        sure,
        lead: way(lead),
        ..advice.ranges[0].clone()
    };
    advice.ranges = vec![
        range(64, 64, Sure::Undecided, "pack_send"),
        range(256, 1024, Sure::Best, "pack_send"),
        range(4096, 4096, Sure::Undecided, "pack_send"),
        range(16384, 16384, Sure::Undecided, "sendmsg"),
        range(65536, 1 << 20, Sure::Best, "writev"),
    ];
    let said = "If your message lies in pieces: pack_send up to 4 KiB (undecided at some sizes), sendmsg at 16 KiB (undecided), \
                writev from 64 KiB.";
    assert_eq!(told(advice, MESSAGE_BYTES.id)[0], said);
}

/// Who takes the cheapest way has to know that its last bytes wait.
#[test]
fn what_msg_more_holds_back_is_said_once_where_it_leads() {
    let said = |msg_more: &str| {
        let mut advice = open(&[("pack_send", &[64])]);
        advice.ranges[0].lead.set(MSG_MORE.id, Value::text(msg_more));
        let at = |threads| {
            let scope = AdviceScope { threads: vec![threads], ..advice.scope.clone() };
            Advice { scope, ..advice.clone() }
        };
        let found = recommended(&default_run(), vec![at(1), at(2)], MESSAGE_BYTES.id).statements();
        found.iter().filter(|statement| statement.text == HELD_BACK).count()
    };
    assert_eq!([said("on"), said("off")], [1, 0]);
}
