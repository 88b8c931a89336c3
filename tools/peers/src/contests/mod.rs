//! Contests: a case of ours beside the programs that move data in the same way.
//!
//! Every program is held against ours in every cell by visits of fresh processes in the order one, the other, the other,
//! one, so that a drift of the machine falls on both alike; the cells and programs of a round come in a seeded random
//! order. The pages are made from the record alone.

mod compare;
mod contest;
mod list;
mod measure;
mod observed;
mod options;
mod page;
mod pooled;
mod record;

use crate::output;
use crate::peer::{Found, Peer};
use crate::usage::Usage;
use anyhow::Result;
use contest::Contest;
pub use contest::On;
pub use options::Options;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use syscost_core::axis::suggest;

pub fn run(options: &Options, on: On) -> Result<()> {
    let options = options.settled();
    let contests = asked(&options, on)?;
    if options.list {
        print!("{}", list(&contests));
        return Ok(());
    }
    let stop = Arc::new(AtomicBool::new(false));
    if !options.rebuild {
        measure::run(&options, &contests, &stop)?;
    }
    let record = record::read(&options.record)?;
    let results = compare::results(&record);
    if let Some(file) = &options.page {
        output::splice(file, &page::markdown(&record, &results))?;
    }
    print!("{}", page::terminal(&record, &results));
    if stop.load(Ordering::Relaxed) {
        anyhow::bail!(crate::process::Interrupted);
    }
    Ok(())
}

/// A contest with the programs of it that were asked for.
struct Asked {
    contest: &'static Contest,
    rivals: Vec<&'static dyn Peer>,
}

/// The page's contests that were asked for by id; all for none.
fn asked(options: &Options, on: On) -> Result<Vec<Asked>> {
    let of_page: Vec<&'static Contest> = list::ALL.iter().filter(|contest| contest.page == on).collect();
    let names: Vec<&str> = of_page.iter().map(|contest| contest.id).collect();
    known("contest", &options.contests, &names)?;
    let rivals = of_page.iter().flat_map(|contest| contest.rivals);
    known("program", &options.only, &rivals.map(|rival| rival.id()).collect::<Vec<_>>())?;
    let wanted = |asked: &[String], id: &str| asked.is_empty() || asked.iter().any(|name| name == id);
    let of = |contest: &'static Contest| Asked {
        contest,
        rivals: contest.rivals.iter().copied().filter(|rival| wanted(&options.only, rival.id())).collect(),
    };
    Ok(of_page.into_iter().filter(|contest| wanted(&options.contests, contest.id)).map(of).collect())
}

fn known(kind: &str, asked: &[String], names: &[&str]) -> Result<()> {
    match asked.iter().find(|name| !names.contains(&name.as_str())) {
        Some(name) => Err(Usage(format!("no {kind} {name:?}: {}", suggest(name, names, &[]))).into()),
        None => Ok(()),
    }
}

fn list(contests: &[Asked]) -> String {
    let mut text = String::new();
    for asked in contests {
        text += &format!("{}\n", asked.contest.id);
        for rival in &asked.rivals {
            let here = match rival.find() {
                Ok(Found { version, .. }) => version,
                Err(why) => format!("not here: {why}; get it from {}", rival.source()),
            };
            text += &format!("  {:26} {here}\n", rival.id());
        }
    }
    text
}
