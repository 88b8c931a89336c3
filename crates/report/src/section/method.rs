//! How the figures were made: what each probe times, and which rules of measurement were kept.

use super::{capital, plural};
use crate::material::{Material, state};
use crate::{Block, Section};
use std::time::Duration;
use syscost_analyze::cells::precision::Precision;
use syscost_core::units;
use syscost_experiment::run::SampleTally;

pub fn section(m: &Material) -> Section {
    let mut blocks = Vec::new();
    // That of an operation stands beside its table.
    let rows = |id: &str| m.analysis.operations.iter().any(|o| o.probe == id);
    for layout in m.layouts.iter().filter(|l| !rows(l.probe.about().id)) {
        let about = layout.probe.about();
        blocks.push(Block::Heading(capital(about.title)));
        blocks.push(Block::Text(format!("{} Source: {}.", about.method, about.source)));
    }
    blocks.push(Block::Heading("Rules kept".into()));
    blocks.extend(
        [replication(m), order(m), estimates(m), comparisons(m), precision(m), verification(m)]
            .map(Block::Text),
    );
    blocks.push(Block::Text(
        "docs/choosing.md (Glossary) explains the terms: significant, equivalent, undecided and others."
            .into(),
    ));
    Section::new("method", "Method", blocks)
}

fn replication(m: &Material) -> String {
    let spec = &m.run.record.spec;
    let duration = |ns| units::format_duration(Duration::from_nanos(ns));
    format!(
        "Rounds are the independent replicates: each starts fresh processes and warms up for {}. A round is {} of {}, \
         unless its probe needs its own: ways that take turns have one window, slow operations and latencies longer ones. \
         samples.csv has the time of each. Asked for a case: {}, until its comparisons are settled and its interval is \
         as narrow as asked, or the time limit ends the run. Batches inside one process are not counted as independent.",
        duration(spec.timing.warmup_ns),
        plural(spec.timing.windows as usize, "sample"),
        duration(spec.timing.window_ns),
        spec.rounds_text()
    )
}

fn order(m: &Material) -> String {
    let record = &m.run.record;
    let order = format!("Rounds go over all blocks in a random order with seed {}.", record.spec.seed);
    if m.run.slices.is_empty() {
        return order;
    }
    let turns = "Rivals of a point take turns in one pair of processes, in random order, the control twice, so that the \
                 machine's drift meets all alike. CPU time and throughput are those of these slices, whose queues are \
                 empty when they begin; sleeps, calls and what is called steady come from a window of each rival in \
                 every second round.";
    let shortest = m.run.slices.iter().map(|row| row.slice.length_ns).min().unwrap_or(0);
    let length = units::format_duration(Duration::from_nanos(shortest));
    format!("{turns} Slices last at least {length}. {order}")
}

fn estimates(m: &Material) -> String {
    let ratios =
        if m.compared() { " Ratios are means of the rounds' log ratios, with intervals by t." } else { "" };
    let quantiles = if m.analysis.latency.cases.is_empty() {
        ""
    } else {
        " Quantiles of latency are medians of the rounds' own. The p99 of all times together stands beside them."
    };
    format!(
        "A figure is the median over rounds of each round's median, with a nonparametric interval from order \
         statistics at {} or more; by t on logarithms of three to five rounds, and none of fewer.{quantiles}{ratios} Outliers are kept.",
        units::confidence(m.run.record.spec.confidence)
    )
}

/// How comparisons are decided, and what identical cases differ by.
fn comparisons(m: &Material) -> String {
    if !m.compared() {
        return "Rows are compared with their predictions, and with another way of doing the same where the answers name one (by round, \
                corrected over all such pairs). No other difference between two rows is a finding of this run."
            .into();
    }
    let confidence = m.run.record.spec.confidence;
    format!(
        "A comparison is the same within 3 % (its interval lies inside), faster or slower (it excludes 1), or undecided. \
         At most {} % of runs contain any false difference in a metric: Holm's correction over its pairs, and a share of \
         the error for each look. comparisons.csv has a row for each.",
        units::significant((1.0 - confidence) * 100.0)
    )
}

fn precision(m: &Material) -> String {
    let record = &m.run.record;
    let (reached, cases) = Precision::reached(m.run, &m.analysis.cells);
    let duration = |ns| units::format_duration(Duration::from_nanos(ns));
    let (took, limit) = (duration(record.elapsed_ns), duration(record.spec.time_limit_ns));
    // The record has the limit of the first: a resumed session may have another.
    let within = match record.sessions {
        0 | 1 => format!("{took} of a limit of {limit}"),
        several => format!("{took} in {several} sessions, each with its own limit (the first: {limit})"),
    };
    format!(
        "Asked: an interval within ±{} % of the median. {reached} of {} reached it. How the run ended: {}, after \
         {within}. The case table states the precision of each.",
        units::significant(record.spec.precision * 100.0),
        plural(cases, "case"),
        state(record.state),
    )
}

fn verification(m: &Material) -> String {
    let SampleTally { samples, verified, marked } = m.run.samples.tally();
    format!(
        "{verified} of {} were verified ({}); {marked} carry a mark of disturbance. Those, and the ones that problems with \
         figures call refused, are kept in samples.csv but not used.",
        plural(samples, "sample"),
        if m.compared() { "bytes, pattern, count" } else { "each operation's own check of its work" }
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;
    use syscost_analyze::whole::Analysis;
    use syscost_experiment::run::{Run, SliceRow};
    use syscost_measure::probe::Slice;

    /// It was said: 250 us long, where 8 messages of 1 MiB took 2 ms.
    #[test]
    fn a_slice_lasts_at_least_as_long_as_its_length() {
        let mut run = Synthetic { rounds: 1, ..Default::default() }.run();
        let slice = Slice { length_ns: 250_000, wall_ns: 2_000_000, messages: 8, ..Slice::default() };
        run.slices.saw(&[SliceRow { block: 0, round: 0, case: 0, slice }]);
        let analysis = Analysis::of(&run);
        let told = order(&Material::of(&run, &analysis, &[]));
        assert!(told.contains("Slices last at least 250 us."), "{told}");
    }

    /// It was said: after 1m 15s of a limit of 1m.
    #[test]
    fn a_resumed_run_has_a_limit_in_each_session() {
        let mut run = Synthetic { rounds: 1, ..Default::default() }.run();
        let told = |run: &Run| precision(&Material::of(run, &Analysis::of(run), &[]));
        (run.record.elapsed_ns, run.record.spec.time_limit_ns) = (75_000_000_000, 60_000_000_000);
        assert!(told(&run).contains("after 1m 15s of a limit of 1m."), "{}", told(&run));
        run.record.sessions = 2;
        let several = "after 1m 15s in 2 sessions, each with its own limit (the first: 1m).";
        assert!(told(&run).contains(several), "{}", told(&run));
    }
}
