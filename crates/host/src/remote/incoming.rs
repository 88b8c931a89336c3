//! What comes over a line, and where it goes: answers to whoever asked, output to its worker. Who sends it may lie.

use super::frame::{self, AgentMessage, CONTROL, Hello, Reply};
use super::plain;
use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Sender, SyncSender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// No question has this number.
pub const NOBODY: u64 = 0;

/// What stands before the frames of a line, and the first of them.
pub enum Heard {
    System(String),
    Hello(Box<Hello>),
}

pub struct Incoming {
    channels: Mutex<Channels>,
    /// The question that is waited for. An answer to another is nobody's, and is not kept.
    asked: AtomicU64,
    /// What is said to people.
    words: Arc<Mutex<Vec<u8>>>,
}

/// Where the output of each worker goes.
#[derive(Default)]
struct Channels {
    gone: bool,
    streams: BTreeMap<u32, Arc<UnixStream>>,
    last_words: BTreeMap<u32, String>,
}

impl Incoming {
    pub fn new(words: Arc<Mutex<Vec<u8>>>) -> Incoming {
        Incoming { channels: Mutex::default(), asked: AtomicU64::new(NOBODY), words }
    }

    pub fn is_gone(&self) -> bool {
        self.channels().gone
    }

    pub fn wait_for(&self, question: u64) {
        self.asked.store(question, Ordering::Relaxed);
    }

    /// Output of this channel goes there from now on; false where the line is gone.
    pub fn carry(&self, channel: u32, output: UnixStream) -> bool {
        let mut channels = self.channels();
        if !channels.gone {
            channels.streams.insert(channel, Arc::new(output));
        }
        !channels.gone
    }

    pub fn last_words(&self, channel: u32) -> Option<String> {
        self.channels().last_words.get(&channel).cloned()
    }

    pub fn forget(&self, channel: u32) {
        let mut channels = self.channels();
        channels.streams.remove(&channel);
        channels.last_words.remove(&channel);
    }

    /// Hears a line to its end: the greeting up to the mark, the first frame, then whatever comes.
    pub fn hear(
        &self,
        output: impl BufRead,
        mark: &str,
        tell: &Sender<Heard>,
        answers: &SyncSender<(u64, Reply)>,
    ) {
        // What ends it is told by the words of what leads there, or by those of the agent.
        let _ = self.hear_frames(output, mark, tell, answers);
        let mut channels = self.channels();
        channels.gone = true;
        // Their readers see the end.
        channels.streams.clear();
    }

    fn hear_frames(
        &self,
        mut output: impl BufRead,
        mark: &str,
        tell: &Sender<Heard>,
        answers: &SyncSender<(u64, Reply)>,
    ) -> io::Result<()> {
        let system = match frame::greeting(&mut output, mark)? {
            Ok(system) => system,
            Err(said) => {
                // An account that may not log in says so here (nologin(8)).
                lock(&self.words).extend(said.as_bytes());
                return Ok(());
            }
        };
        let _ = tell.send(Heard::System(plain(&system)));
        let Some((CONTROL, payload)) = frame::read(&mut output)? else { return Ok(()) };
        let _ = tell.send(Heard::Hello(Box::new(frame::understand(&payload)?)));
        while let Some((channel, payload)) = frame::read(&mut output)? {
            match channel {
                CONTROL if payload == frame::END_OF_LINE => {}
                CONTROL => self.understand(frame::understand(&payload)?, answers),
                _ => self.hand_over(channel, &payload),
            }
        }
        Ok(())
    }

    fn hand_over(&self, channel: u32, output: &[u8]) {
        if output.is_empty() {
            // Its reader sees the end.
            self.channels().streams.remove(&channel);
            return;
        }
        let stream = self.channels().streams.get(&channel).cloned();
        // A worker that was given up needs its output no more.
        let _ = stream.map(|stream| (&*stream).write_all(output));
    }

    fn understand(&self, message: AgentMessage, answers: &SyncSender<(u64, Reply)>) {
        match message {
            // One that nobody waits for, or one more, is dropped.
            AgentMessage::Reply { number, answer } if number == self.asked.load(Ordering::Relaxed) => {
                drop(answers.try_send((number, answer)));
            }
            AgentMessage::Reply { .. } => {}
            AgentMessage::Ended { channel, words } => {
                let mut channels = self.channels();
                if channels.streams.contains_key(&channel) {
                    channels.last_words.insert(channel, plain(&words));
                }
            }
        }
    }

    fn channels(&self) -> MutexGuard<'_, Channels> {
        lock(&self.channels)
    }
}

pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
