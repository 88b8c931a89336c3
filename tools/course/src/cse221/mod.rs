//! The layout of a system-measurement project (CSE 221): the machine, and for each operation base hardware,
//! software overhead, predicted and measured with its spread.
//!
//! Predictions are those that were written down before the first sample; methodology and discussion are
//! left to the student. Source: the project's page (cseweb.ucsd.edu, CSE 221), which asks for these columns.

mod one_page;
mod steps;

use super::{Artefact, Unsuitable, chart, csv, markdown, number, scaled};
use std::fmt::Write;
use syscost_analyze::operations::Operation;
use syscost_analyze::whole::Analysis;
use syscost_core::stats::Estimate;
use syscost_core::units::Unit;
use syscost_experiment::run::Run;
use syscost_experiment::run::rows::{CsvColumn, column};
use syscost_report::material::Material;
use syscost_report::section::{drawings, machine, operations};
use syscost_report::text::costs;
use syscost_report::{Block, Section};

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

const TABLE: &str = "cse221_table.csv";
const PAGE: &str = "cse221_table.pdf";
const REPORT: &str = "cse221_report.md";

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
    let mut files = vec![Artefact::made(
        TABLE,
        csv(&COLUMNS.iter().map(|c| c.id.to_string()).collect::<Vec<_>>(), &rows),
    )];
    let mut drawn = Vec::new();
    for block in material.layouts.iter().flat_map(|layout| drawings::blocks(&material, layout)) {
        for block in block.all() {
            if let Some(drawing) = block.drawing() {
                let name = format!("cse221_{}.svg", drawing.frame().id);
                drawn.push((name.clone(), drawing.frame().title.to_string()));
                files.push(Artefact::made(name, drawing.standalone()));
            }
        }
    }
    let about = about(&material);
    let mut figures = Vec::new();
    for figure in steps::figures(&listed, std::slice::from_ref(&about)) {
        let name = format!("{}.pdf", figure.name);
        files.push(Artefact::made(name.clone(), chart::pdf(&figure)));
        figures.push((name, figure.title));
    }
    let title = "Operations of the system: base hardware, software overhead, predicted, measured";
    files.push(Artefact::made(PAGE, one_page::pdf(&listed, title, &about)));
    files.push(Artefact::to_write_in(REPORT, report(&material, &drawn, &figures)));
    Ok(files)
}

/// Nanoseconds are shown by magnitude elsewhere; a table's cells are bare numbers in one unit.
fn row(m: &Material, o: &Operation) -> Vec<String> {
    let account = o.prediction.as_ref().map(|p| &p.account);
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
        number(account.and_then(|a| a.base_hardware)),
        number(account.and_then(|a| a.software_overhead)),
        number(o.predicted()),
        number(measured.map(|e| e.value)),
        number(measured.map(|e| e.low)),
        number(measured.map(|e| e.high)),
        number(measured.map(|e| e.level)),
        number(deviation(m, o)),
        measured.map_or(String::new(), |e| e.n.to_string()),
        number(o.ratio.map(|r| r.value)),
        number(cycles),
        account.map_or(String::new(), |a| a.formula.clone()),
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

/// The machine and the run, in a line.
fn about(m: &Material) -> String {
    let record = &m.run.record;
    let fact = |id: &str| record.host.iter().find(|f| f.id == id).and_then(machine::value);
    let facts: Vec<String> =
        ["cpu_model", "kernel_release", "hypervisor"].into_iter().filter_map(fact).collect();
    format!(
        "{}. Run {} by syscost {}. Medians over fresh processes.",
        facts.join(", "),
        record.id,
        record.tool.version
    )
}

/// Six digits, as everywhere in a layout.
fn rounded_estimate(e: Estimate) -> Estimate {
    scaled(e, 1.0)
}

fn report(m: &Material, drawn: &[(String, String)], figures: &[(String, String)]) -> String {
    let mut out = String::from("# CSE 221: System measurement project\n\n## 1. Introduction\n\n");
    out.push_str("*Goals, language, compiler and its options, how the work was divided, hours spent:*\n\n");
    let tool = &m.run.record.tool;
    let _ = writeln!(
        out,
        "Figures: run {} by syscost {} ({} build), `{}`. `{TABLE}` has every row with bare numbers, `{PAGE}` \
         the whole table on one page.\n",
        markdown::plain(&m.run.record.id),
        markdown::plain(&tool.version),
        markdown::plain(&tool.profile),
        markdown::code(&m.run.record.command.join(" "))
    );
    out.push_str("## 2. Machine description\n\n");
    if let Some(Section { blocks, .. }) = machine::section(m) {
        out.push_str(&markdown::blocks(&blocks, 3));
    }
    out.push_str("## 3. Operations\n\n");
    out.push_str(
        "Predicted is base hardware plus software overhead where both are known, and was written down before the first \
         sample of its row. Measured is the median over trials, which are fresh processes, with its interval.\n\n",
    );
    if let Some(Section { blocks, .. }) = operations::section(m) {
        // The first block explains the columns of a page; what follows starts with a heading each.
        for group in blocks[1..].chunk_by(|_, next| !matches!(next, Block::Heading(_))) {
            out.push_str(&markdown::blocks(group, 3));
            if matches!(group.first(), Some(Block::Heading(_))) {
                out.push_str("*Methodology:*\n\n*Why the prediction is what it is:*\n\n*Discussion: measured against predicted:*\n\n");
            }
        }
    }
    if !drawn.is_empty() || !figures.is_empty() {
        out.push_str("## 4. Curves and maps\n\n");
        for (name, title) in figures {
            let _ = writeln!(out, "[{}]({name})\n", markdown::plain(title));
        }
        for (name, title) in drawn {
            let _ = writeln!(out, "![{}]({name})\n", markdown::plain(title));
        }
    }
    out.push_str("## 5. Summary\n\n");
    for statement in &costs::statements(&m.analysis.operations, m.run.record.spec.confidence) {
        let _ = writeln!(out, "- {}", markdown::sentence(statement));
    }
    out.push_str("\n*Your conclusions:*\n");
    out
}
