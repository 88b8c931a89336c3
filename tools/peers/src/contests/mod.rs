//! Contests: a case of ours beside the programs that move data in the same way.
//!
//! Every program is held against ours in every cell by visits of fresh processes in the order one, the other, the other,
//! one, so that a drift of the machine falls on both alike; the cells and programs of a round come in a seeded random
//! order. The pages are made from the record alone.

mod compare;
pub mod contest;
mod measure;
mod page;
mod pooled;
mod visited;

use crate::options::{Options, Usage};
use crate::program::Program;
use crate::record;
use anyhow::Result;
use contest::{Contest, On};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syscost_core::axis::suggest;

pub fn run(options: &Options, on: On) -> Result<()> {
    let contests = asked(options, on)?;
    if options.list {
        print!("{}", list(&contests));
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.rebuild {
        measure::run(options, &contests, &stop)?;
    }
    let record = record::read(&options.record)?;
    let text = page::markdown(&record, &compare::results(&record));
    match &options.page {
        Some(file) => record::splice(file, &text)?,
        None => print!("{text}"),
    }
    if stop.load(Ordering::Relaxed) {
        anyhow::bail!(crate::process::Interrupted);
    }
    Ok(())
}

/// A contest with the programs of it that were asked for.
struct Asked {
    contest: &'static Contest,
    rivals: Vec<&'static Program>,
}

/// The page's contests that were asked for by id; all for none.
fn asked(options: &Options, on: On) -> Result<Vec<Asked>> {
    let of_page: Vec<&'static Contest> = contest::ALL.iter().filter(|contest| contest.page == on).collect();
    let names: Vec<&str> = of_page.iter().map(|contest| contest.id.as_str()).collect();
    known("contest", &options.contests, &names)?;
    let rivals = of_page.iter().flat_map(|contest| contest.rivals());
    known("program", &options.only, &rivals.map(|rival| rival.id.as_str()).collect::<Vec<_>>())?;
    let wanted = |asked: &[String], id: &str| asked.is_empty() || asked.iter().any(|name| name == id);
    let of = |contest: &'static Contest| Asked {
        contest,
        rivals: contest.rivals().filter(|rival| wanted(&options.only, &rival.id)).collect(),
    };
    Ok(of_page.into_iter().filter(|contest| wanted(&options.contests, &contest.id)).map(of).collect())
}

pub fn known(kind: &str, asked: &[String], names: &[&str]) -> Result<()> {
    match asked.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(Usage(format!("no {kind} {name:?}: {}", suggest(name, names, &[]))).into()),
        None => Ok(()),
    }
}

fn list(contests: &[Asked]) -> String {
    let of = |asked: &Asked| {
        let programs: String = asked.rivals.iter().map(|rival| here(rival)).collect();
        format!("{}\n{programs}", asked.contest.id)
    };
    contests.iter().map(of).collect()
}

/// What a list says of a program.
pub fn here(program: &Program) -> String {
    let here = match program.find() {
        Ok(found) => found.version,
        Err(why) => format!("not here: {why}; get it from {}", program.source),
    };
    format!("  {:26} {here}\n", program.id)
}
