//! Whether operations cost what their formulas say: the rows that lie outside a factor of two.
//!
//! Outside means that the whole interval is; an interval across the limit decides nothing. Many
//! rows of one probe that miss are one statement, with its extremes: they share their formula.

use crate::Statement;
use crate::operations::Operation;
use crate::words::{self, capital, count};
use syscost_core::sample::Better;
use syscost_core::stats::Estimate;
use syscost_core::units::significant;

/// A formula holds where the measured figure is within this factor of it.
const FACTOR: f64 = 2.0;
/// More rows of one probe than this are told together.
const SINGLY: usize = 4;

/// How a measured figure stands to its formula.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fit {
    Holds,
    Outside,
    /// The interval crosses the limit.
    Undecided,
    /// There are too few rounds for an interval of the confidence asked.
    TooFewRounds,
}

pub fn fit(ratio: &Estimate, confidence: f64) -> Fit {
    if !ratio.reaches(confidence) {
        Fit::TooFewRounds
    } else if ratio.low > FACTOR || ratio.high < 1.0 / FACTOR {
        Fit::Outside
    } else if ratio.high <= FACTOR && ratio.low >= 1.0 / FACTOR {
        Fit::Holds
    } else {
        Fit::Undecided
    }
}

/// `Of 40 predictions, 31 hold within a factor of 2 ..`: `None` where nothing was predicted.
pub fn summary(operations: &[Operation], confidence: f64) -> Option<Statement> {
    let told: Vec<(&Operation, Fit)> =
        operations.iter().filter_map(|o| Some((o, fit(o.ratio.as_ref()?, confidence)))).collect();
    if told.is_empty() {
        return None;
    }
    let of = |wanted: Fit| told.iter().filter(|(_, f)| *f == wanted).count();
    let mut parts = vec![format!("{} hold within a factor of {FACTOR}", of(Fit::Holds))];
    if of(Fit::Outside) > 0 {
        parts.push(format!("{} do not", of(Fit::Outside)));
    }
    if of(Fit::Undecided) > 0 {
        parts.push(format!("{} cannot be decided", of(Fit::Undecided)));
    }
    if of(Fit::TooFewRounds) > 0 {
        parts.push(format!("{} have too few rounds to say", of(Fit::TooFewRounds)));
    }
    let unknown = operations.iter().filter(|o| o.prediction.is_some() && o.predicted().is_none()).count();
    let unknown = if unknown > 0 {
        format!("; {unknown} more are unknown for want of an input")
    } else {
        String::new()
    };
    let text = format!(
        "Of {} made before the measurement, {}{unknown}.",
        count(told.len(), "prediction"),
        words::and(&parts)
    );
    // Those that miss, and where all hold those that do.
    let shown = if of(Fit::Outside) > 0 { Fit::Outside } else { Fit::Holds };
    let mut cells: Vec<_> = told.iter().filter(|(_, f)| *f == shown).map(|(o, _)| o.cell()).collect();
    if cells.is_empty() {
        cells = told.iter().map(|(o, _)| o.cell()).collect();
    }
    Some(Statement { text, cells })
}

/// What lies outside its formula, by probe in the order of the run.
pub fn findings(operations: &[Operation], confidence: f64) -> Vec<Statement> {
    let mut findings = Vec::new();
    for group in operations.chunk_by(|a, b| a.probe == b.probe) {
        let outside: Vec<(&Operation, Estimate)> = group
            .iter()
            .filter_map(|o| Some((o, o.ratio?)))
            .filter(|(_, ratio)| fit(ratio, confidence) == Fit::Outside)
            .collect();
        if outside.len() > SINGLY || outside.iter().any(|(o, _)| !o.row.listed) {
            findings.extend(together(group, outside));
        } else {
            findings.extend(outside.iter().filter_map(|(o, ratio)| one(o, ratio)));
        }
    }
    findings
}

fn one(operation: &Operation, ratio: &Estimate) -> Option<Statement> {
    let prediction = operation.prediction.as_ref()?;
    let measured = operation.measured?;
    let verb = match operation.metric.better {
        Better::Lower => "costs",
        Better::Higher => "reaches",
        Better::Neither => "is",
    };
    let text = format!(
        "{} {verb} {} what its formula says: {} against {} = `{}`.",
        capital(&operation.name()),
        times(ratio),
        words::figure(measured.value, measured.unit),
        words::figure(prediction.account.predicted?, measured.unit),
        prediction.account.formula
    );
    Some(Statement { text, cells: vec![operation.cell()] })
}

fn together(group: &[Operation], mut outside: Vec<(&Operation, Estimate)>) -> Option<Statement> {
    outside.sort_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let (least, most) = (outside.first()?, outside.last()?);
    let predicted = group.iter().filter(|o| o.ratio.is_some()).count();
    let say = |(o, ratio): &(&Operation, Estimate)| {
        let what = if o.row.label.is_empty() { o.title } else { &o.row.label };
        format!("{} ({what})", times(ratio))
    };
    let range = if least.0.case == most.0.case {
        say(least)
    } else {
        format!("from {} to {}", say(least), say(most))
    };
    let text = format!(
        "{}: {} of {} lie outside a factor of {FACTOR} of their formulas, {range}.",
        capital(group[0].title),
        outside.len(),
        count(predicted, "prediction"),
    );
    let mut cells = vec![least.0.cell(), most.0.cell()];
    cells.dedup();
    Some(Statement { text, cells })
}

/// `3.1 [2.9, 3.4] times`
fn times(ratio: &Estimate) -> String {
    let [value, low, high] = [ratio.value, ratio.low, ratio.high].map(significant);
    format!("{value} [{low}, {high}] times")
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
        assert_eq!(fit(&e(5.0, 6.0), 0.99), Fit::TooFewRounds);
    }

    #[test]
    fn what_misses_its_formula_is_told_with_ratio_interval_and_formula() {
        let run = clocks(8, Some(1.0), 3.0);
        let mut all = operations(&run, &Cells::of(&run));
        assert!(summary(&all, 0.95).unwrap().text.contains("do not"));
        let many = findings(&all, 0.95);
        assert_eq!(many.len(), 1, "one statement for many rows: {many:#?}");
        assert!(many[0].text.contains("outside a factor of 2") && many[0].cells.len() == 2, "{many:#?}");
        all.truncate(1);
        let one = findings(&all, 0.95);
        assert!(
            one[0].text.starts_with("Reading the time (")
                && one[0].text.contains("] times what its formula says: ")
        );
        assert!(one[0].text.ends_with("`10 / frequency`."), "{one:#?}");
        let few = clocks(3, Some(1.0), 3.0);
        let few = operations(&few, &Cells::of(&few));
        assert!(findings(&few, 0.95).is_empty(), "three rounds claim nothing");
        assert!(summary(&few, 0.95).unwrap().text.contains("too few rounds to say"));
        let fits = clocks(8, Some(1.0), 1.1);
        assert!(findings(&operations(&fits, &Cells::of(&fits)), 0.95).is_empty());
        assert!(summary(&[], 0.95).is_none());
    }
}
