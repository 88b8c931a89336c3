//! Parse, dispatch, exit code. Nothing else in the crate exits the process.
//!
//! The processes that syscost starts of itself are told apart first, before anything allocates
//! much or starts a thread: a worker is started thousands of times in a run.

mod analyse;
mod args;
mod asked;
mod audit;
mod axes;
mod check;
mod completions;
mod course;
mod dispatch;
mod doctor;
mod explain;
mod lab;
mod label;
mod list;
mod man;
mod output;
mod plan;
mod progress;
mod refine;
mod report;
mod run;
mod text_file;

use std::process::ExitCode;
use syscost_harness::worker::launch;
use syscost_host::remote::agent;
use syscost_host::{cleaner, namespaces};
use syscost_lab::guest;
use syscost_measure::worker::child;

fn main() -> ExitCode {
    match std::env::args_os().nth(1).as_deref().and_then(|arg| arg.to_str()) {
        Some(launch::WORKER_SUBCOMMAND) => exit_code(child::main()),
        Some(namespaces::HOLDER_SUBCOMMAND) => exit_code(namespaces::holder_main()),
        Some(guest::SUBCOMMAND) => exit_code(guest::main()),
        Some(agent::SUBCOMMAND) => exit_code(agent::main(launch::WORKER_SUBCOMMAND)),
        Some(cleaner::SUBCOMMAND) => exit_code(cleaner::main()),
        _ => dispatch::main(std::env::args_os()),
    }
}

fn exit_code(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(1))
}
