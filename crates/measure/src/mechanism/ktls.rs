//! What the mechanisms share that send TLS records made by the kernel (kTLS, in software).
//!
//! Sources: Documentation/networking/tls.rst, RFC 8446.

use super::{About, Mechanism, Sender, SenderSetup, Sending, Tally};
use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use syscost_host::files::Root;
use syscost_host::{Unavailable, settings};
use syscost_sys::tls::{self, Direction};

/// A mechanism whose socket encrypts what another one sends.
pub struct Ktls {
    pub about: About<Sending>,
    pub sends: &'static dyn Mechanism,
}

impl Mechanism for Ktls {
    fn about(&self) -> About<Sending> {
        self.about
    }

    /// Tries it on a connection of its own.
    fn available(&self) -> Result<(), Unavailable> {
        let tried = || {
            let listener = TcpListener::bind("127.0.0.1:0")?;
            let stream = TcpStream::connect(listener.local_addr()?)?;
            encrypt(stream.as_raw_fd(), Direction::Send)
        };
        tried().map_err(|error| Unavailable {
            reason: format!("the kernel makes no TLS records on a TCP socket ({error})"),
            remedy: settings::module_remedy(&Root::here(), "tls", "CONFIG_TLS"),
        })
    }

    fn prepare_receiver(&self, socket: RawFd) -> io::Result<()> {
        encrypt(socket, Direction::Receive)
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        encrypt(setup.socket, Direction::Send)?;
        Ok(Box::new(EncryptedSender { socket: setup.socket, sender: self.sends.start(setup)? }))
    }
}

fn encrypt(socket: RawFd, direction: Direction) -> io::Result<()> {
    tls::layer(socket)?;
    tls::encrypt(socket, direction)
}

struct EncryptedSender {
    socket: RawFd,
    sender: Box<dyn Sender>,
}

impl Sender for EncryptedSender {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        self.sender.send(messages)
    }

    /// What the kernel sent beside the payload, by its own number of records.
    fn tally(&self) -> Tally {
        let framing_bytes = tls::records_made(self.socket).map_or(0, |records| records * tls::FRAMING_BYTES);
        Tally { framing_bytes, ..self.sender.tally() }
    }
}
