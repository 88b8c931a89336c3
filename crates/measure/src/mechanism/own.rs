//! A user's own way to send: calls into the object that it comes from, once a batch.
//!
//! What it does between its fields and the socket is not seen. The bytes that it hands over are counted at first, and the
//! receiver verifies them as it does those of every mechanism.

use super::{
    About, CALL_NS, Mechanism, PROGRAM_CALL_NS, ProgramTally, Sender, SenderSetup, Sending, Tally,
    connections,
};
use crate::message;
use crate::own::OwnCode;
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_sys::own_object::{OwnConnection, OwnCounts};
use syscost_sys::own_program::SendingProgram;
use syscost_sys::socket;

/// Times that a sender settles before its bytes are no more counted: the calls would be part of its cost.
const COUNTED: u32 = 3;

impl OwnCode {
    /// Its words are its object's; the facts are those of code that nobody sees into.
    pub fn described<Facts>(&self, facts: Facts) -> About<Facts> {
        About {
            id: &self.entry.name,
            title: &self.entry.name,
            summary: &self.entry.summary,
            source: &self.object.path,
            axes: self.axes,
            ..About::of(facts)
        }
    }
}

impl Mechanism for OwnCode {
    fn about(&self) -> About<Sending> {
        self.described(Sending::UNSEEN)
    }

    /// A packed copy of its message, as most have.
    fn messages_held(&self, _: &Point) -> u64 {
        2
    }

    fn fits(&self, point: &Point) -> Result<(), Unavailable> {
        if self.object.is_program() && connections(point) > 1 {
            return Err(Unavailable {
                reason: "a program sends on one connection, and this thread has several".into(),
                remedy: "--connections 1".into(),
            });
        }
        Ok(())
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let SenderSetup { socket, message, point } = setup;
        let bytes = message.len() as u64;
        let before = socket::handed_over(socket).ok().flatten();
        let called = if self.object.is_program() {
            let words = self.object.words().map_err(io::Error::other)?;
            OwnSending::Program(SendingProgram::start(&words, socket, message.fields())?)
        } else {
            let library = self.open().map_err(io::Error::other)?;
            let fields = message.into_fields();
            OwnSending::Object(library.mechanism(
                &self.entry.called,
                socket,
                fields,
                &self.settings(point),
            )?)
        };
        Ok(Box::new(OwnSender { called, socket, bytes, before, messages: 0, settled: 0, name: self.name() }))
    }
}

/// Who sends.
enum OwnSending {
    Object(OwnConnection),
    Program(SendingProgram),
}

impl OwnSending {
    fn counts(&self) -> OwnCounts {
        match self {
            OwnSending::Object(connection) => connection.counts,
            OwnSending::Program(program) => program.counts,
        }
    }

    #[inline]
    fn send(&mut self, messages: u64) -> io::Result<()> {
        match self {
            OwnSending::Object(connection) => connection.send(messages),
            OwnSending::Program(program) => program.send(messages),
        }
    }

    fn program(&self) -> Option<ProgramTally> {
        let OwnSending::Program(program) = self else { return None };
        let (turn_cpu_ns, turn_ns) = (program.empty.cpu_ns as u64, program.empty.elapsed_ns as u64);
        Some(ProgramTally { cpu_ns: program.cpu_ns(), turns: program.turns(), turn_cpu_ns, turn_ns })
    }
}

struct OwnSender {
    called: OwnSending,
    socket: RawFd,
    /// In a message.
    bytes: u64,
    /// Handed over before the first message; `None`: this kernel does not count it.
    before: Option<u64>,
    messages: u64,
    settled: u32,
    name: &'static str,
}

impl OwnSender {
    /// Receivers wait for what was promised: one that never sends it would only stand still.
    fn has_sent_all(&self) -> io::Result<()> {
        let Some((before, now)) = self.before.zip(socket::handed_over(self.socket).ok().flatten()) else {
            return Ok(());
        };
        let (sent, whole) = (now.saturating_sub(before), self.messages * self.bytes);
        if sent == whole {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "your mechanism {} was to send {} messages of {} B, which is {whole} B, and handed over {sent} B",
            self.name, self.messages, self.bytes
        )))
    }
}

impl Sender for OwnSender {
    #[inline]
    fn send(&mut self, messages: u64) -> io::Result<()> {
        let copied = self.called.counts().copied_bytes;
        self.called.send(messages)?;
        self.messages += messages;
        message::count_copied(self.called.counts().copied_bytes.wrapping_sub(copied));
        if matches!(&self.called, OwnSending::Program(program) if program.turns() <= u64::from(COUNTED)) {
            // One that sends nothing is quick: its turns would double for ever.
            self.has_sent_all()?;
        }
        Ok(())
    }

    fn settle(&mut self) -> io::Result<()> {
        if let OwnSending::Object(connection) = &mut self.called {
            connection.flush()?;
        }
        if self.settled < COUNTED {
            self.settled += 1;
            self.has_sent_all()?;
            if let OwnSending::Program(program) = &self.called {
                program.is_alone()?;
            }
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        let counts = self.called.counts();
        Tally {
            system_calls: counts.system_calls,
            uncounted: counts.system_calls == 0 && self.messages > 0,
            completions: counts.completions,
            completions_copied: counts.completions_copied,
            program: self.called.program(),
            ..Tally::default()
        }
    }

    fn call_ns(&self) -> u64 {
        if matches!(self.called, OwnSending::Program(_)) { PROGRAM_CALL_NS } else { CALL_NS }
    }
}
