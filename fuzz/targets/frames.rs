//! The worker protocol, in both directions: whatever a peer sends is frames or an error.
#![no_main]

use libfuzzer_sys::fuzz_target;
use syscost::worker::protocol::{FromWorker, ToWorker, read, write};

fuzz_target!(|bytes: &[u8]| {
    let mut input = bytes;
    while let Ok(Some(frame)) = read::<FromWorker>(&mut input) {
        again(&frame);
    }
    let mut input = bytes;
    while let Ok(Some(frame)) = read::<ToWorker>(&mut input) {
        again(&frame);
    }
});

/// What was understood can be said.
fn again(frame: &impl serde::Serialize) {
    write(&mut Vec::new(), frame).expect("a frame that was read");
}
