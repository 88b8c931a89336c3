//! `completions SHELL`: a completion script, from the same definitions as the parser.

use crate::{args, output};
use anyhow::Result;
use clap_complete::Shell;

pub fn run(shell: Shell) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "syscost", &mut script);
    output::print(&String::from_utf8_lossy(&script))
}
