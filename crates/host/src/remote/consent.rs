//! A file starts no program but this one. What it names beside that (a command, a host to log in to) is shown, and started
//! only where the command line names it too, or says `--allow-commands`.

use super::target::Route;
use super::transport::{rsh, words};
use crate::Unavailable;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// What may be started; `None`: nobody asked, as in a worker.
static ALLOWED: Mutex<Option<BTreeSet<String>>> = Mutex::new(None);

/// From here on only what the command line names is started.
pub fn ask() {
    ALLOWED.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_default();
}

/// The command line names this path, or this command of `--rsh`.
pub fn allow(named: impl IntoIterator<Item = String>) {
    if let Some(allowed) = ALLOWED.lock().unwrap_or_else(PoisonError::into_inner).as_mut() {
        allowed.extend(named);
    }
}

/// May what this path starts be started?
pub fn to_path(path: &str) -> Result<(), Unavailable> {
    let Ok(route) = Route::parse(path) else { return Ok(()) };
    let command = rsh::command().filter(|_| path.starts_with("rsh:"));
    let ends = route.near.iter().chain([&route.far]).map(|target| target.by_hand());
    unless(|named| named.contains(path) && command.iter().all(|one| named.contains(one)), ends.collect())
}

/// May these commands of a file be started?
pub fn to_file(commands: Vec<String>) -> anyhow::Result<()> {
    unless(|_| commands.is_empty(), commands.clone()).map_err(refused)
}

/// What ends a command whose file asks for too much.
pub fn refused(why: Unavailable) -> anyhow::Error {
    anyhow::anyhow!("{}; {}", why.reason, why.remedy)
}

fn unless(named: impl Fn(&BTreeSet<String>) -> bool, commands: Vec<String>) -> Result<(), Unavailable> {
    if ALLOWED.lock().unwrap_or_else(PoisonError::into_inner).as_ref().is_none_or(named) {
        return Ok(());
    }
    let typed: Vec<String> = std::env::args().collect();
    Err(Unavailable {
        reason: format!("a file asks to start: {}", commands.join("; ")),
        remedy: format!("read it, and if you mean it: {} --allow-commands", words::shown(&typed)),
    })
}
