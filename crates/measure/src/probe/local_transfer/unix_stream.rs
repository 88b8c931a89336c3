//! `unix_stream`: a Unix stream socket: the kernel's copies without TCP. Source: unix(7).

use super::files::{FileTaker, Gatherer};
use super::way::{Carrier, CarrierAbout};
use crate::mechanism::{self, Sender, Tally};
use crate::message::Message;
use crate::receiver::Receiver;
use anyhow::Result;
use std::io;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use syscost_core::axis::Point;

pub struct UnixStreamSocket;

impl Carrier for UnixStreamSocket {
    fn about(&self) -> CarrierAbout {
        CarrierAbout {
            id: "unix_stream",
            title: "Unix stream socket",
            summary: "writev(2) of the eight fields, read(2): copied in and copied out, no protocol between",
        }
    }

    fn receive(&self, channel: &UnixStream, _: &Point) -> Result<Box<dyn Receiver>> {
        Ok(Box::new(FileTaker::new(channel.try_clone()?)))
    }

    fn send(&self, channel: &UnixStream, message: Message, point: &Point) -> Result<Box<dyn Sender>> {
        let stream = channel.try_clone()?;
        Ok(Box::new(UnixStreamSender {
            gatherer: Gatherer::new(stream, message, mechanism::per_call(point)),
        }))
    }
}

struct UnixStreamSender {
    gatherer: Gatherer<UnixStream>,
}

impl Sender for UnixStreamSender {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        self.gatherer.send(messages)
    }

    fn tally(&self) -> Tally {
        self.gatherer.tally()
    }
}

impl Drop for UnixStreamSender {
    fn drop(&mut self) {
        // Other descriptors of the socket are open, so closing this one would end nothing. If it fails,
        // the socket is gone, and the stream with it.
        let _ = self.gatherer.carrier().shutdown(Shutdown::Write);
    }
}
