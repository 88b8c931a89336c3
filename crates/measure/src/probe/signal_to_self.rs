//! `signal_to_self`: installing a handler, a signal that a thread sends to itself, and holding signals back.
//!
//! Sources: McVoy and Staelin, "lmbench" (1996), lat_sig; sigaction(2), tgkill(2), sigprocmask(2).

use super::operation::{OS_MORE_SUITE, OperationRow, PlayedRound, SystemOperation};
use super::prediction::{Inputs, PredictedCost};
use super::{Figures, Window, trap};
use anyhow::{Context, Result};
use syscost_core::axis::NameAxis;
use syscost_sys::signal_to_self::{self as own, SelfTarget};

const ACT: NameAxis = NameAxis::new("signal_act");

/// What is done with the signal.
const ACTS: &[OperationRow] = &[
    OperationRow { predict: short_call, ..OperationRow::new("install", "sigaction", install) },
    OperationRow { predict: short_call, ..OperationRow::new("hold_back", "sigprocmask", hold_back) },
    // No row measures the frame on the stack, with all registers: nothing predicts it.
    OperationRow::new("deliver", "tgkill to oneself, handler, return", deliver),
];

/// One entry into the kernel and a few words copied.
fn short_call(mut inputs: Inputs<'_>) -> Option<PredictedCost> {
    inputs.row("trap", trap());
    Some(inputs.software("trap"))
}

/// Times `act`, which is told its number and says whether it did its work.
fn checked(round: &mut PlayedRound<'_>, mut act: impl FnMut(u64) -> bool) -> Result<Vec<Window>> {
    let mut number = 0;
    round.checked("a call did not do what it should", || {
        number += 1;
        act(number - 1)
    })
}

/// The two handlers take turns: each finds the other one there.
fn install(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    own::install(1).context("cannot install a handler")?;
    checked(round, |number| {
        let new = (number % 2) as usize;
        own::install(new).ok().flatten() == Some(1 - new)
    })
}

/// Held back and let through in turn.
fn hold_back(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    own::hold_back(false).context("cannot set the signal mask")?;
    checked(round, |number| {
        let hold = number % 2 == 0;
        own::hold_back(hold) == Some(!hold)
    })
}

/// The handler has run once more when the call returns.
fn deliver(round: &mut PlayedRound<'_>) -> Result<Vec<Window>> {
    own::install(0).context("cannot install a handler")?;
    own::hold_back(false).context("cannot set the signal mask")?;
    let me = SelfTarget::of_this_thread();
    let before = own::caught()[0];
    checked(round, |number| me.send() && own::caught()[0] == before + number + 1)
}

pub static SIGNAL_TO_SELF: SystemOperation = SystemOperation {
    id: "signal_to_self",
    title: "signal",
    method: "Batches of about 10 us on one CPU: each sigaction(2) has to find the handler of the one before, each \
             sigprocmask(2) the mask of the one before, and after each tgkill(2) the handler has to have run once more. \
             The cost is the 5 % quantile over batches, less the same loop without the call.",
    source: "lmbench lat_sig; sigaction(2), tgkill(2), sigreturn(2), sigprocmask(2)",
    suite: OS_MORE_SUITE,
    variants: (ACT, ACTS),
    axes: || {
        let acts = ACT.names(|| SIGNAL_TO_SELF.names()).flag("signal-act", "act");
        vec![acts.help("what is done with the signal")]
    },
    figures: Figures::of_batches,
    ..SystemOperation::DEFAULTS
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use crate::probe::Probe;
    use syscost_core::axis::{Point, Value};

    #[test]
    fn a_short_call_is_an_entry_and_a_delivery_is_not_predicted() {
        let known = Costs::of(&[("system_call", 120.0)]);
        let predicted = |act: &str| {
            let mut point = Point::default();
            point.set(ACT.id, Value::text(act));
            SIGNAL_TO_SELF.predict(&point, Inputs::new(&known)).and_then(|cost| cost.predicted)
        };
        assert_eq!(["install", "hold_back", "deliver"].map(predicted), [Some(120.0), Some(120.0), None]);
    }
}
