//! `cmp COMMAND..`: which of several commands is faster.

use crate::args::Global;
use crate::cmp_args::CmpArgs;
use crate::export::ExportFormat;
use crate::{output, progress};
use anyhow::{Result, bail};
use std::process::ExitCode;
use syscost_commands::asked::expand;
use syscost_commands::rounds::CommandTurns;
use syscost_commands::told::CommandAnswer;
use syscost_commands::turns::{TurnOptions, measure};
use syscost_core::units::{count, format_duration};
use syscost_report::{escape, export};
use syscost_sys::{clock, signals};

pub fn run(args: &CmpArgs, global: &Global) -> Result<ExitCode> {
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
    let bar = progress::status_line(global);
    let turns = measure(commands, &options, &mut |turns| bar.set_message(line(turns)))?;
    bar.finish_and_clear();
    if turns.rounds.is_empty() {
        bail!("interrupted before every command had run");
    }
    let answer = CommandAnswer::of(&turns);
    exports.write(|format| {
        Ok(match format {
            ExportFormat::Markdown => {
                export::compared(&answer.sentences().join(" "), &[answer.table()], answer.notes().iter())
            }
            ExportFormat::Csv => answer.csv()?,
            ExportFormat::Json => escape::plain_json(&answer.json())?,
            ExportFormat::OpenMetrics => bail!("cmp writes no OpenMetrics"),
        })
    })?;
    if global.json {
        output::print_json(&answer.json())?;
    } else if !exports.to_stdout() {
        let wrapped: Vec<String> =
            answer.sentences().iter().map(|text| output::wrap(text, output::WIDTH).join("\n")).collect();
        let notes: Vec<String> =
            answer.notes().iter().map(|text| output::wrap(text, output::WIDTH).join("\n")).collect();
        let table = output::table(&answer.table(), global.color);
        output::print(&format!("{}\n{table}\n{}\n", wrapped.join("\n"), notes.join("\n")))?;
    }
    Ok(if turns.interrupted { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn line(turns: &CommandTurns) -> String {
    format!("{}, {}", count(turns.rounds.len(), "round"), format_duration(turns.elapsed))
}
