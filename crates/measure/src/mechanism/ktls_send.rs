//! `ktls_send`: one contiguous buffer, one send(2), encrypted by the kernel into TLS records.
//!
//! `send` with what a secure connection adds: the kernel encrypts from the sender's buffer into pages of
//! its own, a record of at most 16 KiB at a time, and opens the records for the receiver. A call ends a
//! record (no MSG_MORE here: shutdown(2) would lose a record that is left open). The key is a fixed test key. Source: Documentation/networking/tls.rst.

use super::{About, MESSAGES_PER_CALL, Mechanism, Sender, Setup, Tally, contiguous, ktls, per_call};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Axis;
use syscost_host::Unavailable;
use syscost_sys::{buffer::Buffer, socket};

pub struct KtlsSend;

impl Mechanism for KtlsSend {
    fn about(&self) -> About {
        About {
            id: "ktls_send",
            title: "encrypted send (kTLS)",
            aliases: &[],
            summary: "one contiguous buffer, one send(2), which the kernel encrypts (TLS 1.3, AES-128-GCM, in software)",
            source: "Documentation/networking/tls.rst",
            in_default: false,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        &[MESSAGES_PER_CALL]
    }

    fn available(&self) -> Result<(), Unavailable> {
        ktls::available()
    }

    fn prepare_receiver(&self, socket: RawFd) -> io::Result<()> {
        ktls::receive(socket)
    }

    fn encoded(&self) -> bool {
        true
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        ktls::send(setup.socket)?;
        Ok(Box::new(Encrypted {
            socket: setup.socket,
            per_call: per_call(setup.point),
            whole: contiguous(&setup.message, per_call(setup.point)),
            tally: Tally::default(),
        }))
    }
}

struct Encrypted {
    socket: RawFd,
    per_call: u64,
    /// The messages of one call.
    whole: Buffer,
    tally: Tally,
}

impl Sender for Encrypted {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.tally.system_calls += socket::send_all(self.socket, &self.whole, 0)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { framing_bytes: ktls::framing_bytes(self.socket), ..self.tally }
    }
}
