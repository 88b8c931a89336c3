//! `procedure_call`: what calling a procedure with 0 to 7 integer arguments costs.
//!
//! The loops are machine code (`sys::procedure`), so that no compiler folds the call; each batch
//! checks that the procedure was called as often as the loop ran, and a test reads the call
//! instruction in the loop's bytes. Source: the CSE 221 measurement project's procedure-call row;
//! Fog, "Instruction tables" (2024).

use super::guide::{AMD_19H, FOG_SKYLAKE, FOG_ZEN};
use super::operation::{PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost, RowRef};
use super::row::Row;
use super::{Figures, Window, batch};
use anyhow::{Context, Result, ensure};
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

/// The row of a call with this many arguments, as an input of other rows' predictions.
pub fn with_arguments(arguments: u64) -> RowRef {
    RowRef::cost(PROCEDURE_CALL.id, [(ARGUMENTS.id, Value::Int(arguments))])
}

pub static PROCEDURE_CALL: SystemOperation = SystemOperation {
    id: "procedure_call",
    title: "procedure call",
    method: "Batches of about 10 us run a loop of machine code that sets the arguments and calls a procedure \
             which adds the last one to a sum; the sum is checked. The cost is the 5 % quantile over batches, \
             less the same loop without arguments and call.",
    source: "CSE 221 measurement project; System V AMD64 ABI; Fog, Instruction tables (2024)",
    axes,
    available,
    figures: Figures::of_batches,
    measure: Some(measure),
    row: Some(row),
    predict: Some(predict),
    ..SystemOperation::DEFAULTS
};

fn axes() -> Vec<Axis> {
    vec![
        ARGUMENTS
            .count(0, MOST_ARGUMENTS)
            .help("integer arguments of the called procedure")
            .default_on(Of(|| (0..=MOST_ARGUMENTS).map(Value::Int).collect()))
            .quick_on(Ints(&[0, MOST_ARGUMENTS])),
    ]
}

fn available(_: &Point) -> Result<(), Unavailable> {
    match procedure::calls(0) {
        Some(_) => Ok(()),
        None => Err(Unavailable {
            reason: format!("the loop of calls is not written for {}", std::env::consts::ARCH),
            remedy: "none: it is there for x86-64 and aarch64".into(),
        }),
    }
}

fn measure(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    let arguments = round.point().int(ARGUMENTS).context("no number of arguments")?;
    let calls = procedure::calls(arguments).with_context(|| format!("no loop for {arguments}"))?;
    let mut lost = 0u64;
    round.ready()?;
    let body = |n| lost += u64::from(calls.run(n) != n);
    let windows = batch::batches(round.task, body, |n| _ = black_box(procedure::empty_loop(n)));
    ensure!(lost == 0, "{lost} batches did not call the procedure as often as asked");
    Ok(windows)
}

fn row(point: &Point) -> Option<Row> {
    let arguments = point.int(ARGUMENTS)?;
    let row = Row::listed(units::count(arguments as usize, "argument"));
    Some(row.as_published("procedure_call", format!("args={arguments}")))
}

fn predict(point: &Point, mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    let arguments = point.int(ARGUMENTS)?;
    inputs.fact("frequency", "core_hertz", Unit::Hertz);
    if arguments == 0 {
        // Near call 2, near return 2: reciprocal throughputs.
        inputs.guided("call_and_return_cycles", Unit::Count, &[(FOG_ZEN, 4.0)]);
        return Some(inputs.hardware("call_and_return_cycles / frequency"));
    }
    inputs.row("call_without_arguments", with_arguments(0));
    // One on the stack is stored, loaded in place of a register's addition, and taken off again.
    let moved = arguments + arguments.saturating_sub(REGISTERS);
    inputs.constant("moves", moved as f64, Unit::Count, "instructions that place the arguments");
    // Units for simple integer operations.
    let units = [(AMD_19H, 4.0), (FOG_ZEN, 4.0), (FOG_SKYLAKE, 4.0)];
    inputs.guided("moves_per_cycle", Unit::Ratio, &units);
    Some(inputs.hardware_and_software("call_without_arguments", "moves / moves_per_cycle / frequency"))
}
