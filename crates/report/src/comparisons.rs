//! `comparisons.csv`: one row per pair of cases, metric and point, and one per pair over thread counts; the same bytes at
//! every rebuild. Every sentence that compares stands on a row of it. FORMAT.md documents the columns.

use crate::escape;
use std::io;
use syscost_analyze::cells::metric;
use syscost_analyze::compare::comparisons::{Pace, better_side};
use syscost_analyze::compare::family::Family;
use syscost_analyze::families::each_family;
use syscost_analyze::whole::Analysis;
use syscost_core::axis::Point;
use syscost_core::decide::{Decision, Verdict};
use syscost_core::sample::Better;
use syscost_experiment::run::Run;
use syscost_experiment::run::rows::{COUNTED_BY, CsvColumn, column};
use syscost_measure::probe::transfer::axes::THREADS;

pub const COLUMNS: &[CsvColumn] = &[
    column(
        "family",
        "what the two sides differ in: the id of an axis, `ways` (everything that is chosen), `steps of` an axis (neighbours on it), or `latency` (the first and the last of threads, size or rate). Rows of a family, metric and scope are corrected for one another; steps, and latencies, of all metrics together",
    ),
    column(
        "scope",
        "`point`: two cases; `over_threads`: the same two at every thread count that both have, as one",
    ),
    column("metric", "id of the metric"),
    column("a", "case, or cases by thread count separated by spaces: indices in `plan.cases` of `run.json`"),
    column("b", "the case, or cases in the same order, that `a` is compared with"),
    column("shared", "coordinates that both sides have in common, as `axis=value` separated by spaces"),
    column("a_is", "the other coordinates of `a`"),
    column("b_is", "the other coordinates of `b`"),
    column(
        "ratio",
        "a / b: exponential of the mean log ratio over rounds (over thread counts: of the points' means)",
    ),
    column(
        "ci_low",
        "lower end of the interval that the verdict stands on; empty where nothing is known of the scatter",
    ),
    column("ci_high", "its upper end"),
    column("ci_level", "its confidence, after correction for the family and all looks"),
    column("rounds", "rounds that both have; over thread counts the fewest"),
    column(
        "p_adjusted",
        "adjusted for the family and all looks; compare it with 1 - confidence: of the test for equivalence where the verdict is `same`, else of the test for a difference",
    ),
    column(
        "verdict",
        "`same`: the interval lies within 1/1.03 to 1.03; else `faster` or `slower`: it excludes 1, and a is better or worse by the metric (less CPU time, more throughput); `less` or `more` where neither is better; else `undecided`",
    ),
    column(
        "minutes_needed",
        "of more measuring that would decide, at the scatter seen and the pace of the run; empty where it is decided, or not within a day",
    ),
    COUNTED_BY,
];

/// The whole file, in memory.
pub fn text(run: &Run, analysis: &Analysis) -> String {
    let mut text = Vec::new();
    write(run, analysis, &mut text).expect("in memory");
    String::from_utf8(text).expect("only text was written")
}

/// Writes the file row by row: it is long in a large run.
pub fn write(run: &Run, analysis: &Analysis, out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS.iter().map(|column| column.id))?;
    each_family(run, analysis, |family| {
        let pace = Pace::of(run, &family.pairs);
        for over in family.over_threads.iter() {
            writer.write_record(row(run, family, &over.pairs, ("over_threads", &over.decision), &pace))?;
        }
        for (place, pair) in family.pairs.iter().enumerate() {
            writer.write_record(row(run, family, &[place], ("point", &pair.decision), &pace))?;
        }
        io::Result::Ok(())
    })?;
    writer.flush()
}

fn row(
    run: &Run,
    family: &Family,
    places: &[usize],
    (scope, decision): (&str, &Decision),
    pace: &Pace,
) -> Vec<String> {
    let pairs = || places.iter().map(|place| &family.pairs[*place]);
    let cases = |list: Vec<usize>| list.iter().map(usize::to_string).collect::<Vec<_>>().join(" ");
    let first = &family.pairs[places[0]];
    let point = |case: usize| {
        let point = run.case(case).map(|c| c.point.clone()).unwrap_or_default();
        if places.len() > 1 { point.without(THREADS.id) } else { point }
    };
    let (a, b) = (point(first.a), point(first.b));
    let known = decision.level > 0.0;
    let figure = |value: f64| if known { value.to_string() } else { String::new() };
    let minutes = pace.minutes_needed(decision);
    vec![
        family.id.clone(),
        scope.into(),
        first.metric.into(),
        cases(pairs().map(|pair| pair.a).collect()),
        cases(pairs().map(|pair| pair.b).collect()),
        coordinates(&a, |id| a.get(id) == b.get(id)),
        coordinates(&a, |id| a.get(id) != b.get(id)),
        coordinates(&b, |id| a.get(id) != b.get(id)),
        decision.ratio.to_string(),
        figure(decision.low),
        figure(decision.high),
        decision.level.to_string(),
        decision.rounds.to_string(),
        decision.p_adjusted.to_string(),
        verdict(decision, metric(run, first.metric).map_or(Better::Neither, |m| m.better)).into(),
        minutes.map_or(String::new(), |minutes| format!("{:.1}", minutes.max(0.1))),
        run.record.counted_by(first.metric).into(),
    ]
}

fn coordinates(point: &Point, which: impl Fn(&str) -> bool) -> String {
    let told = point.iter().filter(|(id, _)| which(id)).map(|(id, value)| format!("{id}={value}"));
    escape::cell(&told.collect::<Vec<_>>().join(" "))
}

fn verdict(decision: &Decision, better: Better) -> &'static str {
    match (decision.verdict, better_side(decision, better)) {
        (Verdict::Same, _) => "same",
        (Verdict::Undecided, _) => "undecided",
        (_, Some(true)) => "faster",
        (_, Some(false)) => "slower",
        (Verdict::Less, None) => "less",
        (Verdict::More, None) => "more",
    }
}
