//! The server's side of a round: puts the file where the server finds it, starts the server, waits
//! until the reader has gone, and leaves nothing.
//!
//! The server is a child that dies with this worker, and everything that it reads or writes is in
//! one directory that goes with it, whatever ends the round.

use super::super::{Channel, RoleReport, Task, directory};
use super::axes;
use super::server::{self, FILE, PORT, PROGRAM, Site};
use crate::probe::file_read::axes::PAGE_CACHE;
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Read;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use syscost_host::Unavailable;
use syscost_host::cleaner::OwnedDirectory;
use syscost_host::topology::{Placement, Topology, pin_this_thread};
use syscost_sys::mount;
use syscost_sys::sleep::sleep;

/// What the reader needs to know.
#[derive(Serialize, Deserialize)]
pub struct Offer {
    /// The served file as this machine names it: for its page cache.
    pub file: PathBuf,
    /// The address of the server.
    pub server: String,
    /// The reader holds a connection to this port for as long as it reads.
    pub until_closed_port: u16,
}

/// A server starts in a fraction of a second; a machine may be busy.
const PATIENCE: Duration = Duration::from_secs(10);
const LOOK_AGAIN: Duration = Duration::from_millis(2);
/// Of what a server said before it ended, the last so many bytes.
const LAST_WORDS_BYTES: usize = 1500;

pub fn play(task: &Task, channel: &mut dyn Channel) -> Result<RoleReport> {
    let mut report = RoleReport::default();
    if let Some(cpu) = server_cpu() {
        pin_this_thread(cpu)?;
        report.facts.insert("cpus".into(), cpu.to_string());
    }
    let kept = OwnedDirectory::create(Path::new(directory::of(&task.point))).map_err(cannot_write)?;
    let site = furnish(&kept, task)?;
    let mut running = RunningServer::start(&site)?;
    running.wait_until_listening()?;
    let listener = TcpListener::bind((task.address.as_str(), 0)).context("cannot listen for the reader")?;
    let offer = Offer {
        file: site.export.join(FILE),
        server: task.address.clone(),
        until_closed_port: listener.local_addr()?.port(),
    };
    channel.offer(serde_json::to_value(offer)?)?;
    channel.ready()?;
    let (mut reader, _) = listener.accept().context("the reader does not come")?;
    // Nothing is ever sent: the reader closes when it has done its work, or when it ends.
    let _ = reader.read(&mut [0]);
    Ok(report)
}

/// The server keeps off the reader's CPU where there are two.
fn server_cpu() -> Option<usize> {
    Topology::read().place(&Placement::Different, 1).ok()?.first()?.receiver
}

fn cannot_write(error: std::io::Error) -> Unavailable {
    Unavailable {
        reason: format!("the file server's directory cannot be filled: {error}"),
        remedy: "free some space, or name another directory with --dir".into(),
    }
}

/// The export with the file, and a place for the server's own files.
fn furnish(kept: &OwnedDirectory, task: &Task) -> Result<Site> {
    let site = Site {
        directory: kept.path().join("server"),
        export: kept.path().join("export"),
        address: task.address.clone(),
    };
    let source = task.files.first().context("the harness made no file for this case")?;
    let fill = || -> std::io::Result<()> {
        fs::create_dir(&site.directory)?;
        fs::create_dir(&site.export)?;
        fs::copy(source, site.export.join(FILE))?;
        // Only clean pages can be dropped; a warm file need never reach the disk.
        if task.point.text(PAGE_CACHE) == Some(axes::WARM) {
            return Ok(());
        }
        File::open(site.export.join(FILE))?.sync_all()
    };
    fill().map_err(cannot_write)?;
    Ok(site)
}

/// A server; dropping it ends it.
struct RunningServer {
    child: Child,
    output: PathBuf,
}

impl RunningServer {
    fn start(site: &Site) -> Result<RunningServer> {
        let program = server::path().with_context(|| format!("{PROGRAM} has gone"))?;
        let hidden: Vec<&Path> = server::HIDDEN.iter().map(Path::new).collect();
        if let Some(over) = hidden.iter().find(|hidden| site.directory.starts_with(hidden)) {
            return Err(Unavailable {
                reason: format!("{} is hidden from a file server", over.display()),
                remedy: "name a directory elsewhere with --dir".into(),
            }
            .into());
        }
        let mut command = server::prepare(site, &program).map_err(cannot_write)?;
        mount::seclude_on_exec(&mut command, &hidden)?;
        let output = site.directory.join("output");
        let file = File::create(&output).map_err(cannot_write)?;
        command.current_dir(&site.directory).stdin(Stdio::null());
        command.stdout(file.try_clone()?).stderr(file);
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        Ok(RunningServer { child, output })
    }

    fn wait_until_listening(&mut self) -> Result<()> {
        let started = Instant::now();
        while !is_listening(PORT) {
            if let Some(status) = self.child.try_wait()? {
                bail!("{PROGRAM} ended ({status}) before it listened: {}", self.last_words());
            }
            if started.elapsed() > PATIENCE {
                bail!("{PROGRAM} does not listen after {PATIENCE:?}: {}", self.last_words());
            }
            sleep(LOOK_AGAIN);
        }
        Ok(())
    }

    fn last_words(&self) -> String {
        let text = fs::read(&self.output).unwrap_or_default();
        let words = String::from_utf8_lossy(&text[text.len().saturating_sub(LAST_WORDS_BYTES)..]);
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Does anyone in this thread's network namespace listen on this TCP port? Connecting would tell
/// as well, but a server for one session would take it for its session.
fn is_listening(port: u16) -> bool {
    let tables = ["/proc/thread-self/net/tcp", "/proc/thread-self/net/tcp6"];
    tables.iter().any(|table| listens_in(&fs::read_to_string(table).unwrap_or_default(), port))
}

/// `sl local_address rem_address st ...`, numbers in hexadecimal. Source: proc_pid_net(5).
fn listens_in(table: &str, port: u16) -> bool {
    const LISTEN: &str = "0A";
    let local = format!(":{port:04X}");
    table.lines().any(|line| {
        let mut fields = line.split_whitespace().skip(1);
        fields.next().is_some_and(|address| address.ends_with(&local)) && fields.nth(1) == Some(LISTEN)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_listening_port_is_told_from_a_connection_to_it() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
                     \x20  0: 020000C0:0801 00000000:0000 0A 00000000:00000000\n\
                     \x20  1: 0100007F:01BD 0100007F:8235 01 00000000:00000000\n";
        assert!(listens_in(table, 2049) && !listens_in(table, 445) && !listens_in(table, 801));
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(is_listening(listener.local_addr().unwrap().port()));
    }
}
