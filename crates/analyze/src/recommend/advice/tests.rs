//! Advice from synthetic runs whose best ways are known.

use super::*;
use crate::synthetic::Synthetic;
use crate::whole::Analysis;

fn told(cost_ns: fn(&Point) -> f64) -> Vec<Statement> {
    let run = Synthetic { cost_ns, rounds: 12, noise: 0.01, ..Default::default() }.run();
    advice(&run, &Analysis::of(&run).studies)
}

#[test]
fn a_planted_change_of_winner_becomes_two_ranges() {
    let told = told(|p| {
        let bytes = p.int_at("message_bytes").unwrap();
        let factor = match p.text_at("mechanism").unwrap() {
            "sendmsg" if bytes >= 16384 => 0.7,
            "send" if bytes < 16384 => 0.8,
            _ => 1.0,
        };
        factor * (1000.0 + 0.2 * bytes as f64)
    });
    let [statement] = &told[..] else { panic!("{told:?}") };
    let text = &statement.text;
    assert!(text.contains("use send for 64 B to 1 KiB and sendmsg for 16 KiB to"), "{text}");
    assert!(text.contains("The same choices hold for throughput"), "{text}");
    assert!(text.contains("interval of the ratio") && statement.cells.len() >= 4, "{told:?}");
}

#[test]
fn a_choice_that_is_slower_at_a_few_places_holds_but_for_them() {
    let cost_ns = |p: &Point| if p.text_at("mechanism") == Some("send") { 700.0 } else { 1000.0 };
    let told = |slower: &[u64]| {
        let mut run = Synthetic { cost_ns, rounds: 12, noise: 0.01, ..Default::default() }.run();
        let cases = run.record.plan.cases.clone();
        for sample in &mut run.samples {
            let point = &cases[sample.case].point;
            let here = point.int_at("threads") == Some(2)
                && slower.contains(&point.int_at("message_bytes").unwrap());
            if here && point.text_at("mechanism") == Some("send") {
                sample.elapsed_ns *= 2.0;
            }
        }
        let told = advice(&run, &Analysis::of(&run).studies);
        let [statement] = &told[..] else { panic!("{told:?}") };
        (statement.text.clone(), statement.cells.clone())
    };
    let (text, cells) = told(&[1024]);
    let but = "The same choices hold for throughput at 9 of 10 points; at 1 KiB and 2 threads ";
    assert!(text.contains("use send for 64 B to 256 KiB") && text.contains(but), "{text}");
    assert!(text.contains(" above send (95 % interval of the ratio 1."), "{text}");
    assert!(cells.iter().any(|c| c.metric == "throughput"), "{cells:?}");
    let (text, _) = told(&[1024, 16384]);
    assert!(text.contains("at 8 of 10 points; of the others, most at "), "{text}");
    let (text, _) = told(&[64, 1024, 16384, 65536, 262144]);
    assert!(text.contains(" For throughput no choice is best at every thread count."), "{text}");
}

#[test]
fn of_ways_that_are_not_told_apart_the_one_in_front_is_advised() {
    let cost_ns = |p: &Point| match p.text_at("mechanism") {
        Some("sendmsg") => 1300.0,
        Some("send") => 1010.0,
        _ => 1000.0,
    };
    let run = Synthetic { cost_ns, rounds: 12, ..Default::default() }.run();
    let told = advice(&run, &Analysis::of(&run).studies);
    let text = &told[0].text;
    assert!(text.contains("use pack_send for 64 B to 256 KiB"), "{text}");
    assert!(text.contains("it is not told apart from the next best"), "{text}");
    assert!(text.contains("The same choices hold for throughput."), "{text}");
}

#[test]
fn identical_ways_give_no_choice() {
    let told = told(|_| 1000.0);
    let [statement] = &told[..] else { panic!("{told:?}") };
    assert!(statement.text.contains("No choice is claimed"), "{}", statement.text);
}

#[test]
fn too_few_rounds_are_named_as_the_reason() {
    let run = Synthetic { rounds: 4, ..Default::default() }.run();
    let told = advice(&run, &Analysis::of(&run).studies);
    assert!(told[0].text.contains("with 4 rounds no difference could be"), "{told:?}");
    assert!(told[0].text.contains("The same is true of throughput"), "{told:?}");
}

#[test]
fn opposite_thread_counts_are_said_to_be_open() {
    let told = told(|p| {
        let odd = p.int_at("threads") == Some(1);
        if (p.text_at("mechanism") == Some("send")) == odd { 700.0 } else { 1000.0 }
    });
    assert!(told.iter().all(|s| s.text.contains("No one choice")), "{told:?}");
}
