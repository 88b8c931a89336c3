//! What the harness itself costs: messages that do nothing go through its own loops, clocks and counts.

use super::super::meter::Meter;
use super::super::{Task, Timing, Window};
use super::bursts::Bursts;
use anyhow::Result;
use syscost_core::stats::median;

/// Totals of a side: CPU time of the harness's own code within all timed slices, and within all windows.
pub const OWN_IN_SLICES: &str = "own_in_slices_ns";
pub const OWN_IN_WINDOWS: &str = "own_in_windows_ns";

/// A null turn is as long, or over when it begins: hundreds of steps, or what beginning and ending cost.
pub const STEPPING_NS: u64 = 20_000;
/// Null turns of each length in a round.
pub const NULL_TURNS: usize = 4;

/// What a slice or window of nothing took.
#[derive(Clone, Copy, Debug)]
pub struct NullTurn {
    /// It was not over when it began.
    pub stepping: bool,
    /// How often the loop went round.
    pub steps: u64,
    pub cpu_ns: u64,
}

impl NullTurn {
    fn of(stepping: bool, steps: u64, window: &Window) -> NullTurn {
        let cpu_ns = window.quantities.get("cpu_ns").copied().flatten().unwrap_or(0.0);
        NullTurn { stepping, steps, cpu_ns: cpu_ns as u64 }
    }
}

/// CPU time of the harness's own code.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct OwnCost {
    /// Of beginning and ending a slice or window.
    pub turn_ns: f64,
    /// Of each step of the loop in it.
    pub step_ns: f64,
}

impl OwnCost {
    /// Medians: a thread that was held up in a null turn says nothing of the others.
    pub fn of(turns: &[NullTurn]) -> OwnCost {
        let of = |stepping: bool| turns.iter().filter(move |turn| turn.stepping == stepping);
        let idle: Vec<f64> = of(false).map(|turn| turn.cpu_ns as f64).collect();
        let turn_ns = median(&idle).unwrap_or(0.0);
        let step = |turn: &NullTurn| (turn.cpu_ns as f64 - turn_ns) / turn.steps as f64;
        let steps: Vec<f64> = of(true).filter(|turn| turn.steps > 0).map(step).collect();
        OwnCost { turn_ns, step_ns: median(&steps).unwrap_or(0.0).max(0.0) }
    }

    pub fn total_ns(&self, turns: u64, steps: u64) -> f64 {
        self.turn_ns * turns as f64 + self.step_ns * steps as f64
    }

    /// Of the windows of a side through which nothing passes.
    pub fn by_windows(
        task: &Task,
        mut windows: impl FnMut(&Task, &mut Meter) -> Result<(Vec<Window>, u64)>,
    ) -> Result<OwnCost> {
        let mut turns = Vec::new();
        // A window of bursts is no time; its steps are a burst each.
        if Bursts::of(&task.point).is_some() {
            return Ok(OwnCost::default());
        }
        for window_ns in [0, STEPPING_NS].repeat(NULL_TURNS) {
            let timing = Timing { warmup_ns: 0, window_ns, windows: 1 };
            let task = Task { timing, counting: None, ..task.clone() };
            let (done, steps) = windows(&task, &mut Meter::of(&task))?;
            turns.extend(done.iter().map(|window| NullTurn::of(window_ns > 0, steps, window)));
        }
        Ok(OwnCost::of(&turns))
    }
}

#[cfg(test)]
mod tests {
    use super::super::receiving::null_source;
    use super::super::sending::{Pump, null_pump};
    use super::*;
    use crate::mechanism::{Sender, Tally};
    use std::io;
    use syscost_core::axis::Point;
    use syscost_host::clock;

    /// As long in CPU time, so that a busy machine does not decide it.
    fn spin(ns: u64) {
        let until = clock::thread_cpu_ns() + ns;
        while clock::thread_cpu_ns() < until {}
    }

    /// A harness that is dearer: by so much a step, and by so much when it ends a window.
    #[derive(Default)]
    struct Dearer {
        step_ns: u64,
        end_ns: u64,
    }

    impl Sender for Dearer {
        fn send(&mut self, _: u64) -> io::Result<()> {
            spin(self.step_ns);
            Ok(())
        }

        fn settle(&mut self) -> io::Result<()> {
            spin(self.end_ns);
            Ok(())
        }

        fn tally(&self) -> Tally {
            Tally::default()
        }
    }

    fn task() -> Task {
        Task::of(Point::default(), Timing { warmup_ns: 0, window_ns: 0, windows: 0 })
    }

    fn sending(pump: Pump) -> OwnCost {
        OwnCost::of_sending(&task(), pump).unwrap()
    }

    #[test]
    fn nothing_costs_something_and_a_dearer_harness_is_seen() {
        let own = sending(null_pump());
        assert!(own.turn_ns > 0.0 && own.step_ns > 0.0, "{own:?}");
        assert!(own.step_ns < 5_000.0 && own.turn_ns < 100_000.0, "{own:?}");
        let dearer = |step_ns, end_ns| sending(Pump::one_by_one(Box::new(Dearer { step_ns, end_ns })));
        let by_step = dearer(1_000, 0);
        assert!(by_step.step_ns >= own.step_ns.max(1_000.0), "{own:?} {by_step:?}");
        let by_end = dearer(0, 50_000);
        assert!(by_end.turn_ns >= own.turn_ns + 45_000.0, "{own:?} {by_end:?}");

        let own = OwnCost::of_receiving(&task(), &mut *null_source()).unwrap();
        assert!(own.turn_ns > 0.0 && own.step_ns > 0.0, "{own:?}");
    }

    #[test]
    fn beginning_is_told_from_stepping_and_one_held_up_turn_does_nothing() {
        let turn = |stepping, steps, cpu_ns| NullTurn { stepping, steps, cpu_ns };
        let idle = [turn(false, 0, 300), turn(false, 8, 310), turn(false, 0, 9_000)];
        let stepping = [turn(true, 100, 4_310), turn(true, 50, 2_310), turn(true, 0, 700)];
        let turns = [idle, stepping].concat();
        let own = OwnCost::of(&turns);
        assert_eq!(own, OwnCost { turn_ns: 310.0, step_ns: 40.0 });
        assert_eq!(own.total_ns(2, 10), 1020.0);
        assert_eq!(OwnCost::of(&[]), OwnCost::default());
    }
}
