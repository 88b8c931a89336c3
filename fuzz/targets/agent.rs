//! What comes out of ssh: what a login shell prints, then the frames of an agent on a host that may lie.

use super::Seen;
use serde::{Serialize, de::DeserializeOwned};
use std::path::Path;
use syscost_host::remote::frame::{self, AgentMessage, Ask, CONTROL, Hello};

const MARK: &str = "syscost-mark";

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    let mut input = bytes;
    // Those who come without a greeting are heard as well.
    if !matches!(frame::greeting(&mut input, MARK), Ok(Ok(_))) {
        input = bytes;
    }
    let mut understood = 0;
    while let Ok(Some((channel, payload))) = frame::read(&mut input) {
        assert!(payload.len() <= bytes.len(), "no more than was sent");
        if channel == CONTROL {
            understood += again::<Hello>(&payload) + again::<AgentMessage>(&payload) + again::<Ask>(&payload);
        }
    }
    Seen::of(understood > 0)
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
