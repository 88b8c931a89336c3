//! Counted guests side by side: rows are operations and mechanisms by size, columns are kernels.

use crate::escape;
use crate::sides::{CaseNames, answer, verdict};
use crate::text::ending::EndTable;
use std::io;
use syscost_analyze::sides::facts::{Incomparable, refusal};
use syscost_analyze::sides::{Change, RunFigures, SideComparison, coordinates};
use syscost_core::decide::Verdict;
use syscost_experiment::run::{LAB_SECONDS, LAB_START_SECONDS, Record, Run};

/// What has to stand wherever instructions are shown.
pub const NOT_TOLD: &str = "Instructions are not time: they say nothing of caches, stalls, exits of a virtual machine or \
                            real devices. An emulator counts each step of a repeated string instruction. User and \
                            kernel code are counted together: Debian's kernels keep no exact times of each.";

/// A kernel beside the base.
pub struct Rival {
    pub label: String,
    pub figures: RunFigures,
    pub comparison: SideComparison,
}

/// A base and its rivals, each compared with it.
pub struct Kernels<'a> {
    /// The run of the base.
    pub first: &'a Run,
    pub base: RunFigures,
    pub rivals: Vec<Rival>,
}

/// What a user calls a guest.
pub fn label(record: &Record) -> String {
    let release = || record.fact("kernel_release").unwrap_or("a kernel").to_string();
    record.names.label.clone().unwrap_or_else(release)
}

/// A name of a file made of a label.
pub fn file_name(label: &str) -> String {
    label.chars().map(|c| if c.is_ascii_alphanumeric() || "._-+".contains(c) { c } else { '_' }).collect()
}

impl<'a> Kernels<'a> {
    /// The first run is the base of the others.
    pub fn of(first: &'a Run, rivals: &[Run]) -> Result<Kernels<'a>, Incomparable> {
        let base = RunFigures::of(first);
        let rival = |run: &Run| {
            let figures = RunFigures::of(run);
            let sides = [&base, &figures].map(std::slice::from_ref);
            if let Some(why) = refusal(sides[0], sides[1]) {
                return Err(why);
            }
            let comparison = SideComparison::of(sides[0], sides[1]);
            Ok(Rival { label: label(&run.record), figures, comparison })
        };
        let rivals = rivals.iter().map(rival).collect::<Result<_, _>>()?;
        Ok(Kernels { first, base, rivals })
    }

    /// `7.3: 3 worse, 1 better ..` of each rival.
    pub fn answers(&self) -> Vec<String> {
        self.rivals.iter().map(|rival| format!("{}: {}", rival.label, answer(&rival.comparison))).collect()
    }

    /// How long the guests took; `None` of runs that did not keep it.
    pub fn took(&self) -> Option<String> {
        let records = || std::iter::once(&self.base).chain(self.rivals.iter().map(|rival| &rival.figures));
        let range = |id: &str| -> Option<String> {
            let mut seconds: Vec<f64> =
                records().map(|run| run.record.fact(id)?.parse().ok()).collect::<Option<_>>()?;
            seconds.sort_by(f64::total_cmp);
            let [low, high] = [*seconds.first()?, *seconds.last()?].map(|s| format!("{s:.0} s"));
            Some(if low == high { low } else { format!("{low} to {high}") })
        };
        Some(format!(
            "A guest took {} by the clock of the machine around it, and measured after {}.",
            range(LAB_SECONDS)?,
            range(LAB_START_SECONDS)?
        ))
    }

    /// The change of a case against the base, for each rival that has it.
    fn changes(&self, case: usize) -> Vec<Option<&Change>> {
        let of = |rival: &Rival| -> Option<usize> {
            rival.comparison.changes.iter().position(|change| change.case == case)
        };
        self.rivals.iter().map(|rival| of(rival).map(|place| &rival.comparison.changes[place])).collect()
    }

    /// Cases that any rival has, the largest change first.
    fn cases(&self) -> Vec<usize> {
        let mut largest: Vec<(usize, f64)> = Vec::new();
        for change in self.rivals.iter().flat_map(|rival| &rival.comparison.changes) {
            let size = change.decision.ratio.ln().abs();
            match largest.iter_mut().find(|(case, _)| *case == change.case) {
                Some((_, known)) => *known = known.max(size),
                None => largest.push((change.case, size)),
            }
        }
        largest.sort_by(|a, b| b.1.total_cmp(&a.1));
        largest.into_iter().map(|(case, _)| case).collect()
    }
}

/// The base in instructions, each rival as a change of it.
pub fn table(all: &Kernels<'_>) -> EndTable {
    let names = CaseNames::of(all.first);
    let mut columns = vec!["instructions of".to_string(), label(&all.first.record)];
    columns.extend(all.rivals.iter().map(|rival| rival.label.clone()));
    let row = |case: usize| {
        let changes = all.changes(case);
        let known = changes.iter().flatten().next()?;
        let mut row = vec![names.of_change(known), counted(known.base)];
        row.extend(changes.iter().map(|change| change.map_or("-".into(), shown)));
        Some(row)
    };
    EndTable { title: None, columns, rows: all.cases().into_iter().filter_map(row).collect(), note: None }
}

/// Instructions, with their thousands apart.
fn counted(value: f64) -> String {
    let digits = format!("{value:.0}");
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// `+1.24 %`, `same`, `undecided`
fn shown(change: &Change) -> String {
    match change.decision.verdict {
        Verdict::Same => "same".into(),
        Verdict::Undecided => "undecided".into(),
        Verdict::More | Verdict::Less => {
            let percent = (change.decision.ratio - 1.0) * 100.0;
            let digits = if percent.abs() < 10.0 { 1 } else { 0 };
            format!("{percent:+.digits$} %")
        }
    }
}

const COLUMNS: &[&str] = &[
    "probe",
    "point",
    "metric",
    "base",
    "kernel",
    "base_count",
    "count",
    "ratio",
    "ci_low",
    "ci_high",
    "verdict",
];

/// `kernels.csv`: a row per case and rival.
pub fn write(all: &Kernels<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let mut writer = csv::Writer::from_writer(out);
    writer.write_record(COLUMNS)?;
    let base = label(&all.first.record);
    for case in all.cases() {
        let Some(planned) = all.first.case(case) else { continue };
        for (rival, change) in all.rivals.iter().zip(all.changes(case)) {
            let Some(change) = change else { continue };
            let decision = &change.decision;
            let mut row = vec![
                planned.probe.to_string(),
                coordinates(&planned.point),
                change.metric.id.into(),
                base.clone(),
                rival.label.clone(),
            ];
            let numbers = [change.base, change.candidate, decision.ratio, decision.low, decision.high];
            row.extend(numbers.map(|number| number.to_string()));
            row.push(verdict(change, &rival.comparison));
            writer.write_record(row.iter().map(|text| escape::cell(text).into_owned()))?;
        }
    }
    writer.flush()
}

#[cfg(test)]
mod tests {
    use super::counted;

    #[test]
    fn thousands_stand_apart() {
        assert_eq!(
            [7.0, 999.0, 1_000.0, 25_413.2, 1_234_567.0].map(counted),
            ["7", "999", "1 000", "25 413", "1 234 567"]
        );
    }
}
