//! One inference for every comparison: which of two costs less, whether they are the same, or what would tell.
//!
//! A *contrast* is a pair of cases at one point: the log ratios of its rounds, which are the independent replicates.
//! Its estimate is their mean, weighted by what their own slices scatter; its interval is by t, with a variance moderated
//! over its pool and its place (`stats::moderated`).
//! Contrasts that differ in the number of threads alone are also answered together: the mean over threads, whose interval holds
//! the disagreement of threads. Where that leaves it undecided and every point has the same answer, theirs counts.
//!
//! Three answers, in this order: *the same* within [`MARGIN`] (the interval lies inside), *less* or *more* (it
//! excludes 1), *undecided*. Everything is on log ratios, so that a / b and b / a say the same.
//! The chance of any false answer of a kind is held over the family of questions and over every look ([`Looks`]).
//! Pure numbers; simulated with the noise of real machines in `tests/deciding`.

mod estimate;
mod family;
pub mod hosts;
mod looks;
pub mod sides;

pub use estimate::half_widths;
pub use looks::Looks;

use estimate::RoundsEvidence;

/// Two costs whose ratio is within 1 / 1.03 to 1.03 are the same.
pub const MARGIN: f64 = 0.03;

/// One question: a / b at one point.
#[derive(Clone, Debug, PartialEq)]
pub struct Contrast {
    /// ln(a / b), round by round.
    pub logs: Vec<f64>,
    /// The standard error of each by its own slices; empty where rounds say nothing of themselves. A round in which the
    /// machine was busy weighs less, and what rounds scatter by beyond their errors is alike at all points of a pool.
    pub errors: Vec<f64>,
    /// Contrasts of one pool (the same pair of mechanisms) scatter alike, but for where they were seen.
    pub pool: usize,
    /// Those at one place (but for threads: one size, one path) scatter more or less than elsewhere together.
    pub place: usize,
    /// Contrasts that differ in threads alone have the same number here, counted from 0.
    pub over: Option<usize>,
    /// What it may err by, as a multiple of what others may: [`AGAINST_CONTROL`], or 1.
    pub weight: f64,
}

impl Contrast {
    /// Of these values alone, in one pool.
    pub fn of(logs: Vec<f64>) -> Contrast {
        Contrast { logs, errors: Vec::new(), pool: 0, place: 0, over: None, weight: 1.0 }
    }

    /// The mean that is tested.
    pub fn mean(&self) -> f64 {
        estimate::mean(&self.logs, &estimate::weights(self))
    }
}

/// The weight of a comparison with the control, which is what a study is for. Those of its rivals with each other are more
/// in number and get the rest.
pub const AGAINST_CONTROL: f64 = 2.0;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// a / b is below 1.
    Less,
    More,
    Same,
    Undecided,
}

/// What is known of one contrast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// a / b.
    pub ratio: f64,
    /// The interval that the verdict stands on; 0 and infinity where nothing is known of the scatter.
    pub low: f64,
    pub high: f64,
    /// Its confidence.
    pub level: f64,
    pub rounds: u32,
    /// Of the test that the verdict stands on (of a difference, where undecided), adjusted for all looks and questions:
    /// to be compared with 1 - confidence.
    pub p_adjusted: f64,
    pub verdict: Verdict,
    /// Rounds in all that would decide, at what is seen now; `None` where none would, or where it is decided.
    pub rounds_needed: Option<f64>,
}

/// The answers of one metric.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Decisions {
    /// One for each contrast, in their order.
    pub points: Vec<Decision>,
    /// Over threads, by [`Contrast::over`]; `None` where fewer than two numbers of threads have a round.
    pub over: Vec<Option<Decision>>,
}

/// Answers every contrast of a metric. Where threads vary, half of the error goes to the answers over threads.
pub fn decide(contrasts: &[Contrast], looks: &Looks) -> Decisions {
    let points = estimate::points(contrasts);
    let over = estimate::over_threads(contrasts, &points);
    let families = if over.iter().any(Option::is_some) { 2.0 } else { 1.0 };
    let known: Vec<RoundsEvidence> = over.iter().copied().flatten().collect();
    let mut answers = family::answers(&known, looks, families, MARGIN).into_iter();
    let points = family::answers(&points, looks, families, MARGIN);
    let mut over: Vec<Option<Decision>> = over.iter().map(|one| one.and_then(|_| answers.next())).collect();
    let mut members: Vec<Vec<&Decision>> = vec![Vec::new(); over.len()];
    for (contrast, point) in contrasts.iter().zip(&points).filter(|(c, _)| !c.logs.is_empty()) {
        contrast.over.into_iter().for_each(|group| members[group].push(point));
    }
    for (together, members) in over.iter_mut().zip(&members) {
        if let Some(one) = together.as_mut().filter(|one| one.verdict == Verdict::Undecided) {
            one.agree_with(members);
        }
    }
    Decisions { over, points }
}

impl Decision {
    /// Where every point has the same answer their mean has it too, whatever they disagree by. This needs no further
    /// error: the points' answers hold together with their own half of it.
    fn agree_with(&mut self, points: &[&Decision]) {
        let Some(first) = points.first().filter(|first| first.verdict != Verdict::Undecided) else { return };
        if points.iter().any(|point| point.verdict != first.verdict) {
            return;
        }
        let of = |value: fn(&Decision) -> f64| points.iter().map(move |point| value(point));
        *self = Decision {
            low: of(|point| point.low).fold(f64::INFINITY, f64::min),
            high: of(|point| point.high).fold(0.0, f64::max),
            level: of(|point| point.level).fold(1.0, f64::min),
            p_adjusted: of(|point| point.p_adjusted).fold(0.0, f64::max),
            verdict: first.verdict,
            rounds_needed: None,
            ..*self
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn last() -> Looks {
        Looks::end(0.95, 1)
    }

    /// Zero-copy may cost 4x at one thread and 1.2x at eight: their mean is uncertain, but it is dearer at each.
    #[test]
    fn points_that_agree_decide_what_their_mean_leaves_open() {
        let at = |middle: f64, i: usize| Contrast {
            logs: (0..6).map(|round| middle + 0.005 * f64::from(round % 3 - 1)).collect(),
            errors: Vec::new(),
            pool: 0,
            place: 0,
            over: Some(i),
            weight: 1.0,
        };
        let decide_over = |middles: [f64; 4]| {
            let contrasts: Vec<Contrast> = middles.map(|middle| at(middle, 0)).into();
            let decisions = decide(&contrasts, &last());
            (decisions.over[0].expect("four numbers of threads"), decisions.points)
        };
        let (over, points) = decide_over([1.4, 0.9, 0.5, 0.2]);
        assert_eq!(over.verdict, Verdict::More);
        assert!((over.ratio.ln() - 0.75).abs() < 1e-3);
        assert_eq!((over.low, over.high), (points[3].low, points[0].high));
        let (over, _) = decide_over([1.4, 0.9, 0.5, 0.0]);
        assert_eq!(over.verdict, Verdict::Undecided, "one number of threads says otherwise");
        let (over, _) = decide_over([1.4, 0.9, 0.5, -0.2]);
        assert_eq!(over.verdict, Verdict::Undecided, "it is cheaper at one");
    }

    #[test]
    fn an_undecided_contrast_says_how_many_rounds_would_do() {
        let one = |logs: Vec<f64>| {
            decide(
                &[Contrast { logs, errors: Vec::new(), pool: 0, place: 0, over: None, weight: 1.0 }],
                &last(),
            )
            .points[0]
        };
        let logs: Vec<f64> = (0..6).map(|i| 0.1 + 0.1 * f64::from(i % 3 - 1)).collect();
        let open = one(logs.clone());
        assert_eq!(open.verdict, Verdict::Undecided);
        let needed = open.rounds_needed.unwrap() as usize;
        assert!((7..20).contains(&needed), "{open:?}");
        assert_eq!(
            one(logs.iter().copied().cycle().take(needed.next_multiple_of(6)).collect()).verdict,
            Verdict::More
        );
        assert_eq!((one(vec![0.0, 0.1]).rounds, one(vec![0.5]).verdict), (2, Verdict::Undecided));
        assert_eq!(one(vec![0.0; 3]).verdict, Verdict::Same);
        assert_eq!(one(Vec::new()).rounds, 0);
    }
}
