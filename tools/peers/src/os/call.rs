//! Runs one measure of a peer: its server where it has one, the command, and what it printed.

use super::peer::{Cpus, Figure, Measure, Peer};
use super::props;
use crate::external::{fresh_ports, successful, wait_until_listening};
use crate::process::{self, Running};
use anyhow::{Context, Result};
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// No measure takes nearly as long.
const LIMIT: Duration = Duration::from_secs(40);

/// What the placeholders of a command line stand for.
pub struct Setting<'a> {
    pub cpus: (usize, usize),
    /// A file of 64 MiB.
    pub file: &'a str,
    pub stop: &'a AtomicBool,
}

/// What the measure printed, on both streams: some of these tools report on standard error.
pub fn run(peer: &dyn Peer, measure: &Measure, setting: &Setting<'_>) -> Result<String> {
    let _prop = peer.prepare(measure)?;
    if measure.of_cached_file {
        props::cache_by_page(setting.file)?;
    }
    let port = fresh_ports();
    let (first, second) = setting.cpus;
    let _server = match measure.server {
        None => None,
        Some(line) => {
            let server = Running::start(command(peer, measure, line, setting, port, vec![second])?)?;
            wait_until_listening(&server, port, setting.stop)?;
            Some(server)
        }
    };
    let cpus = match (measure.cpus, measure.server) {
        (Cpus::Two, None) => vec![first, second],
        _ => vec![first],
    };
    let mut running = Running::start(command(peer, measure, measure.command, setting, port, cpus)?)?;
    let finished = running.finish(Instant::now() + LIMIT, setting.stop)?;
    let said = finished.stderr.clone();
    Ok(format!("{}\n{said}", successful(peer.id(), finished)?))
}

/// The figure of one row in what was printed.
pub fn read(figure: &Figure, output: &str) -> Result<f64> {
    (figure.read)(output).with_context(|| figure.row.to_string())
}

fn command(
    peer: &dyn Peer,
    measure: &Measure,
    line: &str,
    setting: &Setting<'_>,
    port: u16,
    cpus: Vec<usize>,
) -> Result<Command> {
    let mut words = line
        .split_whitespace()
        .map(|word| word.replace("{port}", &port.to_string()).replace("{file}", setting.file));
    let name = words.next().context("a command names a program")?;
    let program = peer.program(&name).map_err(anyhow::Error::msg)?;
    let mut command = process::command_on(program, cpus);
    let environment = peer.environment().iter().chain(measure.environment);
    command.args(words).envs(environment.copied());
    Ok(command)
}
