//! Synthetic runs with a known truth, for the tests of the analysis.
//!
//! Samples carry the quantities that a transfer records, made from a model of CPU time per message
//! with seeded noise between rounds (shared by all cases of a round, and own) and within them.

use crate::cells::{Cell, Cells};
use std::collections::BTreeMap;
use syscost_core::axis::{Point, Value};
use syscost_core::sample::Sample;
use syscost_core::stats::{median_interval, random::Random};
use syscost_core::units::Unit;
use syscost_experiment::plan::{Case, Plan, Skip};
use syscost_experiment::run::{Audit, Record, Run, SCHEMA, SliceRow, State, Tool};
use syscost_experiment::spec::Spec;
use syscost_host::Fact;
use syscost_measure::ledger::Counts;
use syscost_measure::probe::path_steps::{self as steps, PathStep};
use syscost_measure::probe::prediction::{Input, PredictedCost, Prediction};
use syscost_measure::probe::tcp_path;
use syscost_measure::probe::transfer::axes::{MECHANISM, MESSAGE_BYTES, NODELAY, PATH, RECEIVER, THREADS};
use syscost_measure::probe::{self, Slice, Timing};

/// What one message of a case truly costs in total CPU time.
pub type CostNs = fn(&Point) -> f64;

pub struct Synthetic {
    pub mechanisms: Vec<&'static str>,
    pub sizes: Vec<u64>,
    pub threads: Vec<u64>,
    pub rounds: u32,
    pub windows: u32,
    pub cost_ns: CostNs,
    /// Standard deviation of the log of a case's own noise per round.
    pub noise: f64,
    /// Every so many cases get a twin; 0 = none.
    pub twin_every: usize,
    pub skips: Vec<Skip>,
    pub seed: u64,
    /// Does the machine's level drift as on a busy virtual machine, rather than from round to round?
    pub drifts: bool,
}

impl Default for Synthetic {
    fn default() -> Self {
        Synthetic {
            mechanisms: vec!["pack_send", "send", "sendmsg"],
            sizes: vec![64, 1024, 16384, 65536, 262144],
            threads: vec![1, 2],
            rounds: 8,
            windows: 3,
            cost_ns: |p| 1000.0 + 0.2 * p.int(MESSAGE_BYTES).unwrap_or(0) as f64,
            noise: 0.03,
            twin_every: 7,
            skips: Vec::new(),
            seed: 1,
            drifts: false,
        }
    }
}

/// The log of a machine's level: correlated by 0.7 at a fifth of a second and by 0.15 at two minutes, as measured
/// (docs/deciding.md). Two first-order processes, of seconds and of minutes.
struct DriftingLevel {
    fast: f64,
    slow: f64,
}

impl DriftingLevel {
    /// Standard deviation of the level.
    const SPREAD: f64 = 0.05;
    /// Of the variance; and after how many seconds a process has lost all but 1/e.
    const SLOW_PART: f64 = 0.3;
    const FAST_SECONDS: f64 = 0.4;
    const SLOW_SECONDS: f64 = 170.0;

    fn new(random: &mut Random) -> DriftingLevel {
        DriftingLevel { fast: random.normal(), slow: random.normal() }
    }

    fn after(&mut self, seconds: f64, random: &mut Random) -> f64 {
        let mut step = |level: f64, within: f64| {
            let kept = (-seconds / within).exp();
            kept * level + (1.0 - kept * kept).sqrt() * random.normal()
        };
        self.fast = step(self.fast, Self::FAST_SECONDS);
        self.slow = step(self.slow, Self::SLOW_SECONDS);
        Self::SPREAD * (Self::SLOW_PART.sqrt() * self.slow + (1.0 - Self::SLOW_PART).sqrt() * self.fast)
    }
}

pub fn point(mechanism: &str, bytes: u64, threads: u64) -> Point {
    let mut point = Point::default();
    point.set(MECHANISM.id, Value::text(mechanism));
    point.set(RECEIVER.id, Value::text("recv"));
    point.set(MESSAGE_BYTES.id, Value::Int(bytes));
    point.set(THREADS.id, Value::Int(threads));
    point.set("connections", Value::Int(1));
    point.set("read_bytes", Value::Int(0));
    point.set(PATH.id, Value::text("veth"));
    point.set(NODELAY.id, Value::text("on"));
    point
}

impl Synthetic {
    pub fn run(&self) -> Run {
        self.run_of(self.cases())
    }

    /// A run of these cases.
    pub fn run_of(&self, cases: Vec<Case>) -> Run {
        let mut random = Random::new(self.seed);
        let mut samples = Vec::new();
        let mut level = self.drifts.then(|| DriftingLevel::new(&mut random));
        for round in 0..self.rounds {
            let of_round = if self.drifts { 0.0 } else { 0.05 * random.normal() };
            for case in &cases {
                // Three windows of a tenth of a second.
                let shared = level.as_mut().map_or(of_round, |level| level.after(0.3, &mut random));
                let own = self.noise * random.normal();
                for index in 0..self.windows {
                    let within = 0.01 * random.normal();
                    let cost = (self.cost_ns)(&case.point) * (shared + own + within).exp();
                    samples.push(sample(case, round, index, cost));
                }
            }
        }
        record(Plan { cases, skips: self.skips.clone(), ..Plan::default() }, samples)
    }

    pub fn cases(&self) -> Vec<Case> {
        let mut cases = Vec::new();
        for threads in &self.threads {
            for size in &self.sizes {
                for mechanism in &self.mechanisms {
                    cases.push(case(cases.len(), point(mechanism, *size, *threads)));
                }
            }
        }
        if self.twin_every > 0 {
            for original in (0..cases.len()).step_by(self.twin_every) {
                let mut twin = case(cases.len(), cases[original].point.clone());
                twin.twin_of = Some(original);
                cases.push(twin);
            }
        }
        cases
    }
}

/// The same with every case at so many messages per call.
pub fn batched(synthetic: &Synthetic, per_call: &[u64]) -> Run {
    let mut cases: Vec<Case> = Vec::new();
    for of in synthetic.cases().into_iter().filter(|c| c.twin_of.is_none()) {
        for n in per_call {
            let mut point = of.point.clone();
            point.set("messages_per_call", Value::Int(*n));
            cases.push(case(cases.len(), point));
        }
    }
    synthetic.run_of(cases)
}

pub fn case(index: usize, point: Point) -> Case {
    Case { index, probe: "transfer".into(), point, twin_of: None }
}

/// A window in which every thread pair is busy three quarters of the time on each side.
pub fn sample(case: &Case, round: u32, index: u32, cost_ns: f64) -> Sample {
    let bytes = case.point.int(MESSAGE_BYTES).unwrap_or(1) as f64;
    let threads = case.point.int(THREADS).unwrap_or(1) as f64;
    let elapsed_ns = 1e8;
    // The sender pays 60 % of the cost of a message.
    let messages = (threads * 0.75 * elapsed_ns / (0.6 * cost_ns)).round();
    let quantities = [
        ("sender_elapsed_ns", elapsed_ns),
        ("receiver_elapsed_ns", elapsed_ns),
        ("sender_messages", messages),
        ("receiver_messages", messages),
        ("sender_cpu_ns", 0.6 * cost_ns * messages),
        ("receiver_cpu_ns", 0.4 * cost_ns * messages),
        ("retransmits", 0.0),
    ];
    Sample {
        case: case.index,
        round,
        index,
        start_ns: None,
        elapsed_ns,
        ops: messages,
        bytes: messages * bytes,
        verified: true,
        marks: Vec::new(),
        quantities: quantities.into_iter().map(|(id, v)| (id.to_string(), Some(v))).collect(),
        histogram: None,
    }
}

/// What events truly cost, in nanoseconds of CPU time, on the path of [`point`].
#[derive(Clone, Copy)]
pub struct StepPrices {
    pub sleeping: f64,
    pub waking: f64,
    pub send_call: f64,
    pub receive_call: f64,
    pub copied_byte: f64,
}

impl Default for StepPrices {
    fn default() -> Self {
        StepPrices {
            sleeping: 3000.0,
            waking: 2300.0,
            send_call: 500.0,
            receive_call: 900.0,
            copied_byte: 0.05,
        }
    }
}

/// What a segment costs that a receive call takes.
const SEGMENT_NS: f64 = 100.0;

impl StepPrices {
    /// Adds the rows that tell them, measured in so many rounds with this noise: that of a round's visit falls on all steps
    /// alike, and a quarter as much is each step's own.
    pub fn measured(&self, run: &mut Run, rounds: u32, noise: f64, random: &mut Random) {
        let visits: Vec<f64> = (0..rounds).map(|_| noise * random.normal()).collect();
        for step in steps::ALL {
            let mut point = Point::default();
            point.set(PATH.id, Value::text("veth"));
            let (axis, value) = tcp_path::row(step.id, steps::SENDER).coordinates[0].clone();
            point.set(axis, value);
            let (sender, receiver) = self.of(step);
            let mut visits = visits.iter();
            add_row(run, "tcp_path", point, rounds, &mut || {
                let visit = visits.next().copied().unwrap_or_default();
                let mut noisy = |ns: f64| ns * (visit + noise / 4.0 * random.normal()).exp();
                let counts = [("receive_calls", 1.0), ("sleeps", 1.0)];
                [("call_ns", noisy(sender)), ("receive_ns", noisy(receiver))]
                    .into_iter()
                    .chain(counts)
                    .collect()
            });
        }
    }

    /// By call: what a step costs the sender and the receiver.
    fn of(&self, step: &PathStep) -> (f64, f64) {
        let awake = (2000.0, self.receive_call + SEGMENT_NS);
        match step.id {
            steps::CAUGHT_UP => {
                let calls = step.calls as f64;
                (awake.0 + self.waking / calls, self.receive_call + calls * SEGMENT_NS + self.sleeping)
            }
            steps::ALTERNATE => {
                let part = awake.0 + awake.1 + self.waking + self.sleeping;
                (part, part)
            }
            steps::APPEND => (self.send_call, awake.1),
            steps::TRANSMIT => (awake.0, self.receive_call + step.calls as f64 * SEGMENT_NS),
            steps::MIDDLE | steps::LARGE => (awake.0 + step.bytes as f64 * self.copied_byte, awake.1),
            _ => awake,
        }
    }
}

/// A case of another probe, with a sample of these quantities in each round.
fn add_row(
    run: &mut Run,
    probe: &str,
    point: Point,
    rounds: u32,
    quantities: &mut dyn FnMut() -> Vec<(&'static str, f64)>,
) {
    let index = run.record.plan.cases.len();
    run.record.plan.cases.push(Case { index, probe: probe.into(), point, twin_of: None });
    for round in 0..rounds {
        let quantities = quantities().into_iter().map(|(id, n)| (id.to_string(), Some(n))).collect();
        let fixed = Sample { case: index, round, elapsed_ns: 1e7, ops: 1e4, ..Sample::default() };
        run.samples.extend([Sample { verified: true, quantities, ..fixed }]);
    }
}

/// Counts so many events a message in every sample.
pub fn count_events(run: &mut Run, quantity: &str, per_message: &mut dyn FnMut(&Case, &Sample) -> f64) {
    let cases = run.record.plan.cases.clone();
    for sample in &mut run.samples {
        let Some(messages) = sample.get("receiver_messages") else { continue };
        let events = messages * per_message(&cases[sample.case], sample);
        sample.quantities.insert(quantity.into(), Some(events));
    }
}

pub fn record(plan: Plan, samples: Vec<Sample>) -> Run {
    let timing = Timing { warmup_ns: 20_000_000, window_ns: 100_000_000, windows: 3 };
    let spec = Spec {
        name: "synthetic".into(),
        title: "synthetic".into(),
        probes: Vec::new(),
        precision: 0.05,
        confidence: 0.95,
        min_rounds: 6,
        max_rounds: 40,
        time_limit_ns: 0,
        seed: 1,
        timing,
        ..Spec::empty("synthetic")
    };
    let record = Record {
        schema: SCHEMA,
        id: "synthetic".into(),
        tool: Tool { version: "0".into(), profile: "release".into(), binary_sha256: String::new() },
        started_unix_ns: 0,
        elapsed_ns: 0,
        sessions: 1,
        state: State::Complete,
        command: Vec::new(),
        names: Default::default(),
        host: Vec::new(),
        spec,
        plan,
        settings: BTreeMap::new(),
        missing: Vec::new(),
        warnings: Vec::new(),
        failures: Vec::new(),
        predictions: Vec::new(),
        audits: Vec::new(),
        time_spent: None,
        conditions: Vec::new(),
        slice_rounds: 0,
        sample_rows: 0,
        resumed: Vec::new(),
        thread_clock: None,
        own_cost: Vec::new(),
    };
    Run { record, samples: samples.into(), slices: Default::default(), profiles: Vec::new() }
}

/// A run of the rows of the clocks: every reading costs about `cost_ns`; predicted from a frequency
/// of so many GHz, which may be unknown.
pub fn clocks(rounds: u32, ghz: Option<f64>, cost_ns: f64) -> Run {
    let probe = probe::find("timer").expect("there are clocks");
    let axis = probe.axes()[0];
    let points = axis.default().into_iter().map(|value| {
        let mut point = Point::default();
        point.set(axis.id, value);
        point
    });
    single_operations("timer", points, rounds, ghz, 7, |_| cost_ns)
}

/// Ways of making a process, without predictions.
pub fn makers(rounds: u32, seed: u64, cost_ns: fn(&str) -> f64) -> Run {
    let points = ["fork", "vfork", "posix_spawn", "fork_exec"].map(|how| {
        let mut point = Point::default();
        point.set("how", Value::text(how));
        point.set("resident_bytes", Value::Int(1 << 20));
        point
    });
    let cost = |point: &Point| cost_ns(point.text_at("how").unwrap_or_default());
    single_operations("process_create", points.into_iter(), rounds, None, seed, cost)
}

pub fn single_operations(
    probe: &str,
    points: impl Iterator<Item = Point>,
    rounds: u32,
    ghz: Option<f64>,
    seed: u64,
    cost_ns: impl Fn(&Point) -> f64,
) -> Run {
    let cases: Vec<Case> = points
        .enumerate()
        .map(|(index, point)| Case { index, probe: probe.into(), point, twin_of: None })
        .collect();
    let mut random = Random::new(seed);
    let mut samples = Vec::new();
    for round in 0..rounds {
        for case in &cases {
            for index in 0..3 {
                let ns = cost_ns(&case.point) * (0.01 * random.normal()).exp() + 2.0;
                let quantities = [
                    ("low_ns", ns),
                    ("median_ns", ns * 1.1),
                    ("overhead_ns", 2.0),
                    ("max_ns", ns * 9.0),
                    ("tsc_hertz", 2e9),
                ];
                samples.push(Sample {
                    case: case.index,
                    round,
                    index,
                    elapsed_ns: 1e8,
                    ops: 1e6,
                    verified: true,
                    quantities: quantities.into_iter().map(|(id, v)| (id.to_string(), Some(v))).collect(),
                    ..Sample::default()
                });
            }
        }
    }
    let predictions = cases.iter().map(|case| Prediction {
        case: case.index,
        metric: "cost".into(),
        unit: Unit::Nanoseconds,
        made_unix_ns: 10,
        first_round_unix_ns: Some(20),
        cost: PredictedCost {
            formula: "10 / frequency".into(),
            base_hardware: ghz,
            software_overhead: Some(0.0),
            predicted: ghz,
            inputs: vec![Input {
                name: "frequency".into(),
                value: ghz.map(|g| g * 1e9),
                unit: Unit::Hertz,
                source: "fact core_hertz of this machine".into(),
                case: None,
            }],
        },
    });
    let predictions = predictions.collect();
    let mut run = record(Plan { cases, ..Plan::default() }, samples);
    run.record.predictions = predictions;
    run
}

/// Cells of one metric in which every case is the same but for noise: each case draws its log bias
/// once, and scatters by `noise` around it from round to round.
pub fn aa_cells(
    run: &Run,
    metric: &'static str,
    rounds: u32,
    random: &mut Random,
    bias: fn(&mut Random) -> f64,
    noise: f64,
) -> Cells {
    drawn_cells(run, &[metric], rounds, random, |_, _, random| bias(random), noise)
}

/// Cells of some metrics, faster than samples of them: a case's values scatter by `noise` around the centre
/// (on the log scale) that is asked for once per metric and case; twins have their own.
pub fn drawn_cells(
    run: &Run,
    metrics: &[&'static str],
    rounds: u32,
    random: &mut Random,
    centre: impl Fn(&Case, &'static str, &mut Random) -> f64,
    noise: f64,
) -> Cells {
    let shared: Vec<f64> = (0..rounds).map(|_| 0.05 * random.normal()).collect();
    let mut cells = |case: &Case| {
        let cell = |metric: &&'static str| {
            let centre = centre(case, metric, random);
            let value = |round: u32, random: &mut Random| {
                (shared[round as usize] + centre + noise * random.normal()).exp()
            };
            let rounds: Vec<(u32, f64)> = (0..rounds).map(|round| (round, value(round, random))).collect();
            let values: Vec<f64> = rounds.iter().map(|(_, v)| *v).collect();
            let estimate = median_interval(&values, 0.95, Unit::BitsPerSecond).expect("there are rounds");
            Cell { case: case.index, metric, estimate, rounds: rounds.into_iter().collect(), pooled: None }
        };
        metrics.iter().map(cell).collect()
    };
    Cells::from_cases(run.record.plan.cases.iter().map(&mut cells).collect())
}

/// A turn of ten messages that cost the sender so much each.
pub fn turn(block: usize, round: u32, pass: u32, case: usize, message_ns: f64) -> SliceRow {
    let (length_ns, messages, wall_ns) = (1_000_000, 10, (10.0 * message_ns) as u64);
    let slice = Slice { pass, length_ns, wall_ns, messages, sender_cpu_ns: wall_ns, ..Slice::default() };
    SliceRow { block, round, case, slice }
}

/// Records a fact of the machine.
pub fn tell(run: &mut Run, id: &str, value: Option<&str>) {
    let (title, value) = (id.to_string(), value.map(str::to_string));
    run.record.host.push(Fact { id: id.into(), title, value, source: String::new() });
}

/// 1000 bytes, copied in once and out once.
pub const PLAIN: Counts = Counts {
    copied_in: 1000,
    uncopied_in: 0,
    orphan_copied: 0,
    copied_out: 1000,
    decrypted_out: 0,
    retransmitted: 0,
    device_fetched: 0,
    dropped: 0,
    dropped_segments: 0,
};

/// An audit of 1000 bytes at 64 KiB over veth with 1 thread; completions, and those flagged copied.
pub fn audit(mechanism: &str, counts: Option<Counts>, completions: (u64, u64)) -> Audit {
    let counted = Audit::of("transfer", point(mechanism, 65536, 1), 1000, counts);
    Audit { completions: completions.0, completions_copied: completions.1, ..counted }
}
