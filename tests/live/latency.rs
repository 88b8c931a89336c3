//! Latency end to end: every mechanism verified in both loops, and a short run whose files rebuild its report.

use crate::common;
use crate::schema::Schema;
use syscost_experiment::run::files::RunDir;

/// Each case once, every byte verified on its way there (and back, in a closed loop).
fn all_verify(axes: &[(&str, &str)]) {
    let (done, _) = common::checked(&common::plan("tcp_latency", axes));
    assert!(!done.is_empty());
}

#[test]
#[ignore = "second tier: cargo test --release -- --ignored"]
fn every_mechanism_answers_and_keeps_a_schedule() {
    all_verify(&[
        ("path", "loopback"),
        ("mechanism", "all"),
        ("size", "8,1000,65537"),
        ("threads", "1,3"),
        ("rate", "1000"),
    ]);
}

#[test]
fn between_namespaces_the_clock_is_the_same() {
    if common::namespaces_allowed("between_namespaces_the_clock_is_the_same") {
        all_verify(&[("path", "veth"), ("size", "1K"), ("rate", "1000"), ("mechanism", "send,msg_zerocopy")]);
    }
}

/// A receiver that sleeps until more has arrived than a request never answers it.
#[test]
fn a_low_water_mark_above_the_message_is_skipped_with_its_reason() {
    let closed = [("path", "loopback"), ("loop", "closed"), ("mechanism", "send")];
    let axes = [&closed[..], &[("size", "1K"), ("low-water", "4K")]].concat();
    let (_, skips) = common::checked(&common::plan("tcp_latency", &axes));
    assert_eq!(skips.len(), 1, "{skips:?}");
    assert!(skips[0].why.reason.contains("never wakes"), "{skips:?}");
}

#[test]
fn a_run_keeps_every_time_and_rebuilds_its_report() {
    let directory = tempfile::tempdir().expect("a scratch directory");
    let out = directory.path().join("run");
    let path = out.to_str().expect("UTF-8");
    let arguments = "run tcp_latency --quiet --mechanism send --size 64 --threads 2 --path loopback \
                     --rate 2000 --time-limit 5s --out";
    let mut arguments: Vec<&str> = arguments.split_whitespace().collect();
    arguments.push(path);
    let output = common::syscost(&arguments);
    assert!(output.status.code() < Some(2), "{}", common::said(&output));
    let run = RunDir::load(&out).expect("a valid run");
    assert!(!run.samples.is_empty(), "{:?}", run.record.failures);
    for sample in &run.samples {
        let times = sample.histogram.as_ref().expect("every sample keeps its times");
        assert_eq!(times.count() as f64, sample.ops, "one time for each message");
        assert_eq!(sample.get("latency_max_ns"), times.max().map(|ns| ns as f64));
        assert_eq!(sample.get("latency_p50_ns"), times.quantile(0.5).map(|ns| ns as f64));
        assert!(sample.verified);
    }
    let page = std::fs::read(out.join("report.html")).expect("a report");
    let again = common::syscost(&["report", "--quiet", path]);
    assert!(again.status.success(), "{}", common::said(&again));
    assert_eq!(std::fs::read(out.join("report.html")).expect("a report"), page);
    assert!(String::from_utf8_lossy(&page).contains("id=\"latency\""));
    let findings = std::fs::read(out.join("findings.json")).expect("answers");
    let findings = serde_json::from_slice(&findings).expect("JSON");
    let errors = Schema::new(include_str!("../../docs/findings.schema.json")).errors(&findings);
    assert!(errors.is_empty(), "{errors:#?}");
}
