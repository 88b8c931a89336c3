//! `procedure_call`: what calling a procedure with 0 to 7 integer arguments costs.
//!
//! The loops are machine code (`sys::procedure`), so that no compiler folds the call; each batch
//! checks that the procedure was called as often as the loop ran, and a test reads the call
//! instruction in the loop's bytes. Source: the CSE 221 measurement project's procedure-call row;
//! Fog, "Instruction tables" (2024).

use super::guide::{AMD_19H, FOG_SKYLAKE, FOG_ZEN};
use super::prediction::{CostAccount, Inputs, RowRef};
use super::row::Row;
use super::{Channel, Figures, OsOperation, Probe, ProbeAbout, RoleReport, Task, batch};
use anyhow::{Context, bail};
use std::hint::black_box;
use syscost_core::axis::DefaultValues::{Ints, Of};
use syscost_core::axis::{Axis, IntAxis, Point, Value};
use syscost_core::units::{self, Unit};
use syscost_host::Unavailable;
use syscost_sys::procedure;

const ARGUMENTS: IntAxis = IntAxis::new("arguments");

const MOST_ARGUMENTS: u64 = 7;
/// Integer arguments that travel in registers; further ones are stored and loaded.
const REGISTERS: u64 = if cfg!(target_arch = "x86_64") { 6 } else { 8 };

pub struct ProcedureCall;

/// The row of a call with this many arguments, as an input of other rows' predictions.
pub fn with_arguments(arguments: u64) -> RowRef {
    RowRef {
        probe: "procedure_call",
        coordinates: vec![(ARGUMENTS.id, Value::Int(arguments))],
        metric: "cost",
    }
}

impl Probe for ProcedureCall {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "procedure_call",
            title: "procedure call",
            method: "Batches of about 10 us run a loop of machine code that sets the arguments and calls a procedure \
                     which adds the last one to a sum; the sum is checked. The cost is the 5 % quantile over batches, \
                     less the same loop without arguments and call.",
            source: "CSE 221 measurement project; System V AMD64 ABI; Fog, Instruction tables (2024)",
            roles: &["caller"],
            operation: Some(&ProcedureCall),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            ARGUMENTS
                .count(0, MOST_ARGUMENTS)
                .help("integer arguments of the called procedure")
                .default_on(Of(|| (0..=MOST_ARGUMENTS).map(Value::Int).collect()))
                .quick_on(Ints(&[0, MOST_ARGUMENTS])),
        ]
    }

    fn available(&self, _: &Point) -> Result<(), Unavailable> {
        match procedure::calls(0) {
            Some(_) => Ok(()),
            None => Err(Unavailable {
                reason: format!("the loop of calls is not written for {}", std::env::consts::ARCH),
                remedy: "none: it is there for x86-64 and aarch64".into(),
            }),
        }
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> anyhow::Result<RoleReport> {
        let arguments = task.point.int(ARGUMENTS).context("no number of arguments")?;
        let calls = procedure::calls(arguments).with_context(|| format!("no loop for {arguments}"))?;
        let facts = batch::settle_on_one_cpu();
        let mut lost = 0u64;
        channel.ready()?;
        let windows = batch::batches(
            task,
            |n| lost += u64::from(calls.run(n) != n),
            |n| {
                black_box(procedure::empty_loop(n));
            },
        );
        if lost > 0 {
            bail!("{lost} batches did not call the procedure as often as asked");
        }
        Ok(RoleReport { windows, facts, ..RoleReport::default() })
    }
}

impl OsOperation for ProcedureCall {
    fn row(&self, point: &Point) -> Option<Row> {
        let arguments = point.int(ARGUMENTS)?;
        let row = Row::listed(units::count(arguments as usize, "argument"));
        Some(row.as_published("procedure_call", format!("args={arguments}")))
    }

    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        let arguments = point.int(ARGUMENTS)?;
        let hertz = inputs.fact("frequency", "core_hertz", Unit::Hertz);
        if arguments == 0 {
            // Near call 2, near return 2: reciprocal throughputs.
            let cycles = inputs.guided("call_and_return_cycles", Unit::Count, &[(FOG_ZEN, 4.0)]);
            let hardware = hertz.zip(cycles).map(|(hz, cycles)| cycles * 1e9 / hz);
            return Some(inputs.sum("call_and_return_cycles / frequency", hardware, Some(0.0)));
        }
        let call = inputs.row("call_without_arguments", with_arguments(0));
        // One on the stack is stored, loaded in place of a register's addition, and taken off again.
        let moved = arguments + arguments.saturating_sub(REGISTERS);
        let moves =
            inputs.constant("moves", moved as f64, Unit::Count, "instructions that place the arguments");
        // Units for simple integer operations.
        let units = [(AMD_19H, 4.0), (FOG_ZEN, 4.0), (FOG_SKYLAKE, 4.0)];
        let width = inputs.guided("moves_per_cycle", Unit::Ratio, &units);
        let software = hertz.zip(width).map(|(hz, width)| moves / width * 1e9 / hz);
        Some(inputs.sum("call_without_arguments + moves / moves_per_cycle / frequency", call, software))
    }
}
