//! What the mechanisms share that send TLS records made by the kernel (kTLS, in software).
//!
//! Sources: Documentation/networking/tls.rst, RFC 8446.

use std::io;
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsRawFd, RawFd};
use syscost_host::Unavailable;
use syscost_sys::tls::{self, Direction};

/// Tries it on a connection of its own.
pub fn available() -> Result<(), Unavailable> {
    tried().map_err(|error| Unavailable {
        reason: format!("the kernel makes no TLS records on a TCP socket ({error})"),
        remedy: "modprobe tls, on a kernel with CONFIG_TLS; the guest of syscost lab has it".into(),
    })
}

fn tried() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let stream = TcpStream::connect(listener.local_addr()?)?;
    send(stream.as_raw_fd())
}

/// The sender's side.
pub fn send(socket: RawFd) -> io::Result<()> {
    tls::layer(socket)?;
    tls::encrypt(socket, Direction::Send)
}

/// Bytes that the kernel has sent beside the payload, by its own number of records.
pub fn framing_bytes(socket: RawFd) -> u64 {
    tls::records_made(socket).map_or(0, |records| records * tls::FRAMING_BYTES)
}

/// The receiver's side, before it reads the first byte.
pub fn receive(socket: RawFd) -> io::Result<()> {
    tls::layer(socket)?;
    tls::encrypt(socket, Direction::Receive)
}
