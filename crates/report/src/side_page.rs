//! The page of a comparison of two sides: what changed, sorted by size, run by run, and what else differs.

use crate::escape::slug;
use crate::sides::{CaseNames, SHARED, answer, figure, interval, notes, verdict, word};
use crate::text::ending::EndTable;
use crate::text::words::operation_name;
use crate::{
    AnswerCard, Block, Entry, ForestPlot, ForestRow, Plot, PlotAxis, PlotRoom, Report, Scale, Section,
    Series, Statement, Table, TrustBar,
};
use syscost_analyze::operations::beside::Beside;
use syscost_analyze::sides::facts::{DifferingFact, IDENTITY};
use syscost_analyze::sides::{Change, Replicate, RunFigures, SideComparison};
use syscost_core::sample::Metric;
use syscost_core::units::{Unit, count, percent, utc};
use syscost_experiment::run::Run;
use syscost_host::fingerprint::{BOOT, MACHINE};

/// Rows that the forest has room for: the largest changes.
const DRAWN: usize = 40;
/// Cases that are shown run by run.
const PANELS: usize = 12;
/// Changes that the card names.
const NAMED: usize = 3;
const WORSE: usize = 1;
const BETTER: usize = 2;
const SAME: usize = 6;
const SIDES: [&str; 2] = ["base", "candidate"];

/// Both sides, and what was found.
pub struct ComparedSides<'a> {
    pub compared: &'a SideComparison,
    /// The first run of the base, which names the cases.
    pub first: &'a Run,
    pub base: &'a [RunFigures],
    pub candidate: &'a [RunFigures],
    pub differing: &'a [DifferingFact],
}

impl ComparedSides<'_> {
    pub fn report(&self) -> Report {
        let notes = notes(self.compared, self.first, (self.base, self.candidate));
        let sections = [self.changes(&notes), self.rivals(), self.run_by_run(), self.facts(), self.runs()];
        Report {
            title: format!("{} against {}", self.called(self.candidate), self.called(self.base)),
            subtitle: self.subtitle(),
            trust: self.trust(&notes),
            answers: vec![self.card()],
            sections: sections.into_iter().flatten().collect(),
            ..Report::default()
        }
    }

    /// What the user calls a side: its labels, else what it is.
    fn called(&self, side: &[RunFigures]) -> String {
        let mut labels: Vec<&str> = side.iter().filter_map(|run| run.record.names.label.as_deref()).collect();
        labels.dedup();
        let which = if std::ptr::eq(side, self.base) { SIDES[0] } else { SIDES[1] };
        if labels.len() == 1 { labels[0].into() } else { which.into() }
    }

    fn subtitle(&self) -> String {
        let started =
            self.base.iter().chain(self.candidate).map(|run| run.record.started_unix_ns / 1_000_000_000);
        let (first, last) = (started.clone().min().unwrap_or(0), started.max().unwrap_or(0));
        let runs =
            format!("{} against {}", count(self.candidate.len(), "run"), count(self.base.len(), "run"));
        let day = |at| utc(at)[..10].to_string();
        let days =
            if day(first) == day(last) { day(first) } else { format!("{} to {}", day(first), day(last)) };
        format!("{runs} · {} · {days}", self.first.record.spec.name)
    }

    fn trust(&self, notes: &[String]) -> TrustBar {
        let weak = notes.iter().any(|note| note.starts_with("Note") || note.starts_with("warning"));
        let [base, candidate] = self.compared.replicates;
        let replicate = self.compared.replicate;
        let replicates = match replicate {
            Replicate::Turn => replicate.count(base),
            _ => format!("{} against {}", candidate, replicate.count(base)),
        };
        let cases = count(self.compared.changes.len(), "case");
        TrustBar {
            colour: if weak { "amber" } else { "green" },
            headline: if weak { "Read the notes first".into() } else { "Comparable".into() },
            facts: vec![
                replicates,
                format!("error 5 % over {cases}"),
                format!("same: within {}", percent(self.compared.replicate.margin())),
            ],
        }
    }

    fn card(&self) -> AnswerCard {
        let names = CaseNames::of(self.first);
        let said = |change: &Change| {
            // A ratio to a rival is of one metric.
            let metric = match change.against {
                Some(_) => String::new(),
                None => format!("{} ", change.metric.title.to_lowercase()),
            };
            let (name, word) = (names.of_change(change), word(change));
            Statement::bare(format!("{name}: {word}, {metric}{}.", interval(&change.decision)))
        };
        let of = |is: bool| self.compared.changes.iter().filter(move |change| change.worse() == Some(is));
        let rivals = self.compared.rivals.iter().filter(|change| change.worse().is_some());
        let shown = of(true).take(NAMED).chain(of(false).take(NAMED)).chain(rivals.take(NAMED));
        AnswerCard {
            title: "What changed".into(),
            headlines: vec![Statement::bare(answer(self.compared))],
            shown: shown.map(said).collect(),
            ..AnswerCard::default()
        }
    }

    fn changes(&self, notes: &[String]) -> Option<Section> {
        let mut blocks: Vec<Block> = notes.iter().map(|note| Block::Text(note.clone())).collect();
        blocks.extend(self.forest(
            "changes",
            "candidate / base, largest change first",
            &self.compared.changes,
        ));
        Some(Section::new("changes", "Changes by size", blocks))
    }

    /// What changed of one way and not of the one that took turns with it.
    fn rivals(&self) -> Option<Section> {
        let changes = &self.compared.rivals;
        let mut blocks = vec![Block::Text(SHARED.into())];
        blocks.extend(self.forest(
            "rivals",
            "candidate / base of ratios to a rival of the same block",
            changes,
        ));
        (!changes.is_empty()).then(|| Section::new("against-rivals", "Against rivals", blocks))
    }

    /// The drawing of changes, with their figures folded away below it.
    fn forest(&self, id: &str, title: &str, changes: &[Change]) -> Vec<Block> {
        let names = CaseNames::of(self.first);
        let rows: Vec<ForestRow> =
            changes.iter().take(DRAWN).map(|change| self.row(change, &names)).collect();
        let margin = self.compared.replicate.margin();
        let same = (1.0 / (1.0 + margin), 1.0 + margin);
        let mut blocks = vec![Block::Forest(ForestPlot { id: id.into(), title: title.into(), same, rows })];
        let told = format!(
            "Line: confidence interval, corrected over all cases. Band: the same within {}. Hollow: undecided.",
            percent(self.compared.replicate.margin())
        );
        blocks.push(Block::Note(told));
        if changes.len() > DRAWN {
            blocks.push(Block::Note(format!("{} more are in the table.", changes.len() - DRAWN)));
        }
        let title = format!("Figures of {}", count(changes.len(), "case"));
        blocks.push(Block::Folded { title, blocks: vec![Block::Table(self.table(id, changes, &names))] });
        blocks
    }

    fn row(&self, change: &Change, names: &CaseNames<'_>) -> ForestRow {
        let decision = &change.decision;
        let word = word(change);
        let styles = [("worse", WORSE), ("better", BETTER), ("same", SAME)];
        let style = styles.into_iter().find(|(known, _)| *known == word).map(|(_, style)| style);
        let show = |value: f64| figure(change, value);
        ForestRow {
            label: names.of_change(change),
            ratio: decision.ratio,
            interval: (decision.level > 0.0).then_some((decision.low, decision.high)),
            style,
            told: format!("{:.2}x {word}", decision.ratio),
            detail: format!(
                "{}: {} to {}, {}; {}",
                names.of_change(change),
                show(change.base),
                show(change.candidate),
                interval(decision),
                verdict(change, self.compared)
            ),
        }
    }

    fn table(&self, id: &str, changes: &[Change], names: &CaseNames<'_>) -> Table {
        let row = |change: &Change| {
            vec![
                Entry::Text(names.of_change(change)),
                Entry::Text(change.metric.title.into()),
                Entry::Text(figure(change, change.base)),
                Entry::Text(figure(change, change.candidate)),
                Entry::Text(interval(&change.decision)),
                Entry::Text(verdict(change, self.compared)),
            ]
        };
        let columns = ["case", "metric", "base", "candidate", "candidate / base", "verdict"];
        Table::new(format!("{id}-figures"), &columns, changes.iter().map(row).collect())
    }

    /// Small multiples: each run of both sides, in the order of time.
    fn run_by_run(&self) -> Option<Section> {
        let mut runs: Vec<(usize, &RunFigures)> = [self.base, self.candidate]
            .iter()
            .enumerate()
            .flat_map(|(side, runs)| runs.iter().map(move |run| (side, run)))
            .collect();
        runs.sort_by_key(|(_, run)| run.record.started_unix_ns);
        let names = CaseNames::of(self.first);
        let panels: Vec<Plot> = self
            .compared
            .changes
            .iter()
            .take(PANELS)
            .enumerate()
            .filter_map(|(place, change)| self.panel(place, change, &runs, &names))
            .collect();
        let told = "Each run of both sides, in the order of time: a drift, or one run unlike the others, shows here.";
        let legend = [self.base, self.candidate].map(|side| self.called(side)).into_iter().zip(0..).collect();
        (!panels.is_empty()).then(|| {
            Section::new(
                "run-by-run",
                "Old and new, run by run",
                vec![Block::Legend(legend), Block::Panels(panels), Block::Note(told.into())],
            )
        })
    }

    fn panel(
        &self,
        place: usize,
        change: &Change,
        runs: &[(usize, &RunFigures)],
        names: &CaseNames<'_>,
    ) -> Option<Plot> {
        let of_side = |side: usize| {
            let mine = runs.iter().enumerate().filter(|(_, (of, _))| *of == side);
            let points = mine.filter_map(|(at, (_, run))| Some(((at + 1) as f64, run.figure(change)?)));
            Series::of(SIDES[side], side, points.collect())
        };
        let axis = |title: &str, unit, scale| PlotAxis { title: title.into(), unit, scale };
        let axes = (
            axis("run", Unit::Count, Scale::Linear),
            axis(change.metric.title, change.metric.unit, Scale::Log10),
        );
        let plot = Plot::of(
            &format!("runs-{}", place + 1),
            names.of_change(change),
            axes,
            vec![of_side(0), of_side(1)],
        )?;
        Some(Plot { room: PlotRoom::Quarter, ..plot })
    }

    fn facts(&self) -> Option<Section> {
        let causes = |is_identity: bool| {
            let facts = self.differing.iter().filter(|fact| (fact.cause == IDENTITY) == is_identity);
            let row = |fact: &DifferingFact| {
                [fact.cause.to_string(), fact.title.clone(), fact.base.clone(), fact.candidate.clone()]
                    .map(Entry::Text)
                    .to_vec()
            };
            facts.map(row).collect::<Vec<_>>()
        };
        let (possible, names) = (causes(false), causes(true));
        let columns = ["kind", "fact", "base", "candidate"];
        let mut blocks = vec![Block::Text(crate::sides::facts(self.differing).swap_remove(0))];
        if !possible.is_empty() {
            blocks.push(Block::Table(Table::new("facts", &columns, possible)));
        }
        if !names.is_empty() {
            let table = Block::Table(Table::new("identities", &columns, names));
            blocks.push(Block::Folded {
                title: "Names of boots and machines that differ".into(),
                blocks: vec![table],
            });
        }
        Some(Section::new("facts", "What else differs", blocks))
    }

    fn runs(&self) -> Option<Section> {
        let row = |(side, run): (&str, &RunFigures)| {
            let fact = |id| run.record.fact(id).unwrap_or_default().chars().take(12).collect::<String>();
            let names = &run.record.names;
            let name = |text: &Option<String>| text.clone().unwrap_or_default();
            [
                side.to_string(),
                run.record.id.clone(),
                name(&names.group),
                name(&names.label),
                name(&names.revision),
                utc(run.record.started_unix_ns / 1_000_000_000),
                fact(BOOT),
                fact(MACHINE),
            ]
            .map(Entry::Text)
            .to_vec()
        };
        let both = [(SIDES[0], self.base), (SIDES[1], self.candidate)];
        let rows =
            both.iter().flat_map(|(side, runs)| runs.iter().map(move |run| row((side, run)))).collect();
        let columns = ["side", "run", "group", "label", "revision", "started", "boot", "machine"];
        let table = Block::Table(Table::new("runs", &columns, rows));
        Some(Section { folded: Some("Runs and method"), ..Section::new("method", "Runs", vec![
            Block::Text("Each case is compared by the logarithms of its replicates, with a two-sample t interval; where the sides took turns, turn by turn. Holm's procedure holds the error over all cases. See docs/comparing.md.".into()),
            table,
        ]) })
    }
}

/// Another run beside this one: every case that both have, but for operations, which have a section of their own. One run
/// a side decides nothing, so every verdict is open.
pub fn show_beside(report: &mut Report, ours: &Run, name: &str, theirs: &RunFigures) {
    let (own, other) = ([RunFigures::of(ours)], std::slice::from_ref(theirs));
    let compared = SideComparison::of(&own, other);
    let is_operation =
        |change: &&Change| ours.case(change.case).is_some_and(|case| operation_name(case).is_some());
    let names = CaseNames::of(ours);
    let row = |change: &Change| {
        let ratio = format!("{:.2}x", change.decision.ratio);
        let sides = [change.base, change.candidate].map(|value| figure(change, value));
        [vec![names.of_change(change)], sides.to_vec(), vec![ratio]].concat()
    };
    let rows: Vec<Vec<String>> =
        compared.changes.iter().filter(|change| !is_operation(change)).map(row).collect();
    if !rows.is_empty() {
        show(report, name, &["case", "this run", name, "theirs / ours"], vec![ONE_RUN.into()], rows);
    }
}

/// A case of ours and a figure of a table of transfers, in the metric's unit.
pub struct CaseBeside {
    pub case: usize,
    pub metric: Metric,
    pub ours: f64,
    pub theirs: f64,
    /// As the table calls it.
    pub called: String,
}

/// A table of transfers beside this run; `Err`: why nothing of a table is.
pub fn show_table(report: &mut Report, ours: &Run, table: &Beside, cases: &Result<Vec<CaseBeside>, String>) {
    let names = CaseNames::of(ours);
    let row = |one: &CaseBeside| {
        let [own, other] = [one.ours, one.theirs].map(|value| one.metric.unit.format(value));
        let ratio = format!("{:.2}x", one.theirs / one.ours);
        vec![names.name(one.case), own, other, ratio, one.metric.title.into(), one.called.clone()]
    };
    let (rows, why) = match cases {
        Ok(cases) => (cases.iter().map(row).collect(), TABLE.into()),
        Err(why) => (Vec::new(), format!("Nothing of it is compared: {why}.")),
    };
    let texts = [table.about.clone(), why].into_iter().filter(|text| !text.is_empty()).collect();
    let columns = ["case", "this run", &table.name, "theirs / ours", "metric", "their name"];
    show(report, &table.name, &columns, texts, rows);
}

/// A section of its own; and since it was asked for, the terminal shows it too.
fn show(report: &mut Report, name: &str, columns: &[&str], texts: Vec<String>, rows: Vec<Vec<String>>) {
    let title = format!("Beside {name}");
    let mut blocks: Vec<Block> = texts.into_iter().map(Block::Text).collect();
    if !rows.is_empty() {
        let entries = rows.iter().map(|row| row.iter().cloned().map(Entry::Text).collect()).collect();
        blocks.push(Block::Table(Table::new(format!("beside-{}", slug(name)), columns, entries)));
    }
    let place = report.sections.iter().position(|section| section.folded.is_some());
    let shown = Section::new(format!("runs-beside-{}", slug(name)), &title, blocks);
    report.sections.insert(place.unwrap_or(report.sections.len()), shown);
    if !rows.is_empty() {
        let columns = columns.iter().map(|column| column.to_string()).collect();
        report.ending.tables.insert(0, EndTable { title: Some(title), columns, rows, note: None });
    }
}

/// What a table of somebody says beside a run.
const TABLE: &str =
    "A difference is of everything that differs: machine, kernel, program, and how it was measured.";

/// What two single runs say of each other.
const ONE_RUN: &str = "One run a side decides nothing: identical runs differ by 5 to 24 %. Groups of runs decide: `syscost compare`.";
