//! `spec`: the experiments that come with the tool, as files to edit; and what `syscost` alone says.

use crate::args::{Global, SpecArgs};
use crate::output::{self, entry};
use anyhow::{Result, anyhow};
use serde_json::{Value as Json, json};
use std::path::Path;
use std::time::Duration;
use syscost_core::axis::suggest;
use syscost_core::units::format_duration;
use syscost_experiment::spec::{BUILT_IN, DEFAULT, Spec};

/// Width of the first column.
const NAME: usize = 16;

pub fn run(args: &SpecArgs, global: &Global) -> Result<()> {
    let Some(name) = &args.name else { return list(global) };
    let text = file_of(name)?;
    if global.json {
        return output::print_json(&json!({ "name": name, "toml": text }));
    }
    output::print(&text)
}

fn file_of(name: &str) -> Result<String> {
    let names = Spec::names();
    let known = || anyhow!("there is no experiment {name:?}: {}", suggest(name, &names, &[]));
    // A file of the user's is no built-in one, whatever it is called.
    let stem = Path::new(name).file_stem().and_then(|stem| stem.to_str()).unwrap_or(name);
    Spec::file_of(if names.contains(&stem) { stem } else { name }).map_err(|_| known())
}

fn list(global: &Global) -> Result<()> {
    let specs = BUILT_IN.iter().map(|(name, _)| Spec::named(name)).collect::<Result<Vec<_>, _>>()?;
    if global.json {
        let all = specs.iter().map(|spec| {
            json!({ "name": spec.name, "title": spec.title, "time_limit_s": spec.time_limit().as_secs_f64() })
        });
        return output::print_json(&all.collect::<Vec<Json>>());
    }
    let one = |spec: &Spec| {
        let what = format!("{} ({})", spec.title, format_duration(spec.time_limit()));
        entry(&format!("  {}", spec.name), NAME, &what)
    };
    let lines: String = specs.iter().map(one).collect();
    let ends = "\nEdit one and run it: syscost spec ways > mine.toml; syscost run mine.toml\nA probe is one too: syscost spec process_create (syscost list has the names)\n";
    output::print(&(lines + ends))
}

/// Tells a newcomer what is measured, how to begin, and how long that takes.
pub fn start() -> Result<()> {
    let time = |name: &str, quick: bool| -> Result<Duration> {
        let mut spec = Spec::named(name)?;
        if quick {
            spec.set_quick();
        }
        Ok(spec.time_limit())
    };
    let begin = [
        ("syscost run --quick", time(DEFAULT, true)?, "five ways to send a message: a coarse look"),
        ("syscost run", time(DEFAULT, false)?, "the same, decided"),
        ("syscost run os", time("os", false)?, "system calls, forks, page faults, round trips"),
    ];
    let mut text = String::from(
        "syscost measures what operations cost on this machine, and which way of moving\ndata is cheapest.\n\n",
    );
    for (command, time, what) in begin {
        text += &format!("  {command:<20} {:>7}   {what}\n", format_duration(time));
    }
    text += "\nOne question:         syscost send sendmsg --size 4K\n\
             Clean numbers here?   syscost doctor\n\
             Everything else:      syscost list, syscost help\n";
    output::print(&text)
}
