//! What it means that the machine has no more of something: which limit it was, and how to raise it.
//!
//! Limits are read when one was met, from the process that met it. Sources: getrlimit(2), errno(3),
//! clone(2).

use crate::allowance;
use crate::files::Root;
use std::io;
use syscost_sys::limit;

/// With so many tasks left, too few tasks was not the reason. The margin is for those that ended since.
const ENOUGH_TASKS: f64 = 64.0;

/// The limit that an error of opening something speaks of, and what would help; `None`: of none.
pub fn meaning(error: &io::Error) -> Option<String> {
    match error.raw_os_error()? {
        libc::EMFILE => Some(format!(
            "this process may have {} files and sockets open: raise the limit (ulimit -n 4096), or ask for fewer \
             --threads or --connections",
            count(limit::open_files())
        )),
        libc::ENFILE => Some(
            "the whole machine has no more open files: close some, or raise sysctl fs.file-max".to_string(),
        ),
        _ => None,
    }
}

/// As [`meaning`], of an error of starting a process or a thread.
pub fn no_more_tasks(error: &io::Error) -> Option<String> {
    match error.raw_os_error()? {
        libc::EAGAIN => {
            let (tasks, memory) = (allowance::tasks(&Root::here()), allowance::memory(&Root::here()));
            // A stack that finds no room is refused with the same error.
            let tight = tasks.least().filter(|room| room.left < ENOUGH_TASKS).or(memory.least());
            tight.map(|room| format!("{} leaves no room for it: {}", room.by, room.raise))
        }
        libc::ENOMEM => Some("there is no memory left for it: ask for fewer --threads".to_string()),
        _ => meaning(error),
    }
}

/// Makes room for so many sockets, and what a mechanism or receiver opens for each: raises this process's own
/// limit as far as it may. An error names the limit where not even the sockets fit.
pub fn room_for_sockets(sockets: u64) -> anyhow::Result<()> {
    /// A socket, a pipe, a ring, a file, and some to spare.
    const EACH: u64 = 6;
    /// What a process has open beside its connections.
    const OWN: u64 = 16;
    let wanted = sockets.saturating_mul(EACH) + 4 * OWN;
    match limit::allow_open_files(wanted) {
        Some(allowed) if allowed < sockets.saturating_add(OWN) => anyhow::bail!(
            "{sockets} connections need as many sockets, and this process may have {allowed} files and sockets open: \
             raise the limit (ulimit -n {}), or ask for fewer --threads or --connections",
            wanted.next_power_of_two()
        ),
        _ => Ok(()),
    }
}

/// What could not be started, with the limit that was met.
pub fn cannot_start(what: &str, error: io::Error) -> anyhow::Error {
    let about = match no_more_tasks(&error) {
        Some(meaning) => format!("cannot start {what} ({error}): {meaning}"),
        None => format!("cannot start {what}: {error}"),
    };
    anyhow::anyhow!(about)
}

/// The limit that an error met on its way, wherever in its causes that stands.
pub fn of_chain(error: &anyhow::Error) -> Option<String> {
    error.chain().filter_map(|cause| cause.downcast_ref::<io::Error>()).find_map(meaning)
}

fn count(limit: Option<u64>) -> String {
    limit.map_or_else(|| "no more".to_string(), |limit| limit.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_limit_is_named_with_what_raises_it() {
        let full = || io::Error::from_raw_os_error(libc::EMFILE);
        let text = meaning(&full()).expect("a limit");
        assert!(text.contains("ulimit -n") && text.chars().any(|c| c.is_ascii_digit()), "{text}");
        let deep = Err::<(), _>(full()).context("cannot accept a connection").unwrap_err();
        assert_eq!(of_chain(&deep), Some(text));
        assert_eq!(of_chain(&anyhow::anyhow!("something else")), None);
        let text = cannot_start("a thread", io::Error::from_raw_os_error(libc::EAGAIN)).to_string();
        assert!(text.contains(" leaves no room for it: "), "{text}");
    }
}
