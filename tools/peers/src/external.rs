//! Runs a tool that comes as a server and a client: a fresh pair of processes each time.
//!
//! A server counts as ready when the kernel lists its port as listening in its namespace: nothing
//! connects to it to find out, so a one-shot server is not used up. Source: proc(5).

use crate::process::{self, Running};
use anyhow::{Context, Result, bail};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// A server, if there is one, the port it will listen on, and its client. A tool without a notion of several
/// streams runs one lane for each.
pub struct Lane {
    pub server: Option<Command>,
    pub port: u16,
    pub client: Command,
}

/// Ports below the ephemeral range, sixteen for each lane, not the ones used just before: a
/// predecessor's connections may linger in TIME_WAIT.
const FIRST_PORT: u16 = 10_000;
const LAST_PORT: u16 = 30_000;
const PORTS_PER_LANE: u16 = 16;
static NEXT_PORT: AtomicU16 = AtomicU16::new(FIRST_PORT);

/// The first of sixteen unused ports.
pub fn fresh_ports() -> u16 {
    let next = |port: u16| Some(if port >= LAST_PORT { FIRST_PORT } else { port + PORTS_PER_LANE });
    NEXT_PORT.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).expect("always some")
}

const SERVER_START_LIMIT: Duration = Duration::from_secs(5);
const SERVER_END_LIMIT: Duration = Duration::from_secs(3);
/// The status of timeout(1), where it ended a program as its entry asks.
const TIMED_OUT: i32 = 124;

/// Starts every server, then every client, and collects what clients print; what servers print, where they end by themselves.
pub fn run(lanes: Vec<Lane>, server_ends: bool, limit: Duration, stop: &AtomicBool) -> Result<Vec<String>> {
    let (mut servers, mut clients) = (Vec::new(), Vec::new());
    for lane in lanes {
        let server = lane.server.map(Running::start).transpose()?;
        servers.push(server.map(|server| (server, lane.port)));
        clients.push(lane.client);
    }
    for (server, port) in servers.iter().flatten() {
        wait_until_listening(server, *port, stop)?;
    }
    let deadline = Instant::now() + limit;
    let mut clients = clients.into_iter().map(Running::start).collect::<Result<Vec<_>>>()?;
    let mut outputs = Vec::new();
    for (client, server) in clients.iter_mut().zip(&mut servers) {
        let said = successful("client", client, deadline, stop)?;
        outputs.push(match server.as_mut().filter(|_| server_ends) {
            Some((server, _)) => successful("server", server, Instant::now() + SERVER_END_LIMIT, stop)?,
            None => said,
        });
    }
    Ok(outputs)
}

fn successful(role: &str, one: &mut Running, deadline: Instant, stop: &AtomicBool) -> Result<String> {
    let status = one.finish(deadline, stop).context(role.to_string())?;
    if status.success() || status.code() == Some(TIMED_OUT) {
        return Ok(one.said());
    }
    bail!("{role}: {status}: {}", shortened(&one.said()))
}

fn shortened(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().take(240).collect()
}

fn wait_until_listening(server: &Running, port: u16, stop: &AtomicBool) -> Result<()> {
    let deadline = Instant::now() + SERVER_START_LIMIT;
    while !listening(server.id(), port) {
        if stop.load(Ordering::Relaxed) {
            bail!(process::Interrupted);
        }
        if server.has_ended()? {
            bail!("the server ended at once: {}", shortened(&server.said()));
        }
        if Instant::now() >= deadline {
            bail!("the server does not listen on port {port}: {}", shortened(&server.said()));
        }
        syscost_sys::sleep::sleep(Duration::from_millis(5));
    }
    Ok(())
}

/// Does anything in the process's namespace listen on this TCP port?
fn listening(pid: u32, port: u16) -> bool {
    let suffix = format!(":{port:04X}");
    ["tcp", "tcp6"].iter().any(|table| {
        let text = std::fs::read_to_string(format!("/proc/{pid}/net/{table}")).unwrap_or_default();
        text.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next().unwrap_or_default();
            local.ends_with(&suffix) && fields.nth(1) == Some("0A")
        })
    })
}
