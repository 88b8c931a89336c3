//! `man`: the manual, from the same definitions as the parser.

use crate::{args, output};
use anyhow::{Context, Result};
use clap_mangen::Man;
use std::path::Path;

pub fn run(out: Option<&Path>) -> Result<()> {
    let command = args::command();
    match out {
        Some(dir) => std::fs::create_dir_all(dir)
            .and_then(|()| clap_mangen::generate_to(command, dir))
            .with_context(|| format!("cannot write the man pages into {}", dir.display())),
        None => {
            let mut page = Vec::new();
            Man::new(command).render(&mut page)?;
            output::print(&String::from_utf8_lossy(&page))
        }
    }
}
