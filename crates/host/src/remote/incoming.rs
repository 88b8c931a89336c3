//! What comes over a line, and where it goes: the greeting, answers to whoever asked, output to its worker. Who sends it
//! may lie.

use super::frame::{self, AgentAnswer, AgentMessage, CONTROL, Hello};
use super::plain;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// What a line has said so far, and where the output of each worker goes.
#[derive(Default)]
pub struct Heard {
    pub gone: bool,
    /// What the system there calls itself: our command runs.
    pub system: Option<String>,
    pub hello: Option<Box<Hello>>,
    /// The question that is waited for. An answer to another is nobody's, and is not kept; nor is a second one.
    asked: Option<u64>,
    pub answer: Option<AgentAnswer>,
    streams: BTreeMap<u32, Arc<UnixStream>>,
    last_words: BTreeMap<u32, String>,
}

pub struct Incoming {
    heard: Mutex<Heard>,
    changed: Condvar,
    /// What is said to people.
    words: Arc<Mutex<Vec<u8>>>,
}

impl Incoming {
    pub fn new(words: Arc<Mutex<Vec<u8>>>) -> Incoming {
        Incoming { heard: Mutex::default(), changed: Condvar::new(), words }
    }

    pub fn heard(&self) -> MutexGuard<'_, Heard> {
        lock(&self.heard)
    }

    /// From now on the answer to this question is waited for, or none.
    pub fn wait_for(&self, question: Option<u64>) {
        let mut heard = self.heard();
        (heard.asked, heard.answer) = (question, None);
    }

    /// What was heard once it is enough, the line is gone, or it is that late.
    pub fn wait_until(&self, end: Instant, enough: impl Fn(&Heard) -> bool) -> MutexGuard<'_, Heard> {
        let mut heard = self.heard();
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if heard.gone || left.is_zero() || enough(&heard) {
                return heard;
            }
            heard = self.changed.wait_timeout(heard, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Output of this channel goes there from now on; false where the line is gone.
    pub fn carry(&self, channel: u32, output: UnixStream) -> bool {
        let mut heard = self.heard();
        if !heard.gone {
            heard.streams.insert(channel, Arc::new(output));
        }
        !heard.gone
    }

    pub fn last_words(&self, channel: u32) -> Option<String> {
        self.heard().last_words.get(&channel).cloned()
    }

    pub fn forget(&self, channel: u32) {
        let mut heard = self.heard();
        heard.streams.remove(&channel);
        heard.last_words.remove(&channel);
    }

    fn note(&self, what: impl FnOnce(&mut Heard)) {
        what(&mut self.heard());
        self.changed.notify_all();
    }

    /// Hears a line to its end: the greeting up to the mark, the first frame, then whatever comes.
    pub fn hear(&self, output: impl BufRead, mark: &str) {
        // What ends it is told by the words of what leads there, or by those of the agent.
        let _ = self.hear_frames(output, mark);
        self.note(|heard| {
            heard.gone = true;
            // Their readers see the end.
            heard.streams.clear();
        });
    }

    fn hear_frames(&self, mut output: impl BufRead, mark: &str) -> io::Result<()> {
        match frame::greeting(&mut output, mark)? {
            Ok(system) => self.note(|heard| heard.system = Some(plain(&system))),
            Err(said) => {
                // An account that may not log in says so here (nologin(8)).
                lock(&self.words).extend(said.as_bytes());
                return Ok(());
            }
        }
        let Some((CONTROL, payload)) = frame::read(&mut output)? else { return Ok(()) };
        let hello = frame::understand(&payload)?;
        self.note(|heard| heard.hello = Some(hello));
        while let Some((channel, payload)) = frame::read(&mut output)? {
            match channel {
                CONTROL if payload == frame::END_OF_LINE => {}
                CONTROL => {
                    let message = frame::understand(&payload)?;
                    self.note(|heard| heard.understand(message));
                }
                // Its reader sees the end.
                _ if payload.is_empty() => drop(self.heard().streams.remove(&channel)),
                _ => {
                    let stream = self.heard().streams.get(&channel).cloned();
                    // A worker that was given up needs its output no more.
                    let _ = stream.map(|stream| (&*stream).write_all(&payload));
                }
            }
        }
        Ok(())
    }
}

impl Heard {
    fn understand(&mut self, message: AgentMessage) {
        match message {
            AgentMessage::Reply { number, answer } if self.asked == Some(number) => {
                self.answer.get_or_insert(answer);
            }
            AgentMessage::Ended { channel, words } if self.streams.contains_key(&channel) => {
                self.last_words.insert(channel, plain(&words));
            }
            _ => {}
        }
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
