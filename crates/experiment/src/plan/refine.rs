//! Cases that a stage of refinement adds to a plan that is already being measured.

use super::Plan;
use serde::{Deserialize, Serialize};
use syscost_core::axis::{Name, Point};
use syscost_host::allowance::Rooms;
use syscost_measure::probe;

/// One stage: the cases from here on, up to the next stage's, were added by it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refinement {
    pub first_case: usize,
    pub cases: usize,
}

impl Plan {
    /// Appends a stage with these cases, or with those of them that this machine can run; what is known
    /// already is left out. The number of cases added; a stage without any is not recorded.
    pub fn refine(&mut self, wanted: &[(Name, Point)]) -> usize {
        let (first_case, rooms) = (self.cases.len(), Rooms::here());
        for (id, point) in wanted {
            let Some(probe) = probe::find(id) else { continue };
            let known = |p: &str, at: &Point| id == p && at == point;
            if self.cases.iter().any(|c| known(&c.probe, &c.point))
                || self.skips.iter().any(|s| known(&s.probe, &s.point))
                || super::lacking(probe, &[], point, &rooms).is_some()
            {
                continue;
            }
            self.add(id, point.clone(), probe.available(point));
        }
        let cases = self.cases.len() - first_case;
        if cases > 0 {
            self.refinements.push(Refinement { first_case, cases });
        }
        cases
    }

    /// Cases that stages added.
    pub fn refined(&self) -> usize {
        self.refinements.iter().map(|stage| stage.cases).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Case;
    use crate::spec::{DEFAULT, Spec};
    use syscost_core::axis::Value;

    #[test]
    fn stages_append_what_is_new_and_say_so() {
        let mut spec = Spec::named(DEFAULT).unwrap();
        for (flag, value) in [("path", "loopback"), ("size", "64,4K"), ("threads", "1")] {
            spec.set_axis(flag, &[value]).unwrap();
        }
        let mut plan = Plan::make_within(&spec, None).unwrap();
        let before = plan.clone();
        let of = |case: &Case, bytes: u64| {
            let mut point = case.point.clone();
            point.set("message_bytes", Value::Int(bytes));
            (case.probe.clone(), point)
        };
        let first = &before.cases[0];
        assert_eq!(plan.refine(&[of(first, 64), of(first, 4096)]), 0, "both are there");
        assert_eq!(plan, before);
        assert_eq!(plan.refine(&[of(first, 512), of(first, 64), of(first, 1024)]), 2);
        assert_eq!(plan.refine(&[of(first, 768)]), 1);
        let at = before.cases.len();
        let stages = [Refinement { first_case: at, cases: 2 }, Refinement { first_case: at + 2, cases: 1 }];
        assert_eq!((plan.refinements.as_slice(), plan.refined()), (&stages[..], 3));
        assert!(plan.cases.iter().enumerate().all(|(i, c)| c.index == i));
        assert_eq!(plan.cases[..at], before.cases);
    }
}
