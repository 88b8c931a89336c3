//! How precisely a case is known, beside what was asked.

use crate::cells::Cells;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_measure::probe;

/// The widest judged interval of a case, and whether it meets what was asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Precision {
    /// `None`: a figure has no interval.
    pub half_width: Option<f64>,
    pub reached: bool,
}

impl Precision {
    /// `None`: nothing was measured.
    pub fn of(run: &Run, cells: &Cells, case: &Case) -> Option<Precision> {
        let spec = &run.record.spec;
        let cells = cells.of_case(case.index);
        let decisive = probe::find(&case.probe).map_or(&[][..], |p| p.decisive());
        let mut judged: Vec<_> = cells.iter().filter(|c| decisive.contains(&c.metric)).collect();
        if judged.is_empty() {
            judged = cells.iter().take(1).collect();
        }
        let widest = judged.iter().map(|c| c.estimate.relative_half_width()).max_by(f64::total_cmp)?;
        let confident = judged.iter().all(|c| c.estimate.reaches(spec.confidence));
        let half_width = judged.iter().all(|c| c.estimate.level > 0.0).then_some(widest);
        Some(Precision { half_width, reached: confident && widest <= spec.precision })
    }

    /// How many of the measured cases reached what was asked, and how many there are: one that has no figure (refused, failed,
    /// not reached) is told as that. A twin is the same place again; of an operation that this version does not know nothing is shown.
    pub fn reached(run: &Run, cells: &Cells) -> (usize, usize) {
        let shown = |case: &&Case| case.twin_of.is_none() && probe::find(&case.probe).is_some();
        let cases = run.record.plan.cases.iter().filter(shown);
        let measured = cases.filter_map(|case| Precision::of(run, cells, case));
        measured.fold((0, 0), |(some, all), precision| (some + usize::from(precision.reached), all + 1))
    }
}
