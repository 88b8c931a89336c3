//! `peers stamped`: one-way latency at a fixed rate, measured in another way than syscost's open loop.
//!
//! Each message carries when it was due and when it was sent (CLOCK_MONOTONIC), so that the receiver needs to be
//! told no schedule and counts no messages. The sender looks at the clock all the time and never sleeps; times are
//! kept one by one and sorted, in no histogram. It shares no code with what it is compared with: std and libc only.

use anyhow::{Context, Result, ensure};
use clap::{Args, Subcommand};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};

/// Due and sent, little-endian nanoseconds: the first bytes of a message.
pub const STAMPS_BYTES: usize = 16;
/// What is sent before anything counts.
const WARM_UP_NS: u64 = 100_000_000;
/// From the start of the sender to the first message.
const LEAD_NS: u64 = 5_000_000;
/// As many bytes as a read of ours asks for.
const READ_BYTES: usize = 128 << 10;
/// A quantile needs so many beyond it.
const BEYOND: usize = 10;

/// Measures one-way latency with stamps in every message
#[derive(Clone, Debug, Args)]
pub struct Options {
    #[command(subcommand)]
    side: Side,
}

#[derive(Clone, Debug, Subcommand)]
enum Side {
    /// Receives one stream and prints its quantiles
    Receive {
        #[arg(long)]
        port: u16,
        #[arg(long)]
        message_bytes: usize,
    },
    /// Sends messages at a rate, each when it is due
    Send {
        #[arg(long)]
        address: Ipv4Addr,
        #[arg(long)]
        port: u16,
        #[arg(long)]
        message_bytes: usize,
        /// Messages a second
        #[arg(long)]
        rate: u64,
        #[arg(long)]
        seconds: u64,
        #[arg(long)]
        nodelay: bool,
    },
}

pub fn run(options: &Options) -> Result<()> {
    match &options.side {
        Side::Receive { port, message_bytes } => {
            let listener = TcpListener::bind((Ipv4Addr::UNSPECIFIED, *port)).context("cannot listen")?;
            let (latency, lateness) = receive(listener.accept()?.0, *message_bytes)?;
            println!("{}", said(latency, lateness)?);
            Ok(())
        }
        Side::Send { address, port, message_bytes, rate, seconds, nodelay } => {
            let stream = TcpStream::connect((*address, *port)).context("cannot connect")?;
            stream.set_nodelay(*nodelay)?;
            let interval_ns = 1e9 / *rate as f64;
            let messages = (WARM_UP_NS + seconds * 1_000_000_000) as f64 / interval_ns;
            send(stream, *message_bytes, interval_ns, messages as u64)
        }
    }
}

fn now_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer describes a live timespec; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

fn send(mut stream: TcpStream, message_bytes: usize, interval_ns: f64, messages: u64) -> Result<()> {
    ensure!(message_bytes >= STAMPS_BYTES, "a message holds two stamps of eight bytes");
    let mut message = vec![0; message_bytes];
    let start_ns = now_ns() + LEAD_NS;
    for number in 0..messages {
        let due_ns = start_ns + (number as f64 * interval_ns) as u64;
        let mut sent_ns = now_ns();
        while sent_ns < due_ns {
            std::hint::spin_loop();
            sent_ns = now_ns();
        }
        message[..8].copy_from_slice(&due_ns.to_le_bytes());
        message[8..STAMPS_BYTES].copy_from_slice(&sent_ns.to_le_bytes());
        stream.write_all(&message).context("cannot send")?;
    }
    Ok(())
}

/// Latencies from due to arrived, and how late each was sent, of all messages after the warm-up.
fn receive(mut stream: TcpStream, message_bytes: usize) -> Result<(Vec<u64>, Vec<u64>)> {
    let mut buffer = vec![0; READ_BYTES.max(message_bytes)];
    let (mut latency, mut lateness) = (Vec::new(), Vec::new());
    let (mut held, mut first_due) = (0, None);
    loop {
        let got = stream.read(&mut buffer[held..]).context("cannot receive")?;
        if got == 0 {
            ensure!(held == 0, "the stream ended within a message");
            return Ok((latency, lateness));
        }
        let arrived_ns = now_ns();
        held += got;
        let whole = held - held % message_bytes;
        for message in buffer[..whole].chunks_exact(message_bytes) {
            let stamp = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().expect("eight bytes"));
            let (due_ns, sent_ns) = (stamp(0), stamp(8));
            if due_ns >= *first_due.get_or_insert(due_ns) + WARM_UP_NS {
                latency.push(arrived_ns - due_ns);
                lateness.push(sent_ns - due_ns);
            }
        }
        buffer.copy_within(whole..held, 0);
        held -= whole;
    }
}

fn said(mut latency: Vec<u64>, mut lateness: Vec<u64>) -> Result<String> {
    latency.sort_unstable();
    lateness.sort_unstable();
    let longest = *latency.last().context("no message after the warm-up")?;
    let mut words = vec![format!("count={}", latency.len()), format!("max={longest}")];
    for (name, per_mille) in [("p50", 500), ("p99", 990), ("p999", 999)] {
        for (of, sorted) in [("", &latency), ("late_", &lateness)] {
            let place = (sorted.len() * per_mille).div_ceil(1000);
            if sorted.len() - place >= BEYOND {
                words.push(format!("{of}{name}={}", sorted[place - 1]));
            }
        }
    }
    Ok(words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_of_the_sorted_times_and_need_ten_beyond() {
        let times: Vec<u64> = (1..=1000).rev().collect();
        let text = said(times.clone(), vec![5; 1000]).unwrap();
        assert!(text.starts_with("count=1000 max=1000 p50=500 late_p50=5 p99=990"), "{text}");
        assert!(!text.contains("p999="), "one lies beyond: {text}");
        assert!(said(Vec::new(), Vec::new()).is_err());
    }

    #[test]
    fn every_message_after_the_warm_up_is_timed_across_reads() {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        // 2,000 a second for 200 ms: half of them are the warm-up.
        let sender = std::thread::spawn(move || send(stream, 100_000, 500_000.0, 400));
        let (latency, lateness) = receive(listener.accept().unwrap().0, 100_000).unwrap();
        sender.join().unwrap().unwrap();
        assert_eq!((latency.len(), lateness.len()), (200, 200));
        assert!(latency.iter().zip(&lateness).all(|(all, late)| all >= late));
    }
}
