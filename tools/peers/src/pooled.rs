//! One ratio over all cells, with its interval.
//!
//! The mean over cells of the mean log ratio of each: every cell counts alike, however often it was visited. These are the
//! cells, not a sample of some: what they differ by is no error, what quads of one cell scatter by is. Where no cell
//! has two quads, only the scatter of cells is known; the interval is then wider. Degrees of freedom by Welch and
//! Satterthwaite, without the bias of variances that have few (Searle, Casella and McCulloch, "Variance components", 1992).

use syscost_core::stats::student;

/// A ratio pooled over cells.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pooled {
    pub ratio: f64,
    pub low: f64,
    pub high: f64,
    pub cells: usize,
    pub quads: usize,
}

/// `None` without a cell; from 0 to infinity where nothing is known of the scatter.
pub fn pooled(cells: &[Vec<f64>], level: f64) -> Option<Pooled> {
    let cells: Vec<&Vec<f64>> = cells.iter().filter(|logs| !logs.is_empty()).collect();
    if cells.is_empty() {
        return None;
    }
    let means: Vec<f64> = cells.iter().map(|logs| mean(logs)).collect();
    let middle = mean(&means);
    let (square, freedom) = within(&cells).unwrap_or_else(|| between(&means));
    let half = match freedom > 0.0 {
        true => square.sqrt() * student::critical(1.0 - level, freedom),
        false => f64::INFINITY,
    };
    Some(Pooled {
        ratio: middle.exp(),
        low: (middle - half).exp(),
        high: (middle + half).exp(),
        cells: cells.len(),
        quads: cells.iter().map(|logs| logs.len()).sum(),
    })
}

/// The squared error of the mean over cells and its degrees of freedom, from what quads of a cell scatter by.
fn within(cells: &[&Vec<f64>]) -> Option<(f64, f64)> {
    let known: Vec<(f64, f64)> = cells
        .iter()
        .filter(|logs| logs.len() > 1)
        .map(|logs| (variance(logs), logs.len() as f64 - 1.0))
        .collect();
    let sum: f64 = known.iter().map(|(variance, _)| variance).sum();
    let squares: f64 = known.iter().map(|(variance, n)| variance.powi(2) / (n + 2.0)).sum();
    let freedom = if squares > 0.0 { sum.powi(2) / squares - 2.0 } else { 0.0 };
    // A cell that was visited once scatters as the others do.
    let usual = sum / known.len() as f64;
    let of = |logs: &&Vec<f64>| if logs.len() > 1 { variance(logs) } else { usual } / logs.len() as f64;
    let square = cells.iter().map(of).sum::<f64>() / (cells.len() as f64).powi(2);
    (freedom >= 1.0).then_some((square, freedom))
}

fn between(means: &[f64]) -> (f64, f64) {
    (variance(means) / means.len() as f64, means.len() as f64 - 1.0)
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let middle = mean(values);
    values.iter().map(|value| (value - middle).powi(2)).sum::<f64>() / (values.len() as f64 - 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_core::stats::random::Random;

    /// How often the interval has the true mean, and how wide it is: cells differ, and scatter by very different amounts.
    fn coverage(cells: usize, quads: impl Fn(usize) -> usize) -> (f64, f64) {
        let mut random = Random::new(7);
        let (mut inside, mut width) = (0, 0.0);
        const RUNS: usize = 4000;
        for _ in 0..RUNS {
            let truths: Vec<f64> = (0..cells).map(|_| 0.1 * random.normal()).collect();
            let logs: Vec<Vec<f64>> = truths
                .iter()
                .enumerate()
                .map(|(at, truth)| {
                    let scatter = 0.02 * (1 + at % 4).pow(2) as f64;
                    (0..quads(at)).map(|_| truth + scatter * random.normal()).collect()
                })
                .collect();
            let one = pooled(&logs, 0.95).unwrap();
            let truth = mean(&truths).exp();
            inside += usize::from((one.low..=one.high).contains(&truth));
            width += (one.high / one.low).ln();
        }
        (inside as f64 / RUNS as f64, width / RUNS as f64)
    }

    #[test]
    fn the_interval_has_the_mean_of_these_cells_as_often_as_it_says() {
        for (cells, quads, widest) in [(8, 3, 0.4), (40, 2, 0.12), (24, 5, 0.09), (4, 6, 0.5)] {
            let (inside, width) = coverage(cells, |_| quads);
            assert!((0.935..0.985).contains(&inside), "{cells} cells of {quads}: {inside}");
            assert!(width < widest, "{cells} cells of {quads}: {width}");
        }
        let (inside, _) = coverage(12, |at| 1 + at % 3);
        assert!(inside >= 0.93, "some visited once: {inside}");
        let (inside, _) = coverage(12, |_| 1);
        assert!(inside >= 0.95, "all visited once: {inside}");
    }

    #[test]
    fn one_quad_tells_nothing_of_its_error() {
        let one = pooled(&[vec![0.1]], 0.95).unwrap();
        assert!((one.ratio - 0.1f64.exp()).abs() < 1e-12);
        assert_eq!((one.low, one.high), (0.0, f64::INFINITY));
        assert_eq!(pooled(&[vec![], vec![]], 0.95), None);
    }

    #[test]
    fn every_cell_counts_alike() {
        let all = pooled(&[vec![0.0; 9], vec![0.2; 2]], 0.95).unwrap();
        assert!((all.ratio - 0.1f64.exp()).abs() < 1e-12, "{all:?}");
        assert_eq!((all.cells, all.quads), (2, 11));
    }
}
