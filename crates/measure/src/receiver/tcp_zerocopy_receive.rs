//! `tcp_zerocopy_receive`: getsockopt(2) TCP_ZEROCOPY_RECEIVE, which maps pages of received data.
//!
//! Only whole pages can be mapped, so a packet's payload has to be whole pages: the MTU must be a multiple
//! of the page size plus the 52 bytes of IPv4 and TCP headers with time stamps, which is what this receiver
//! wants of a link that is made for it. And only pages of their own: an ordinary send puts data into parts
//! of larger (compound) pages, of which nothing is mapped. The rest is copied, by the same call or by
//! recv(2); how much was not is a figure of every sample. What is mapped is not in any cache yet: its
//! reader pays for that later, where a copy pays at once.
//! Source: net/ipv4/tcp.c, tools/testing/selftests/net/tcp_mmap.c.

use super::options::{LOW_WATER, ReceiveWait, WAITING};
use super::{About, Delivery, Receive, Received, Receiver, ReceiverSetup};
use crate::message::PAGE;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use syscost_core::axis::{Point, Value};
use syscost_host::Unavailable;
use syscost_sys::mapping::page_bytes;
use syscost_sys::socket_pages::{SocketPages, Taken, wait_readable};
use syscost_sys::{buffer::Buffer, socket};

/// Most that one call maps.
const MAPPED_BYTES: usize = 1 << 20;
/// Room for what one recv(2) reads because it cannot be mapped.
const COPIED_BYTES: usize = super::recv::BUFFER_BYTES;
/// Of it, what the mapping call may fill itself. The kernel copies everything where no more than this is
/// there: a page, since less cannot be mapped anyway.
const STRAGGLER_BYTES: usize = PAGE;
/// Headers of a packet that carries payload: IPv4 without options, TCP with time stamps.
const HEADER_BYTES: usize = 20 + 32;

pub struct TcpZerocopyReceive;

impl Receive for TcpZerocopyReceive {
    fn about(&self) -> About<Delivery> {
        About {
            id: "tcp_zerocopy_receive",
            title: "zero-copy receive asked",
            summary: "getsockopt(2) TCP_ZEROCOPY_RECEIVE: whole pages are mapped, and the rest is copied",
            source: "linux/tcp.h, tools/testing/selftests/net/tcp_mmap.c",
            // No busy polling: it waits in poll(2), which knows nothing of SO_BUSY_POLL.
            axes: &[LOW_WATER, WAITING],
            ..About::of(Delivery::Mapped)
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        let tried = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).and_then(|s| {
            let mut room = [0; 16];
            SocketPages::of(s.as_raw_fd(), PAGE)?.take(s.as_raw_fd(), &mut room)
        });
        tried.map(|_| ()).map_err(|error| Unavailable {
            reason: format!("the kernel maps no pages of a TCP socket ({error})"),
            remedy: "use Linux 4.18 or later with CONFIG_MMU, and a sandbox that passes mmap and getsockopt on sockets"
                .into(),
        })
    }

    fn copies_because(&self) -> Option<Unavailable> {
        Some(Unavailable {
            reason: "only whole pages of their own can be mapped, and an ordinary send leaves data in parts of larger ones"
                .into(),
            remedy: "a sender that lends its pages, fields that begin at pages (--alignment page), an MTU of a \
                     multiple of the page size plus 52 bytes (IPv4) or 72 (IPv6), or \
                     net.core.high_order_alloc_disable=1 where the sender runs"
                .into(),
        })
    }

    fn wants(&self, axis: &str, _: &Point) -> Option<Value> {
        let mtu = page_bytes() + HEADER_BYTES;
        // Pages of 64 KiB fit into no packet.
        (axis == "mtu" && mtu <= usize::from(u16::MAX)).then_some(Value::Int(mtu as u64))
    }

    fn start(&self, setup: ReceiverSetup<'_>) -> io::Result<Box<dyn Receiver>> {
        Ok(Box::new(Mapper {
            socket: setup.socket,
            waiting: ReceiveWait::of(setup.point),
            pages: SocketPages::of(setup.socket, MAPPED_BYTES)?,
            buffer: Buffer::zeroed(COPIED_BYTES, PAGE),
            copied: 0,
            unmappable: 0,
            uncopied: 0,
        }))
    }
}

struct Mapper {
    socket: RawFd,
    waiting: ReceiveWait,
    pages: SocketPages,
    buffer: Buffer,
    /// Bytes of the last call that are in the buffer; they follow those that are mapped.
    copied: usize,
    /// Bytes that the kernel said have to be read next.
    unmappable: usize,
    uncopied: u64,
}

impl Mapper {
    /// Takes what is there; `None`: nothing is.
    fn take(&mut self) -> io::Result<Option<usize>> {
        match self.pages.take(self.socket, &mut self.buffer[..STRAGGLER_BYTES])? {
            Taken::End => Ok(Some(0)),
            Taken::Bytes { mapped, copied, unmappable } => {
                (self.copied, self.unmappable) = (copied, unmappable);
                self.uncopied += mapped as u64;
                Ok(Some(mapped + copied).filter(|bytes| *bytes > 0))
            }
        }
    }

    /// Reads what could not be mapped; it is there already.
    fn read(&mut self) -> io::Result<usize> {
        self.pages.forget();
        let most = self.unmappable.min(self.buffer.len());
        self.copied = socket::receive(self.socket, &mut self.buffer[..most], 0)?;
        self.unmappable -= self.copied;
        Ok(self.copied)
    }
}

impl Receiver for Mapper {
    fn receive(&mut self) -> io::Result<Received> {
        let mut system_calls = 0;
        while self.unmappable == 0 {
            system_calls += 1;
            self.copied = 0;
            if let Some(bytes) = self.take()? {
                return Ok(Received { bytes, system_calls });
            }
            // Only now: to sleep before each look made twice the calls at 64 KiB, and saved nothing that
            // could be told from the noise at 1 MiB.
            if self.unmappable == 0 && self.waiting == ReceiveWait::Sleep {
                system_calls += 1;
                wait_readable(self.socket)?;
            }
        }
        Ok(Received { bytes: self.read()?, system_calls: system_calls + 1 })
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(vec![self.pages.mapped(), &self.buffer[..self.copied]])
    }

    fn uncopied_bytes(&self) -> u64 {
        self.uncopied
    }
}
