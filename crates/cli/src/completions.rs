//! `completions SHELL`: a completion script, from the same definitions as the parser.

use crate::{args, output};
use anyhow::Result;
use clap::Command;
use clap_complete::Shell;
use syscost_experiment::spec::Spec;

pub fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    let mut command = shown(&args::command()).version(env!("CARGO_PKG_VERSION"));
    clap_complete::generate(shell, &mut command, "syscost", &mut script);
    let script = String::from_utf8_lossy(&script);
    output::print(&match shell {
        Shell::Zsh => with_files(&script),
        Shell::Fish => with_names(&script),
        _ => script.into_owned(),
    })
}

/// The command without what its help hides: some generators offer that too.
fn shown(command: &Command) -> Command {
    let arguments = command.get_arguments().filter(|argument| !argument.is_hide_set());
    let subcommands = command.get_subcommands().filter(|subcommand| !subcommand.is_hide_set());
    Command::new(command.get_name().to_string())
        .about(command.get_about().cloned().unwrap_or_default())
        .visible_aliases(command.get_visible_aliases().map(str::to_string))
        .args(arguments.cloned())
        .subcommands(subcommands.map(shown))
}

/// An experiment is a name or a file. The generator offers zsh names alone.
fn with_files(script: &str) -> String {
    let names = Spec::names().join(" ");
    script.replace(&format!(":({names})'"), &format!(":{{compadd {names}; _files}}'"))
}

/// The generator offers fish nothing for what is no option.
fn with_names(script: &str) -> String {
    let command = args::command();
    let arguments = command.get_subcommands().flat_map(|subcommand| {
        subcommand.get_positionals().map(move |argument| (subcommand.get_name(), argument))
    });
    let lines = arguments.filter_map(|(subcommand, argument)| {
        let names = argument.get_possible_values();
        let names: Vec<&str> = names.iter().map(|value| value.get_name()).collect();
        let condition = format!("__fish_syscost_using_subcommand {subcommand}");
        (!names.is_empty())
            .then(|| format!("complete -c syscost -n \"{condition}\" -a \"{}\"\n", names.join(" ")))
    });
    lines.fold(script.to_string(), |script, line| script + &line)
}
