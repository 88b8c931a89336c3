//! Whether operations cost what their formulas say, within a factor of two.
//!
//! Outside means that the whole interval is; an interval across the limit decides nothing.

use crate::CellRef;
use crate::operations::Operation;
use syscost_core::stats::Estimate;

/// A formula holds where the measured figure is within this factor of it.
pub const FACTOR: f64 = 2.0;

/// How a measured figure stands to its formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Holds,
    Outside,
    /// The interval crosses the limit, or has too few rounds for the confidence asked.
    Undecided,
}

pub fn fit(ratio: &Estimate, confidence: f64) -> Fit {
    if !ratio.reaches(confidence) {
        Fit::Undecided
    } else if ratio.low > FACTOR || ratio.high < 1.0 / FACTOR {
        Fit::Outside
    } else if ratio.high <= FACTOR && ratio.low >= 1.0 / FACTOR {
        Fit::Holds
    } else {
        Fit::Undecided
    }
}

/// How the predictions of a run did.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fits {
    pub held: Vec<CellRef>,
    pub outside: Vec<CellRef>,
    /// Too few rounds among them, and costs that their loop hides.
    pub undecided: Vec<CellRef>,
    /// Predictions that lack an input.
    pub unknown: usize,
}

impl Fits {
    pub fn of(operations: &[Operation], confidence: f64) -> Fits {
        let mut fits = Fits::default();
        for operation in operations {
            match operation.ratio.as_ref().map(|ratio| fit(ratio, confidence)) {
                Some(Fit::Holds) => fits.held.push(operation.cell()),
                Some(Fit::Outside) => fits.outside.push(operation.cell()),
                Some(Fit::Undecided) => fits.undecided.push(operation.cell()),
                None if operation.unresolved.is_some() && operation.predicted().is_some() => {
                    fits.undecided.push(operation.cell());
                }
                None => {
                    let unknown = operation.prediction.is_some() && operation.predicted().is_none();
                    fits.unknown += usize::from(unknown);
                }
            }
        }
        fits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::Cells;
    use crate::operations::operations;
    use crate::synthetic::clocks;
    use syscost_core::units::Unit;

    #[test]
    fn an_interval_across_the_limit_decides_nothing() {
        let e =
            |low: f64, high: f64| Estimate { value: 0.0, low, high, level: 0.95, n: 8, unit: Unit::Ratio };
        assert_eq!(fit(&e(0.6, 1.9), 0.95), Fit::Holds);
        assert_eq!(fit(&e(1.9, 2.1), 0.95), Fit::Undecided);
        assert_eq!(fit(&e(2.1, 2.3), 0.95), Fit::Outside);
        assert_eq!(fit(&e(0.2, 0.4), 0.95), Fit::Outside);
        assert_eq!(fit(&e(0.2, 0.6), 0.95), Fit::Undecided);
        assert_eq!(fit(&e(5.0, 6.0), 0.99), Fit::Undecided);
    }

    fn fits(rounds: u32, ghz: Option<f64>, cost_ns: f64) -> [usize; 4] {
        let run = clocks(rounds, ghz, cost_ns);
        let Fits { held, outside, undecided, unknown } = Fits::of(&operations(&run, &Cells::of(&run)), 0.95);
        [held.len(), outside.len(), undecided.len(), unknown]
    }

    #[test]
    fn predictions_hold_within_twice_or_half() {
        let [held, outside, undecided, unknown] = fits(8, Some(1.0), 1.1);
        assert!(held > 0 && [outside, undecided, unknown] == [0, 0, 0]);
        assert_eq!(fits(8, Some(1.0), 3.0)[1], held);
        assert_eq!(fits(2, Some(1.0), 3.0)[2], held, "two rounds decide nothing");
        assert_eq!(fits(8, Some(1.0), 0.001)[2], held, "what the loop hides decides nothing");
        assert_eq!(fits(8, None, 30.0)[3], held);
        assert_eq!(Fits::of(&[], 0.95), Fits::default());
    }
}
