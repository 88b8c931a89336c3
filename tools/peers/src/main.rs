//! Compares syscost's `send` with other network benchmarks, alternately, on equal terms; and with
//! the subcommand `os` its costs of operations with other benchmarks of operating systems, with `ways`
//! each of its mechanisms with the programs that move data in the same way.
//!
//! `cargo run --release -p syscost-peers -- --help`. Each visit is a fresh pair of
//! processes in private network namespaces. docs/peers.md says what is equal and what is not.
//! It measures tools as they come; it is not a test and draws its conclusion only from intervals.

#![expect(clippy::print_stdout, reason = "a tool for developers: a closed pipe may end it")]

mod cell;
mod commands;
mod compare;
mod contest;
mod external;
mod measure;
mod options;
mod ours;
mod page;
mod place;
mod pooled;
mod process;
mod program;
mod props;
mod read;
mod record;
mod sink;
#[cfg(test)]
mod tests;

use clap::Parser;
use contest::Page;
use options::{CommandLine, What};
use std::process::ExitCode;

fn main() -> ExitCode {
    let asked = CommandLine::parse();
    let done = match &asked.what {
        Some(What::Sink(options)) => sink::run(options),
        Some(What::Os(options)) => measure::run(options, Page::Os),
        Some(What::Ways(options)) => measure::run(options, Page::Ways),
        Some(What::Commands(options)) => commands::run(options),
        None => measure::run(&asked.plain, Page::Plain),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<options::Usage>() => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}
