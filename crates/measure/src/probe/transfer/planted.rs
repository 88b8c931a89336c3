//! Planted differences, to try whether they are found: a rival that is another one and spins a share of its time.
//!
//! `SYSCOST_PLANT=sendmsg=send+5` makes the rival `sendmsg` send like `send` and spin for 5 % of the CPU time that sending took
//! its thread: calibrated in place, from the same clock, since a spin that is calibrated beforehand is too long when both
//! CPUs run. Every other rival reads the clocks as well and spins for nothing: only what is planted tells them apart. Runs made
//! so say it in a warning. `SYSCOST_PLANT=send=send+1calls` makes one more system call a message instead, which counts of
//! instructions see to the instruction.

use crate::mechanism::{Sender, Tally};
use std::env;
use std::io;
use syscost_host::clock;
use syscost_sys::call;

/// The variable, for whoever warns of it.
pub const VARIABLE: &str = "SYSCOST_PLANT";

/// Whom a rival plays, the share of its time that it spins, and the system calls that it makes a message.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Planted {
    pub mechanism: String,
    pub share: f64,
    pub calls: u64,
}

/// What planted calls are called.
const CALLS: &str = "calls";

/// What is planted for this mechanism in this process, where anything is for any.
pub fn find(mechanism: &str) -> Option<Planted> {
    let all = env::var(VARIABLE).ok()?;
    Some(parse(&all, mechanism).unwrap_or(Planted { mechanism: mechanism.into(), ..Planted::default() }))
}

fn parse(all: &str, mechanism: &str) -> Option<Planted> {
    let (_, planted) =
        all.split(',').filter_map(|one| one.split_once('=')).find(|(rival, _)| *rival == mechanism)?;
    let (mechanism, more) = planted.split_once('+')?;
    let mechanism = mechanism.into();
    if let Some(calls) = more.strip_suffix(CALLS) {
        return Some(Planted { mechanism, share: 0.0, calls: calls.parse().ok()? });
    }
    let percent: f64 = more.parse().ok()?;
    Some(Planted { mechanism, share: percent / 100.0, calls: 0 })
}

/// A sender that does more than it must.
pub struct Slowed {
    sender: Box<dyn Sender>,
    share: f64,
    calls: u64,
}

impl Slowed {
    pub fn of(sender: Box<dyn Sender>, planted: &Planted) -> Box<dyn Sender> {
        Box::new(Slowed { sender, share: planted.share, calls: planted.calls })
    }

    fn spin(&mut self, work: impl FnOnce(&mut dyn Sender) -> io::Result<()>) -> io::Result<()> {
        let began = clock::thread_cpu_ns();
        work(&mut *self.sender)?;
        let now = clock::thread_cpu_ns();
        let until = now + ((now - began) as f64 * self.share) as u64;
        while self.share > 0.0 && clock::thread_cpu_ns() < until {}
        Ok(())
    }
}

impl Sender for Slowed {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        (0..messages * self.calls).for_each(|_| _ = call::getppid());
        self.spin(|sender| sender.send(messages))
    }

    fn settle(&mut self) -> io::Result<()> {
        self.spin(|sender| sender.settle())
    }

    fn tally(&self) -> Tally {
        self.sender.tally()
    }

    fn call_ns(&self) -> u64 {
        self.sender.call_ns()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_planted_is_found_by_the_rival_s_name() {
        let all = "send_fields=send+0,sendmsg=send+2.5";
        let planted = Planted { mechanism: "send".into(), share: 0.025, calls: 0 };
        assert_eq!(parse(all, "sendmsg"), Some(planted.clone()));
        assert_eq!(
            parse("sendmsg=send+3calls", "sendmsg"),
            Some(Planted { share: 0.0, calls: 3, ..planted })
        );
        assert_eq!(parse(all, "send_fields").map(|planted| planted.share), Some(0.0));
        assert_eq!(parse(all, "send"), None);
        assert_eq!(parse("sendmsg=send", "sendmsg"), None);
    }

    #[test]
    fn a_planted_share_is_spun() {
        struct Work;
        impl Sender for Work {
            fn send(&mut self, messages: u64) -> io::Result<()> {
                let until = clock::thread_cpu_ns() + messages;
                while clock::thread_cpu_ns() < until {}
                Ok(())
            }
            fn tally(&self) -> Tally {
                Tally::default()
            }
        }
        let spent = |share| {
            let mut sender = Slowed::of(Box::new(Work), &Planted { share, ..Planted::default() });
            let began = clock::thread_cpu_ns();
            (0..10).for_each(|_| sender.send(2_000_000).unwrap());
            (clock::thread_cpu_ns() - began) as f64 / 20e6
        };
        // CPU time, so that a busy machine does not decide it.
        assert!((spent(0.5) - 1.5).abs() < 0.1 && (spent(0.0) - 1.0).abs() < 0.1);
    }
}
