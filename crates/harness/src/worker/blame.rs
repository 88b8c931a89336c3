//! Why a round failed: which worker a signal ended, and whether code of the user's own was called.

use super::launch::Worker;
use std::time::{Duration, Instant};
use syscost_experiment::run::{OUT_OF_MEMORY, SENT_BY_OTHERS};
use syscost_host::allowance;
use syscost_sys::process;
use syscost_sys::sleep::sleep;

/// A process that is being killed closes its connections before it can be seen to have ended.
pub const POST_MORTEM: Duration = Duration::from_millis(200);

/// The message with who is to blame; `own`: what of the user's own the round called.
pub fn told(
    message: String,
    roles: &[&str],
    workers: &[Worker],
    oom_kills: Option<u64>,
    own: Vec<String>,
) -> String {
    let killed = killed(roles, workers);
    let why = match killed {
        // Nothing in a process sends it.
        Some((role, signal)) if own.is_empty() || signal == libc::SIGKILL => {
            of_signal(&message, role, signal, oom_kills)
        }
        Some((role, signal)) => format!("signal {signal}{} ended the {role}", name(signal)),
        None => message,
    };
    if own.is_empty() { why } else { short(in_own_code(&own, why)) }
}

/// The role whose worker a signal ended, within a moment.
fn killed<'r>(roles: &[&'r str], workers: &[Worker]) -> Option<(&'r str, i32)> {
    let until = Instant::now() + POST_MORTEM;
    loop {
        let found = roles.iter().zip(workers).find_map(|(role, worker)| Some((*role, worker.killed_by()?)));
        if found.is_some() || Instant::now() > until {
            return found;
        }
        sleep(Duration::from_millis(5));
    }
}

/// ` (SIGSEGV)`
fn name(signal: i32) -> String {
    process::signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default()
}

/// What went wrong in a round that called code of the user's own.
fn in_own_code(own: &[String], why: String) -> String {
    let told = own.join(", ");
    if why.contains(&told) { why } else { format!("with {told}: {why}") }
}

/// Names the worker that was killed where one was: the others can only say that it went away.
fn of_signal(message: &str, role: &str, signal: i32, oom_kills_before: Option<u64>) -> String {
    let oom_kills =
        allowance::oom_kills().zip(oom_kills_before).map_or(0, |(now, then)| now.saturating_sub(then));
    match (signal, oom_kills) {
        (libc::SIGKILL, 1..) => format!(
            "the {role} was killed by signal {signal}: {OUT_OF_MEMORY} (the control group counts {oom_kills} such \
             kills in this round): give it more memory, or choose fewer threads or smaller sizes"
        ),
        _ => format!(
            "signal {signal}{}, {SENT_BY_OTHERS}, ended the {role} (if nobody here did: dmesg has the kernel's \
             reason): {message}",
            name(signal)
        ),
    }
}

/// What a record keeps of a message that a worker may have had a hand in.
pub fn short(mut message: String) -> String {
    const LONGEST: usize = 2048;
    if let Some((end, _)) = message.char_indices().nth(LONGEST) {
        message.truncate(end);
        message.push_str(" ...");
    }
    message
}
