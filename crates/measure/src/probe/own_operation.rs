//! `own_operation`: a user's own operations, from the shared objects that hold them, and programs that do them in turns.
//!
//! All that differ in nothing but their name take turns in one worker, a third of a millisecond each in random order, so
//! that a drift of the machine is in all of them. The loop is the object's own, and so is part of what is timed; the clock's
//! readings are subtracted. Beside them stands one that does nothing: what the call into an object costs. A program's turn is
//! one batch, long beside handing it over; empty turns between the others are timed and subtracted.

use super::batch::{self, BatchRecorder};
use super::row::Row;
use super::{Channel, Figures, Probe, ProbeAbout, RoleReport, Task, Window, metrics};
use crate::own::{self, OwnCode, OwnKind};
use anyhow::{Context, Result, anyhow, ensure};
use std::hint::black_box;
use std::slice;
use syscost_core::axis::DefaultValues::Names;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::sample::Metric;
use syscost_core::stats::random::Random;
use syscost_host::clock::monotonic_ns;
use syscost_sys::own_object::{OwnDone, OwnOperation};
use syscost_sys::own_program::OperatingProgram;

pub struct OwnOperations;

pub const OWN_OPERATION: NameAxis = NameAxis::new("own_operation");

/// The built-in rival.
const NOTHING: &str = "nothing";
/// Long enough that caches which the others emptied are full again for most of it.
const TURN_NS: u64 = 300_000;
const BATCH_NS: u64 = 10_000;
/// Handing over a turn takes 5 to 15 us, and scatters by a tenth of it.
const PROGRAM_BATCH_NS: u64 = 1_000_000;

const METRICS: &[Metric] = metrics! {
    "bytes_per_operation", Bytes, Neither, "bytes", "bytes that the operation says it moved", |s, _| {
        (s.bytes > 0.0 && s.ops > 0.0).then(|| s.bytes / s.ops)
    };
};

impl Probe for OwnOperations {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: OWN_OPERATION.id,
            title: "your own operation",
            method: "One process on one CPU opens your object and runs each operation in batches of about 10 us, a third \
                     of a millisecond at a time; operations take turns in random order. The cost is the 5 % quantile \
                     over batches, less the clock's. A program's turn is one batch of a millisecond, less an empty turn.",
            source: "docs/own-code.md",
            roles: &["caller"],
            together: Some(OWN_OPERATION.id),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![
            OWN_OPERATION
                .names(|| [NOTHING].into_iter().chain(own::all(OwnKind::Operation).iter().map(|code| code.name())).collect())
                .flag("operation", "operation")
                .help("operations of your own: --operation ./mine.so, 'program:./mine'; or nothing, a call that does nothing")
                .default_on(Names(&[NOTHING])),
        ];
        for axis in own::all(OwnKind::Operation).iter().flat_map(|code| code.axes) {
            if !axes.iter().any(|known| known.id == axis.id) {
                axes.push(*axis);
            }
        }
        axes
    }

    fn figures(&self) -> Figures {
        Figures::of_batches().with(&[], METRICS)
    }

    fn row(&self, point: &Point) -> Option<Row> {
        let values: Vec<String> = point.iter().map(|(_, value)| value.to_string()).collect();
        Some(Row::listed(
            point.text(OWN_OPERATION).filter(|_| point.len() == 1).map_or(values.join(" "), str::to_string),
        ))
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let facts = batch::settle_on_one_cpu();
        let points = task.block.as_ref().map_or(slice::from_ref(&task.point), |block| &block.rivals);
        let mut turns = points.iter().map(OperationTurns::of).collect::<Result<Vec<_>>>()?;
        channel.ready()?;
        turns.iter_mut().try_for_each(|turns| turns.warm_up(task))?;
        let mut random = Random::new(task.block.as_ref().map_or(0, |block| block.seed));
        for _ in 0..task.timing.windows {
            measure_window(task, &mut turns, &mut random)?;
        }
        let report = |turns: OperationTurns| RoleReport {
            windows: turns.windows,
            facts: facts.clone(),
            ..RoleReport::default()
        };
        let mut rivals: Vec<RoleReport> = turns.into_iter().map(report).collect();
        match task.block {
            Some(_) => Ok(RoleReport { rivals, ..RoleReport::default() }),
            None => rivals.pop().context("a task has an operation"),
        }
    }

    fn applies(&self, axis: &str, point: &Point) -> bool {
        let code = point.text(OWN_OPERATION).and_then(|name| own::find(OwnKind::Operation, name));
        axis == OWN_OPERATION.id || code.is_some_and(|code| code.axes.iter().any(|own| own.id == axis))
    }
}

/// What is called.
enum Called {
    Own { code: &'static OwnCode, operation: OwnOperation },
    Program { code: &'static OwnCode, program: OperatingProgram },
    Nothing,
}

/// One operation of a visit.
struct OperationTurns {
    called: Called,
    /// Of a batch.
    iterations: u64,
    asked: u64,
    done: OwnDone,
    windows: Vec<Window>,
}

impl OperationTurns {
    fn of(point: &Point) -> Result<OperationTurns> {
        let name = point.text(OWN_OPERATION).context("the point names no operation")?;
        let called = match own::find(OwnKind::Operation, name) {
            Some(code) if code.object.is_program() => {
                let words = code.object.words().map_err(|why| anyhow!(why))?;
                let program = OperatingProgram::start(&words);
                Called::Program { code, program: program.with_context(|| format!("{} failed", code.told()))? }
            }
            Some(code) => {
                let library = code.open().map_err(|why| anyhow!(why))?;
                let operation = library.operation(&code.entry.called, &code.settings(point));
                let operation = operation.with_context(|| format!("{} cannot be set up", code.told()))?;
                Called::Own { code, operation }
            }
            None => {
                ensure!(name == NOTHING, "no object here has the operation {name}");
                Called::Nothing
            }
        };
        Ok(OperationTurns { called, iterations: 1, asked: 0, done: OwnDone::default(), windows: Vec::new() })
    }

    fn run(&mut self, iterations: u64) -> Result<()> {
        self.asked += iterations;
        match &mut self.called {
            Called::Own { code, operation } => {
                let ran = operation.run(iterations, &mut self.done);
                ran.with_context(|| format!("{} failed", code.told()))
            }
            Called::Program { code, program } => {
                let ran = program.run(iterations, &mut self.done);
                ran.with_context(|| format!("{} failed", code.told()))
            }
            Called::Nothing => {
                (0..iterations).for_each(|i| _ = black_box(i));
                self.done.operations += iterations;
                Ok(())
            }
        }
    }

    /// A turn of a program in which it does nothing.
    fn empty_turn(&mut self) -> Result<()> {
        if matches!(self.called, Called::Program { .. }) { self.run(0) } else { Ok(()) }
    }

    fn batch_ns(&self) -> u64 {
        if matches!(self.called, Called::Program { .. }) { PROGRAM_BATCH_NS } else { BATCH_NS }
    }

    /// Until the warm-up is over and a batch is as long as it should be.
    fn warm_up(&mut self, task: &Task) -> Result<()> {
        let until = monotonic_ns() + task.timing.warmup_ns;
        loop {
            let start = monotonic_ns();
            self.run(self.iterations)?;
            let now = monotonic_ns();
            if now - start < self.batch_ns() && self.iterations < 1 << 30 {
                self.iterations *= 2;
            } else if now >= until {
                return self.verify();
            }
        }
    }

    /// One turn: batches for a while, and what the clock's readings and an empty turn cost beside them.
    fn turn(&mut self, recorder: &mut BatchRecorder, overhead: &mut Vec<f64>) -> Result<()> {
        let until = monotonic_ns() + TURN_NS;
        loop {
            let start = monotonic_ns();
            self.run(self.iterations)?;
            let end = monotonic_ns();
            recorder.record((end - start) as f64, self.iterations);
            if end >= until {
                let start = monotonic_ns();
                self.empty_turn()?;
                overhead.push((monotonic_ns() - start) as f64 / self.iterations as f64);
                return Ok(());
            }
        }
    }

    /// Did it do what it was asked to do, as far as it says?
    fn verify(&mut self) -> Result<()> {
        let (code, checked) = match &mut self.called {
            Called::Own { code, operation } => (*code, operation.check()),
            Called::Program { code, .. } => (*code, None),
            Called::Nothing => return Ok(()),
        };
        let (asked, said) = (self.asked, self.done.operations);
        ensure!(
            asked == said,
            "{} was to do {asked} iterations, and says that it did {said}{}",
            code.told(),
            if code.object.is_program() { "" } else { " (done->operations)" }
        );
        match checked {
            Some(checked) => checked.with_context(|| format!("the check of {} failed", code.told())),
            None => Ok(()),
        }
    }
}

/// One window of each: they take turns until all have had their time.
fn measure_window(task: &Task, all: &mut [OperationTurns], random: &mut Random) -> Result<()> {
    let turns = (task.timing.window_ns / TURN_NS).max(1);
    let mut recorders: Vec<BatchRecorder> = all.iter().map(|_| BatchRecorder::start()).collect();
    let mut overheads = vec![Vec::new(); all.len()];
    let bytes: Vec<u64> = all.iter().map(|own| own.done.bytes).collect();
    let mut order: Vec<usize> = (0..all.len()).collect();
    for _ in 0..turns {
        random.shuffle(&mut order);
        for at in &order {
            all[*at].turn(&mut recorders[*at], &mut overheads[*at])?;
        }
    }
    for ((own, recorder), (overhead, before)) in
        all.iter_mut().zip(recorders).zip(overheads.iter().zip(bytes))
    {
        let overhead_ns = syscost_core::stats::quantile(overhead, super::cost::LOW);
        let mut window = recorder.window(task, own.iterations as f64, overhead_ns);
        window.bytes = own.done.bytes.saturating_sub(before) as f64;
        own.windows.push(window);
        own.verify()?;
    }
    Ok(())
}
