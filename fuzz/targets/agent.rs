//! What comes out of ssh: what a login shell prints, then the frames of an agent on a host that may lie. A line hears it
//! that waits for an answer and for a worker's output.

use super::Seen;
use serde::{Serialize, de::DeserializeOwned};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::{Arc, Mutex};
use syscost_host::remote::frame::{self, AgentAnswer, AgentMessage, Ask, CONTROL, Hello};
use syscost_host::remote::incoming::Incoming;

const MARK: &str = "syscost-mark";
/// The question that is waited for, and the channel of the worker.
const ASKED: u64 = 3;
const CHANNEL: u32 = 1;
/// Of words that are shown.
const LONGEST_WORDS: usize = 600;

/// What a line handed on until its end.
struct HandedOn {
    system: Option<String>,
    hello: Option<Box<Hello>>,
    answer: Option<AgentAnswer>,
    output: Vec<u8>,
    last_words: Option<String>,
    is_gone: bool,
}

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let line = handed_on(bytes);
    assert!(line.is_gone, "the end is noticed");
    assert!(line.output.len() <= bytes.len(), "no more than was sent");
    line.last_words.iter().for_each(|words| may_be_shown(words));
    line.system.iter().for_each(|system| may_be_shown(system));
    let greeted = line.hello.is_some();
    assert!(greeted || line.answer.is_none() && line.output.is_empty(), "nothing comes before a hello");
    Seen::of(greeted | (frames(bytes) > 0))
}

fn may_be_shown(words: &str) {
    let shown = !words.contains(char::is_control) && words.chars().count() <= LONGEST_WORDS;
    assert!(shown, "{words:?}");
}

fn handed_on(mut bytes: &[u8]) -> HandedOn {
    let words = Arc::new(Mutex::new(Vec::new()));
    let line = Incoming::new(words);
    let (mut ours, theirs) = UnixStream::pair().expect("a pair of sockets");
    assert!(line.carry(CHANNEL, theirs), "a line that is there");
    line.wait_for(Some(ASKED));
    let output = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut output = Vec::new();
            ours.read_to_end(&mut output).map(|_| output)
        });
        line.hear(&mut bytes, MARK);
        reader.join().expect("the reader").expect("the worker's output ends with the line")
    });
    let last_words = line.last_words(CHANNEL);
    let mut heard = line.heard();
    HandedOn {
        system: heard.system.take(),
        hello: heard.hello.take(),
        answer: heard.answer.take(),
        output,
        last_words,
        is_gone: heard.gone,
    }
}

/// How many frames of those without a greeting are understood, questions to an agent among them.
fn frames(mut input: &[u8]) -> usize {
    let mut understood = 0;
    while let Ok(Some((channel, payload))) = frame::read(&mut input) {
        if channel == CONTROL {
            understood += again::<Hello>(&payload) + again::<AgentMessage>(&payload) + again::<Ask>(&payload);
        }
    }
    understood
}

/// What was understood can be said, and is understood again.
fn again<T: DeserializeOwned + Serialize>(payload: &[u8]) -> usize {
    let Ok(frame) = frame::understand::<T>(payload) else { return 0 };
    let mut said = Vec::new();
    frame::say(&mut said, &frame).expect("a frame that was read");
    let (channel, payload) = frame::read(&mut said.as_slice()).expect("what was written").expect("a frame");
    assert_eq!(channel, CONTROL);
    frame::understand::<T>(&payload).expect("what was said");
    1
}
