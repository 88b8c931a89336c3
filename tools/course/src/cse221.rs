//! The layout of a system-measurement project (CSE 221): the machine, and for each operation base hardware,
//! software overhead, predicted and measured with its spread.
//!
//! Predictions are those that were written down before the first sample; methodology and discussion are
//! left to the student. Source: the project's page (cseweb.ucsd.edu, CSE 221), which asks for these columns.

use super::{Artefact, CoursePicture, Unsuitable, csv, fill, markdown, number, pictures};
use syscost_analyze::operations::Operation;
use syscost_analyze::whole::Analysis;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_experiment::run::rows::{CsvColumn, column};
use syscost_report::Block;
use syscost_report::material::Material;
use syscost_report::section::{machine, operations};
use syscost_report::text::costs;

/// The experiment whose run has everything.
pub const COMMAND: &str = "syscost run cse221";

/// The columns of the table.
pub const COLUMNS: &[CsvColumn] = &[
    column("operation", "what was measured: the title of its probe"),
    column("variant", "which of its rows"),
    column("unit", "of the figures up to `standard_deviation`"),
    column("base_hardware", "what the hardware alone would take"),
    column("software_overhead", "what software adds"),
    column("predicted", "what the formula says, written down before the first sample of the row"),
    column("measured", "median over trials"),
    column("measured_low", "lower end of the interval of the median"),
    column("measured_high", "upper end"),
    column("confidence", "that the interval really has"),
    column("standard_deviation", "of the trials"),
    column("trials", "fresh processes, each the median of its windows"),
    column("measured_over_predicted", "`measured` over `predicted`"),
    column("tsc_cycles", "`measured` in cycles of the time-stamp counter, where it is a time"),
    column("formula", "of the prediction"),
    column("not_predicted", "why there is no prediction: an input that is not known, or nobody can say"),
];

/// Every file of the layout.
pub fn artefacts(run: &Run, analysis: &Analysis) -> Result<Vec<Artefact>, Unsuitable> {
    Unsuitable::refuse_emulated(run, COMMAND)?;
    let material = Material::of(run, analysis, &[]);
    let listed: Vec<&Operation> =
        analysis.operations.iter().filter(|o| o.row.listed && o.measured.is_some()).collect();
    if listed.is_empty() {
        let lacks = "the run has no measured operation of the system".into();
        return Err(Unsuitable { lacks, command: COMMAND });
    }
    let rows: Vec<Vec<String>> = listed.iter().map(|o| row(&material, o)).collect();
    let header: Vec<&str> = COLUMNS.iter().map(|c| c.id).collect();
    let named = |p: CoursePicture| CoursePicture { name: format!("cse221_{}", p.name), ..p };
    let pictures: Vec<CoursePicture> = pictures(run, analysis).into_iter().map(named).collect();
    let mut files = vec![
        Artefact::made("cse221_table.csv", csv(&header, &rows)),
        Artefact::to_write_in("cse221_report.md", report(&material, &pictures)),
    ];
    files.extend(pictures.into_iter().map(|p| Artefact::made(p.name, p.svg)));
    Ok(files)
}

/// Nanoseconds are shown by magnitude elsewhere; a table's cells are bare numbers in one unit.
fn row(m: &Material, o: &Operation) -> Vec<String> {
    let cost = o.prediction.as_ref().map(|p| &p.cost);
    let measured = o.measured;
    let cycles = m.layouts.iter().find(|l| l.probe.about().id == o.probe).and_then(|l| l.tsc_cycles(o.case));
    let why = match (o.predicted(), o.prediction.is_some()) {
        (Some(_), _) => String::new(),
        (None, false) => "nobody can say".into(),
        (None, true) if o.needs().is_empty() => "unknown".into(),
        (None, true) => format!("needs {}", o.needs().join(", ")),
    };
    vec![
        o.title.to_string(),
        o.row.label.clone(),
        if o.metric.unit == Unit::Ratio { "ratio".into() } else { o.metric.unit.symbol().to_string() },
        number(cost.and_then(|a| a.base_hardware)),
        number(cost.and_then(|a| a.software_overhead)),
        number(o.predicted()),
        number(measured.map(|e| e.value)),
        number(measured.map(|e| e.low)),
        number(measured.map(|e| e.high)),
        number(measured.map(|e| e.level)),
        number(deviation(m, o)),
        measured.map_or(String::new(), |e| e.n.to_string()),
        number(o.ratio.map(|r| r.value)),
        number(cycles),
        cost.map_or(String::new(), |a| a.formula.clone()),
        why,
    ]
}

/// Of the trials, which are the rounds: fresh processes.
fn deviation(m: &Material, o: &Operation) -> Option<f64> {
    let rounds = m.analysis.cells.cell(o.case, o.metric.id)?.rounds.values();
    let n = rounds.len() as f64;
    if rounds.len() < 2 {
        return None;
    }
    let mean = rounds.iter().sum::<f64>() / n;
    Some((rounds.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

fn report(m: &Material, pictures: &[CoursePicture]) -> String {
    let (record, tool) = (&m.run.record, &m.run.record.tool);
    fill(include_str!("../templates/cse221-report.md"), |name| match name {
        "run" => markdown::plain(&record.id),
        "version" => markdown::plain(&tool.version),
        "profile" => markdown::plain(&tool.profile),
        "command" => markdown::code(&record.command.join(" ")),
        "machine" => machine::section(m).map_or(String::new(), |section| markdown::blocks(&section.blocks)),
        "operations" => operations(m),
        "drawings" => pictures
            .iter()
            .map(|picture| format!("![{}]({})\n\n", markdown::plain(&picture.title), picture.name))
            .collect(),
        _ => {
            let statements = costs::statements(&m.analysis.operations, record.spec.confidence);
            markdown::items(statements.iter().map(markdown::sentence))
        }
    })
}

/// Each operation with its figures, and room for what the student makes of them.
fn operations(m: &Material) -> String {
    let Some(section) = operations::section(m) else { return String::new() };
    let yours = "*Methodology:*\n\n*Why the prediction is what it is:*\n\n*Discussion: measured against predicted:*\n\n";
    // The first block explains the columns of a page; what follows starts with a heading each.
    let groups = section.blocks[1..].chunk_by(|_, next| !matches!(next, Block::Heading(_)));
    let told = |group: &[Block]| {
        let of_one = matches!(group.first(), Some(Block::Heading(_)));
        markdown::blocks(group) + if of_one { yours } else { "" }
    };
    groups.map(told).collect()
}
