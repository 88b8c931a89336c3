//! The noise floor of a run: how far two measurements of the same case lie apart (A/A).
//!
//! Twins are a second, independent set of rounds of a case, visited in the same rounds. Their
//! paired ratio should be 1; what it is instead is bias that no number of rounds removes (memory
//! layout, placement, order). The floor of a metric is the larger of
//!
//! - the largest distance of a twin's median ratio from 1, over all twins: with k twins a fresh
//!   identical pair lies beyond it once in k + 1 times; and
//! - the median half width of the twins' own intervals: twins that agree by luck do not prove more
//!   than they could have resolved, and with few twins luck is common.
//!
//! Both are taken on log ratios and given as a relative difference. Source: Kohavi et
//! al., "Trustworthy online controlled experiments", on A/A tests.

use crate::cells::Cells;
use syscost_core::stats::{median, paired_ratio};
use syscost_experiment::run::Run;

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NoiseFloor {
    /// Relative difference that identical cases show here: 0.02 = 2 %.
    pub relative: f64,
    /// Twin pairs behind it.
    pub twins: u32,
    /// Rounds that the twins share, fewest over the pairs.
    pub rounds: u32,
}

impl NoiseFloor {
    /// Is a ratio farther from 1 than identical cases get?
    pub fn exceeded_by(&self, ratio: f64) -> bool {
        ratio.ln().abs() > self.relative.ln_1p()
    }
}

/// The noise floor of a metric; `None` where no twin has a round in common with its original.
pub fn noise_floor(run: &Run, cells: &Cells, metric: &str) -> Option<NoiseFloor> {
    let (mut farthest, mut widths, mut rounds) = (0.0f64, Vec::new(), u32::MAX);
    for twin in &run.record.plan.cases {
        let Some(original) = twin.twin_of.and_then(|of| cells.cell(of, metric)) else { continue };
        let Some(repeat) = cells.cell(twin.index, metric) else { continue };
        let ratio =
            paired_ratio(&repeat.rounds.pairs(), &original.rounds.pairs(), run.record.spec.confidence);
        let Some(ratio) = ratio.map(|r| r.estimate) else { continue };
        farthest = farthest.max(ratio.value.ln().abs());
        widths.push((ratio.high.ln() - ratio.low.ln()) / 2.0);
        rounds = rounds.min(ratio.n);
    }
    let resolved = median(&widths)?;
    Some(NoiseFloor { relative: farthest.max(resolved).exp_m1(), twins: widths.len() as u32, rounds })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::{Synthetic, aa_cells};
    use syscost_core::stats::random::Random;

    #[test]
    fn no_twins_or_rounds_no_floor() {
        let run = Synthetic { twin_every: 0, ..Default::default() }.run();
        assert_eq!(noise_floor(&run, &Cells::of(&run), "throughput"), None);
        let run = Synthetic { rounds: 0, ..Default::default() }.run();
        assert_eq!(noise_floor(&run, &Cells::of(&run), "throughput"), None);
    }

    #[test]
    fn counts_twins_and_rounds() {
        let run = Synthetic { twin_every: 10, ..Default::default() }.run();
        let floor = noise_floor(&run, &Cells::of(&run), "total_cpu_ns_per_byte").unwrap();
        assert_eq!((floor.twins, floor.rounds), (3, 8));
        assert!(floor.relative > 0.001 && floor.relative < 0.2, "{floor:?}");
        assert!(floor.exceeded_by(1.3) && floor.exceeded_by(1.0 / 1.3) && !floor.exceeded_by(1.0001));
    }

    /// A fresh identical pair with its own bias must rarely lie beyond the floor.
    #[test]
    fn identical_cases_rarely_exceed_it() {
        let run = Synthetic { twin_every: 6, rounds: 0, ..Default::default() }.run();
        let mut random = Random::new(12);
        let (mut beyond, mut pairs) = (0, 0);
        for _ in 0..400 {
            // Rounds scatter by 3 %, and every case keeps a bias of 1 % of its own.
            let cells = aa_cells(&run, "throughput", 8, &mut random, |r| 0.01 * r.normal(), 0.03);
            let floor = noise_floor(&run, &cells, "throughput").unwrap();
            assert_eq!(floor.twins, 5);
            // Cases 1 and 2 have no twin and are identical too.
            let of = |case| cells.cell(case, "throughput").unwrap().rounds.pairs();
            let ratio = paired_ratio(&of(1), &of(2), 0.95).unwrap();
            beyond += u32::from(floor.exceeded_by(ratio.estimate.value));
            pairs += 1;
        }
        assert!(beyond * 100 <= pairs * 15, "{beyond} of {pairs}");
    }
}
