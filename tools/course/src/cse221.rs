//! The layout of a system-measurement project (CSE 221): the machine, and for each operation base hardware,
//! software overhead, predicted and measured with its spread.
//!
//! Predictions are those that were written down before the first sample; methodology and discussion are
//! left to the student. Source: the project's page (cseweb.ucsd.edu, CSE 221), which asks for these columns.

use super::{Artefact, CoursePicture, Unsuitable, csv, fill, markdown, number, pictures};
use syscost_analyze::operations::Operation;
use syscost_analyze::whole::Analysis;
use syscost_core::units::Unit;
use syscost_experiment::plan::Case;
use syscost_experiment::run::Run;
use syscost_experiment::run::rows::{CsvColumn, column};
use syscost_measure::probe::transfer::axes::PATH;
use syscost_measure::probe::{
    Probe, context_switch, file_cache, file_contention, file_read, icmp_round_trip, memory_bandwidth,
    memory_latency, page_fault, peak_bandwidth, procedure_call, process_create, remote_file_read,
    system_call, tcp_connect, tcp_round_trip, thread_create, timer,
};
use syscost_report::material::Material;
use syscost_report::section::{machine, operations};
use syscost_report::text::words::Words;
use syscost_report::text::{self, costs};
use syscost_report::{Block, escape};

/// The experiment whose run has everything.
pub const COMMAND: &str = "syscost run cse221";
pub const EXPERIMENT: &str = "cse221";

/// Files of the layout begin so.
const PREFIX: &str = "cse221_";

/// One operation that the project asks for.
struct CourseQuestion {
    part: &'static str,
    asked: &'static str,
    probes: &'static [&'static dyn Probe],
    /// Every row of these probes, or those that published reports have and that a report opens with.
    every_row: bool,
    /// The question of the analysis that answers it.
    answer: Option<&'static str>,
}

impl CourseQuestion {
    const fn named(
        part: &'static str,
        asked: &'static str,
        probes: &'static [&'static dyn Probe],
    ) -> CourseQuestion {
        CourseQuestion { part, asked, probes, every_row: false, answer: None }
    }

    const fn every(
        part: &'static str,
        asked: &'static str,
        probes: &'static [&'static dyn Probe],
    ) -> CourseQuestion {
        CourseQuestion { every_row: true, ..CourseQuestion::named(part, asked, probes) }
    }
}

const CPU: &str = "CPU, scheduling and OS services";
const MEMORY: &str = "Memory";
const NETWORK: &str = "Network";
const FILES: &str = "File system";

/// In the project's order.
static QUESTIONS: &[CourseQuestion] = &[
    CourseQuestion::every(CPU, "Measurement overhead: reading the time, and a loop", &[&timer::TIMER]),
    CourseQuestion::every(
        CPU,
        "Procedure call, by the number of arguments",
        &[&procedure_call::PROCEDURE_CALL],
    ),
    CourseQuestion::named(CPU, "System call", &[&system_call::SYSTEM_CALL]),
    CourseQuestion::named(
        CPU,
        "Task creation: process and thread",
        &[&process_create::PROCESS_CREATE, &thread_create::THREAD_CREATE],
    ),
    CourseQuestion::named(CPU, "Context switch: processes and threads", &[&context_switch::CONTEXT_SWITCH]),
    CourseQuestion::every(MEMORY, "Access time of each level", &[&memory_latency::MEMORY_LATENCY]),
    CourseQuestion::named(MEMORY, "Bandwidth of reading and writing", &[&memory_bandwidth::MEMORY_BANDWIDTH]),
    CourseQuestion::every(MEMORY, "Page fault", &[&page_fault::PAGE_FAULT]),
    CourseQuestion::every(
        NETWORK,
        "Round trip, beside a ping of the kernel",
        &[&tcp_round_trip::TCP_ROUND_TRIP, &icmp_round_trip::ICMP_ROUND_TRIP],
    ),
    CourseQuestion::every(NETWORK, "Peak bandwidth", &[&peak_bandwidth::PeakBandwidth]),
    CourseQuestion::every(NETWORK, "Connection: setup and teardown", &[&tcp_connect::TCP_CONNECT]),
    CourseQuestion {
        answer: Some("held_size"),
        ..CourseQuestion::named(FILES, "Size of the file cache", &[&file_cache::FILE_CACHE])
    },
    CourseQuestion::every(FILES, "Reading a file, sequentially and at random", &[&file_read::FILE_READ]),
    CourseQuestion::every(FILES, "Reading a remote file", &[&remote_file_read::REMOTE_FILE_READ]),
    CourseQuestion::named(FILES, "Contention: several processes read", &[&file_contention::FILE_CONTENTION]),
];

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
    let listed: Vec<&Operation> = analysis
        .operations
        .iter()
        .filter(|o| o.measured.is_some() && CourseQuestion::of(o).is_some())
        .collect();
    if listed.is_empty() {
        let lacks = "the run has no measured operation of the system".into();
        return Err(Unsuitable { lacks, command: COMMAND });
    }
    let rows: Vec<Vec<String>> = listed.iter().map(|o| row(&material, o)).collect();
    let header: Vec<&str> = COLUMNS.iter().map(|c| c.id).collect();
    let named = |p: CoursePicture| CoursePicture { name: format!("{PREFIX}{}", p.name), ..p };
    let pictures: Vec<CoursePicture> = pictures(run, analysis).into_iter().map(named).collect();
    let mut files = vec![
        Artefact::made("cse221_table.csv", csv(&header, &rows)),
        Artefact::to_write_in("cse221_report.md", report(&material, &pictures)),
    ];
    files.extend(pictures.into_iter().map(Artefact::picture));
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
        // The facts that decide figures; the rest is in the run's own report.
        "machine" => machine::section(m).map_or(String::new(), |section| {
            markdown::blocks(&section.blocks[..1.min(section.blocks.len())])
        }),
        "questions" => {
            QUESTIONS.chunk_by(|a, b| a.part == b.part).enumerate().map(part(m, pictures)).collect()
        }
        _ => {
            let asked: Vec<Operation> =
                m.analysis.operations.iter().filter(|o| CourseQuestion::of(o).is_some()).cloned().collect();
            markdown::items(costs::statements(&asked, record.spec.confidence).iter().map(markdown::sentence))
        }
    })
}

fn part<'a>(
    m: &'a Material,
    pictures: &'a [CoursePicture],
) -> impl Fn((usize, &[CourseQuestion])) -> String + 'a {
    move |(number, questions)| {
        let told: String = questions.iter().map(|question| question.told(m, pictures)).collect();
        format!("## {}. {}\n\n{told}", number + FIRST_PART, questions[0].part)
    }
}

impl CourseQuestion {
    /// The question that a row belongs to; `None`: no course asks for it.
    fn of(o: &Operation) -> Option<&'static CourseQuestion> {
        let question = QUESTIONS.iter().find(|q| q.probes.iter().any(|p| p.about().id == o.probe))?;
        let named = o.row.published.is_some() || o.row.told_as.is_some();
        (o.row.listed && (question.every_row || named)).then_some(question)
    }

    /// The figures, how they were made, what the run says, and room for what the student makes of them.
    fn told(&self, m: &Material, pictures: &[CoursePicture]) -> String {
        let layouts =
            m.layouts.iter().filter(|l| self.probes.iter().any(|p| p.about().id == l.probe.about().id));
        let mut blocks = vec![Block::Heading(self.asked.into())];
        let mut shown = String::new();
        for layout in layouts {
            let about = layout.probe.about();
            let all = &m.analysis.operations;
            let mine: Vec<&Operation> = all
                .iter()
                .filter(|o| o.probe == about.id && o.measured.is_some() && CourseQuestion::of(o).is_some())
                .collect();
            if !mine.is_empty() {
                blocks.push(Block::Table(operations::table(m, layout, &mine)));
                blocks.extend(operations::derivations(&mine));
            }
            blocks.push(Block::Text(format!("How: {} Source: {}.", about.method, about.source)));
            let begins = format!("{PREFIX}{}-", escape::slug(about.id));
            for picture in pictures.iter().filter(|picture| picture.name.starts_with(&begins)) {
                shown += &format!("![{}]({})\n\n", markdown::plain(&picture.title), picture.name);
            }
        }
        let skips = m.run.record.plan.skips.iter();
        let skipped = skips.filter(|skip| self.probes.iter().any(|p| skip.probe == p.about().id));
        let mut reasons: Vec<String> =
            skipped.map(|skip| format!("Not measured: {} ({}).", skip.why.reason, skip.why.remedy)).collect();
        reasons.dedup();
        let elsewhere = |case: &&Case| case.point.text(PATH).is_some_and(|path| path.contains("://"));
        let mut cases = m.layouts.iter().flat_map(|layout| &layout.cases);
        if self.part == NETWORK && !cases.any(elsewhere) {
            reasons.push(format!(
                "Not measured: another host. This would: {COMMAND} --path loopback,ssh://HOST"
            ));
        }
        if blocks.len() == 1 && reasons.is_empty() {
            reasons.push(format!("Not measured in this run. This would: {COMMAND}"));
        }
        blocks.extend(reasons.into_iter().map(Block::Text));
        let answers = m.analysis.answers.iter().filter(|answer| self.answer == Some(answer.question));
        let answers = answers.map(|answer| markdown::answer(&text::answer(answer, &Words::of(m.run))));
        [markdown::blocks(&blocks), shown, answers.collect(), YOURS.into()].concat()
    }
}

const YOURS: &str = "*Methodology:*\n\n*Discussion: measured against predicted:*\n\n";
/// Numbers of the report's parts before the questions.
const FIRST_PART: usize = 3;
