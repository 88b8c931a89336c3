//! From arguments to a subcommand and its exit status.
//!
//! A subcommand reads flags, calls the rooms above, and prints. It measures and computes nothing.

use crate::args::{Cli, CliCommand};
use crate::output::{Color, Paint};
use crate::{
    analyse, args, audit, axes, check, cmp, columns, compare, completions, course, doctor, explain, fleet,
    gate, history, lab, list, man, new, output, own_code, plan, profile, repeat, report, run, shorthand,
    spec,
};
use anyhow::Context;
use clap::FromArgMatches;
use clap::error::{ContextKind, ContextValue};
use std::ffi::OsString;
use std::process::ExitCode;
use syscost_host::remote::{self, InstalledCopy, consent};
use syscost_sys::{program, signals};

/// Wrong usage, or an environment that cannot do what was asked.
const USAGE: u8 = 2;

pub fn main(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    signals::survive_file_size_limit();
    let mut arguments: Vec<OsString> = arguments.collect();
    if arguments.len() < 2 {
        return match spec::start() {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                output::fail(&causes(&error), Paint::stderr(Color::Auto), false);
                ExitCode::from(USAGE)
            }
        };
    }
    let mut typed = words(&arguments);
    match own_code::taken_in(&arguments) {
        Ok(taken) => arguments = taken,
        Err(error) => {
            let json = typed.iter().any(|word| word == "--json");
            output::fail(&causes(&error), Paint::stderr(Color::Auto), json);
            return ExitCode::from(USAGE);
        }
    }
    let mut parsed = args::command().try_get_matches_from(&arguments);
    let is_unknown = parsed.as_ref().is_err_and(|error| unknown_command(error).is_some());
    if let Some(asked) = is_unknown.then(|| shorthand::asked(&arguments)).flatten() {
        arguments = asked;
        typed = words(&arguments);
        parsed = args::command().try_get_matches_from(&arguments);
    }
    let matches = match parsed {
        Ok(matches) => matches,
        Err(error) => {
            // Help and version go to stdout with status 0; a closed pipe there is no error, a full disk is.
            let status = u8::try_from(error.exit_code()).unwrap_or(USAGE);
            if let Some(word) = unknown_command(&error) {
                let asked = arguments.iter().any(|word| word == "--json");
                output::fail(&shorthand::instead_of(&arguments, word), Paint::stderr(Color::Auto), asked);
                return ExitCode::from(USAGE);
            }
            refused_as_json(&arguments, &error);
            let lost = error.print().err().filter(|e| e.kind() != std::io::ErrorKind::BrokenPipe);
            return ExitCode::from(match lost {
                Some(error) => {
                    output::complain(&format!("error: {}: {error}", output::CANNOT_WRITE));
                    USAGE
                }
                None => status,
            });
        }
    };
    let cli = Cli::from_arg_matches(&matches).expect("parsed by the same definitions");
    let (_, matches) = matches.subcommand().expect("clap requires a subcommand");
    let paint = Paint::stderr(cli.global.color);
    let done = dispatch(&cli, matches, typed);
    // A run has it among its warnings.
    if done.is_err() || !matches!(cli.command, CliCommand::Run(_)) {
        for copy in remote::copies() {
            let InstalledCopy { place, removal } = copy;
            output::complain(&format!("copied syscost to {place}, where it stays; to remove it: {removal}"));
        }
    }
    match done {
        Ok(status) => status,
        Err(error) => {
            output::fail(&causes(&error), paint, cli.global.json);
            ExitCode::from(USAGE)
        }
    }
}

/// The command line, for a record.
fn words(arguments: &[OsString]) -> Vec<String> {
    arguments.iter().map(|argument| argument.to_string_lossy().into_owned()).collect()
}

/// The word that stands where a command should.
fn unknown_command(error: &clap::Error) -> Option<&str> {
    let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    Some(word)
}

/// The command line was not understood: what asks for JSON in it is.
fn refused_as_json(arguments: &[OsString], error: &clap::Error) {
    let asked = arguments.iter().take_while(|word| *word != "--").any(|word| word == "--json");
    if asked && error.exit_code() != 0 {
        let text = error.render().to_string();
        let text = text.split("\n\n").next().unwrap_or_default().trim().trim_start_matches("error: ");
        let _ = output::print_json_line(&serde_json::json!({ "event": "error", "error": text }));
    }
}

/// An error and its causes on one line; a cause that the one before already tells is not repeated.
fn causes(error: &anyhow::Error) -> String {
    let mut said = String::new();
    for cause in error.chain().map(|cause| cause.to_string()) {
        if !said.contains(&cause) {
            let joint = if said.is_empty() { "" } else { ": " };
            said.push_str(&format!("{joint}{cause}"));
        }
    }
    said
}

/// Success: all that was asked was done. Failure: a case failed, or --strict and one was skipped.
fn dispatch(cli: &Cli, matches: &clap::ArgMatches, command: Vec<String>) -> anyhow::Result<ExitCode> {
    let global = &cli.global;
    if !global.allow_commands {
        consent::ask();
    }
    use CliCommand::{Audit, Check, Plan, Profile, Run};
    if matches!(cli.command, Audit(_) | Check(_) | Plan(_) | Profile(_) | Run(_)) {
        program::has_proc().context("nothing can be measured")?;
    }
    match &cli.command {
        CliCommand::List(args) => list::run(args, global)?,
        CliCommand::Spec(args) => spec::run(args, global)?,
        CliCommand::Plan(args) => plan::run(args, matches, global)?,
        CliCommand::New(args) => new::run(args)?,
        CliCommand::Axes => output::print(&axes::help())?,
        CliCommand::Columns { of } => columns::run(*of, global)?,
        CliCommand::Completions { shell } => completions::run(*shell)?,
        CliCommand::Man { out } => man::run(out.as_deref())?,
        CliCommand::Doctor(args) => return doctor::run(args, global),
        CliCommand::Check(args) => return check::run(args, matches, global),
        CliCommand::Audit(args) => return audit::run(args, matches, global),
        CliCommand::Profile(args) => return profile::run(args, matches, global),
        CliCommand::Run(args) => {
            return match args.repeat {
                Some(runs) => repeat::run(args, runs, matches, global, command),
                None => run::run(args, matches, global, command),
            };
        }
        CliCommand::Lab(args) => return lab::run(args, matches, global, command),
        CliCommand::Cmp(args) => return cmp::run(args, global, command),
        CliCommand::Report(args) => return report::run(args, global),
        CliCommand::Compare(args) => return compare::run(args, global),
        CliCommand::Gate(args) => return gate::run(args, global),
        CliCommand::History(args) => history::run(args, global)?,
        CliCommand::Fleet(args) => return fleet::run(args, global),
        CliCommand::Explain(args) => explain::run(args, global)?,
        CliCommand::Analyse(args) => return analyse::run(args, global),
        CliCommand::Course(args) => course::run(args, global)?,
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::causes;

    #[test]
    fn a_cause_is_told_once() {
        let error = anyhow::anyhow!("no space").context("cannot write x: no space").context("the run ended");
        assert_eq!(causes(&error), "the run ended: cannot write x: no space");
    }
}
