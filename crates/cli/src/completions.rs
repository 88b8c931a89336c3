//! `completions SHELL`: a completion script, from the same definitions as the parser.

use crate::{args, output};
use anyhow::Result;
use clap_complete::Shell;
use syscost_experiment::spec::Spec;

pub fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "syscost", &mut script);
    let script = String::from_utf8_lossy(&script);
    output::print(&match shell {
        Shell::Zsh => with_files(&script),
        Shell::Fish => with_names(&script),
        _ => script.into_owned(),
    })
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
