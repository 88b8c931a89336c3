//! `results.csv`: one row per case and metric, bare SI numbers; the same bytes at every rebuild.
//!
//! A twin has no row: it would count twice in
//! every group. FORMAT.md documents the columns.

use crate::escape;
use crate::text::words;
use std::collections::BTreeMap;
use std::io;
use syscost_analyze::cells::{Cells, Pooled};
use syscost_analyze::{copies, operations};
use syscost_experiment::run::rows::{COUNTED_BY, CsvColumn, column};
use syscost_experiment::run::{Audit, Run};
use syscost_host::fingerprint::MACHINE;
use syscost_measure::probe::prediction::PredictedCost;

/// Columns before those of the axes.
pub const BEFORE: &[CsvColumn] =
    &[column("case", "index of the case in `plan.cases` of `run.json`"), column("probe", "the probe's id")];

/// Columns after those of the axes.
pub const AFTER: &[CsvColumn] = &[
    column("metric", "id of the metric"),
    column("unit", "unit of `value`, `ci_low` and `ci_high`"),
    column(
        "value",
        "median over rounds of the round's own: the median over its usable samples, or of single times (a latency) the figure of all times of its usable samples; the longest time is that of all rounds",
    ),
    column(
        "ci_low",
        "lower end of the interval of the median; the smallest round where there are too few for the confidence asked",
    ),
    column("ci_high", "upper end of the interval of the median; the largest round where there are too few"),
    column(
        "ci_level",
        "confidence that the interval really has: at least the one asked, or less where there are too few rounds; 0 for one round, and for the longest time",
    ),
    column("rounds", "rounds (independent replicates) behind the value"),
    column(
        "predicted",
        "what the formula of the case says, in the unit of `value`; on the rows of the probe's headline metric, else empty",
    ),
    column("base_hardware", "the part of `predicted` that the hardware alone would take"),
    column("software_overhead", "the part of `predicted` that software adds"),
    column("measured_over_predicted", "`value` over `predicted`"),
    column(
        "user_copied",
        "bytes per byte of payload that the mechanism copied in user memory; this and the next from the audit of the same way to move data (see `audits`), empty where there is none",
    ),
    column("copied_in", "bytes per byte of payload copied into the kernel; empty where nobody counted"),
    column("orphan_copied", "bytes per byte of payload copied again inside the kernel"),
    column("copied_out", "bytes per byte of payload copied, or decrypted, to the receiver's memory"),
    column("uncopied", "bytes per byte of payload sent from the sender's own pages or the page cache"),
    column(
        "ledger_tier",
        "how that is known: `A` traced in the kernel and confirmed by what its functions returned, `B` traced in the kernel, `C` only what an ordinary user is told",
    ),
    column(
        "ledger_balance",
        "bytes per byte of payload that the ledger leaves unexplained; beyond 0.001 either way it is an error",
    ),
    column(
        "pooled",
        "the same figure of all times of all rounds together; this and the next two are empty where the metric is not of single times",
    ),
    column("times", "single times behind `pooled`"),
    column("times_above", "how many of them lie above `pooled`"),
    column("run", "id of the run, as in `run.json`"),
    column("machine", "keyed hash of the machine's id; empty where the machine has none, and in older runs"),
    COUNTED_BY,
];

/// The whole file, in memory.
pub fn results(run: &Run, cells: &Cells) -> String {
    let mut text = Vec::new();
    write(run, cells, &mut text).expect("in memory");
    String::from_utf8(text).expect("only text was written")
}

/// Writes the file row by row: it has millions in a large run.
pub fn write(run: &Run, cells: &Cells, out: &mut dyn io::Write) -> io::Result<()> {
    let axes = words::axes(run);
    let mut writer = csv::Writer::from_writer(out);
    let before = BEFORE.iter().map(|c| c.id);
    let header = before.chain(axes.iter().map(|a| a.id)).chain(AFTER.iter().map(|c| c.id));
    writer.write_record(header)?;
    let predictions: BTreeMap<(usize, &str), &PredictedCost> = predictions(run);
    let origin = [run.record.id.as_str(), run.record.fact(MACHINE).unwrap_or_default()];
    let origin = origin.map(escape::cell);
    for case in run.record.plan.cases.iter().filter(|c| c.twin_of.is_none()) {
        let copied = copied(copies::of_case(run, case));
        let mut place = vec![case.index.to_string(), case.probe.to_string()];
        place.extend(axes.iter().map(|a| case.point.get(a.id).map_or(String::new(), ToString::to_string)));
        place.iter_mut().for_each(|text| *text = escape::cell(text));
        for cell in cells.of_case(case.index) {
            let e = &cell.estimate;
            let figures = [e.value, e.low, e.high, e.level].map(|n| n.to_string());
            let rounds = e.n.to_string();
            let foreseen = foreseen(predictions.get(&(case.index, cell.metric)).copied(), e.value);
            let fields = place.iter().map(String::as_str).chain([cell.metric, e.unit.symbol()]);
            let fields = fields.chain(figures.iter().map(String::as_str)).chain([rounds.as_str()]);
            let fields = fields.chain(foreseen.iter().chain(&copied).map(String::as_str));
            let pooled = pooled(cell.pooled);
            let fields = fields.chain(pooled.iter().chain(&origin).map(String::as_str));
            writer.write_record(fields.chain([run.record.counted_by(cell.metric)]))?;
        }
    }
    writer.flush()
}

/// Costs that were predicted in time, by case and metric.
fn predictions(run: &Run) -> BTreeMap<(usize, &str), &PredictedCost> {
    let in_time = run.record.predictions.iter().rev().filter(|p| !operations::late(p));
    in_time.map(|p| ((p.case, p.metric.as_str()), &p.cost)).collect()
}

/// The columns of an audit.
fn copied(audit: Option<&Audit>) -> [String; 7] {
    let Some(audit) = audit else { return Default::default() };
    let per = |bytes: Option<u64>| bytes.map_or(String::new(), |bytes| audit.per_byte(bytes).to_string());
    let counts = audit.counts;
    [
        per(Some(audit.user_copied)),
        per(counts.map(|c| c.copied_in)),
        per(counts.map(|c| c.orphan_copied)),
        per(counts.map(|c| c.copied_out + audit.decrypted_out())),
        per(counts.map(|c| c.uncopied_in)),
        audit.tier.letter().to_string(),
        audit.unexplained().map_or(String::new(), |share| share.to_string()),
    ]
}

/// The columns of single times.
fn pooled(pooled: Option<Pooled>) -> [String; 3] {
    let Some(Pooled { value, times, above, .. }) = pooled else { return Default::default() };
    [value.to_string(), times.to_string(), above.map_or(String::new(), |above| above.to_string())]
}

/// The columns of a prediction.
fn foreseen(cost: Option<&PredictedCost>, value: f64) -> [String; 4] {
    let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
    let part = |part: fn(&PredictedCost) -> Option<f64>| cost.and_then(part);
    let predicted = part(|a| a.predicted);
    [
        number(predicted),
        number(part(|a| a.base_hardware)),
        number(part(|a| a.software_overhead)),
        number(predicted.filter(|p| *p != 0.0).map(|p| value / p)),
    ]
}
