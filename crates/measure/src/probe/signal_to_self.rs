//! `signal_to_self`: installing a handler, a signal that a thread sends to itself, and holding signals back.
//!
//! Sources: McVoy and Staelin, "lmbench" (1996), lat_sig; sigaction(2), tgkill(2), sigprocmask(2).

use super::prediction::{CostAccount, Inputs};
use super::row::Row;
use super::{
    Channel, Figures, OS_MORE_SUITE, OsOperation, Probe, ProbeAbout, RoleReport, Task, Window, batch,
    system_call,
};
use anyhow::{Context, Result, ensure};
use std::hint::black_box;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_sys::signal_to_self::{self as own, SelfTarget};

const ACT: NameAxis = NameAxis::new("signal_act");

pub struct SignalToSelf;

/// What is done with the signal.
struct SignalAct {
    id: &'static str,
    label: &'static str,
    measure: fn(&Task, &mut dyn Channel) -> Result<Vec<Window>>,
    /// Does anything happen beside one entry into the kernel and a few words copied?
    one_short_call: bool,
}

const ACTS: &[SignalAct] = &[
    SignalAct { id: "install", label: "sigaction", measure: install, one_short_call: true },
    SignalAct { id: "hold_back", label: "sigprocmask", measure: hold_back, one_short_call: true },
    SignalAct {
        id: "deliver",
        label: "tgkill to oneself, handler, return",
        measure: deliver,
        one_short_call: false,
    },
];

fn find(point: &Point) -> Option<&'static SignalAct> {
    ACTS.iter().find(|act| Some(act.id) == point.text(ACT))
}

/// Times `act`, which is told its number and says whether it did its work; every one must.
fn checked(task: &Task, channel: &mut dyn Channel, mut act: impl FnMut(u64) -> bool) -> Result<Vec<Window>> {
    let (mut number, mut wrong) = (0u64, 0u64);
    channel.ready()?;
    let body = |n| {
        for _ in 0..n {
            wrong += u64::from(!act(number));
            number += 1;
        }
    };
    let windows = batch::batches(task, body, |n| (0..n).for_each(|i| _ = black_box(i)));
    ensure!(
        wrong == 0,
        "{wrong} of {number} did not do what they should: {}",
        std::io::Error::last_os_error()
    );
    Ok(windows)
}

/// The two handlers take turns: each finds the other one there.
fn install(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    own::install(1).context("cannot install a handler")?;
    checked(task, channel, |number| {
        let new = (number % 2) as usize;
        own::install(new).ok().flatten() == Some(1 - new)
    })
}

/// Held back and let through in turn.
fn hold_back(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    own::hold_back(false).context("cannot set the signal mask")?;
    checked(task, channel, |number| {
        let hold = number.is_multiple_of(2);
        own::hold_back(hold) == Some(!hold)
    })
}

/// The handler has run once more when the call returns.
fn deliver(task: &Task, channel: &mut dyn Channel) -> Result<Vec<Window>> {
    own::install(0).context("cannot install a handler")?;
    own::hold_back(false).context("cannot set the signal mask")?;
    let me = SelfTarget::of_this_thread();
    let before = own::caught()[0];
    checked(task, channel, |number| me.send() && own::caught()[0] == before + number + 1)
}

impl Probe for SignalToSelf {
    fn about(&self) -> ProbeAbout {
        ProbeAbout {
            id: "signal_to_self",
            title: "signal",
            method: "Batches of about 10 us on one CPU: each sigaction(2) has to find the handler of the one before, each \
                     sigprocmask(2) the mask of the one before, and after each tgkill(2) the handler has to have run once more. \
                     The cost is the 5 % quantile over batches, less the same loop without the call.",
            source: "lmbench lat_sig; sigaction(2), tgkill(2), sigreturn(2), sigprocmask(2)",
            roles: &["caller"],
            operation: Some(&SignalToSelf),
            ..ProbeAbout::DEFAULTS
        }
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            ACT.names(|| ACTS.iter().map(|act| act.id).collect())
                .flag("signal-act", "act")
                .help("what is done with the signal"),
        ]
    }

    fn figures(&self) -> Figures {
        Figures::of_batches()
    }

    fn play(&self, task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
        let act = find(&task.point).with_context(|| format!("nothing to do at {}", task.point))?;
        let facts = batch::settle_on_one_cpu();
        Ok(RoleReport { windows: (act.measure)(task, channel)?, facts, ..RoleReport::default() })
    }
}

impl OsOperation for SignalToSelf {
    fn suite(&self) -> &'static str {
        OS_MORE_SUITE
    }

    fn row(&self, point: &Point) -> Option<Row> {
        find(point).map(|act| Row::listed(act.label))
    }

    /// Of a delivery no row measures the frame on the stack, with all registers: nothing predicts it.
    fn predict(&self, point: &Point, mut inputs: Inputs<'_>) -> Option<CostAccount> {
        if !find(point)?.one_short_call {
            return None;
        }
        let trap = inputs.row("trap", system_call::cost_of("getppid"));
        Some(inputs.sum("trap", Some(0.0), trap))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Costs;
    use syscost_core::axis::Value;

    struct Started;
    impl Channel for Started {
        fn offer(&mut self, _: serde_json::Value) -> Result<()> {
            Ok(())
        }
        fn ready(&mut self) -> Result<()> {
            Ok(())
        }
    }

    fn task() -> Task {
        let timing = crate::probe::Timing { warmup_ns: 1000, window_ns: 10_000, windows: 1 };
        Task::of(Point::default(), timing)
    }

    /// One test: signals and handlers are the process's.
    #[test]
    fn every_act_does_its_work_and_a_signal_that_does_not_come_is_seen() {
        for act in ACTS {
            let windows = (act.measure)(&task(), &mut Started).unwrap();
            assert!(windows[0].ops >= 1.0, "{}", act.id);
        }
        let nothing_comes = checked(&task(), &mut Started, |_| own::caught()[0] == u64::MAX);
        assert!(nothing_comes.unwrap_err().to_string().contains("did not do"));
    }

    #[test]
    fn a_short_call_is_an_entry_and_a_delivery_is_not_predicted() {
        let known = Costs::of(&[("system_call", 120.0)]);
        for act in ACTS {
            let mut point = Point::default();
            point.set(ACT.id, Value::text(act.id));
            let predicted = SignalToSelf.predict(&point, Inputs::new(&known)).and_then(|a| a.predicted);
            assert_eq!(predicted, act.one_short_call.then_some(120.0), "{}", act.id);
        }
    }
}
