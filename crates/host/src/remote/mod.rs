//! Other places, reached by whatever starts a process there: where the far side of a path runs, or both.
//!
//! A [`transport`] is the only way in: ssh with its keys and known hosts, or a container engine or scheduler with its
//! rights. One connection a run leads to an [`agent`] there, which starts fresh workers. Nothing is left
//! there but the program, in a directory that `docs/hosts.md` names. The other place is not
//! trusted to be honest: what it says is cleaned, bounded, and never executed here.

mod clock;
mod contact;
mod elsewhere;
mod joined;
pub mod frame;
mod connection;
pub mod agent;
pub mod consent;
pub mod incoming;
pub mod patience;
pub mod reach;
mod refusal;
pub mod target;
pub mod transport;

use crate::Unavailable;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use target::{Ports, Route};

pub use connection::FarWorker;
pub use elsewhere::Elsewhere;

/// An agent that hears nothing for so long ends.
pub const SILENCE: Duration = Duration::from_secs(30);
/// How often it hears at least an empty frame.
const HEARTBEAT: Duration = Duration::from_secs(5);
/// Of words from another host, so many characters.
const LONGEST_WORDS: usize = 600;
/// Another host, with a path to it from here or from a third one.
pub struct Host {
    /// Where the far roles run.
    pub far: Elsewhere,
    /// Where the near roles run; `None`: here.
    pub near: Option<Elsewhere>,
    /// The near side's address toward the far one, and its own.
    pub addresses: (IpAddr, IpAddr),
    /// Where its listeners have to be.
    pub ports: Option<Ports>,
    /// Both ends and what is between, as the settings of a case.
    pub facts: BTreeMap<String, String>,
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
        consent::to_path(path)?;
        let route = Route::parse(path)
            .map_err(|remedy| Unavailable { reason: format!("{path:?} names no host"), remedy })?;
        let far = Elsewhere::meet(&route.far, "receiver")?;
        let near = route.near.as_ref().map(|target| Elsewhere::meet(target, "sender")).transpose()?;
        let joined::Joined { near: near_address, far: far_address, mut facts } =
            joined::join(&route, joined::NearSide(near.as_ref()), &far)?;
        let clock = match &near {
            None => far.clock()?,
            Some(near) => far.clock()?.zip(near.clock()?).map(|(far, near)| far.from(near)),
        };
        facts.extend(clock.map(clock::Offset::facts).unwrap_or_default());
        facts.extend(near.iter().chain([&far]).flat_map(|side| side.facts.clone()));
        Ok(Host { far, near, addresses: (near_address, far_address), ports: route.ports, facts })
    }

    /// Are its ends the machines that these facts of a case were taken of?
    pub fn is_still(&self, facts: &BTreeMap<String, String>) -> Result<(), String> {
        self.near.iter().chain([&self.far]).try_for_each(|side| side.is_still(facts))
    }
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
    fn words_of_others_cannot_draw_on_the_terminal() {
        assert_eq!(plain("a\u{1b}[2Jb\r\n c\u{9b}"), "a [2Jb c");
        assert_eq!(plain(&"x ".repeat(9000)).chars().count(), LONGEST_WORDS);
    }
}
