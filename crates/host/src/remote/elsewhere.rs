//! One place elsewhere with an agent: what it is, what it can do, and fresh workers there.

use super::connection::{Connection, FarWorker};
use super::contact::{self, ContactWay};
use super::frame::{AgentQuestion, Hello};
use super::target::Target;
use super::{clock, plain};
use crate::{Fact, Unavailable, fingerprint, identity};
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

/// An honest agent tells some twenty things of its end.
const MOST_FACTS: usize = 64;

/// What of its fingerprint is kept with each case.
const KEPT_FACTS: [&str; 14] = [
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
    fingerprint::MACHINE,
    fingerprint::BOOT,
];

/// A place elsewhere that plays one role.
pub struct Elsewhere {
    pub(super) target: Target,
    role: &'static str,
    way: ContactWay,
    line: Mutex<Arc<Connection>>,
    /// Where it says it can be reached.
    pub(super) connection: String,
    pub(super) addresses: Vec<IpAddr>,
    /// The rate of its time-stamp counter.
    pub tsc_hz: Option<f64>,
    pub(super) facts: BTreeMap<String, String>,
    /// What it was asked whether it can, and its answers.
    allowed: Mutex<BTreeMap<String, Result<(), Unavailable>>>,
}

impl Elsewhere {
    pub(super) fn meet(target: &Target, role: &'static str) -> Result<Elsewhere, Unavailable> {
        let contact::Contact { line, hello, way } = contact::first(target)?;
        let mut facts = chosen(role, &hello.facts);
        facts.insert(format!("{role}_host"), target.to_string());
        facts.insert(format!("{role}_syscost"), plain(&hello.version));
        let Hello { connection, addresses, tsc_hz, .. } = hello;
        Ok(Elsewhere {
            target: target.clone(),
            role,
            way,
            line: Mutex::new(line),
            connection,
            addresses,
            tsc_hz,
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
        let asked = self.ask(AgentQuestion::Allows { wanted: wanted.clone() });
        let answer: Result<(), Unavailable> =
            asked.map_err(|error| self.silent(format!("does not say what it can do: {error}")))?;
        let there = |words: &str| format!("on {}: {}", self.target, plain(words));
        let answer =
            answer.map_err(|why| Unavailable { reason: there(&why.reason), remedy: there(&why.remedy) });
        allowed.insert(wanted.to_string(), answer.clone());
        answer
    }

    pub(super) fn ask<T: DeserializeOwned>(&self, what: AgentQuestion) -> io::Result<T> {
        self.line()?.ask(what)
    }

    /// How far its wall clock is from ours.
    pub(super) fn clock(&self) -> Result<Option<clock::Offset>, Unavailable> {
        let offset = self.line().and_then(|line| clock::offset(&line));
        offset.map_err(|error| self.silent(format!("does not answer as a syscost would: {error}")))
    }

    /// It does not answer, in these words.
    fn silent(&self, how: String) -> Unavailable {
        let remedy = format!("see that it is up: {}", self.target.by_hand());
        Unavailable { reason: format!("{} {how}", self.target), remedy }
    }

    fn line(&self) -> io::Result<Arc<Connection>> {
        let mut line = self.line.lock().unwrap_or_else(PoisonError::into_inner);
        if line.is_gone() {
            let (again, hello) = contact::again(&self.target, &self.way)
                .map_err(|why| io::Error::other(format!("{}; {}", why.reason, why.remedy)))?;
            self.is_still(&chosen(self.role, &hello.facts)).map_err(io::Error::other)?;
            *line = again;
        }
        Ok(line.clone())
    }

    /// Is it the machine that these facts of its role were taken of?
    pub(super) fn is_still(&self, facts: &BTreeMap<String, String>) -> Result<(), String> {
        match difference(self.role, facts, &self.facts) {
            None => Ok(()),
            Some(what) => Err(format!("another machine answers as {} than before: {what}", self.target)),
        }
    }

    /// The device there that has the address, its route to the other end, and the TCP settings around it.
    pub(super) fn end(
        &self,
        address: IpAddr,
        toward: Option<IpAddr>,
    ) -> Result<BTreeMap<String, String>, Unavailable> {
        let there: BTreeMap<String, String> =
            self.ask(AgentQuestion::End { address, toward }).map_err(|error| Unavailable {
                reason: format!("data cannot go to {address} on {}: {error}", self.target),
                remedy: "name an address that it has: ?data=ADDRESS".into(),
            })?;
        let plain_of = |(name, value): (String, String)| (plain(&name), plain(&value));
        Ok(there.into_iter().take(MOST_FACTS).map(plain_of).collect())
    }
}

/// What tells the machines of two such roles apart.
fn difference(
    role: &str,
    one: &BTreeMap<String, String>,
    other: &BTreeMap<String, String>,
) -> Option<String> {
    let of = |facts: &BTreeMap<String, String>, id: &str| facts.get(&format!("{role}_{id}")).cloned();
    identity::difference(|id| of(one, id), |id| of(other, id))
}

fn chosen(role: &str, facts: &[Fact]) -> BTreeMap<String, String> {
    let wanted = facts.iter().filter(|fact| KEPT_FACTS.contains(&fact.id.as_str()));
    let told = wanted.filter_map(|fact| Some((format!("{role}_{}", fact.id), plain(fact.value.as_deref()?))));
    told.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

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
            chosen("sender", &told.map(fact))
        };
        let before = facts("one", "performance");
        assert_eq!(difference("sender", &before, &facts("one", "powersave")), None);
        let said = difference("sender", &before, &facts("two", "performance"));
        assert_eq!(said.as_deref(), Some("cpu_model was one, is two"));
        let twin = |id: &str| {
            let fact = |fact: (&str, &str)| (format!("sender_{}", fact.0), fact.1.to_string());
            let ids = [(fingerprint::MACHINE, id), (fingerprint::BOOT, id)].map(fact);
            before.clone().into_iter().chain(ids).collect()
        };
        let said = difference("sender", &twin("one"), &twin("two"));
        assert_eq!(said.as_deref(), Some("machine_id_hash was one, is two"));
    }
}
