//! `sendto`: memcpy of the fields into one buffer, then one sendto(2) without an address.
//!
//! What the longer system call costs beside `pack_send`. Source: sendto(2).
//!
//! Template of a mechanism. Why each method is there:
//! - `about()`: `list`, help, reports and docs derive from it. The facts decide class, audits and predictions;
//!   `axes` are flags and CSV columns that only this mechanism and its kin have.
//! - `available()`: tries whether this machine can do it, with a reason and a remedy. Default: yes.
//! - `fits()`: the same for one point. Default: yes.
//! - `messages_held()`: a plan too large for memory is refused before it starts. Default: a call's, packed.
//! - `plain_calls()`: true where a prediction from system calls and copies can hold. Default: false.
//! - `prepare_receiver()`: what the receiver's socket needs to decode the stream. Default: nothing.
//! - `start()`: makes the sender of one connection. Everything that allocates belongs here, not in the call.

use super::{About, Handover, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending, sender};
use crate::message::PAGE;
use std::io;
use std::os::fd::RawFd;
use syscost_sys::buffer::Buffer;

pub struct SendTo;

impl Mechanism for SendTo {
    fn about(&self) -> About<Sending> {
        About {
            id: "sendto",
            title: "sendto",
            summary: "memcpy of the fields into one buffer, then one sendto(2)",
            source: "sendto(2)",
            // With `in_default: true` a bare `syscost run` measures it.
            ..About::of(Sending::of(Packing::Packed, Handover::Copied, Reuse::AtReturn))
        }
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let (socket, message) = (setup.socket, setup.message);
        let mut packed = Buffer::zeroed(message.len(), PAGE);
        // One call: nothing in it allocates. The harness has the clocks; `pack_into` counts its own copy.
        // A mechanism whose memory comes back later implements `Sender` itself, with `settle()`.
        Ok(sender(setup.point, move || {
            message.pack_into(&mut packed);
            send_all_to(socket, &packed)
        }))
    }
}

/// sendto(2) until everything is out; returns the number of calls.
#[inline]
fn send_all_to(socket: RawFd, mut bytes: &[u8]) -> io::Result<u64> {
    let mut calls = 0;
    while !bytes.is_empty() {
        calls += 1;
        let (start, length) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: the slice is live, and a null address of length 0 is allowed when connected.
        let sent = unsafe { libc::sendto(socket, start, length, libc::MSG_NOSIGNAL, std::ptr::null(), 0) };
        match usize::try_from(sent) {
            Ok(sent) => bytes = &bytes[sent..],
            Err(_) => {
                let error = io::Error::last_os_error();
                if error.kind() != io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
        }
    }
    Ok(calls)
}
