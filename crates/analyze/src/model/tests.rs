//! The model on runs whose primitives are known: what it adds up, and what it never looks at.

use super::counts::{Count, CountSource, Subject};
use super::*;
use crate::synthetic;
use crate::whole::Analysis;
use syscost_core::axis::Value;
use syscost_core::sample::Sample;
use syscost_core::units::Unit;
use syscost_experiment::plan::Plan;
use syscost_measure::own::{self, OwnEntry, OwnKind, OwnObject};
use syscost_measure::probe::Prices;
use syscost_measure::probe::memory_bandwidth;
use syscost_measure::probe::path_steps as steps;
use syscost_measure::probe::prediction::PredictedCost;
use syscost_measure::probe::tcp_path;

const CALL: f64 = 2000.0;
/// What the first call of a turn costs more.
const AFTER: f64 = 350.0;
const IN: f64 = 0.05;
const OUT: f64 = 0.04;

/// What each step costs on a machine of known primitives: (sender, receiver, completion).
fn truth(step: &str) -> (f64, f64, f64) {
    let (middle, large) = (steps::MIDDLE_BYTES as f64, steps::LARGE_BYTES as f64);
    match step {
        steps::APPEND => (500.0, 700.0, 0.0),
        steps::TRANSMIT => (CALL + AFTER / 8.0, 1000.0 + 8.0 * 100.0, 0.0),
        steps::SINGLE => (CALL + AFTER, 1000.0 + 100.0, 0.0),
        steps::GATHER => (CALL + AFTER / 8.0 + 7.0 * 30.0, 1800.0, 0.0),
        steps::MIDDLE => (CALL + AFTER + 300.0 + middle * IN, 1500.0, 0.0),
        steps::LARGE => (CALL + AFTER + 300.0 + large * IN, 2000.0 + 2.0 * large * OUT, 0.0),
        steps::LONG => (CALL + AFTER + 300.0 + 900.0 + 2.0 * large * IN, 2000.0, 0.0),
        steps::DROPPED => (CALL + AFTER, 2000.0, 0.0),
        // Thirty calls of which two take a new segment.
        steps::SIPS => {
            (CALL + AFTER + 300.0 + large * IN, (2000.0 + 2.0 * large * OUT + 29.0 * 250.0) / 30.0, 0.0)
        }
        // Two sleeps and three receive calls of sixteen segments.
        steps::CAUGHT_UP => {
            (CALL + AFTER / 8.0 + 2.0 * 4000.0 / 16.0, 1000.0 + (16.0 * 100.0 + 2.0 * 6000.0) / 3.0, 0.0)
        }
        steps::ALTERNATE => (CALL + AFTER + 1100.0 + 9000.0, CALL + AFTER + 1100.0 + 8000.0, 0.0),
        steps::LENT => (CALL + AFTER + 800.0, 1100.0, 600.0),
        steps::LENT_PIECES => (CALL + AFTER + 800.0 + 7.0 * 200.0, 1100.0, 600.0),
        steps::LENT_LARGE => {
            (CALL + AFTER + 800.0 + 0.2 * (large - 64.0), 1100.0 + 2.0 * large * 0.08, 600.0)
        }
        other => panic!("the truth of {other} is missing"),
    }
}

/// Transfers of one message size, the steps, and memory copies at 10 bytes a nanosecond.
fn run(mechanism: &str, sizes: &[u64], measured_ns: f64) -> Run {
    let mut cases: Vec<Case> = sizes
        .iter()
        .enumerate()
        .map(|(index, bytes)| {
            let mut point = synthetic::point(mechanism, *bytes, 1);
            for (axis, value) in PLACE {
                point.set(axis, Value::text(*value));
            }
            point.set("mtu", Value::Int(1500));
            synthetic::case(index, point)
        })
        .collect();
    let mut samples: Vec<Sample> = Vec::new();
    for case in &cases {
        for round in 0..6 {
            let mut sample = synthetic::sample(case, round, 0, measured_ns);
            let messages = sample.get("sender_messages").expect("synthetic samples have messages");
            let lends = mechanism.contains("zerocopy");
            for (id, each) in [
                ("sender_system_calls", if lends { 1.25 } else { 1.0 }),
                ("receiver_system_calls", 0.5),
                ("receiver_voluntary_switches", 0.25),
                ("sender_voluntary_switches", if lends { 0.125 } else { 0.0 }),
                ("sender_data_segments", 1000.0),
            ] {
                sample.quantities.insert(id.into(), Some(each * messages));
            }
            samples.push(sample);
        }
    }
    let step_probe = tcp_path::TcpPath.about().id;
    let Some(Prices::Steps { shared, .. }) = tcp_path::TcpPath.about().prices else { panic!("no steps") };
    for step in steps::ALL {
        let mut point = cases[0].point.clone();
        point.retain(|id| shared.contains(&id));
        let (axis, value) = tcp_path::row(step.id, steps::SENDER).coordinates[0].clone();
        point.set(axis, value);
        let (sender, receiver, completion) = truth(step.id);
        let quantities = [
            ("call_ns", sender),
            ("receive_ns", receiver),
            ("completion_ns", completion),
            ("receive_calls", 3.0),
            ("sleeps", 2.0),
        ];
        add(&mut cases, &mut samples, step_probe, point, &quantities);
    }
    let copy = memory_bandwidth::rate("copy", 1 << 20, 1);
    let mut point = Point::default();
    copy.coordinates.iter().for_each(|(axis, value)| point.set(axis, value.clone()));
    add(&mut cases, &mut samples, copy.probe, point, &[]);
    synthetic::record(Plan { cases, ..Plan::default() }, samples)
}

const PLACE: &[(&str, &str)] =
    &[("congestion_control", "cubic"), ("placement", "different"), ("offloads", "on")];

fn add(
    cases: &mut Vec<Case>,
    samples: &mut Vec<Sample>,
    probe: &str,
    point: Point,
    quantities: &[(&str, f64)],
) {
    let index = cases.len();
    cases.push(Case { index, probe: probe.into(), point, twin_of: None });
    for round in 0..6 {
        let quantities = quantities.iter().map(|(id, n)| (id.to_string(), Some(*n))).collect();
        let fixed =
            Sample { case: index, round, elapsed_ns: 1e9, ops: 100.0, bytes: 1e10, ..Sample::default() };
        samples.push(Sample { verified: true, quantities, ..fixed });
    }
}

fn accounts(mechanism: &str, sizes: &[u64]) -> (Run, Vec<Account>) {
    let run = run(mechanism, sizes, 10_000.0);
    let model = Model::of(&run, &Cells::of(&run));
    assert_eq!(model.accounts.len(), sizes.len());
    (run, model.accounts)
}

/// A run with one account for each of these ratios of measured over accounted for.
pub(crate) fn with_accounts(ratios: &[f64]) -> (Run, Analysis) {
    let sizes: Vec<u64> = (0..ratios.len()).map(|i| 64 << i).collect();
    let run = run("send", &sizes, 10_000.0);
    let mut analysis = Analysis::of(&run);
    for (account, ratio) in analysis.model.accounts.iter_mut().zip(ratios) {
        dearer(account, *ratio);
    }
    (run, analysis)
}

/// Makes the case cost so many times what its account says.
pub(crate) fn dearer(account: &mut Account, ratio: f64) {
    account.items.truncate(1);
    account.items[0].count.n = 1.0;
    account.items[0].unit.ns = account.measured.total_ns / ratio;
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6 * b.abs().max(1.0)
}

#[test]
fn known_primitives_add_up() {
    // Half a receive call of 1000 ns, which half a call follows, and a quarter of a sleep of 4000 and 6000 ns.
    let around = 0.5 * (1000.0 + AFTER) + 0.25 * (4000.0 + 6000.0);
    let (_, small) = accounts("send", &[64]);
    let wanted = CALL + 64.0 * IN + 100.0 + 64.0 * OUT + around;
    assert!(
        near(small[0].accounted_ns(), wanted),
        "{} is not {wanted}: {:#?}",
        small[0].accounted_ns(),
        small[0]
    );
    let (_, large) = accounts("send", &[1 << 20]);
    let (segments, bytes) = (17.0, (1 << 20) as f64);
    let wanted = CALL + 300.0 + 16.0 * 900.0 + bytes * (IN + OUT) + segments * 100.0 + around;
    assert!(near(large[0].accounted_ns(), wanted), "{} is not {wanted}", large[0].accounted_ns());
    let (_, gathered) = accounts("sendmsg", &[64]);
    assert!(near(gathered[0].accounted_ns() - small[0].accounted_ns(), 7.0 * 30.0));
    let (_, lent) = accounts("msg_zerocopy", &[64]);
    let lending = 800.0 + 7.0 * 200.0 + 64.0 * 0.2 + 0.25 * 600.0;
    // Its sender sleeps half as often: so often the two take turns, which costs 9000 and 8000 ns less a call each.
    let turns = 0.125 * (9000.0 + 8000.0 - (4000.0 + 6000.0));
    let wanted = CALL + lending + 100.0 + 64.0 * 0.08 + around + turns;
    assert!((lent[0].accounted_ns() - wanted).abs() < 1.0, "{} is not {wanted}", lent[0].accounted_ns());
}

#[test]
fn a_receive_call_that_finds_no_new_segment_costs_no_acknowledgement() {
    let run = run("send", &[1 << 20], 10_000.0);
    let (cells, point) = (Cells::of(&run), &run.record.plan.cases[0].point);
    let counted = |metric| {
        let n = if metric == counts::COUNTERS[1] { 47.0 } else { 0.25 };
        (metric != counts::COUNTERS[3]).then(|| Count::rule(n, counts::CountSource::Counted))
    };
    let subject = Subject::of(point, counted).expect("all is counted");
    let items = items(&subject, &Steps::at(&super::steps::sources(&run), &cells, point))
        .expect("all steps are there");
    let item = |id: &str| items.iter().find(|item| item.about.id == id).expect(id);
    let (first, further) = (item("receive"), item("receive_further"));
    assert!(near(first.count.n, 17.0) && near(first.unit.ns, 1000.0), "{first:?}");
    assert!(near(further.count.n, 30.0) && near(further.unit.ns, 250.0), "{further:?}");
}

#[test]
fn errors_are_factors_and_a_side_is_counted() {
    let of = Accuracy::of(&[0.5, 0.8, 0.8, 1.25]).expect("four cases");
    assert!(near(of.median, 1.25) && of.ninth_decile > 1.25 && of.too_low == 3);
    assert!(near(of.bias, (0.5f64 * 0.8).powf(0.25)), "{}", of.bias);
}

#[test]
fn every_sum_is_that_of_its_terms_and_the_rest_is_what_is_missing() {
    let (_, accounts) = accounts("send", &[64, 4096, 1 << 20]);
    for account in &accounts {
        let terms: f64 = account.items.iter().map(Item::ns).sum();
        let sides = account.accounted_of(Side::Sender) + account.accounted_of(Side::Receiver);
        assert!(near(account.accounted_ns(), terms) && near(sides, terms));
        assert!(near(account.not_explained_ns(), account.measured.total_ns - terms));
    }
}

/// Every time that goes into an account belongs to another probe; and what the case itself measured
/// changes nothing but what is left unexplained.
#[test]
fn no_time_of_a_transfer_is_an_input() {
    for mechanism in ["send", "sendmsg", "msg_zerocopy", "send_fields"] {
        let (run, accounts) = accounts(mechanism, &[64, 65536]);
        for account in &accounts {
            let inputs = || account.items.iter().flat_map(|item| &item.unit.cells);
            assert!(inputs().count() > 0);
            for cell in inputs() {
                let probe = &run.record.plan.cases[cell.case].probe;
                assert_ne!(cell.case, account.case);
                assert_ne!(probe, Transfer.about().id, "{cell:?}");
            }
            for cell in account.items.iter().flat_map(|item| &item.count.cells) {
                assert!(counts::COUNTERS.contains(&cell.metric), "{cell:?} is no counter");
            }
        }
        let slower = super::tests::run(mechanism, &[64, 65536], 30_000.0);
        let again = Model::of(&slower, &Cells::of(&slower)).accounts;
        for (one, other) in accounts.iter().zip(&again) {
            assert!(
                near(one.accounted_ns(), other.accounted_ns()),
                "a slower case is accounted for as before"
            );
            assert!(other.measured.total_ns > 2.0 * one.measured.total_ns);
        }
    }
}

/// It says how many system calls it makes, and nothing else.
#[test]
fn a_users_own_way_is_accounted_for_as_far_as_it_counts() {
    let entry = OwnEntry {
        name: "own_test_accounted".into(),
        called: "mine".into(),
        kind: OwnKind::Mechanism,
        summary: "sends".into(),
        axes: Vec::new(),
    };
    let (path, sha256) = ("/nowhere/mine.so".into(), String::new());
    own::register(&[OwnObject { path, command: Vec::new(), sha256, build_id: None, codes: vec![entry] }]);
    let of = |calls: f64, completions: f64| {
        let point = synthetic::point("own_test_accounted", 4096, 1);
        Subject::of(&point, |metric| {
            let n = match metric {
                "sender_system_calls_per_message" => calls,
                "completions_per_message" => completions,
                _ => 1.0,
            };
            Some(Count::rule(n, CountSource::Counted))
        })
    };
    let subject = of(2.0, 0.0).expect("it counts its calls");
    assert_eq!((subject.calls.n, subject.call_bytes, subject.looks.n), (2.0, 2048.0, 0.0));
    assert!(!subject.handling.lends && of(1.0, 1.0).expect("it counts its calls").handling.lends);
    assert!(of(0.0, 0.0).is_none(), "nothing is known of it");
}

/// A call for each piece there is, each of its own size: 24 B are one small segment, 512 KiB nine large ones.
#[test]
fn an_account_counts_the_pieces_of_the_shape() {
    let subject = |mechanism: &str, shape: Option<&str>| {
        let mut point = synthetic::point(mechanism, 24 + (512 << 10), 1);
        point.set("mtu", Value::Int(1500));
        shape.into_iter().for_each(|shape| point.set("fields", Value::text(shape)));
        Subject::of(&point, |_| Some(Count::rule(0.0, CountSource::Counted))).expect("plain calls")
    };
    let fields = subject("send_fields", Some("24,512K"));
    let segments = 1.0 + ((512 << 10) as f64 / counts::segment_bytes(&fields.point).1 as f64).ceil();
    assert_eq!((fields.calls.n, fields.segments.n, fields.small_calls), (2.0, segments, 0.5));
    assert_eq!(subject("send_fields", None).calls.n, 8.0);
    let gathered = subject("sendmsg", Some("24,512K"));
    assert_eq!((gathered.calls.n, gathered.handling.pieces, gathered.small_calls), (1.0, 2, 0.0));
    assert_eq!(subject("msg_zerocopy", Some("24,8x4K,rest")).handling.pieces, 10);
    assert_eq!(subject("pack_send", Some("24,512K")).handling.pieces, 1);
}

#[test]
fn forecasts_in_time_are_judged_and_late_ones_are_not() {
    let mut run = run("send", &[64, 4096, 1 << 20], 10_000.0);
    let forecast = |case: usize, ns: f64, made: u64| Prediction {
        case,
        metric: TOTAL.into(),
        unit: Unit::Nanoseconds,
        made_unix_ns: made,
        first_round_unix_ns: Some(100),
        cost: PredictedCost {
            formula: String::new(),
            base_hardware: None,
            software_overhead: None,
            predicted: Some(ns),
            inputs: Vec::new(),
        },
    };
    run.record.predictions = vec![forecast(0, 12_500.0, 99), forecast(1, 8_000.0, 98), forecast(2, 1.0, 101)];
    let model = Model::of(&run, &Cells::of(&run));
    let [(0, high), (1, low)] = model.forecasts[..] else { panic!("{:?}", model.forecasts) };
    assert!((high - 1.25).abs() < 0.02 && (low - 0.8).abs() < 0.02, "{high} {low}");
}

#[test]
fn a_congestion_control_that_paces_is_said_and_no_other() {
    let (mut run, accounts) = accounts("send", &[1024]);
    assert!(!accounts[0].paced);
    for case in &mut run.record.plan.cases {
        if case.point.text(CONGESTION_CONTROL).is_some() {
            case.point.set("congestion_control", Value::text("bbr"));
        }
    }
    let paced = Model::of(&run, &Cells::of(&run));
    assert!(paced.accounts[0].paced);
}

#[test]
fn a_run_without_the_steps_says_what_it_lacks() {
    let run = synthetic::Synthetic::default().run();
    let model = Model::of(&run, &Cells::of(&run));
    assert!(model.accounts.is_empty() && model.forecasts.is_empty());
    assert!(model.lacks_steps);
}
