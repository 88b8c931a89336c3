//! What `compare` shows and writes of two sides.

use crate::escape;
use crate::terminal::cut;
use crate::text::ending::EndTable;
use crate::text::words::{Words, and, operation_name};
use std::collections::BTreeMap;
use std::io;
use syscost_analyze::sides::facts::{DifferingFact, IDENTITY, Incomparable};
use syscost_analyze::sides::single::{FEWEST_CASES, SingleRuns, WANTED};
use syscost_analyze::sides::{
    Change, FigureKey, Replicate, RunFigures, SideComparison, coordinates, counts, one_after_the_other,
};
use syscost_core::decide::sides::FEWEST;
use syscost_core::decide::{Decision, Verdict};
use syscost_core::units::{Unit, count, percent};
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::conditions::{Conditions, load_status};
use syscost_host::doctor::Status;
use syscost_measure::probe::transfer::axes::MECHANISM;

/// Metrics that an answer names.
const METRICS: usize = 3;
/// Cases that a sentence names.
const NAMED: usize = 3;
/// Columns of a case that an example names.
const EXAMPLE: usize = 80;
/// Columns of a value of a fact.
const FACT: usize = 34;
const CHANGE_COLUMNS: &[&str] = &[
    "probe",
    "point",
    "against",
    "metric",
    "unit",
    "base",
    "candidate",
    "ratio",
    "ci_low",
    "ci_high",
    "ci_level",
    "replicate",
    "base_replicates",
    "candidate_replicates",
    "p_adjusted",
    "verdict",
    "base_groups",
    "base_runs",
    "base_machines",
    "candidate_groups",
    "candidate_runs",
    "candidate_machines",
];

pub fn refused(why: &Incomparable) -> String {
    match why {
        Incomparable::SameRun { id } => {
            format!("run {id} is on both sides, or twice on one: name each run once")
        }
        Incomparable::DebugBuild => {
            "a run is of a debug build, whose times mean nothing: measure with a release build".into()
        }
        Incomparable::CLibrary { base, candidate } => format!(
            "the C library differs ({base} and {candidate}): its calls are part of the figures; measure both sides with one"
        ),
    }
}

/// The answer, in a sentence.
pub fn answer(compared: &SideComparison) -> String {
    let [worse, better] = [true, false].map(|is| changed(&compared.changes, is));
    let same = compared.changes.iter().filter(|change| change.decision.verdict == Verdict::Same).count();
    let open = compared.changes.len() - worse - better - same;
    let margin = percent(compared.replicate.margin());
    let costs = format!(
        "{worse} worse, {better} better, {same} the same within {margin}, {open} undecided ({}).",
        metrics(&compared.changes)
    );
    match [true, false].map(|is| changed(&compared.rivals, is)) {
        _ if compared.rivals.is_empty() => costs,
        [worse, better] => format!("{costs} Against rivals: {worse} worse, {better} better."),
    }
}

/// What is compared, by the most changes first.
fn metrics(changes: &[Change]) -> String {
    let mut titles: BTreeMap<&str, usize> = BTreeMap::new();
    changes.iter().for_each(|change| *titles.entry(change.metric.title).or_default() += 1);
    let mut titles: Vec<(&str, usize)> = titles.into_iter().collect();
    titles.sort_by_key(|(_, changes)| std::cmp::Reverse(*changes));
    let mut names: Vec<String> = titles.iter().take(METRICS).map(|(title, _)| title.to_string()).collect();
    names.extend((titles.len() > METRICS).then(|| format!("{} more", titles.len() - METRICS)));
    and(&names)
}

fn changed(changes: &[Change], worse: bool) -> usize {
    changes.iter().filter(|change| change.worse() == Some(worse)).count()
}

/// A verdict in a word.
pub fn word(change: &Change) -> &'static str {
    match (change.worse(), change.decision.verdict) {
        (Some(true), _) => "worse",
        (Some(false), _) => "better",
        (None, Verdict::Same) => "same",
        _ => UNDECIDED,
    }
}

const UNDECIDED: &str = "undecided";

/// The same; of what is undecided with what would decide it.
pub fn verdict(change: &Change, compared: &SideComparison) -> String {
    match word(change) {
        UNDECIDED => undecided(&change.decision, compared.replicate),
        word => word.into(),
    }
}

/// `undecided: 3 runs more a side`
pub fn undecided(decision: &Decision, replicate: Replicate) -> String {
    let thing = match replicate {
        Replicate::Boot | Replicate::Round => replicate.word(),
        Replicate::Run | Replicate::Turn => "run",
    };
    let fewest = decision.rounds as usize;
    match decision.rounds_needed {
        // So few have an interval; what it would decide is not known.
        _ if fewest < FEWEST => format!("undecided: at least {} more a side", count(FEWEST - fewest, thing)),
        Some(needed) if needed < 1e3 && needed as usize > fewest => {
            format!("undecided: {} more a side", count(needed as usize - fewest, thing))
        }
        _ => UNDECIDED.into(),
    }
}

/// Names of a run's cases, by their index.
pub struct CaseNames<'a> {
    run: &'a Run,
    words: Words,
}

impl CaseNames<'_> {
    pub fn of(run: &Run) -> CaseNames<'_> {
        CaseNames { run, words: Words::of(run) }
    }

    /// `sendmsg 64 KiB`, and `sendmsg 64 KiB / send` of a ratio to a rival.
    pub fn of_change(&self, change: &Change) -> String {
        let name = self.name(change.case);
        match change.against.and_then(|control| self.run.case(control)) {
            Some(control) => format!("{name} / {}", way(control)),
            None => name,
        }
    }

    /// `sendmsg 64 KiB`
    pub fn name(&self, case: usize) -> String {
        let known: Vec<&str> = self.words.constant().into_iter().chain([MECHANISM.id]).collect();
        self.run.case(case).map_or(String::new(), |case| {
            let place = || format!("{} {}", way(case), self.words.place(&case.point, &known));
            operation_name(case).unwrap_or_else(place).trim_end().to_string()
        })
    }
}

fn way(case: &Case) -> &str {
    case.point.text(MECHANISM).unwrap_or(case.probe.as_str())
}

/// A figure of a side: a cost, or a ratio to a rival.
pub fn figure(change: &Change, value: f64) -> String {
    if change.against.is_some() { format!("{value:.2}x") } else { change.metric.unit.format(value) }
}

/// An interval that two digits would not show.
const NARROW: f64 = 0.01;
/// Beyond so many times, an end of an interval is not told.
const FAR: f64 = 100.0;

/// `1.12 [1.08, 1.16]`
pub fn interval(decision: &Decision) -> String {
    if decision.level > 0.0 {
        // As many digits as the interval supports.
        let digits = if decision.high - decision.low < NARROW { 4 } else { 2 };
        let low =
            if decision.low < 1.0 / FAR { "<0.01".into() } else { format!("{:.digits$}", decision.low) };
        let high = if decision.high > FAR { ">100".into() } else { format!("{:.digits$}", decision.high) };
        format!("{:.digits$} [{low}, {high}]", decision.ratio)
    } else {
        format!("{:.2} [?]", decision.ratio)
    }
}

/// Rows by the size of their change; a name is that of the case in this run.
pub fn table(compared: &SideComparison, first: &Run) -> EndTable {
    rows(compared, &compared.changes, "case", first)
}

/// The same of ratios to rivals; `None`: no rivals took turns.
pub fn rival_table(compared: &SideComparison, first: &Run) -> Option<EndTable> {
    (!compared.rivals.is_empty()).then(|| rows(compared, &compared.rivals, "rival", first))
}

/// What a ratio to a rival says, and what it does not.
pub const SHARED: &str = "A ratio to a rival shows what changed between the two. What both share, such as the kernel's speed, cancels.";

fn rows(compared: &SideComparison, changes: &[Change], what: &str, first: &Run) -> EndTable {
    let names = CaseNames::of(first);
    // Where one replicate a side decides none of many cases, a note says so once.
    let single = compared.replicates.iter().any(|replicates| *replicates < FEWEST);
    let noted = single && compared.changes.len() >= FEWEST_CASES;
    let row = |change: &Change| {
        let base = figure(change, change.base);
        let told = if noted { word(change).into() } else { verdict(change, compared) };
        vec![names.of_change(change), interval(&change.decision), told, base]
    };
    // The last goes first where a terminal is narrow.
    let columns = [what, "candidate / base", "verdict", "base"].map(String::from).to_vec();
    // What is decided comes first: a large ratio that may be chance is no news.
    let (decided, open): (Vec<&Change>, Vec<&Change>) =
        changes.iter().partition(|change| change.worse().is_some());
    let rows = decided.into_iter().chain(open).map(row).collect();
    EndTable { title: None, columns, rows, note: None }
}

/// What has to stand wherever instructions are shown.
pub const NOT_TOLD: &str = "Instructions are not time: they say nothing of caches, stalls, exits of a virtual machine or \
                            real devices. An emulator counts each step of a repeated string instruction. User and \
                            kernel code are counted together: Debian's kernels keep no exact times of each.";

pub const DRIFT: &str = "Note: one side was measured after the other, so a drift of the machine counts as a difference. Alternate the sides.";

/// Notes: what the reader must know before the table is believed.
pub fn notes(
    compared: &SideComparison,
    first: &Run,
    (base, candidate): (&[RunFigures], &[RunFigures]),
) -> Vec<String> {
    let mut notes: Vec<String> = SingleRuns::of(compared, base, candidate)
        .map(|seen| single_runs(&seen, compared, first))
        .into_iter()
        .collect();
    let [a, b] = compared.replicates;
    if compared.replicate == Replicate::Boot && a.min(b) < FEWEST {
        notes.push(format!(
            "Note: {} and {}. Boots differ by more than their runs show, so one boot a side decides nothing. Reboot and repeat each side.",
            count(a, "base boot"), count(b, "candidate boot")
        ));
    }
    if base.iter().chain(candidate).any(|run| run.record.fact(syscost_host::fingerprint::BOOT).is_none()) {
        notes.push("Note: some runs do not record their boot. They count as runs of one boot, so a change of boot can look like a difference.".into());
    }
    if compared.replicate == Replicate::Turn {
        let beside = base.iter().chain(candidate).all(|run| run.record.plan.side_by_side);
        let how = if beside { "slice by slice" } else { "turn by turn" };
        notes.push(format!("The sides took turns and are compared {how}: {}.", count(a, "turn")));
    }
    if one_after_the_other(compared.replicate, base, candidate) {
        notes.push(DRIFT.into());
    }
    let versions =
        |side: &[RunFigures]| side.iter().map(|run| run.record.tool.version.clone()).collect::<Vec<_>>();
    if versions(base).iter().any(|version| versions(candidate).iter().any(|other| other != version)) {
        notes.push("warning: the sides were measured by different versions of syscost, which may time differently. Measure both with one.".into());
    }
    notes.extend(other_work(base, candidate));
    if base.iter().any(|run| counts(&run.record)) {
        notes.push(NOT_TOLD.into());
    }
    let quick = base.iter().chain(candidate).filter(|run| run.record.spec.quick).count();
    if quick > 0 && quick < base.len() + candidate.len() {
        notes.push(format!(
            "Note: {} quick (--quick): shorter windows can be a difference.",
            if quick == 1 { "1 run is".into() } else { format!("{quick} runs are") }
        ));
    }
    notes.extend(one_sided(compared));
    notes
}

/// What one run of a side shows, though it decides nothing.
fn single_runs(seen: &SingleRuns, compared: &SideComparison, first: &Run) -> String {
    let names = CaseNames::of(first);
    let named = |at: &usize| {
        let change = &compared.changes[*at];
        format!("{} {:.2}x", names.of_change(change), change.decision.ratio)
    };
    let more = seen.standing_out.len().saturating_sub(NAMED);
    let mut told: Vec<String> = seen.standing_out.iter().take(NAMED).map(named).collect();
    told.extend((more > 0).then(|| format!("{more} more")));
    let far = match told.as_slice() {
        [] => "no case stands out of that".to_string(),
        told => format!("far beyond that, though not tested: {}", and(told)),
    };
    format!(
        "One run of a side decides nothing. All cases together changed by {:.2}x, half of them by {} more or less; {far}. \
         Runs that scatter so decide a change of {} with {} a side.",
        seen.level,
        percent(seen.half_within),
        percent(WANTED),
        count(seen.runs_wanted, "run")
    )
}

/// What is not compared: how many cases each side has alone, and one of them.
fn one_sided(compared: &SideComparison) -> Option<String> {
    let told = |(side, only): (&str, &Vec<FigureKey>)| {
        let example = cut(&only.first()?.to_string(), EXAMPLE);
        Some(format!("{} of the {side} (for example {example})", count(only.len(), "case")))
    };
    let sides: Vec<String> =
        ["base", "candidate"].into_iter().zip(&compared.one_sided).filter_map(told).collect();
    (!sides.is_empty())
        .then(|| format!("Note: not compared, since the other side has none: {}.", and(&sides)))
}

/// What others took of the CPU time of each side's runs, where a run of either had more of it than a machine at rest.
fn other_work(base: &[RunFigures], candidate: &[RunFigures]) -> Option<String> {
    let during = |side: &[RunFigures]| side.iter().filter_map(|run| run.record.during()).collect::<Vec<_>>();
    let sides = [during(base), during(candidate)];
    let is_busy = |seen: &Conditions| {
        matches!(load_status(seen.others_share, None, seen.cpus), Status::Caution | Status::Bad)
    };
    let told = |side: &[Conditions]| {
        let mut shares: Vec<f64> = side.iter().filter_map(|seen| seen.others_share).collect();
        shares.sort_by(f64::total_cmp);
        match [shares.first(), shares.last()].map(|share| share.map(|share| percent(*share))) {
            [Some(low), Some(high)] if low == high => high,
            [Some(low), Some(high)] => format!("{low} to {high}"),
            _ => "an unknown share".into(),
        }
    };
    sides.iter().flatten().any(is_busy).then(|| {
        format!(
            "Note: other work took {} of the CPU time in the runs of the base, {} in those of the candidate. Measure again on \
             a quiet machine.",
            told(&sides[0]),
            told(&sides[1])
        )
    })
}

/// What differs, by cause.
pub fn facts(differing: &[DifferingFact]) -> Vec<String> {
    let one = |fact: &DifferingFact| {
        let title = cut(&fact.title, FACT);
        format!("  {}: {title}: {} -> {}", fact.cause, cut(&fact.base, FACT), cut(&fact.candidate, FACT))
    };
    let mut causes: Vec<&str> =
        differing.iter().map(|fact| fact.cause).filter(|cause| *cause != IDENTITY).collect();
    causes.dedup();
    let head = match causes.as_slice() {
        [] => "No recorded fact of the machine or its settings differs.".to_string(),
        [one] => format!("Only facts of one kind differ: {one}."),
        _ => format!("{} kinds of facts differ, so no change has one cause:", causes.len()),
    };
    std::iter::once(head).chain(differing.iter().map(one)).collect()
}

/// A comparison as one document.
pub fn json(compared: &SideComparison, first: &Run, answer: &str, notes: &[String]) -> serde_json::Value {
    let names = CaseNames::of(first);
    let change = |change: &Change| {
        let decision = &change.decision;
        let known = |value: f64| (decision.level > 0.0 && value.is_finite()).then_some(value);
        serde_json::json!({
            "case": names.of_change(change), "metric": change.metric.id, "unit": change.metric.unit.symbol(),
            "base": change.base, "candidate": change.candidate, "ratio": decision.ratio,
            "ci_low": known(decision.low), "ci_high": known(decision.high), "ci_level": decision.level,
            "verdict": word(change),
        })
    };
    let all = |changes: &[Change]| changes.iter().map(change).collect::<Vec<_>>();
    serde_json::json!({
        "answer": answer, "cases": all(&compared.changes), "rivals": all(&compared.rivals), "notes": notes,
    })
}

/// `comparisons.csv` of a comparison.
pub fn write(
    compared: &SideComparison,
    (first, base, candidate): (&Run, &[RunFigures], &[RunFigures]),
    out: &mut dyn io::Write,
) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(CHANGE_COLUMNS)?;
    let replicate = compared.replicate.word();
    for change in compared.changes.iter().chain(&compared.rivals) {
        let Some(case) = first.case(change.case) else { continue };
        let against = change.against.and_then(|control| first.case(control));
        let decision = &change.decision;
        let known = |value: f64| if decision.level > 0.0 { value.to_string() } else { String::new() };
        let mut row = vec![
            case.probe.to_string(),
            coordinates(&case.point),
            against.map_or(String::new(), |other| named(other, case)),
            change.metric.id.into(),
            if against.is_some() { Unit::Ratio } else { change.metric.unit }.symbol().into(),
        ];
        row.extend([change.base, change.candidate, decision.ratio].map(|value| value.to_string()));
        row.extend([known(decision.low), known(decision.high), decision.level.to_string(), replicate.into()]);
        row.extend(compared.replicates.map(|number| number.to_string()));
        row.extend([decision.p_adjusted.to_string(), word(change).into()]);
        row.extend(origins(base).into_iter().chain(origins(candidate)));
        writer.write_record(row.iter().map(|text| escape::cell(text)))?;
    }
    writer.flush()
}

/// What a figure is divided by: a rival of its probe.
fn named(other: &Case, case: &Case) -> String {
    let point = coordinates(&other.point);
    if other.probe == case.probe { point } else { format!("{} {point}", other.probe) }
}

/// The groups, runs and machines of a side, each once, separated by spaces.
fn origins(side: &[RunFigures]) -> [String; 3] {
    let each = |of: &dyn Fn(&RunFigures) -> Option<String>| {
        let mut all: Vec<String> = side.iter().filter_map(of).collect();
        all.dedup();
        all.join(" ")
    };
    [
        each(&|run| run.record.names.group.clone()),
        each(&|run| Some(run.record.id.clone())),
        each(&|run| run.record.fact(syscost_host::fingerprint::MACHINE).map(str::to_string)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use syscost_analyze::synthetic::Synthetic;
    use syscost_experiment::run::SessionConditions;

    fn busy(others_share: Option<f64>) -> RunFigures {
        let mut run = Synthetic { rounds: 1, ..Default::default() }.run();
        let during = Conditions { watched_ns: 1_000_000_000, cpus: 2, others_share, ..Default::default() };
        run.record.conditions = vec![SessionConditions { before: during.clone(), during }];
        RunFigures::of(&run)
    }

    /// It was said: no recorded fact that could be a cause differs, of 55 % to 70 % of other work against 18 % to 73 %.
    #[test]
    fn work_of_others_on_either_side_is_said() {
        let quiet = [busy(Some(0.01)), busy(None)];
        assert_eq!(other_work(&quiet, &quiet), None);
        let told = other_work(&[busy(Some(0.7)), busy(Some(0.55))], &quiet).unwrap();
        let sides =
            "took 55 % to 70 % of the CPU time in the runs of the base, 1 % in those of the candidate.";
        assert!(told.contains(sides), "{told}");
        assert!(other_work(&quiet[1..], &[busy(Some(0.4))]).unwrap().contains("an unknown share"));
        assert!(facts(&[]).concat().contains("of the machine"), "other work is no such fact");
    }

    /// It was said: 1 run more a side, where 2 decide none of many cases; and not that CPU time alone is compared.
    #[test]
    fn one_run_a_side_names_the_least_that_may_decide_and_what_is_compared() {
        let compared = SideComparison::of(&[busy(None)], &[busy(Some(0.4))]);
        let told = undecided(&compared.changes[0].decision, Replicate::Run);
        assert_eq!(told, "undecided: at least 1 run more a side");
        let answer = answer(&compared);
        assert!(answer.ends_with("30 undecided (CPU per message)."), "{answer}");
    }
}
