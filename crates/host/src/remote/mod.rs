//! Another host, reached by ssh: where the far side of a path runs.
//!
//! The system's ssh client is the only way in: its keys, its known hosts, its configuration. One
//! connection a run leads to an [`agent`] there, which starts fresh workers. Nothing is left on the
//! other host but the program, in a directory that `docs/two-hosts.md` names. The other host is not
//! trusted to be honest: what it says is cleaned, bounded, and never executed here.

mod clock;
mod contact;
pub mod frame;
mod connection;
pub mod agent;
pub mod incoming;
pub mod patience;
pub mod reach;
mod refusal;
pub mod target;

use super::{Fact, Unavailable, identity, link};
use connection::Connection;
use frame::{AgentQuestion, Reply};
use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use target::{Ports, Target};

pub use connection::FarWorker;

/// An agent that hears nothing for so long ends.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How often it hears at least an empty frame.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Of words from another host, so many characters.
const LONGEST_WORDS: usize = 600;
/// An honest agent tells some twenty things of its end.
const MOST_FACTS: usize = 64;

/// What of the far host's fingerprint is kept with each case.
const FAR_FACTS: [&str; 12] = [
    "cpu_model",
    "cpu_cores",
    "smt",
    "cpu_governor",
    "turbo",
    "memory_bytes",
    "kernel_release",
    "distribution",
    "hypervisor",
    "clocksource",
    "irq_time_accounting",
    "mitigations",
];

/// Another host, with a path to it.
pub struct Host {
    target: Target,
    way: contact::AgentBinary,
    line: Mutex<Arc<Connection>>,
    near: IpAddr,
    far: IpAddr,
    tsc_hz: Option<f64>,
    /// Both ends and what is between, as the settings of a case.
    facts: BTreeMap<String, String>,
    /// What it was asked whether it can, and its answers.
    allowed: Mutex<BTreeMap<String, Result<(), Unavailable>>>,
}

/// Where one place's answer is kept for the life of the process.
type KnownHosts = BTreeMap<String, Result<Arc<Host>, Unavailable>>;
static KNOWN: Mutex<KnownHosts> = Mutex::new(BTreeMap::new());

/// The host of this path. The first call makes contact; its answer, good or bad, is kept.
pub fn open(path: &str) -> Result<Arc<Host>, Unavailable> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(path.to_string()).or_insert_with(|| Host::meet(path).map(Arc::new)).clone()
}

/// What this process left on another host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledCopy {
    /// Where the program was put.
    pub place: String,
    /// The command that removes it, and all others of its kind.
    pub removal: String,
}

static COPIES: Mutex<Vec<InstalledCopy>> = Mutex::new(Vec::new());

/// Where this process has put the program so far, whatever came of it.
pub fn copies() -> Vec<InstalledCopy> {
    COPIES.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Host {
    fn meet(path: &str) -> Result<Host, Unavailable> {
        let target = Target::parse(path)
            .map_err(|remedy| Unavailable { reason: format!("{path:?} names no host"), remedy })?;
        let contact = contact::first(&target)?;
        let far = far_address(&target, &contact.hello.connection)?;
        let lost = |error: io::Error| Unavailable {
            reason: format!("{target} does not answer as a syscost would: {error}"),
            remedy: format!("see that the host is up: {}", target.ssh_command()),
        };
        let line = contact.line;
        let near = link::source_toward(far);
        let mut facts = far_end(&target, &line, far, near.as_ref().ok().copied())?;
        let near = near.map_err(|error| Unavailable {
            reason: format!("this host has no route to {far}, the address of {target} for data: {error}"),
            remedy: "name another address of it: ?data=ADDRESS".into(),
        })?;
        facts.extend(near_end(near, far));
        facts.extend(clock::offset(&line).map_err(lost)?);
        let mtu = try_data(&target, &line, near, far)?;
        facts.extend(mtu.map(|mtu| ("mtu".to_string(), mtu.to_string())));
        facts.insert("receiver_host".into(), target.to_string());
        facts.insert("receiver_syscost".into(), plain(&contact.hello.version));
        facts.extend(chosen(&contact.hello.facts));
        Ok(Host {
            target,
            way: contact.way,
            line: Mutex::new(line),
            near,
            far,
            tsc_hz: contact.hello.tsc_hz,
            facts,
            allowed: Mutex::default(),
        })
    }

    /// A fresh worker there; over a fresh connection where the last one is gone.
    pub fn start_worker(&self) -> io::Result<FarWorker> {
        self.line()?.start()
    }

    /// Can that machine do its side of these values of axes? Each is asked once; its answer is kept.
    pub fn allows(&self, wanted: &serde_json::Value) -> Result<(), Unavailable> {
        let mut allowed = self.allowed.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = allowed.get(&wanted.to_string()) {
            return known.clone();
        }
        let asked = self.line().and_then(|line| line.ask(AgentQuestion::Allows { wanted: wanted.clone() }));
        let answer = told(&self.target, asked)?;
        allowed.insert(wanted.to_string(), answer.clone());
        answer
    }

    fn line(&self) -> io::Result<Arc<Connection>> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_gone() {
            let (again, hello) = contact::again(&self.target, &self.way)
                .map_err(|why| io::Error::other(format!("{}; {}", why.reason, why.remedy)))?;
            self.is_still(&chosen(&hello.facts)).map_err(io::Error::other)?;
            *line = again;
        }
        Ok(line.clone())
    }

    /// Is it the machine that these facts of a receiver's side were taken of?
    pub fn is_still(&self, facts: &BTreeMap<String, String>) -> Result<(), String> {
        match far_difference(facts, &self.facts) {
            None => Ok(()),
            Some(what) => Err(format!("another machine answers as {} than before: {what}", self.target)),
        }
    }

    /// This side's address toward it, and its own.
    pub fn addresses(&self) -> (IpAddr, IpAddr) {
        (self.near, self.far)
    }

    /// Where its listeners have to be.
    pub fn ports(&self) -> Option<Ports> {
        self.target.ports
    }

    /// The rate of its time-stamp counter.
    pub fn tsc_hz(&self) -> Option<f64> {
        self.tsc_hz
    }

    pub fn facts(&self) -> &BTreeMap<String, String> {
        &self.facts
    }
}

/// The address that the user named, or the one by which sshd was reached.
fn far_address(target: &Target, connection: &str) -> Result<IpAddr, Unavailable> {
    if let Some(address) = target.data {
        return Ok(address);
    }
    // `CLIENT CLIENT_PORT SERVER SERVER_PORT`
    let server = connection.split_whitespace().nth(2).and_then(|text| text.parse().ok());
    server.filter(|address| !link::link_local(address)).ok_or_else(|| Unavailable {
        reason: format!(
            "{target} does not say by which address data could reach it (SSH_CONNECTION: {:?})",
            plain(connection)
        ),
        remedy: "name one of its addresses: ?data=ADDRESS".into(),
    })
}

/// The device there that has the address, its route to us, and the TCP settings around it.
fn far_end(
    target: &Target,
    line: &Connection,
    far: IpAddr,
    near: Option<IpAddr>,
) -> Result<BTreeMap<String, String>, Unavailable> {
    let there = match line.ask(AgentQuestion::End { address: far, toward: near }) {
        Ok(Reply::End { facts }) => facts,
        Ok(other) => return Err(wrong_answer(target, &other)),
        Err(error) => {
            return Err(Unavailable {
                reason: format!("data cannot go to {far} on {target}: {error}"),
                remedy: "name an address that this host has: ?data=ADDRESS".into(),
            });
        }
    };
    let named = |(name, value): (String, String)| (format!("receiver_{}", plain(&name)), plain(&value));
    let mut facts: BTreeMap<String, String> = there.into_iter().take(MOST_FACTS).map(named).collect();
    facts.insert("receiver_address".into(), far.to_string());
    Ok(facts)
}

/// The same of this host.
fn near_end(near: IpAddr, far: IpAddr) -> BTreeMap<String, String> {
    let here = link::owner_of(near).ok().flatten().and_then(|interface| link::describe(&interface).ok());
    let named = |(name, value): (String, String)| (format!("sender_{name}"), value);
    let mut facts: BTreeMap<String, String> = here.unwrap_or_default().into_iter().map(named).collect();
    facts.insert("sender_address".into(), near.to_string());
    facts.extend(link::route_to(far).map(|route| ("sender_route".to_string(), route)));
    facts.extend(super::namespaces::tcp_settings());
    facts
}

/// One connection as data will go: the path's MTU, or why no figure can be had.
fn try_data(
    target: &Target,
    line: &Connection,
    near: IpAddr,
    far: IpAddr,
) -> Result<Option<u32>, Unavailable> {
    let token = syscost_sys::random::token().map_err(|error| Unavailable {
        reason: format!("the kernel gives no random numbers: {error}"),
        remedy: "allow getrandom in the sandbox, or mount /dev with its urandom".into(),
    })?;
    let ports = target.ports;
    let listening = line.ask(AgentQuestion::Listen { address: far, ports, token: token.clone() });
    let port = match listening {
        Ok(Reply::Listening { port }) => port,
        Ok(other) => return Err(wrong_answer(target, &other)),
        Err(error) => {
            return Err(Unavailable {
                reason: format!("{target} cannot listen on {far}: {error}"),
                remedy: "name other ports, ports=FROM-TO, or another address, data=ADDRESS".into(),
            });
        }
    };
    let to = SocketAddr::new(far, port);
    reach::connect(near, to, &token).map_err(|error| refusal::no_data(target, near, to, ports, &error))
}

/// What an answer to "can you" means; an error is no answer.
fn told(target: &Target, answer: io::Result<Reply>) -> Result<Result<(), Unavailable>, Unavailable> {
    match answer {
        Ok(Reply::Allowed) => Ok(Ok(())),
        Ok(Reply::Unable { reason, remedy }) => Ok(Err(Unavailable {
            reason: format!("on {target}: {}", plain(&reason)),
            remedy: format!("on {target}: {}", plain(&remedy)),
        })),
        Ok(other) => Err(wrong_answer(target, &other)),
        Err(error) => Err(Unavailable {
            reason: format!("{target} does not say what it can do: {error}"),
            remedy: format!("see that the host is up: {}", target.ssh_command()),
        }),
    }
}

fn wrong_answer(target: &Target, answer: &Reply) -> Unavailable {
    Unavailable {
        reason: format!("{target} answered out of turn: {}", plain(&format!("{answer:?}"))),
        remedy: "use the same syscost on both hosts".into(),
    }
}

/// What tells the machines of two receivers apart.
fn far_difference(one: &BTreeMap<String, String>, other: &BTreeMap<String, String>) -> Option<String> {
    let of = |facts: &BTreeMap<String, String>, id: &str| facts.get(&format!("receiver_{id}")).cloned();
    identity::difference(|id| of(one, id), |id| of(other, id))
}

fn chosen(facts: &[Fact]) -> BTreeMap<String, String> {
    let wanted = facts.iter().filter(|fact| FAR_FACTS.contains(&fact.id.as_str()));
    let told =
        wanted.filter_map(|fact| Some((format!("receiver_{}", fact.id), plain(fact.value.as_deref()?))));
    told.collect()
}

/// Words from another host, safe to show: no control characters, one line, not too many.
fn plain(words: &str) -> String {
    let printable: String = words.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let line = printable.split_whitespace().collect::<Vec<_>>().join(" ");
    line.chars().take(LONGEST_WORDS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_far_address_is_where_sshd_was_reached_unless_named() {
        let plain = Target::parse("ssh://lab").unwrap();
        let address =
            |target: &Target, connection: &str| far_address(target, connection).map(|a| a.to_string());
        assert_eq!(address(&plain, "10.0.0.1 5000 10.0.0.2 22"), Ok("10.0.0.2".into()));
        assert_eq!(address(&plain, "fd00::1 5000 fd00::2 22"), Ok("fd00::2".into()));
        for unknown in
            ["", "10.0.0.1 5000", "fe80::1%eth0 1 fe80::2%eth0 22", "fe80::1 1 fe80::2 22", "a b c d"]
        {
            assert!(address(&plain, unknown).unwrap_err().remedy.contains("?data="), "{unknown}");
        }
        let named = Target::parse("ssh://lab?data=10.9.9.9").unwrap();
        assert_eq!(address(&named, "10.0.0.1 5000 10.0.0.2 22"), Ok("10.9.9.9".into()));
    }

    #[test]
    fn another_machine_at_the_same_address_is_told_apart() {
        let facts = |model: &str, governor: &str| {
            let told = [("cpu_model", model), ("cpu_governor", governor)];
            let fact = |(id, value): (&str, &str)| Fact {
                id: id.into(),
                title: String::new(),
                value: Some(value.into()),
                source: String::new(),
            };
            chosen(&told.map(fact))
        };
        let before = facts("one", "performance");
        assert_eq!(far_difference(&before, &facts("one", "powersave")), None);
        let said = far_difference(&before, &facts("two", "performance"));
        assert_eq!(said.as_deref(), Some("cpu_model was one, is two"));
    }

    #[test]
    fn words_of_others_cannot_draw_on_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\r\n c\u{9b}"), "a [2Jb c");
        assert_eq!(plain(&"x ".repeat(9000)).chars().count(), LONGEST_WORDS);
    }
}
