//! `datagram_limit`: the highest rate at which a way loses no more than so many datagrams in a million, found by search.
//!
//! Every round searches for itself, from nothing: rounds are replicates, and the figure has their interval. A rate is tried for one
//! step; it fails where too much was lost, or the sender was too slow. Each datagram has a number, so that what is lost is
//! counted exactly, and the whole round adds up or is no measurement.

pub mod search;

use super::datagram_transfer::sending::{self, DatagramSender};
use super::datagram_transfer::{self, DatagramTransfer, LOST_PER_MILLION, Loss, RATE, receiving, tcp};
use super::rights::Rights;
use super::streaming::{self, RECEIVER as RECEIVES, threads};
use super::transfer::connection;
use super::{
    Channel, Figures, Needs, Probe, ProbeAbout, RoleReport, Task, Timing, Window, metrics, quantities,
};
use crate::mechanism::{Sender, per_call};
use crate::probe::transfer::axes::THREADS;
use anyhow::{Context, Result};
use search::{HighestRate, TriedRate};
use std::net::TcpStream;
use syscost_core::axis::DefaultValues::Ints;
use syscost_core::axis::{Axis, Point, Value};
use syscost_core::sample::{Metric, Quantity, Sample};
use syscost_host::{Unavailable, clock};

pub struct DatagramLimit;

const MILLION: f64 = 1e6;

/// A step is so many windows long, and at least so many calls.
const WINDOWS_OF_A_STEP: u64 = 4;
const CALLS_OF_A_STEP: u64 = 8;
/// A case of [`DatagramTransfer`] that nobody confirms.
fn unconfirmed(point: &Point) -> Point {
    let mut point = point.clone();
    point.set(RATE.id, Value::Int(1));
    point
}

fn task_of(task: &Task) -> Task {
    Task { point: unconfirmed(&task.point), ..task.clone() }
}

impl Probe for DatagramLimit {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "datagram_limit",
            title: "highest rate of datagrams with hardly any loss",
            method: "Each round searches by itself: the rate is doubled until more is lost than allowed, then halved on the log \
                     scale, to within 5 %. A step lasts four windows; a rate fails where two steps in a row fail. Every \
                     datagram has a number, so that the receiver counts each that is lost.",
            source: "RFC 2544 (throughput); udp(7)",
            roles: streaming::ROLES,
            far_role: Some(RECEIVES),
            compared: true,
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = DatagramTransfer.axes();
        axes.retain(|axis| ![RATE.id, THREADS.id].contains(&axis.id));
        let lost = LOST_PER_MILLION
            .count(0, 500_000)
            .flag("lost-per-million", "lost in a million")
            .help("datagrams of a million that may be lost at the highest rate: 1000 are 0.1 %")
            .default_on(Ints(&[1000]));
        axes.push(lost);
        axes
    }

    fn available(&self, point: &Point) -> Result<(), Unavailable> {
        if tcp::is(point) {
            return tcp::fits(&unconfirmed(point));
        }
        DatagramTransfer.available(&unconfirmed(point))
    }

    fn needs(&self, point: &Point) -> Needs {
        DatagramTransfer.needs(point)
    }

    fn figures(&self) -> Figures {
        let quantities = [QUANTITIES, datagram_transfer::QUANTITIES].concat();
        let metrics = METRICS.iter().chain(datagram_transfer::METRICS).copied().collect();
        Figures { quantities, metrics, decisive: &["highest_rate"] }
    }

    fn rights(&self, role: &str) -> Rights {
        DatagramTransfer.rights(role)
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        if task.role == RECEIVES { receive(task, channel) } else { send(task, channel) }
    }

    fn merge(&self, point: &Point, reports: &[RoleReport]) -> Result<Vec<Sample>, String> {
        let [received, sent] = reports else {
            return Err(format!("a search has two sides, not {}", reports.len()));
        };
        let loss = Loss::of(&unconfirmed(point), received, sent)?;
        let sample = |(index, window): (usize, &Window)| {
            let mut sample = window.sample(index);
            sample.quantities.extend(loss.quantities());
            sample
        };
        Ok(sent.windows.iter().enumerate().map(sample).collect())
    }

    fn timing(&self, _: &Point, base: Timing) -> Timing {
        Timing { window_ns: base.window_ns.saturating_mul(WINDOWS_OF_A_STEP), windows: 1, ..base }
    }

    fn axes_as(&self) -> Option<&'static dyn Probe> {
        Some(&DatagramTransfer)
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        axis == LOST_PER_MILLION.id || DatagramTransfer.applies(axis, point)
    }

    fn chosen(&self, axis: &str) -> bool {
        DatagramTransfer.chosen(axis)
    }

    fn is_control(&self, point: &Point) -> bool {
        DatagramTransfer.is_control(point)
    }
}

fn receive(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let own = task_of(task);
    let lines = connection::accept_all(task, channel)?;
    threads::run(task, &lines, channel, |line| {
        let mut source = receiving::start(&own, line)?;
        Ok(Box::new(move || source.answer_steps()))
    })
}

fn send(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let own = task_of(task);
    let lines = connection::connect_all(task)?;
    threads::run(task, &lines, channel, |line: &TcpStream| {
        let mut sender = sending::sender(&own, line)?;
        Ok(Box::new(move || {
            let window = search_by(task, &mut sender)?;
            let bytes = sender.sent() * sending::message_bytes(task)?;
            drop(sender);
            connection::end(line)?;
            Ok(threads::Done { windows: vec![window], bytes, ..threads::Done::default() })
        }))
    })
}

/// One step.
#[derive(Clone, Copy, Default)]
struct RateStep {
    elapsed_ns: u64,
    sent: u64,
    lost: u64,
}

impl RateStep {
    fn lost_per_million(&self) -> f64 {
        self.lost as f64 * MILLION / self.sent.max(1) as f64
    }

    fn rate(&self) -> f64 {
        self.sent as f64 * 1e9 / self.elapsed_ns.max(1) as f64
    }
}

/// The last step that held is the window of the round.
fn search_by(task: &Task, sender: &mut DatagramSender) -> Result<Window> {
    let most = task.point.int(LOST_PER_MILLION).context("the point says no loss")? as f64;
    let from = clock::monotonic_ns();
    let (mut best, mut steps) = (RateStep::default(), 0);
    let highest = search::highest(|rate| {
        let tried = step(task, sender, rate)?;
        steps += 1;
        let holds = tried.lost_per_million() <= most;
        if holds && tried.rate() > best.rate() {
            best = tried;
        }
        Ok(TriedRate { achieved: tried.rate(), holds })
    })?;
    let none = HighestRate { rate: 0.0, sender_bound: false };
    let HighestRate { rate, sender_bound } = highest.unwrap_or(none);
    let quantities = [
        ("highest_rate", rate),
        ("sender_bound", f64::from(u8::from(sender_bound))),
        ("steps_tried", f64::from(steps)),
        ("highest_lost", best.lost as f64),
        ("highest_sent", best.sent as f64),
    ];
    Ok(Window {
        start_ns: Some(from),
        elapsed_ns: best.elapsed_ns as f64,
        ops: (best.sent - best.lost) as f64,
        bytes: (best.sent - best.lost) as f64 * sending::message_bytes(task)? as f64,
        quantities: quantities.map(|(id, value)| (id.to_string(), Some(value))).into(),
        ..Window::default()
    })
}

fn step(task: &Task, sender: &mut DatagramSender, rate: f64) -> Result<RateStep> {
    sender.pace(rate);
    let (call, before, from) = (per_call(&task.point), sender.sent(), clock::monotonic_ns());
    let mut calls = 0;
    let mut elapsed_ns = 0;
    while elapsed_ns < task.timing.window_ns || calls < CALLS_OF_A_STEP {
        sender.send(call).context("cannot send")?;
        calls += 1;
        elapsed_ns = clock::monotonic_ns() - from;
    }
    sender.settle()?;
    let lost = sender.lost_so_far()?;
    let sent = sender.sent() - before;
    Ok(RateStep { elapsed_ns, sent, lost: lost.min(sent) })
}

const QUANTITIES: &[Quantity] = quantities! {
    "highest_rate", Count, "datagrams a second at which no more was lost than asked";
    "sender_bound", Count, "1: the sender could not send faster, and not too much was lost";
    "steps_tried", Count, "steps of the search";
    "highest_sent", Count, "datagrams sent in the fastest step that lost no more than asked";
    "highest_lost", Count, "datagrams lost in it";
};

const METRICS: &[Metric] = metrics! {
    "highest_rate", PerSecond, Higher, "highest rate",
        "datagrams a second at which no more was lost than asked: as a round's search found it";
    "sender_bound", Ratio, Neither, "limited by the sender",
        "rounds whose sender could not send faster, though little was lost";
    "lost_at_highest", Ratio, Lower, "lost at that rate",
        "part of the datagrams of the fastest step that lost no more than asked",
        |s, _| Some(s.get("highest_lost")? / s.get("highest_sent").filter(|sent| *sent > 0.0)?);
};
