//! Compares syscost's `send` with other network benchmarks, alternately, on equal terms. Subcommands compare its costs of
//! operations with other benchmarks of operating systems (`os`), each of its mechanisms with the programs that move data in
//! the same way (`ways`), rates of datagrams (`datagrams`), and what it decides with what other programs do (`commands`, `functions`).
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
mod functions;
mod measure;
mod options;
mod ours;
mod page;
mod place;
mod planted;
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

fn main() -> anyhow::Result<()> {
    let asked = CommandLine::parse();
    match &asked.what {
        Some(What::Sink(options)) => sink::run(options),
        Some(What::Os(options)) => measure::run(options, Page::Os),
        Some(What::Ways(options)) => measure::run(options, Page::Ways),
        Some(What::Datagrams(options)) => measure::run(options, Page::Datagrams),
        Some(What::Commands(options)) => commands::run(options),
        Some(What::Functions(options)) => functions::run(options),
        None => measure::run(&asked.plain, Page::Plain),
    }
}
