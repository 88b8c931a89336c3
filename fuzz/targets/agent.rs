//! What comes out of ssh: what a login shell prints, then the frames of an agent on a host that may lie. A line hears it
//! that waits for an answer and for a worker's output.

use super::Seen;
use serde::{Serialize, de::DeserializeOwned};
use std::io::Read;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use syscost_host::remote::frame::{self, AgentMessage, Ask, CONTROL, Hello, Reply};
use syscost_host::remote::incoming::{Heard, Incoming};

const MARK: &str = "syscost-mark";
/// The question that is waited for, and the channel of the worker.
const ASKED: u64 = 3;
const CHANNEL: u32 = 1;
/// Of words that are shown.
const LONGEST_WORDS: usize = 600;

/// What a line handed on until its end.
struct HandedOn {
    heard: Vec<Heard>,
    answers: Vec<(u64, Reply)>,
    output: Vec<u8>,
    last_words: Option<String>,
    is_gone: bool,
}

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let line = handed_on(bytes);
    assert!(line.is_gone, "the end is noticed");
    assert!(line.answers.len() <= 1 && line.answers.iter().all(|(to, _)| *to == ASKED), "{:?}", line.answers);
    assert!(line.output.len() <= bytes.len(), "no more than was sent");
    line.last_words.iter().for_each(|words| may_be_shown(words));
    let mut greeted = false;
    for heard in &line.heard {
        match heard {
            Heard::System(system) => may_be_shown(system),
            Heard::Hello(_) => greeted = true,
        }
    }
    assert!(greeted || line.answers.is_empty() && line.output.is_empty(), "nothing comes before a hello");
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
    line.wait_for(ASKED);
    let ((tell, told), (tell_answer, answers)) = (mpsc::channel(), mpsc::sync_channel(1));
    let output = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut output = Vec::new();
            ours.read_to_end(&mut output).map(|_| output)
        });
        line.hear(&mut bytes, MARK, &tell, &tell_answer);
        reader.join().expect("the reader").expect("the worker's output ends with the line")
    });
    HandedOn {
        heard: told.try_iter().collect(),
        answers: answers.try_iter().collect(),
        output,
        last_words: line.last_words(CHANNEL),
        is_gone: line.is_gone(),
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
