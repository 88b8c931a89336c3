//! `peers sink`: a receiver of ours that takes the stream of another program's sender.
//!
//! The senders of the kernel's self-tests and of liburing's examples come without a receiver, or
//! with one that only drops. Here both sides of a comparison have the same receiver: this one for
//! theirs. It measures as our transfers do: the goodput of a window that begins after a warm-up. It
//! knows nothing of tokens and verifies nothing: what they send is not ours.

use crate::ours::WARM_UP;
use anyhow::{Context, Result, ensure};
use clap::Args;
use socket2::{Domain, Protocol, Socket, Type};
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::time::Duration;
use syscost_core::axis::Point;
use syscost_host::clock;
use syscost_measure::receiver::{self, Receiver, ReceiverSetup};

/// Receives one stream and prints its goodput
#[derive(Clone, Debug, Args)]
pub struct Options {
    #[arg(long)]
    pub port: u16,
    /// A receiver by its id
    #[arg(long)]
    pub receiver: String,
    #[arg(long)]
    pub message_bytes: usize,
    /// SO_RCVBUF; 0 leaves it to autotuning
    #[arg(long, default_value_t = 0)]
    pub buffer_bytes: usize,
    #[arg(long)]
    pub seconds: u64,
}

pub fn run(options: &Options) -> Result<()> {
    let receive =
        receiver::find(&options.receiver).with_context(|| format!("no receiver {}", options.receiver))?;
    let mut point = Point::default();
    for axis in receive.about().axes {
        if let Some(value) = axis.default().into_iter().next() {
            point.set(axis.id, value);
        }
    }
    let stream = accept(options)?;
    let setup =
        ReceiverSetup { socket: stream.as_raw_fd(), message_bytes: options.message_bytes, point: &point };
    let mut receiver = receive.start(setup).context("cannot start the receiver")?;
    let bits_per_second = goodput(receiver.as_mut(), Duration::from_secs(options.seconds))?;
    println!("goodput={bits_per_second}");
    Ok(())
}

fn accept(options: &Options) -> Result<Socket> {
    let listener = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
    if options.buffer_bytes > 0 {
        listener.set_recv_buffer_size(options.buffer_bytes)?;
    }
    let address = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, options.port);
    listener.bind(&address.into()).with_context(|| format!("cannot bind to {address}"))?;
    listener.listen(1)?;
    Ok(listener.accept()?.0)
}

/// Bits per second over one window; then takes the rest, so that the sender ends as it would.
fn goodput(receiver: &mut dyn Receiver, window: Duration) -> Result<f64> {
    let warm = clock::monotonic_ns() + WARM_UP.as_nanos() as u64;
    let mut open = true;
    while open && clock::monotonic_ns() < warm {
        open = receiver.receive()?.bytes > 0;
    }
    let from = clock::monotonic_ns();
    let deadline = from + window.as_nanos() as u64;
    let mut bytes = 0u64;
    while open && clock::monotonic_ns() < deadline {
        let got = receiver.receive()?.bytes;
        bytes += got as u64;
        open = got > 0;
    }
    let elapsed_ns = clock::monotonic_ns() - from;
    ensure!(open, "the sender ended within the window");
    while receiver.receive()?.bytes > 0 {}
    Ok(8e9 * bytes as f64 / elapsed_ns as f64)
}
