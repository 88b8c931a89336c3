//! `cmp COMMAND..`: which of several commands is faster.

use crate::args::Global;
use crate::cmp_args::CmpArgs;
use crate::export::{ExportFormat, Exports};
use crate::{output, progress, report};
use anyhow::{Result, bail};
use serde_json::Value as Json;
use std::path::Path;
use std::process::ExitCode;
use syscost_commands::asked::{AskedCommand, expand};
use syscost_commands::recorded;
use syscost_commands::rounds::CommandTurns;
use syscost_commands::told::CommandAnswer;
use syscost_commands::turns::{TurnOptions, measure};
use syscost_core::units::{count, format_duration};
use syscost_experiment::run::{Run, RunNames};
use syscost_harness::RunOptions;
use syscost_harness::recorded::RecordedRun;
use syscost_report::{escape, export};
use syscost_sys::{clock, signals};

pub fn run(args: &CmpArgs, global: &Global, command: Vec<String>) -> Result<ExitCode> {
    let exports = args.export.checked(global.json)?;
    let commands = expand(&args.commands, &args.name, &args.lists()?)?;
    signals::catch()?;
    let options = TurnOptions {
        shell: args.shell.clone(),
        time_limit: args.time_limit,
        rounds: args.rounds,
        precision: args.precision,
        warmups: args.warmup,
        setup: args.setup.clone(),
        prepare: args.prepare.clone(),
        cleanup: args.cleanup.clone(),
        show_output: args.show_output,
        ignore_failure: args.ignore_failure,
        seed: args.seed.unwrap_or_else(clock::monotonic_ns),
    };
    let mut record = match &args.out {
        Some(out) => CommandRecord::Kept(Box::new(begun(args, out, &commands, &options, command)?)),
        None => CommandRecord::None,
    };
    let bar = progress::status_line(global);
    let measured = measure(commands, &options, &mut |turns| {
        bar.set_message(line(turns));
        record.keep(turns);
    });
    bar.finish_and_clear();
    let whole = measured.and_then(|turns| match turns.rounds.is_empty() {
        true => bail!("interrupted before every command had run"),
        false => Ok(turns),
    });
    let turns = match whole {
        Ok(turns) => turns,
        Err(error) => {
            record.abandon()?;
            return Err(error);
        }
    };
    let answer = CommandAnswer::of(&turns);
    let run = record.close(&turns, &options);
    exports.write(|format| {
        Ok(match format {
            ExportFormat::Markdown => {
                export::compared(&answer.sentences.join(" "), &[answer.table()], answer.notes.iter())
            }
            ExportFormat::Csv => answer.csv()?,
            ExportFormat::Json => escape::plain_json(&answer.json())?,
            ExportFormat::OpenMetrics => bail!("cmp writes no OpenMetrics"),
        })
    })?;
    if global.json {
        output::print_json(&answer.json())?;
    } else if !exports.to_stdout() {
        let wrapped = |texts: &[String]| {
            let lines = texts.iter().flat_map(|text| output::wrap(text, output::WIDTH));
            lines.collect::<Vec<_>>().join("\n")
        };
        let table = output::table(&answer.table(), global.color);
        let (told, notes) = (wrapped(&answer.sentences), wrapped(&answer.notes));
        output::print(&format!("{told}\n{table}\n{notes}\n"))?;
    }
    if let (Some(run), Some(out)) = (run?, &args.out) {
        report::written(&run, out, None, &Exports::default(), Json::Null)?;
        if !global.json && !exports.to_stdout() {
            output::print(&format!("Report: {}\n", out.join(report::PAGE).display()))?;
        }
    }
    Ok(if turns.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// A record with every setting of the commands.
fn begun(
    args: &CmpArgs,
    out: &Path,
    commands: &[AskedCommand],
    options: &TurnOptions,
    command: Vec<String>,
) -> Result<RecordedRun> {
    let (spec, plan) = (recorded::spec(commands, options), recorded::plan(commands));
    let names = RunNames { label: args.label.clone(), ..RunNames::default() };
    let (resume, profile, part, baton) = (false, false, None, None);
    let out = out.to_path_buf();
    RecordedRun::begin(&RunOptions { out, resume, spec, plan, command, names, profile, part, baton })
}

/// The record of what is measured, where one was asked for.
enum CommandRecord {
    None,
    Kept(Box<RecordedRun>),
    /// It could not be written on.
    Lost(anyhow::Error),
}

impl CommandRecord {
    /// Keeps the last round.
    fn keep(&mut self, turns: &CommandTurns) {
        let CommandRecord::Kept(run) = self else { return };
        // A round that was interrupted is not among them.
        let Some(last) = turns.rounds.len().checked_sub(1).filter(|_| !turns.interrupted) else { return };
        if let Err(error) = run.keep(recorded::samples(turns, last)) {
            *self = CommandRecord::Lost(error);
        }
    }

    fn close(self, turns: &CommandTurns, options: &TurnOptions) -> Result<Option<Run>> {
        match self {
            CommandRecord::None => Ok(None),
            CommandRecord::Lost(error) => Err(error),
            CommandRecord::Kept(mut run) => {
                (0..turns.commands.len()).for_each(|at| run.note(at, recorded::settings(turns, at)));
                run.close(recorded::state(turns, options)).map(Some)
            }
        }
    }

    /// A command failed: what was measured before stays.
    fn abandon(self) -> Result<()> {
        if let CommandRecord::Kept(run) = self { run.abandon() } else { Ok(()) }
    }
}

fn line(turns: &CommandTurns) -> String {
    format!("{}, {}", count(turns.rounds.len(), "round"), format_duration(turns.elapsed))
}
