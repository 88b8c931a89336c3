//! The copy ledger against real connections: to the byte, on every path and in both families; as an
//! ordinary user; and the committed program against its source.
//!
//! What needs a right or a tool that is missing says "skipped: reason" and is no pass.

mod audits;
mod connections;
mod object;
mod queues;
mod receivers;
#[path = "../support/mod.rs"]
mod support;

use std::sync::{Mutex, MutexGuard};
use support::skipped;
use syscost_measure::ledger::Ledger;

/// One at a time: a test looks at the programs that the kernel has loaded.
pub fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A ledger, where this machine lets us trace.
pub fn ledger(test: &str) -> Option<Ledger> {
    match Ledger::attach() {
        Ok(ledger) => Some(ledger),
        Err(why) => {
            skipped(test, &why.reason);
            None
        }
    }
}
