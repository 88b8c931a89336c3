//! Synthetic runs whose truth is known, with the machine's drift. In the first nothing differs; each of the others has
//! one truth, far beyond what its noise lets one see.

use syscost_analyze::synthetic::{PLAIN, StepPrices, Synthetic, audit, clocks, count_events, makers, turn};
use syscost_core::axis::{Point, Value};
use syscost_core::stats::random::Random;
use syscost_experiment::plan::Case;
use syscost_experiment::run::{Audit, Run};
use syscost_measure::ledger::Counts;

/// A share of a share: noise of counts between windows.
const COUNT_NOISE: f64 = 0.03;

fn bytes(p: &Point) -> f64 {
    p.int_at("message_bytes").expect("a transfer has a size") as f64
}

fn is(p: &Point, mechanism: &str) -> bool {
    p.text_at("mechanism") == Some(mechanism)
}

fn smooth(p: &Point) -> f64 {
    2000.0 + 0.2 * bytes(p)
}

fn base(seed: u64, cost_ns: fn(&Point) -> f64) -> Synthetic {
    Synthetic {
        mechanisms: vec!["pack_send", "sendmsg"],
        sizes: vec![64, 4096, 65536],
        threads: vec![1],
        rounds: 10,
        windows: 2,
        noise: 0.02,
        twin_every: 0,
        drifts: true,
        seed,
        cost_ns,
        ..Synthetic::default()
    }
}

fn counted(run: &mut Run, random: &mut Random, quantity: &str, each: &dyn Fn(&Point) -> f64) {
    count_events(run, quantity, &mut |case, _| each(&case.point) * (COUNT_NOISE * random.normal()).exp());
}

/// Slices of every case, of which 20 cost what this says, with the scatter of slices.
fn sliced(run: &mut Run, random: &mut Random, rounds: u32, cost: &dyn Fn(&Point) -> f64) {
    let cases = run.record.plan.cases.clone();
    let transfers: Vec<_> = cases.iter().filter(|c| c.probe == "transfer").collect();
    let mut blocks: Vec<Point> = Vec::new();
    for case in &transfers {
        let place = case.point.without("mechanism");
        if !blocks.contains(&place) {
            blocks.push(place);
        }
    }
    for (block, place) in blocks.iter().enumerate() {
        for round in 0..rounds {
            let level = (0.1 * random.normal()).exp();
            let mut rows = Vec::new();
            for pass in 0..8 {
                for case in transfers.iter().filter(|c| c.point.without("mechanism") == *place) {
                    let ns = cost(&case.point) * level * (0.03 * random.normal()).exp();
                    rows.push(turn(block, round, pass, case.index, ns));
                }
            }
            run.slices.saw(&rows);
        }
    }
}

/// Nothing differs, and everything is counted. Preemptions come with time.
pub fn nothing(seed: u64) -> Run {
    let mechanisms = vec!["pack_send", "sendmsg", "msg_zerocopy"];
    let synthetic = Synthetic { mechanisms, threads: vec![1, 2], twin_every: 4, ..base(seed, smooth) };
    let mut cases = synthetic.cases();
    // The larger size with more connections too.
    let more: Vec<_> =
        cases.iter().filter(|c| c.twin_of.is_none() && bytes(&c.point) > 5000.0).cloned().collect();
    for mut case in more {
        case.point.set("connections", Value::Int(4));
        case.index = cases.len();
        cases.push(case);
    }
    let mut run = synthetic.run_of(cases);
    let mut random = Random::new(seed ^ 0x5eed);
    for (quantity, each) in [
        ("receiver_voluntary_switches", 0.2),
        ("sender_voluntary_switches", 0.1),
        ("sender_system_calls", 1.0),
        ("receiver_system_calls", 0.5),
        ("sender_completions", 0.0),
    ] {
        counted(&mut run, &mut random, quantity, &|_| each);
    }
    for side in ["sender", "receiver"] {
        counted(&mut run, &mut random, &format!("{side}_involuntary_switches"), &|p| 275.0 * smooth(p) / 1e9);
        for counter in ["l1d_misses", "llc_misses"] {
            for mode in ["user", "kernel"] {
                counted(&mut run, &mut random, &format!("{side}_{counter}_{mode}"), &|_| 20.0);
            }
        }
    }
    StepPrices::default().measured(&mut run, 6, 0.03, &mut random);
    sliced(&mut run, &mut random, 10, &smooth);
    run
}

/// A study as a user runs it: rivals with a control and its twin took turns, the machine's level drifts from round to
/// round, and windows say something else.
pub fn rivals_in_turns(seed: u64) -> Run {
    let cost = |p: &Point| match p.text_at("mechanism") {
        Some("sendmsg") => 1.06 * smooth(p),
        Some("pack_send") => 1.01 * smooth(p),
        Some("msg_zerocopy") => 2.4 * smooth(p),
        Some("send_fields") => 5.0 * smooth(p),
        _ => smooth(p),
    };
    let mechanisms = vec!["send", "send_fields", "pack_send", "sendmsg", "msg_zerocopy"];
    let threads = vec![1, 2];
    let mut run = Synthetic { mechanisms, threads, twin_every: 5, rounds: 3, ..base(seed, smooth) }.run();
    let mut random = Random::new(seed);
    sliced(&mut run, &mut random, 6, &cost);
    run
}

/// Packing copies each byte once more.
pub fn packs(seed: u64) -> Run {
    let mut run = base(seed, smooth).run();
    let packed = Audit { user_copied: 1000, ..audit("pack_send", Some(PLAIN), (0, 0)) };
    run.record.audits = vec![packed, audit("sendmsg", Some(PLAIN), (0, 0))];
    run
}

/// The kernel lends pages, and takes a completion for it.
pub fn lends(seed: u64) -> Run {
    let mut run = Synthetic { mechanisms: vec!["sendmsg", "msg_zerocopy"], ..base(seed, smooth) }.run();
    let mut random = Random::new(seed);
    counted(&mut run, &mut random, "sender_completions", &|p| if is(p, "msg_zerocopy") { 1.0 } else { 0.0 });
    let lent = Counts { copied_in: 0, uncopied_in: 1000, device_fetched: 1000, ..PLAIN };
    run.record.audits =
        vec![audit("sendmsg", Some(PLAIN), (0, 0)), audit("msg_zerocopy", Some(lent), (4, 0))];
    run
}

/// Asking for zero-copy costs 8 us a message and saves half of each byte.
pub fn zero_copy_pays(seed: u64) -> Run {
    let cost =
        |p: &Point| if is(p, "msg_zerocopy") { 10_000.0 + 0.1 * bytes(p) } else { 2000.0 + 0.4 * bytes(p) };
    let mechanisms = vec!["pack_send", "sendmsg", "msg_zerocopy"];
    Synthetic { mechanisms, ..base(seed, cost) }.run()
}

/// One copy is dearer below 2.5 KB and cheaper above.
pub fn crosses(seed: u64) -> Run {
    base(seed, |p| if is(p, "sendmsg") { 3000.0 + 0.2 * bytes(p) } else { 2000.0 + 0.6 * bytes(p) }).run()
}

/// Gathering misses the first cache half as often.
pub fn misses(seed: u64) -> Run {
    let mut run = base(seed, smooth).run();
    let mut random = Random::new(seed);
    for side in ["sender", "receiver"] {
        for mode in ["user", "kernel"] {
            let name = format!("{side}_l1d_misses_{mode}");
            counted(&mut run, &mut random, &name, &|p| if is(p, "sendmsg") { 10.0 } else { 20.0 });
        }
    }
    run
}

/// A message costs three times as much with two threads.
pub fn crowded(seed: u64) -> Run {
    let cost = |p: &Point| smooth(p) * if p.int_at("threads") == Some(2) { 3.0 } else { 1.0 };
    Synthetic { threads: vec![1, 2], ..base(seed, cost) }.run()
}

/// Four connections a thread cost a third more.
pub fn connected(seed: u64) -> Run {
    let cost = |p: &Point| smooth(p) * if p.int_at("connections") == Some(4) { 1.33 } else { 1.0 };
    let synthetic = base(seed, cost);
    let mut cases = synthetic.cases();
    for mut case in cases.clone() {
        case.point.set("connections", Value::Int(4));
        case.index = cases.len();
        cases.push(case);
    }
    synthetic.run_of(cases)
}

/// Over a bridge everything costs a third more.
pub fn layered(seed: u64) -> Run {
    over_a_bridge(seed, |p| smooth(p) * if p.text_at("path") == Some("bridge") { 1.33 } else { 1.0 })
}

/// A bridge adds nothing.
pub fn layers_alike(seed: u64) -> Run {
    over_a_bridge(seed, smooth)
}

fn over_a_bridge(seed: u64, cost: fn(&Point) -> f64) -> Run {
    let synthetic = base(seed, cost);
    let mut cases = synthetic.cases();
    for mut case in cases.clone() {
        case.point.set("path", Value::text("bridge"));
        case.index = cases.len();
        cases.push(case);
    }
    synthetic.run_of(cases)
}

/// One CPU for both ends costs a quarter less, and the scheduler's choice what two CPUs do.
pub fn placed(seed: u64) -> Run {
    by_placement(seed, |p| smooth(p) * if p.text_at("ends") == Some("one_cpu") { 0.75 } else { 1.0 })
}

/// It does not matter where the ends run.
pub fn placed_alike(seed: u64) -> Run {
    by_placement(seed, smooth)
}

fn by_placement(seed: u64, cost: fn(&Point) -> f64) -> Run {
    let synthetic = base(seed, cost);
    let mut cases = synthetic.cases();
    let transfers = cases.clone();
    for ends in ["two_cpus", "one_cpu", "scheduler"] {
        for transfer in transfers.iter().filter(|case| is(&case.point, "sendmsg")) {
            let mut case = transfer.clone();
            case.probe = "placed_transfer".into();
            case.point.set("ends", Value::text(ends));
            case.point.retain(|axis| !["mechanism", "receiver", "placement"].contains(&axis));
            case.index = cases.len();
            cases.push(case);
        }
    }
    synthetic.run_of(cases)
}

/// A message over TCP costs so many times what a datagram does.
pub fn beside_tcp(seed: u64, times: f64) -> Run {
    let cost: fn(&Point) -> f64 =
        if times > 1.0 { |p: &Point| smooth(p) * if is(p, "tcp_send") { 1.5 } else { 1.0 } } else { smooth };
    let synthetic = base(seed, cost);
    let mut cases = synthetic.cases();
    let datagrams = |case: &mut Case| {
        let over_tcp = is(&case.point, "pack_send");
        case.probe = "datagram_transfer".into();
        case.point.set("mechanism", Value::text(if over_tcp { "tcp_send" } else { "udp_send" }));
        if over_tcp {
            case.point.set("nodelay", Value::text("on"));
            case.point.retain(|axis| axis != "receiver");
        } else {
            case.point.set("receiver", Value::text("udp_recv"));
            case.point.retain(|axis| axis != "nodelay");
        }
        case.point.set("datagram_rate", Value::Int(0));
    };
    cases.iter_mut().for_each(datagrams);
    synthetic.run_of(cases)
}

/// At 4 KiB a message of sendmsg costs 400 us.
pub fn cliff(seed: u64) -> Run {
    let cost = |p: &Point| {
        let steep = is(p, "sendmsg") && p.int_at("message_bytes") == Some(4096);
        if steep { 400_000.0 } else { smooth(p) }
    };
    base(seed, cost).run()
}

/// Every third round or so one case is three times as slow, for the life of its workers.
pub fn two_levels(seed: u64) -> Run {
    let mut run = Synthetic { rounds: 20, ..base(seed, smooth) }.run();
    for sample in &mut run.samples {
        if sample.case == 3 && (sample.round + seed as u32) % 3 == 0 {
            let factor = 1.0 / 3.0;
            (sample.ops, sample.bytes) = (sample.ops * factor, sample.bytes * factor);
            for messages in ["sender_messages", "receiver_messages"] {
                sample.quantities.insert(messages.into(), Some(sample.ops));
            }
        }
    }
    run
}

/// This share of a sender's time is busy.
fn busy(seed: u64, share: f64) -> Run {
    let mut run = base(seed, smooth).run();
    let mut random = Random::new(seed);
    for sample in &mut run.samples {
        let cpu = share * 1e8 * (0.01 * random.normal()).exp();
        sample.quantities.insert("sender_cpu_ns".into(), Some(cpu));
    }
    run
}

pub fn busy_sender(seed: u64) -> Run {
    busy(seed, 0.98)
}

/// Just not the limit.
pub fn nearly_busy_sender(seed: u64) -> Run {
    busy(seed, 0.9495)
}

/// Ten sizes of one mechanism that cost what their account says, or one of them five times as much.
fn accounted(seed: u64, odd: bool) -> Run {
    let cost = |p: &Point| 4000.0 + 0.05 * bytes(p);
    let steep = |p: &Point| if p.int_at("message_bytes") == Some(4096) { 5.0 } else { 1.0 } * 4000.0 + 0.05 * bytes(p);
    let sizes = vec![64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768];
    let synthetic =
        Synthetic { mechanisms: vec!["sendmsg"], sizes, ..base(seed, if odd { steep } else { cost }) };
    let mut run = synthetic.run();
    let mut random = Random::new(seed);
    for (quantity, each) in [
        ("sender_system_calls", 1.0),
        ("receiver_system_calls", 1.0),
        ("receiver_voluntary_switches", 0.05),
        ("sender_data_segments", 100.0),
    ] {
        counted(&mut run, &mut random, quantity, &|_| each);
    }
    StepPrices::default().measured(&mut run, 6, 0.03, &mut random);
    run
}

pub fn off_the_model(seed: u64) -> Run {
    accounted(seed, true)
}

pub fn on_the_model(seed: u64) -> Run {
    accounted(seed, false)
}

/// Closed loops over sizes and two numbers of threads, that take so many times 20 us.
pub fn round_trips(seed: u64, times: fn(&Point) -> f64) -> Run {
    let mut run = Synthetic { threads: vec![1, 4], ..base(seed, |_| 20_000.0) }.run();
    let factors: Vec<f64> = run.record.plan.cases.iter().map(|case| times(&case.point)).collect();
    for sample in run.samples.iter_mut() {
        let each = sample.get("sender_cpu_ns").zip(sample.get("sender_messages"));
        let ns = each.map_or(0.0, |(cpu, messages)| cpu / messages / 0.6) * factors[sample.case];
        let [half, p99, most] = [1.0, 3.0, 10.0].map(|so_many| (so_many * ns) as u64);
        sample.histogram = Some(format!("{half}:1900 {p99}:80 {most}:20").parse().expect("rising"));
    }
    for case in &mut run.record.plan.cases {
        case.probe = "tcp_latency".into();
        case.point.set("loop", Value::text("closed"));
    }
    run
}

/// Clocks that cost so many times what was predicted.
pub fn operation(seed: u64, times: f64) -> Run {
    let nanoseconds = 10.0 + seed as f64;
    clocks(8, Some(nanoseconds), times * nanoseconds)
}

/// Ways of making a process, at these costs.
pub fn ways_of_making(seed: u64, cost_ns: fn(&str) -> f64) -> Run {
    makers(8, seed, cost_ns)
}
