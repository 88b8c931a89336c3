//! `recv`: recv(2) into one large reused buffer. Source: recv(2).

use super::{About, Receive, Received, Receiver, Setup};
use crate::axis::{Axis, Kind, Value};
use crate::message::PAGE;
use crate::sys::{buffer::Buffer, socket};
use crate::units::Unit;
use std::io;
use std::os::fd::RawFd;

/// Large enough that a full window is taken in a few calls, small enough to stay in L2 beside what
/// the kernel copies from. 32 KiB to 512 KiB make no difference that can be told here.
const BUFFER_BYTES: usize = 128 * 1024;

pub struct Recv;

const LOW_WATER: &[Axis] = &[Axis {
    id: "low_water_bytes",
    flag: "low-water",
    title: "low-water mark",
    help: "SO_RCVLOWAT: a sleeping receiver is woken when this much has arrived; 1 is the kernel's default",
    unit: Unit::Bytes,
    kind: Kind::Bytes { min: 1, max: 1 << 26 },
    default: || vec![Value::Int(1)],
    quick: || vec![Value::Int(1)],
}];

impl Receive for Recv {
    fn about(&self) -> About {
        About {
            id: "recv",
            title: "recv",
            aliases: &[],
            summary: "recv(2) into one large reused buffer",
            source: "recv(2)",
            in_default: true,
        }
    }

    fn axes(&self) -> &'static [Axis] {
        LOW_WATER
    }

    fn decodes(&self) -> bool {
        true
    }

    fn start(&self, setup: Setup<'_>) -> io::Result<Box<dyn Receiver>> {
        let low_water = setup.point.int("low_water_bytes").unwrap_or(1);
        socket::set_low_water(setup.socket, low_water as libc::c_int)?;
        Ok(Box::new(Reader { socket: setup.socket, buffer: Buffer::zeroed(BUFFER_BYTES, PAGE), filled: 0 }))
    }
}

struct Reader {
    socket: RawFd,
    buffer: Buffer,
    filled: usize,
}

impl Receiver for Reader {
    fn receive(&mut self) -> io::Result<Received> {
        self.filled = socket::receive(self.socket, &mut self.buffer, 0)?;
        Ok(Received { bytes: self.filled, system_calls: 1 })
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(vec![&self.buffer[..self.filled]])
    }
}
