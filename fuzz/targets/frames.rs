//! The worker protocol, in both directions: whatever a peer sends is frames or an error.

use super::Seen;
use std::path::Path;
use syscost_measure::worker::protocol::{FromWorker, ToWorker, read, write};

pub fn look(bytes: &[u8], _: &Path) -> Seen {
    Seen::of(all::<FromWorker>(bytes) + all::<ToWorker>(bytes) > 0)
}

/// How many frames come before the end or the first that is none. What was understood can be said.
fn all<T: serde::de::DeserializeOwned + serde::Serialize>(bytes: &[u8]) -> usize {
    let mut input = bytes;
    let mut frames = 0;
    while let Ok(Some(frame)) = read::<T>(&mut input) {
        write(&mut Vec::new(), &frame).expect("a frame that was read");
        frames += 1;
    }
    frames
}
