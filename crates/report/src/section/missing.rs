//! What was asked for and not measured: skipped cases and missing quantities, each reason once.

use super::{grouped, plural, unless_empty};
use crate::material::Material;
use crate::{Block, Entry, Section, Table};
use syscost_core::axis::{Point, Value};
use syscost_experiment::plan::Skip;
use syscost_experiment::run::State;
use syscost_measure::probe;

/// Names listed of quantities that share their reason.
const NAMES: usize = 8;

pub fn section(m: &Material) -> Option<Section> {
    let late = late(m).map(|(text, why, remedy)| [text, why.into(), remedy.into()].map(Entry::Text).to_vec());
    let mut rows = Vec::from_iter(late);
    let skips = m.run.record.plan.skips.iter();
    for ((_, why), skips) in grouped(skips.map(|skip| ((&skip.probe, &skip.why), skip))) {
        let what = format!("{} skipped: {}", plural(skips.len(), "case"), common(m, &skips));
        rows.push([what, why.reason.clone(), why.remedy.clone()].map(Entry::Text).to_vec());
    }
    for missing in &m.run.record.missing {
        let what = format!("{}: {}", plural(missing.quantities.len(), "quantity"), some(&missing.quantities));
        rows.push([what, missing.why.reason.clone(), missing.why.remedy.clone()].map(Entry::Text).to_vec());
    }
    let note = "A missing figure is an empty cell in the files, never a zero.";
    let table = Table::new("missing", &["what", "why", "what to do"], rows).noted(Some(note.into()));
    let blocks = if table.rows.is_empty() { Vec::new() } else { vec![Block::Table(table)] };
    unless_empty("not-measured", "Not measured", blocks)
}

/// One sentence of the cases that the run ended before.
pub fn late_sentence(m: &Material) -> Option<String> {
    let (what, why, remedy) = late(m)?;
    Some(format!("{what} were not measured: {why}. Measure them: {remedy}"))
}

/// What was not begun, why, and what to do.
fn late(m: &Material) -> Option<(String, &'static str, &'static str)> {
    let (asked, late) = m.begun_too_late();
    let (why, remedy) = match m.run.record.state {
        State::TimeLimit => {
            ("the time limit was over before", "syscost run --resume DIR --time-limit LONGER")
        }
        State::Interrupted => ("the run was interrupted before", "syscost run --resume DIR"),
        State::Running | State::Complete => ("the run is not finished", "syscost run --resume DIR"),
    };
    (!late.is_empty()).then(|| (format!("{} of {}", late.len(), plural(asked, "case")), why, remedy))
}

/// The first names of a list, and how many more there are.
fn some(names: &[String]) -> String {
    let shown = names.iter().take(NAMES).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > NAMES { format!("{shown} and {} more, in run.json", names.len() - NAMES) } else { shown }
}

/// What the skipped cases share and the measured ones do not: `transfer mechanism=io_uring_send`.
fn common(m: &Material, skips: &[&Skip]) -> String {
    let Some(first) = skips.first() else { return String::new() };
    let measured = m.layouts.iter().find(|l| first.probe == l.probe.about().id);
    let everywhere = |axis: &str, value: &Value| {
        measured.is_some_and(|l| l.cases.iter().all(|c| c.point.get(axis).is_none_or(|v| v == value)))
    };
    let mut point = Point::default();
    for (axis, value) in first.point.iter() {
        if skips.iter().all(|s| s.point.get(axis) == Some(value)) && !everywhere(axis, value) {
            point.set(axis, value.clone());
        }
    }
    // A row has a name; several are told by what they share.
    let row = probe::find(&first.probe).and_then(|p| Some((p.about().title, p.row(&first.point)?)));
    match row {
        Some((title, row)) if skips.len() == 1 && !row.label.is_empty() => format!("{title} ({})", row.label),
        Some((title, _)) => format!("{title} {point}"),
        None => format!("{} {point}", first.probe),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;
    use syscost_analyze::whole::Analysis;
    use syscost_experiment::run::{Failure, Run};

    fn told(run: &Run) -> Option<String> {
        late_sentence(&Material::of(run, &Analysis::of(run), &[]))
    }

    /// It was said on standard error alone, and the page spoke of all cases.
    #[test]
    fn cases_that_the_time_limit_came_before_are_counted_apart_from_those_that_failed() {
        let mut run = Synthetic::default().run();
        run.record.state = State::TimeLimit;
        assert_eq!(told(&run), None);
        let begun = run.samples.iter().filter(|sample| sample.case < 2).cloned();
        run.samples = begun.collect::<Vec<_>>().into();
        run.record.failures = vec![Failure { case: 5, round: 0, message: "gone".into() }];
        let rest = "were not measured: the time limit was over before. Measure them: syscost run --resume DIR \
                    --time-limit LONGER";
        assert_eq!(told(&run), Some(format!("27 of 30 cases {rest}")));
        let report = crate::build::report(&run, &Analysis::of(&run));
        assert!(report.subtitle.contains("2 of 30 cases in"), "{}", report.subtitle);
        run.record.state = State::Complete;
        assert_eq!(told(&run), None, "none is left to begin");
    }
}
