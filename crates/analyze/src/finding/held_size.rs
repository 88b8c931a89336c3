//! How large is what serves the small cases of a curve: the file cache. The end of the curve's first level, between the
//! largest size that it still held and the smallest that it did not.
//!
//! Which curves have such a holder their probe says; levels are found as those of memory are. What was expected is the
//! room that the recorded predictions were made with.

use super::{Answer, Evidence, Finding, Says, Shown};
use crate::CellRef;
use crate::answer::{AnswerVerdict, Lack};
use crate::operations::curves::{self, CurveLine};
use crate::operations::levels;
use serde::Serialize;
use syscost_core::stats::median;
use syscost_measure::probe::{self, row};

pub struct HeldSize;

/// In bytes, and nanoseconds.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HeldRoom {
    pub holder: &'static str,
    pub act: &'static str,
    /// The room that the holder could use; and the size that was predicted before the first sample, with its source.
    pub room: f64,
    pub expected: Option<(f64, String)>,
    /// The largest size that was held, and the smallest that was not.
    pub held: f64,
    pub lost: f64,
    pub cost_held: f64,
    pub cost_lost: f64,
    /// The bytes of larger ones that the holder still had.
    pub kept: Option<f64>,
}

impl Finding for HeldSize {
    fn id(&self) -> &'static str {
        "held_size"
    }

    fn asked(&self, evidence: &Evidence<'_>) -> bool {
        !curves_with_holders(evidence).is_empty()
    }

    fn answered(&self, evidence: &Evidence<'_>) -> Answer {
        let all = curves_with_holders(evidence);
        let shown: Vec<Shown> = all.iter().flat_map(|curve| curve.shown(evidence)).collect();
        match all.first().filter(|_| shown.is_empty()) {
            Some(curve) => {
                let lacks = curve.lacks(evidence);
                let command = curve.command(&lacks);
                Answer::not_measured(self.id(), lacks, command)
            }
            None => Answer::found(self.id(), AnswerVerdict::Yes, shown, Vec::new()),
        }
    }
}

/// A page that is being read ahead may be missing.
const WHOLE: f64 = 0.999;
/// Costs beyond what a holder holds are at least so many times those within.
const CLEARLY: f64 = 1.5;

struct HeldCurve {
    probe: &'static str,
    holder: row::Holder,
    /// One for each directory, say.
    lines: Vec<CurveLine>,
}

fn curves_with_holders(evidence: &Evidence<'_>) -> Vec<HeldCurve> {
    let planned = &evidence.run.record.plan;
    let mut all = Vec::new();
    for probe in probe::ALL.iter() {
        let (id, axes) = (probe.about().id, probe.axes());
        let asked =
            planned.cases.iter().any(|c| c.probe == id) || planned.skips.iter().any(|s| s.probe == id);
        for drawing in probe.drawings().iter().filter(|_| asked) {
            let Some(holder) = drawing.holder else { continue };
            let cases = curves::cases(planned.cases.iter(), id, drawing);
            all.push(HeldCurve {
                probe: id,
                holder,
                lines: curves::lines(&cases, evidence.cells, &axes, drawing),
            });
        }
    }
    all
}

impl HeldCurve {
    fn shown(&self, evidence: &Evidence<'_>) -> Vec<Shown> {
        let shown = |line: &CurveLine| {
            let (held, cost_held, cost_lost) = match &levels::of_line(line)[..] {
                [within, beyond, ..] if within.value < beyond.value => {
                    (within.to_x, within.value, beyond.value)
                }
                _ => self.by_share(evidence, line)?,
            };
            let lost = line.points.iter().find(|(x, ..)| *x > held)?.0;
            let rooms: Vec<f64> =
                self.values(evidence, line, self.holder.room).map(|(_, room)| room).collect();
            let shares = self.values(evidence, line, self.holder.held_share);
            let kept: Vec<f64> = shares.filter(|(x, _)| *x >= lost).map(|(x, share)| x * share).collect();
            let cells = line.points.iter().map(|(.., cell)| cell.clone()).collect();
            let says = HeldRoom {
                holder: self.holder.name,
                act: self.holder.act,
                room: median(&rooms)?,
                expected: self.expected(evidence, line),
                held,
                lost,
                cost_held,
                cost_lost,
                kept: median(&kept),
            };
            Some(Shown::of(Says::HeldSize(says), cells))
        };
        self.lines.iter().filter_map(shown).collect()
    }

    /// Where costs scatter too much for levels: the largest size that was held whole, and the median costs up to it and
    /// beyond, if they differ clearly.
    fn by_share(&self, evidence: &Evidence<'_>, line: &CurveLine) -> Option<(f64, f64, f64)> {
        let whole =
            self.values(evidence, line, self.holder.held_share).take_while(|(_, share)| *share >= WHOLE);
        let held = whole.last()?.0;
        let costs = |up_to: bool| {
            let side = line.points.iter().filter(|(x, ..)| (*x <= held) == up_to);
            median(&side.map(|(_, cost, _)| cost.value).collect::<Vec<_>>())
        };
        let (below, above) = (costs(true)?, costs(false)?);
        (above >= CLEARLY * below).then_some((held, below, above))
    }

    /// Sizes with a metric of their cases.
    fn values<'a>(
        &self,
        evidence: &Evidence<'a>,
        line: &'a CurveLine,
        metric: &'static str,
    ) -> impl Iterator<Item = (f64, f64)> {
        let cells = evidence.cells;
        let value = move |cell: &CellRef| Some(cells.cell(cell.case, metric)?.estimate.value);
        line.points.iter().filter_map(move |(x, _, cell)| Some((*x, value(cell)?)))
    }

    fn expected(&self, evidence: &Evidence<'_>, line: &CurveLine) -> Option<(f64, String)> {
        let of_line = |case: usize| line.points.iter().any(|(.., cell)| cell.case == case);
        let predictions = evidence.run.record.predictions.iter().filter(|p| of_line(p.case));
        let mut inputs = predictions.flat_map(|prediction| &prediction.cost.inputs);
        let room = inputs.find(|input| input.name == self.holder.room)?;
        Some((room.value?, room.source.clone()))
    }

    fn lacks(&self, evidence: &Evidence<'_>) -> Lack {
        let rooms = self.lines.iter().filter_map(|line| self.values(evidence, line, self.holder.room).next());
        let room = rooms.map(|(_, room)| room).next();
        let largest = self.lines.iter().filter_map(|line| Some(line.points.last()?.0)).max_by(f64::total_cmp);
        let skip = evidence.run.record.plan.skips.iter().find(|skip| skip.probe == self.probe);
        let skip = skip.filter(|_| largest.is_none());
        let reason = skip.map(|skip| (skip.why.reason.clone(), skip.why.remedy.clone()));
        Lack::HeldSize { holder: self.holder.name, largest, room, reason }
    }

    /// Sizes up to the room are a matter of time; otherwise a smaller room is.
    fn command(&self, lacks: &Lack) -> String {
        let run = format!("syscost run {}", self.probe);
        match lacks {
            Lack::HeldSize { largest: Some(largest), room: Some(room), .. } if largest >= room => {
                format!("{run} --time-limit 2m")
            }
            // The reason names what to change.
            Lack::HeldSize { reason: Some(_), .. } => run,
            _ => format!("systemd-run --user --scope -p MemoryMax=512M {run}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::synthetic::single_operations;
    use crate::whole::Analysis;
    use syscost_core::axis::{Point, Value};
    use syscost_core::units::Unit;
    use syscost_experiment::run::Run;
    use syscost_measure::probe::prediction::Input;

    /// Files of every tenth byte up to the largest, each read again: those that a cache of this size holds cost 400 ns a block,
    /// others 1800 ns. All of `room` might have been held.
    fn reread_files(room: f64, largest: u64, held: f64) -> Run {
        let bytes = |point: &Point| point.int_at("file_bytes").unwrap_or(0) as f64;
        let points = (1..=largest / 10).map(|tens| {
            let mut point = Point::default();
            point.set("file_bytes", Value::Int(tens * 10));
            point
        });
        let cost = |point: &Point| if bytes(point) <= held { 400.0 } else { 1800.0 } / 1.1;
        let mut run = single_operations("file_cache", points, 8, Some(500.0), 7, cost);
        let sizes: Vec<f64> = run.record.plan.cases.iter().map(|case| bytes(&case.point)).collect();
        for sample in run.samples.iter_mut() {
            let share = (held / sizes[sample.case]).min(1.0);
            sample.quantities.extend([("room".into(), Some(room)), ("cached_share".into(), Some(share))]);
        }
        for prediction in &mut run.record.predictions {
            let input = Input {
                name: "room".into(),
                value: Some(room),
                unit: Unit::Bytes,
                source: "a group".into(),
                case: None,
            };
            prediction.cost.inputs.push(input);
        }
        run
    }

    fn answered(room: f64, largest: u64, held: f64) -> Answer {
        let run = reread_files(room, largest, held);
        let answers = Analysis::of(&run).answers;
        answers.into_iter().find(|answer| answer.question == HeldSize.id()).expect("it is asked")
    }

    #[test]
    fn the_knee_lies_between_two_sizes_and_a_curve_without_one_names_none() {
        let found = answered(100.0, 160, 92.0);
        let [shown] = &found.shown[..] else { panic!("{found:?}") };
        let Says::HeldSize(room) = &shown.says else { panic!("{shown:?}") };
        assert_eq!((room.held, room.lost, room.room), (90.0, 100.0, 100.0));
        assert!((room.cost_held / 400.0 - 1.0).abs() < 0.1 && (room.cost_lost / 1800.0 - 1.0).abs() < 0.1);
        assert_eq!((room.expected.clone(), room.kept), (Some((100.0, "a group".into())), Some(92.0)));
        // Two points beyond are no level; what was held tells.
        let few = answered(100.0, 110, 92.0);
        assert!(
            matches!(&few.shown[0].says, Says::HeldSize(room) if (room.held, room.lost) == (90.0, 100.0))
        );
        let flat = answered(1000.0, 160, 1000.0);
        assert_eq!(flat.verdict, AnswerVerdict::NotMeasured);
        let Some(Lack::HeldSize { largest, room, .. }) = flat.lacks else { panic!("{flat:?}") };
        assert_eq!((largest, room), (Some(160.0), Some(1000.0)));
        assert!(flat.command.unwrap().contains("MemoryMax="));
    }
}
