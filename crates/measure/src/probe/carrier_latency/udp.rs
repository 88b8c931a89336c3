//! Messages of a latency over UDP: one datagram each, numbered, by send(2) and recv(2) on connected sockets.

use super::super::datagram_transfer::pair::{End, PATIENCE};
use super::super::datagram_transfer::way::{NUMBER_BYTES, number};
use crate::mechanism::{Sender, Tally, contiguous};
use crate::probe::Task;
use crate::probe::streaming::sending;
use crate::probe::tcp_latency::carrier::{CarrierEnds, LatencyCarrier, WantedEnds};
use crate::receiver::{Received, Receiver};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::io::{self, ErrorKind};
use std::net::{TcpStream, UdpSocket};
use std::os::fd::AsRawFd;
use syscost_sys::buffer::Buffer;
use syscost_sys::socket;

pub const CARRIER: LatencyCarrier =
    LatencyCarrier { ends, is_the_connection: false, facts: |_| BTreeMap::new() };

fn ends(task: &Task, line: &TcpStream, wanted: WantedEnds) -> Result<CarrierEnds> {
    let End { socket, line, .. } = End::of(task, line, true)?;
    let mut message = contiguous(&sending::message(task)?, 1);
    let head = *message.first_chunk().context("a datagram has a number")?;
    let receiver = wanted.receives().then(|| -> Result<Box<dyn Receiver>> {
        // A byte of room more: a datagram that is too long shows.
        let buffer = Buffer::zeroed(message.len() + 1, NUMBER_BYTES);
        let socket = socket.try_clone().context("cannot keep the socket")?;
        let bytes = message.len();
        Ok(Box::new(DatagramTaker { socket, line, buffer, bytes, head, next: 0, filled: 0 }))
    });
    let receiver = receiver.transpose()?;
    number(&mut message, 0);
    let sender =
        wanted.sends().then(|| Box::new(NumberedSender { socket, message, sent: 0 }) as Box<dyn Sender>);
    Ok(CarrierEnds { sender, receiver })
}

struct NumberedSender {
    socket: UdpSocket,
    message: Buffer,
    sent: u64,
}

impl Sender for NumberedSender {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        for _ in 0..messages {
            number(&mut self.message, self.sent);
            socket::send_all(self.socket.as_raw_fd(), &self.message, 0)?;
            self.sent += 1;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        Tally { system_calls: self.sent, ..Tally::default() }
    }
}

impl Drop for NumberedSender {
    /// An empty datagram ends the stream; where it is lost the end of the line does.
    fn drop(&mut self) {
        let _ = self.socket.send(&[]);
    }
}

struct DatagramTaker {
    socket: UdpSocket,
    line: TcpStream,
    buffer: Buffer,
    bytes: usize,
    /// What a message has in the place of its number.
    head: [u8; NUMBER_BYTES],
    next: u64,
    filled: usize,
}

impl DatagramTaker {
    fn line_has_ended(&self) -> io::Result<bool> {
        match socket::receive(self.line.as_raw_fd(), &mut [0], libc::MSG_PEEK | libc::MSG_DONTWAIT) {
            Ok(bytes) => Ok(bytes == 0),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Is it the next datagram, whole? Its number gives way to what a message has there.
    fn check(&mut self, got: usize) -> io::Result<()> {
        if got != self.bytes {
            return Err(io::Error::other(format!("a datagram of {} bytes came with {got}", self.bytes)));
        }
        let number = self.buffer.first_chunk().map_or(0, |number| u64::from_le_bytes(*number));
        if number != self.next {
            let next = self.next;
            return Err(io::Error::other(match number > next {
                true => format!(
                    "{} datagrams were lost from number {next} on: latencies are of messages that come (a lower --rate, or \
                     a larger --socket-buffer)",
                    number - next
                ),
                false => format!("datagram {number} came late or twice: number {next} was the next"),
            }));
        }
        self.next += 1;
        self.buffer[..NUMBER_BYTES].copy_from_slice(&self.head);
        Ok(())
    }
}

impl Receiver for DatagramTaker {
    fn receive(&mut self) -> io::Result<Received> {
        let mut system_calls = 0;
        loop {
            system_calls += 1;
            match socket::receive(self.socket.as_raw_fd(), &mut self.buffer, 0) {
                Ok(bytes) => {
                    if bytes > 0 {
                        self.check(bytes)?;
                    }
                    self.filled = bytes;
                    return Ok(Received { bytes, system_calls });
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if self.line_has_ended()? {
                        self.filled = 0;
                        return Ok(Received { bytes: 0, system_calls });
                    }
                    if system_calls > PATIENCE {
                        let why =
                            format!("datagram {} did not come: it, or what it answers, was lost", self.next);
                        return Err(io::Error::new(ErrorKind::TimedOut, why));
                    }
                }
                Err(error) => return Err(error),
            }
        }
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(vec![&self.buffer[..self.filled]])
    }
}
