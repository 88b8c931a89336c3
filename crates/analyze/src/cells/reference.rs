//! References from a sentence to what it stands on: a cell, or what an audit counted of a case.
//!
//! An audit has no cell: it is one untimed round, without an interval. It is a round of a case of the
//! plan, though, so a reference to it is that case with [`AUDIT`] in the place of a metric. What has no
//! figure because its samples were refused is the case itself: [`CASE`].

use crate::CellRef;
use crate::cells::Cells;
use syscost_experiment::run::{Audit, Run};

/// In the place of a metric: what was counted of the case's copies.
pub const AUDIT: &str = "audit";

/// In the place of a metric: the case itself, where all its samples were refused and it has no figure.
pub const CASE: &str = "case";

impl CellRef {
    /// `None`: the audit is of no case of this run.
    pub fn audit(run: &Run, audit: &Audit) -> Option<CellRef> {
        let audited =
            run.record.plan.cases.iter().find(|c| c.probe == audit.probe && c.point == audit.point)?;
        Some(CellRef { case: audited.index, metric: AUDIT })
    }

    /// Is there what it refers to?
    pub fn exists(&self, run: &Run, cells: &Cells) -> bool {
        match self.metric {
            AUDIT => run.case(self.case).is_some_and(|case| {
                run.record
                    .audits
                    .iter()
                    .any(|audit| (&audit.probe, &audit.point) == (&case.probe, &case.point))
            }),
            CASE => run.case(self.case).is_some(),
            metric => cells.cell(self.case, metric).is_some(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, audit};
    use syscost_measure::probe;

    #[test]
    fn an_audit_is_found_by_its_case_and_no_metric_is_called_like_it() {
        let mut run = Synthetic::default().run();
        let cells = Cells::of(&run);
        let of_send = CellRef { case: 10, metric: AUDIT };
        assert!(!of_send.exists(&run, &cells), "nothing was audited");
        run.record.audits = vec![audit("send", None, (0, 0))];
        assert_eq!(CellRef::audit(&run, &run.record.audits[0]), Some(of_send.clone()));
        assert!(of_send.exists(&run, &cells));
        assert!(CellRef { case: 10, metric: "throughput" }.exists(&run, &cells));
        assert!(!CellRef { case: 10, metric: "copied_fraction" }.exists(&run, &cells));
        assert_eq!(CellRef::audit(&run, &audit("splice", None, (0, 0))), None, "of another run");
        assert!(probe::ALL.iter().flat_map(|p| p.metrics()).all(|m| ![AUDIT, CASE].contains(&m.id)));
    }
}
