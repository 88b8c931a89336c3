//! The namespace holder: how an ordinary user makes a pair.
//!
//! Only a process with a single thread may enter a new user namespace, so this binary executes
//! itself again with a hidden subcommand. The holder builds everything, says on stdout which of
//! its descriptors are which, waits until its parent has opened them through /proc, and ends: from
//! then on only the parent's descriptors hold the namespaces. The kernel kills it with its parent.

use super::NamespacePair;
use super::build::{self, Request};
use super::carried::CarriedSettings;
use super::refusal::{self, At, BuildStep, RefusedStep};
use crate::Unavailable;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use syscost_sys::{namespace, process, program};

/// The hidden subcommand; the request follows it as JSON.
pub const SUBCOMMAND: &str = "namespace-holder";

/// Set for a holder: a binary that does not know the subcommand (a test's, an example's) must not
/// start holders of its own, and these theirs, without end.
const INSIDE: &str = "SYSCOST_INSIDE_HOLDER";

const PATIENCE: Duration = Duration::from_secs(15);

/// The holder's one line.
#[derive(Debug, Serialize, Deserialize)]
enum HolderAnswer {
    Built {
        user_ns: RawFd,
        sender_ns: RawFd,
        receiver_ns: RawFd,
        hub_ns: Option<RawFd>,
        facts: BTreeMap<String, String>,
        carried: CarriedSettings,
    },
    RefusedStep(RefusedStep),
}

/// Runs the holder; the command line calls it when the first argument is [`SUBCOMMAND`]. Returns
/// the exit code.
pub fn main() -> i32 {
    let request = std::env::args().nth(2).and_then(|text| serde_json::from_str::<Request>(&text).ok());
    let Some(request) = request else {
        return 2;
    };
    let kept = keep(request);
    let answer = match &kept {
        Ok((user_ns, pair)) => HolderAnswer::Built {
            user_ns: user_ns.as_raw_fd(),
            sender_ns: pair.sender.net_ns.as_raw_fd(),
            receiver_ns: pair.receiver.net_ns.as_raw_fd(),
            hub_ns: pair.hub.as_ref().map(AsRawFd::as_raw_fd),
            facts: pair.facts.clone(),
            carried: pair.carried.clone(),
        },
        Err(refused) => HolderAnswer::RefusedStep(refused.clone()),
    };
    match say(&answer) {
        // The byte or the end of stdin: the parent has what it needs, or is gone.
        Ok(()) => i32::from(io::stdin().read(&mut [0]).is_err()),
        Err(_) => 1,
    }
}

fn keep(request: Request) -> Result<(OwnedFd, NamespacePair), RefusedStep> {
    process::die_with_parent();
    namespace::allow_inspection().at(BuildStep::UserNamespace, "allow the parent to look")?;
    namespace::unshare_user().at(BuildStep::UserNamespace, "make a user namespace")?;
    // A change of credentials takes both back.
    process::die_with_parent();
    namespace::allow_inspection().at(BuildStep::UserNamespace, "allow the parent to look")?;
    let user_ns = namespace::current("user").at(BuildStep::UserNamespace, "open the user namespace")?;
    Ok((user_ns, build::build(request)?))
}

fn say(answer: &HolderAnswer) -> io::Result<()> {
    let mut line = serde_json::to_string(answer)?;
    line.push('\n');
    io::stdout().write_all(line.as_bytes())
}

/// Has a holder build a pair, and takes it over.
pub fn create(request: &Request) -> Result<NamespacePair, Unavailable> {
    let failed = |what: String| Unavailable {
        reason: format!("no network namespace for an ordinary user: {what}"),
        remedy: "run as root, or measure over loopback: --path loopback".into(),
    };
    let mut holder = start(request).map_err(|e| failed(format!("the holder did not start: {e}")))?;
    let answer = listen(&mut holder);
    let taken = match answer {
        Some(HolderAnswer::RefusedStep(refused)) => Err(refusal::explain_here(refused)),
        Some(HolderAnswer::Built { user_ns, sender_ns, receiver_ns, hub_ns, facts, carried }) => {
            let open = |fd: RawFd| File::open(format!("/proc/{}/fd/{fd}", holder.id())).map(OwnedFd::from);
            let take = || {
                let hub = hub_ns.map(open).transpose()?;
                let (sender, receiver) = (open(sender_ns)?, open(receiver_ns)?);
                let mut pair = request.clone().pair(sender, receiver, hub, (facts, carried));
                pair.sender.user_ns = Some(open(user_ns)?);
                pair.receiver.user_ns = Some(open(user_ns)?);
                Ok(pair)
            };
            take().map_err(|e: io::Error| failed(format!("the holder's descriptors cannot be opened: {e}")))
        }
        None => Err(failed("the holder gave no answer".into())),
    };
    // Dropping its stdin tells the holder to end; one that hangs is killed. Errors mean it is gone.
    drop(holder.stdin.take());
    if taken.is_err() {
        let _ = holder.kill();
    }
    let _ = holder.wait();
    taken
}

fn start(request: &Request) -> io::Result<Child> {
    if std::env::var_os(INSIDE).is_some() {
        return Err(io::Error::other("this process was started as a holder itself"));
    }
    Command::new(program::path())
        .arg(SUBCOMMAND)
        .arg(serde_json::to_string(request)?)
        .env(INSIDE, "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
}

/// The holder's answer, unless it ends, writes something else, or takes too long. It writes its line at once.
fn listen(holder: &mut Child) -> Option<HolderAnswer> {
    let stdout = holder.stdout.take()?;
    if !process::wait_readable(&stdout, PATIENCE).unwrap_or(false) {
        return None;
    }
    let mut line = String::new();
    // A line of a stranger's making must not fill our memory.
    BufReader::new(stdout).take(64 * 1024).read_line(&mut line).ok()?;
    serde_json::from_str(&line).ok()
}
