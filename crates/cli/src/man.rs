//! `man`: the manual, from the same definitions as the parser.

use crate::{args, output};
use anyhow::Result;
use clap::Command;
use clap_mangen::Man;
use std::path::Path;
use syscost_experiment::run::directory::OpenDirectory;

pub fn run(out: Option<&Path>) -> Result<()> {
    let command = args::command();
    match out {
        Some(dir) => {
            let mut command = command.disable_help_subcommand(true);
            command.build();
            pages(&command, &OpenDirectory::make(dir)?)
        }
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            output::print(&String::from_utf8_lossy(&page))
        }
    }
}

/// A page for the command and for each of its subcommands, where nobody else decides where they go.
fn pages(command: &Command, dir: &OpenDirectory) -> Result<()> {
    command.get_subcommands().filter(|sub| !sub.is_hide_set()).try_for_each(|sub| pages(sub, dir))?;
    let man = Man::new(command.clone());
    let mut page = Vec::new();
    man.render(&mut page)?;
    Ok(dir.replace(&man.get_filename(), &page)?)
}
