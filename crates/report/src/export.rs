//! An answer for other programs: Markdown, JSON and OpenMetrics of what terminal, page and `results.csv` show.
//!
//! Nothing is computed here. Source of the last: the OpenMetrics specification 1.0, whose text is also read as the older
//! text format of Prometheus (node_exporter's textfile collector).

use crate::text::ending::EndTable;
use crate::{Report, escape, findings};
use serde_json::{Map, Value as Json, json};
use std::collections::BTreeMap;
use std::fmt::Write;
use syscost_analyze::cells::{Cell, Cells, metric};
use syscost_analyze::whole::Analysis;
use syscost_core::sample::Metric;
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_host::fingerprint::MACHINE;

/// Raised where a reader of the last one would misread the document.
const SCHEMA: u32 = 1;

/// An answer in Markdown: what a terminal shows, with all rows of its tables.
pub fn markdown(report: &Report) -> String {
    let mut text = format!("## {}\n", escape::markdown(&report.title));
    let ending = &report.ending;
    let about = [&report.subtitle, &ending.trust].into_iter().cloned();
    let errors = report.errors.iter().map(|error| format!("{}: {}", error.title, error.text));
    text += &paragraphs(about.chain(errors).chain(ending.answer.iter().cloned()));
    text.extend(ending.tables.iter().map(markdown_table));
    text += &paragraphs(ending.left_out.iter().cloned());
    text + &paragraphs(report.notices.iter().map(|notice| format!("{}: {}", notice.title, notice.text)))
}

/// A comparison in Markdown, likewise.
pub fn compared<'a>(answer: &str, tables: &[EndTable], notes: impl Iterator<Item = &'a String>) -> String {
    let tables: String = tables.iter().map(markdown_table).collect();
    format!("## {}\n{tables}{}", escape::markdown(answer), paragraphs(notes.cloned()))
}

/// Each text as a paragraph.
pub fn paragraphs(texts: impl Iterator<Item = String>) -> String {
    texts.map(|text| format!("\n{}\n", escape::markdown(&text))).collect()
}

/// A table with its title above and its note below; names left, figures right.
pub fn markdown_table(table: &EndTable) -> String {
    let line = |cells: &[String]| {
        let cells: Vec<String> = cells.iter().map(|text| escape::markdown(text)).collect();
        format!("| {} |\n", cells.join(" | "))
    };
    let title =
        table.title.as_ref().map_or(String::new(), |title| format!("\n### {}\n", escape::markdown(title)));
    let rule: Vec<&str> = (0..table.columns.len()).map(|at| if at == 0 { "---" } else { "--:" }).collect();
    let rows: String = table.rows.iter().map(|row| line(row)).collect();
    let head = format!("{title}\n{}| {} |\n{rows}", line(&table.columns), rule.join(" | "));
    head + &paragraphs(table.note.iter().cloned())
}

/// The answer as one document: its sentences, every figure with its interval, and the findings.
pub fn json(run: &Run, analysis: &Analysis, report: &Report) -> Json {
    let result = |(case, cell): (&Case, &Cell)| {
        let point: Map<String, Json> =
            case.point.iter().map(|(id, value)| (id.to_string(), json!(value))).collect();
        let estimate = &cell.estimate;
        json!({
            "case": case.index, "probe": case.probe, "point": point, "metric": cell.metric,
            "unit": estimate.unit.symbol(), "value": estimate.value, "ci_low": estimate.low,
            "ci_high": estimate.high, "ci_level": estimate.level, "rounds": estimate.n,
        })
    };
    json!({
        "schema": SCHEMA,
        "run": run.record.id,
        "title": report.title,
        "about": report.subtitle,
        "state": run.record.state,
        "trust": report.ending.trust,
        "answer": report.ending.answer,
        "left_out": report.ending.left_out,
        "results": figures(run, &analysis.cells).map(result).collect::<Vec<_>>(),
        "findings": findings::file(run, analysis),
    })
}

/// Every figure of every case, as `results.csv` has them.
fn figures<'a>(run: &'a Run, cells: &'a Cells) -> impl Iterator<Item = (&'a Case, &'a Cell)> {
    let asked = run.record.plan.cases.iter().filter(|case| case.twin_of.is_none());
    asked.flat_map(|case| cells.of_case(case.index).iter().map(move |cell| (case, cell)))
}

/// One family of samples, which stand together.
struct MetricFamily {
    unit: &'static str,
    help: &'static str,
    samples: String,
}

/// Every figure as a gauge in base units, the ends of its interval as two more.
pub fn openmetrics(run: &Run, cells: &Cells) -> String {
    let mut families: BTreeMap<String, MetricFamily> = BTreeMap::new();
    for (case, cell) in figures(run, cells) {
        let Some(metric) = metric(run, cell.metric) else { continue };
        let (unit, scale) = base_unit(cell.estimate.unit);
        let labels = labels(case);
        let ends = if cell.estimate.level > 0.0 { 3 } else { 1 };
        let values = [("", cell.estimate.value), ("_low", cell.estimate.low), ("_high", cell.estimate.high)];
        for (end, value) in values.into_iter().take(ends) {
            let name = family_name(&metric, end, unit);
            let family = families.entry(name.clone()).or_insert(MetricFamily {
                unit,
                help: metric.help,
                samples: String::new(),
            });
            writeln!(family.samples, "{name}{{{labels}}} {}", value * scale).expect("writing to a String");
        }
    }
    let mut text = about(run);
    for (name, MetricFamily { unit, help, samples }) in families {
        let unit = if unit.is_empty() { String::new() } else { format!("# UNIT {name} {unit}\n") };
        let help = help.replace('\\', "\\\\").replace('\n', " ").replace('"', "'");
        text += &format!("# TYPE {name} gauge\n{unit}# HELP {name} {help}\n{samples}");
    }
    text + "# EOF\n"
}

/// Names the run and its start, by which a dashboard joins.
fn about(run: &Run) -> String {
    let record = &run.record;
    let fact = |id: &str| record.fact(id).unwrap_or_default();
    let labels = [
        ("run", record.id.as_str()),
        ("experiment", &record.spec.name),
        ("version", &record.tool.version),
        ("machine", fact(MACHINE)),
        ("kernel", fact("kernel_release")),
    ];
    let labels = labels.map(|(name, value)| label(name, value)).join(",");
    let began = record.started_unix_ns as f64 / 1e9;
    format!(
        "# TYPE syscost_run gauge\n# HELP syscost_run The run that all figures are of\nsyscost_run{{{labels}}} 1\n\
         # TYPE syscost_run_start_seconds gauge\n# UNIT syscost_run_start_seconds seconds\n\
         # HELP syscost_run_start_seconds When the run began\nsyscost_run_start_seconds {began}\n"
    )
}

/// `syscost_total_cpu_per_message_low_seconds`: the unit stands at the end, and nowhere else.
fn family_name(metric: &Metric, end: &str, unit: &str) -> String {
    let plain = if unit.is_empty() { metric.id.into() } else { without_unit(metric.id, metric.unit) };
    let name = format!("syscost_{plain}{end}");
    if unit.is_empty() { name } else { format!("{name}_{unit}") }
}

/// The words of an id without that of its unit.
fn without_unit(id: &str, unit: Unit) -> String {
    let own: &[&str] = match unit {
        Unit::Nanoseconds | Unit::NanosecondsPerByte => &["ns", "us", "ms"],
        Unit::Bytes => &["bytes"],
        _ => &[],
    };
    let words: Vec<&str> = id.split('_').filter(|word| !own.contains(word)).collect();
    if words.is_empty() { id.into() } else { words.join("_") }
}

/// The base unit that OpenMetrics asks for, and by what a figure is multiplied.
fn base_unit(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Nanoseconds => ("seconds", 1e-9),
        Unit::NanosecondsPerByte => ("seconds_per_byte", 1e-9),
        Unit::Bytes => ("bytes", 1.0),
        Unit::BitsPerSecond => ("bytes_per_second", 0.125),
        Unit::BytesPerSecond => ("bytes_per_second", 1.0),
        Unit::PerSecond => ("per_second", 1.0),
        Unit::Hertz => ("hertz", 1.0),
        Unit::Ratio => ("ratio", 1.0),
        Unit::CyclesPerByte | Unit::TscCyclesPerByte => ("cycles_per_byte", 1.0),
        Unit::Cycles | Unit::TscCycles => ("cycles", 1.0),
        Unit::Count | Unit::Name => ("", 1.0),
    }
}

fn labels(case: &Case) -> String {
    let own = [label("case", &case.index.to_string()), label("probe", &case.probe)];
    let axes = case.point.iter().map(|(id, value)| label(id, &value.to_string()));
    own.into_iter().chain(axes).collect::<Vec<_>>().join(",")
}

fn label(name: &str, value: &str) -> String {
    let value = escape::visible(value).replace('\\', "\\\\").replace('"', "\\\"");
    format!("{name}=\"{value}\"")
}
