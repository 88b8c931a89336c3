//! `ktls_sendfile`: sendfile(2) of messages in a file, encrypted by the kernel into TLS records.
//!
//! What a web server does with a static file: the bytes never come to user memory; the kernel encrypts
//! from the page cache into pages of its own. The key is a fixed test key.
//! Sources: Documentation/networking/tls.rst, sendfile(2).

use super::page_cache::Source;
use super::{About, MESSAGES_PER_CALL, Mechanism, Sender, Setup, Tally, ktls, per_call};
use std::io;
use std::os::fd::RawFd;
use syscost_core::axis::Axis;
use syscost_host::Unavailable;
use syscost_sys::splice;

pub struct KtlsSendFile;

impl Mechanism for KtlsSendFile {
    fn about(&self) -> About {
        About {
            id: "ktls_sendfile",
            title: "encrypted sendfile (kTLS)",
            aliases: &[],
            summary: "sendfile(2) of a file in memory, which the kernel encrypts (TLS 1.3, AES-128-GCM, in software)",
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

    fn lies_in_a_file(&self) -> bool {
        true
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Sender>> {
        ktls::send(setup.socket)?;
        Ok(Box::new(EncryptedFile {
            socket: setup.socket,
            per_call: per_call(setup.point),
            source: Source::new(setup.socket, &setup.message, setup.point)?,
            tally: Tally::default(),
        }))
    }
}

struct EncryptedFile {
    socket: RawFd,
    per_call: u64,
    source: Source,
    tally: Tally,
}

impl Sender for EncryptedFile {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages / self.per_call {
            self.tally.system_calls += splice::send_file(self.socket, &self.source.file, self.source.bytes)?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { framing_bytes: ktls::framing_bytes(self.socket), ..self.tally }
    }
}
