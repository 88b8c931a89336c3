//! Runs a tool that comes as a server and a client: a fresh pair of processes each time.
//!
//! A server counts as ready when the kernel lists its port as listening in its namespace: nothing
//! connects to it to find out, so a one-shot server is not used up. Source: proc(5).

use crate::process::{self, Finished, Running, ending};
use anyhow::{Context, Result, bail, ensure};
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

/// When a lane is over, and whose output has the figure.
#[derive(Clone, Copy, Debug)]
pub struct Ending {
    /// The client is ended after this long; the server then prints the figure without ending.
    pub client_after: Option<Duration>,
    /// The server ends by itself and prints the figure.
    pub server_reports: bool,
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
const STEP: Duration = Duration::from_millis(10);

/// Starts every server, then every client, and collects what the one with the figure prints, on both
/// streams: some tools report on standard error.
pub fn run(lanes: Vec<Lane>, ending: Ending, limit: Duration, stop: &AtomicBool) -> Result<Vec<String>> {
    let (mut servers, mut ports, mut clients) = (Vec::new(), Vec::new(), Vec::new());
    for lane in lanes {
        servers.push(lane.server.map(Running::start).transpose()?);
        ports.push(lane.port);
        clients.push(lane.client);
    }
    for (server, port) in servers.iter_mut().flatten().zip(ports) {
        wait_until_listening(server, port, stop)?;
    }
    let deadline = Instant::now() + limit;
    let mut clients = clients.into_iter().map(Running::start).collect::<Result<Vec<_>>>()?;
    if let Some(time) = ending.client_after {
        let servers: Vec<&Running> = servers.iter().flatten().collect();
        return ended(clients, &servers, time, stop);
    }
    let mut outputs = Vec::new();
    for (client, server) in clients.iter_mut().zip(&mut servers) {
        let finished = client.finish(deadline, stop).context("client")?;
        let mut output = successful("client", finished)?;
        if let Some(server) = server.as_mut().filter(|_| ending.server_reports) {
            let finished = server.finish(Instant::now() + SERVER_END_LIMIT, stop).context("server")?;
            output = successful("server", finished)?;
        }
        outputs.push(output);
    }
    Ok(outputs)
}

/// Ends the clients after this time, and waits until every server has said something.
fn ended(
    clients: Vec<Running>,
    servers: &[&Running],
    time: Duration,
    stop: &AtomicBool,
) -> Result<Vec<String>> {
    let end = Instant::now() + time;
    while Instant::now() < end {
        ensure!(!stop.load(Ordering::Relaxed), process::Interrupted);
        for client in &clients {
            ensure!(!client.has_ended()?, "the client ended: {}", client.said());
        }
        syscost_sys::sleep::sleep(STEP);
    }
    drop(clients);
    let limit = Instant::now() + SERVER_END_LIMIT;
    loop {
        let said: Vec<String> = servers.iter().map(|server| server.said()).collect();
        // A line may be on its way.
        if said.iter().all(|text| text.contains('\n')) || Instant::now() >= limit {
            return Ok(said);
        }
        syscost_sys::sleep::sleep(STEP);
    }
}

fn successful(role: &str, finished: Finished) -> Result<String> {
    if finished.status.success() {
        return Ok(format!("{}\n{}", finished.stdout, finished.stderr));
    }
    let said = [finished.stderr.trim(), finished.stdout.trim()].join(" ");
    bail!("{role}: {}: {}", ending(finished.status), shortened(&said))
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
