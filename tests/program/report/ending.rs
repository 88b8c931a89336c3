//! What a run ends with on a terminal: trust first, then the numbers that were asked for, in 40 lines of 80 columns.

use crate::report::common::{self, Shape};
use syscost_analyze::whole::Analysis;
use syscost_core::axis::Value;
use syscost_core::sample::Sample;
use syscost_experiment::run::{Run, Slices, Warning};
use syscost_report::terminal::{self, LINES, TerminalLook};
use syscost_report::{Report, build};
use textwrap::core::display_width;

fn report(run: &Run) -> Report {
    build::report(run, &Analysis::of(run))
}

fn ending(run: &Run, width: u16) -> String {
    terminal::text(&report(run), None, TerminalLook { width, colour: false })
}

/// Fits, and begins with whether to believe it.
fn assert_fits(run: &Run) {
    for width in [20, 40, 60, 80, 132] {
        let text = ending(run, width);
        assert!(
            ["You can rely", "Rely on this", "Do not rely"].iter().any(|start| text.starts_with(start)),
            "{text}"
        );
        assert!(text.lines().count() <= LINES, "{} lines at {width}:\n{text}", text.lines().count());
        for line in text.lines() {
            assert!(display_width(line) <= usize::from(width), "{width}: {line}");
        }
    }
}

fn line<'t>(text: &'t str, start: &str) -> &'t str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no line {start:?}:\n{text}"))
}

#[test]
fn a_few_cases_have_a_row_each_with_interval_and_verdict() {
    let mechanisms = vec!["send", "sendmsg", "send_fields"];
    let run = common::run(&Shape { mechanisms, sizes: vec![4096], threads: vec![1], ..common::small() });
    assert_fits(&run);
    let text = ending(&run, 80);
    assert!(line(&text, "way").contains("CPU a message") && line(&text, "way").contains("Gbit/s"), "{text}");
    let control = line(&text, "send ");
    assert!(control.contains(" us ±") && control.contains(" %") && control.contains("control"), "{control}");
    assert!(line(&text, "send_fields ").contains("slower "), "{text}");
    let cells = Analysis::of(&run).cells;
    let cost = cells.cell(0, "total_cpu_ns_per_message").expect("measured").estimate;
    let shown: f64 = control.split_whitespace().nth(1).unwrap().parse().unwrap();
    assert!((shown / (cost.value / 1e3) - 1.0).abs() < 0.05, "{control}: {}", cost.value);
}

#[test]
fn many_cases_are_tables_by_size_marked_against_the_control() {
    let run = common::small_run();
    assert_fits(&run);
    let text = ending(&run, 80);
    assert!(text.contains("CPU a message, us, mean of 1 and 2 threads over veth"), "{text}");
    assert!(text.contains("Throughput, Gbit/s, mean of 1 and 2 threads over veth"), "{text}");
    assert!(text.contains("-1.3x costs 1.3x less than send"), "{text}");
    let large = line(&text, "256 KiB");
    assert!(large.contains('-') && large.contains('x'), "msg_zerocopy costs less there: {large}");
}

#[test]
fn however_much_there_is_to_say_it_stays_short() {
    let mut run = common::run(&Shape {
        sizes: (6..20).map(|bits| 1 << bits).collect(),
        threads: vec![1, 2, 4, 8],
        ..common::small()
    });
    run.record.spec.title = "名前の長い装置".repeat(20);
    for number in 0..20 {
        run.record.warnings.push(Warning {
            id: format!("w{number}"),
            observed: format!("something happened that takes many words to tell {number} ").repeat(5),
            consequence: "figures are not what they seem ".repeat(9),
            remedy: "do what has to be done ".repeat(9),
            cases: Vec::new(),
        });
    }
    assert_fits(&run);
    let text = ending(&run, 80);
    assert!(text.contains("more row") && text.contains("more warnings in the report"), "{text}");
}

#[test]
fn the_first_line_says_why_not_to_believe_it() {
    let trust = |run: &Run| ending(run, 400).lines().next().unwrap().to_string();
    let mut run = common::small_run();
    run.record.failures.clear();
    run.record.conditions.clear();
    assert!(
        trust(&run).to_lowercase().contains("rely on this")
            && trust(&run).contains("comparisons of CPU time decided"),
        "{}",
        trust(&run)
    );
    assert!(!trust(&run).contains("rounds instead of"), "{}", trust(&run));
    let few = common::run(&Shape { rounds: 3, ..common::small() });
    let few = trust(&few);
    assert!(
        few.starts_with("Do not rely on this: identical cases within"),
        "of three rounds little is known: {few}"
    );
    run.samples = Vec::new().into();
    run.slices = Slices::default();
    assert_eq!(trust(&run), "Do not rely on this: no usable sample was recorded.");
}

/// An open loop: the first mechanism keeps both rates, the second one only the lower.
fn latency() -> Run {
    let mechanisms = vec!["send", "sendmsg"];
    let shape = Shape { mechanisms, sizes: vec![1024], threads: vec![1], twins: false, ..common::small() };
    let mut run = common::run(&shape);
    let mut cases = run.record.plan.cases.clone();
    cases.extend(run.record.plan.cases.clone());
    let mut samples = Vec::new();
    for (index, case) in cases.iter_mut().enumerate() {
        let asked = if index < 2 { 10_000u64 } else { 40_000 };
        (case.index, case.probe) = (index, "tcp_latency".into());
        case.point.set("loop", Value::text("open"));
        case.point.set("rate", Value::Int(asked));
        let slow = index % 2 == 1;
        let achieved = if slow { asked.min(30_000) } else { asked } as f64;
        for round in 0..8u32 {
            let base = if slow { 40_000 } else { 20_000 } + u64::from(round) * 10;
            let times = [("latency_p50_ns", base), ("latency_p99_ns", base * 3), ("latency_count", 20_000)];
            samples.push(Sample {
                case: index,
                round,
                elapsed_ns: 20_000.0 * 1e9 / achieved,
                ops: 20_000.0,
                bytes: 20_000.0 * 1024.0,
                verified: true,
                quantities: times.map(|(id, ns)| (id.to_string(), Some(ns as f64))).into_iter().collect(),
                histogram: Some(format!("{base}:19000 {}:800 {}:200", base * 3, base * 10).parse().unwrap()),
                ..Sample::default()
            });
        }
    }
    run.record.plan.cases = cases;
    run.record.plan.skips.clear();
    run.record.audits.clear();
    run.samples = samples.into();
    run.slices = Slices::default();
    run
}

#[test]
fn latency_has_its_quantiles_and_the_rate_that_was_reached() {
    let run = latency();
    assert_fits(&run);
    let text = ending(&run, 80);
    let heading = line(&text, "us");
    for column in ["rate, /s", "p50", "p90", "p99", "p99.9", "max"] {
        assert!(heading.contains(column), "{heading}");
    }
    let kept = line(&text, "send, 40");
    let figures: Vec<&str> = kept.split_whitespace().collect();
    assert!(figures.contains(&"40000") && figures.iter().any(|f| f.starts_with("20.")), "{kept}");
    assert!(line(&text, "sendmsg, 40").contains("30000!"), "{text}");
    assert!(text.contains("!: slower than asked"), "{text}");
}
