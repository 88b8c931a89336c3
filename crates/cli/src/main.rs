//! Parse, dispatch, exit code. Nothing else in the crate exits the process.
//!
//! The processes that syscost starts of itself are told apart first, before anything allocates
//! much or starts a thread: a worker is started thousands of times in a run.

mod output;
mod export;
mod drawn;
mod axes;
mod baseline;
mod course_args;
mod experiment_args;
mod fleet_args;
mod history_args;
mod side_args;
mod cmp_args;
mod lab_args;
mod new_args;
mod args;
mod compare;
mod text_file;
mod analyse;
mod own_code;
mod asked;
mod label;
mod plan;
mod status;
mod sought;
mod progress;
mod refine;
mod beside;
mod report;
mod run;
mod one_pass;
mod audit;
mod check;
mod cmp;
mod columns;
mod completions;
mod course;
mod doctor;
mod explain;
mod fleet;
mod gate;
mod history;
mod lab;
mod list;
mod spec;
mod man;
mod new;
mod profile;
mod side_by_side;
mod repeat;
mod shorthand;
mod dispatch;

use std::process::ExitCode;
use syscost_harness::worker::launch;
use syscost_host::remote::agent;
use syscost_host::{cleaner, namespaces};
use syscost_lab::guest;
use syscost_measure::probe::datagram_transfer::elsewhere;
use syscost_measure::worker::{child, describe};
use syscost_sys::signals;

/// The main process of a container that others enter: it waits until it is told to end, and reaps processes without a parent.
const IDLE: &str = "idle";

/// What else this binary can be: the processes that syscost starts of itself, by their first argument.
type Role = (&'static str, fn() -> i32);
const ROLES: &[Role] = &[
    (launch::WORKER_SUBCOMMAND, child::main),
    (describe::SUBCOMMAND, describe::main),
    (namespaces::HOLDER_SUBCOMMAND, namespaces::holder_main),
    (agent::SUBCOMMAND, || agent::main(launch::WORKER_SUBCOMMAND, elsewhere::allows)),
    (cleaner::SUBCOMMAND, cleaner::main),
    (guest::SUBCOMMAND, guest::main),
    (IDLE, || signals::idle().map_or(1, |()| 0)),
];

fn main() -> ExitCode {
    let first = std::env::args_os().nth(1).unwrap_or_default();
    // The kernel gives the first process whatever boot options it does not know itself.
    if std::process::id() == 1 && std::env::args_os().any(|word| word == guest::SUBCOMMAND) {
        return ExitCode::from(u8::try_from(guest::main()).unwrap_or(1));
    }
    match ROLES.iter().find(|(name, _)| first == *name) {
        Some((_, role)) => ExitCode::from(u8::try_from(role()).unwrap_or(1)),
        None => dispatch::main(std::env::args_os()),
    }
}
