//! The worker's side: reads one task, plays its role, writes the report, ends.
//!
//! It ends when the harness does, whatever the harness died of: the kernel kills it with its
//! parent, and its standard input closes.

use super::protocol::{self, FromWorker, ToWorker};
use crate::host::Unavailable;
use crate::probe::{self, RoleReport, Stage};
use crate::sys::process;
use anyhow::{Context, Result, bail};
use std::io;
use std::sync::mpsc::{self, Receiver};

/// Exit status of a worker whose harness went away.
const ORPHANED: i32 = 3;

/// The whole life of a worker process; returns its exit status.
pub fn main() -> i32 {
    process::die_with_parent();
    let frames = listen_to_harness();
    match play(&frames) {
        Ok(report) => said(FromWorker::Done { report: Box::new(report) }),
        Err(error) => said(match error.downcast::<Unavailable>() {
            Ok(why) => FromWorker::Unavailable { why },
            Err(error) => FromWorker::Failed { causes: error.chain().map(|c| c.to_string()).collect() },
        }),
    }
}

fn said(frame: FromWorker) -> i32 {
    match protocol::write(&mut io::stdout().lock(), &frame) {
        Ok(()) => 0,
        Err(_) => ORPHANED,
    }
}

/// Reads frames on a thread of its own, so that the end of the harness is noticed at any time.
fn listen_to_harness() -> Receiver<ToWorker> {
    let (tell, frames) = mpsc::channel();
    std::thread::spawn(move || {
        let mut input = io::stdin().lock();
        while let Ok(Some(frame)) = protocol::read(&mut input) {
            if tell.send(frame).is_err() {
                return;
            }
        }
        process::exit_now(ORPHANED);
    });
    frames
}

fn play(frames: &Receiver<ToWorker>) -> Result<RoleReport> {
    let task = match frames.recv().context("the harness closed before giving a task")? {
        ToWorker::Task { version, task } if version == protocol::VERSION => task,
        ToWorker::Task { version, .. } => bail!(
            "this worker speaks protocol {}, the harness {version}: use the same syscost on both sides",
            protocol::VERSION
        ),
        ToWorker::Go => bail!("the harness said go before giving a task"),
    };
    let probe = probe::find(&task.probe).with_context(|| format!("no probe {}", task.probe))?;
    probe.play(&task, &mut Line { frames })
}

/// A role's line to the harness, over standard input and output.
struct Line<'a> {
    frames: &'a Receiver<ToWorker>,
}

impl Stage for Line<'_> {
    fn offer(&mut self, offer: serde_json::Value) -> Result<()> {
        protocol::write(&mut io::stdout().lock(), &FromWorker::Offer { offer })?;
        Ok(())
    }

    fn ready(&mut self) -> Result<()> {
        protocol::write(&mut io::stdout().lock(), &FromWorker::Ready)?;
        match self.frames.recv().context("the harness closed before the start")? {
            ToWorker::Go => Ok(()),
            ToWorker::Task { .. } => bail!("the harness gave a second task"),
        }
    }
}
