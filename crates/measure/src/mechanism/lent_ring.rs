//! A ring of messages whose pages are lent to the kernel, without a word when they come back.
//!
//! A slot holds the messages of one call, its fields placed as the heap places them or at the start of
//! pages. When a slot may be written again is told from the bytes that are acknowledged; see the
//! mechanism that lends. The kernel keeps the pages of a ring that is unmapped as long as it needs them.

use crate::message::{Alignment, Message, PAGE};
use std::io;
use std::os::fd::RawFd;
use std::time::Duration;
use syscost_sys::mapping::{Mapping, Pages};
use syscost_sys::socket;
use syscost_sys::splice::Lent;

/// Where an allocator puts pieces; smaller ones lie where a structure would have them, or a ring of
/// messages of a few bytes would be mostly holes.
const HEAP_ALIGNMENT: usize = 16;
/// How long to sleep between two looks at what is acknowledged.
const NAP: Duration = Duration::from_micros(50);

/// The ring's dimensions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LentShape {
    /// The lengths of a message's fields.
    fields: Vec<usize>,
    alignment: Alignment,
    per_call: usize,
    slots: usize,
    /// A slot is free when this much more than its own bytes is acknowledged.
    unread: u64,
}

impl LentShape {
    /// Slots for what may be unread, what may be on its way, and the call that is being made.
    pub fn new(
        fields: Vec<usize>,
        alignment: Alignment,
        per_call: usize,
        unread: u64,
        on_the_way: u64,
    ) -> LentShape {
        let mut shape = LentShape { fields, alignment, per_call, slots: 1, unread };
        shape.slots += (unread + on_the_way).div_ceil(shape.call_bytes()) as usize;
        shape
    }

    /// Bytes of memory.
    pub fn memory_bytes(&self) -> usize {
        self.slots * self.slot_bytes()
    }

    fn slot_bytes(&self) -> usize {
        self.per_call * self.message_stride()
    }

    fn message_stride(&self) -> usize {
        self.fields.iter().map(|length| self.room(*length)).sum()
    }

    /// Bytes from the start of a field to that of the next.
    fn room(&self, length: usize) -> usize {
        let unit = match self.alignment {
            Alignment::Heap => length.next_power_of_two().min(HEAP_ALIGNMENT),
            Alignment::Page => PAGE,
        };
        length.next_multiple_of(unit)
    }

    /// Payload of a slot.
    pub fn call_bytes(&self) -> u64 {
        (self.fields.iter().sum::<usize>() * self.per_call) as u64
    }
}

pub struct LentRing {
    socket: RawFd,
    shape: LentShape,
    /// Where each field of a slot lies in it, and how long it is.
    fields: Vec<(usize, usize)>,
    memory: Mapping,
    /// Calls made.
    calls: u64,
    /// Bytes that are known to be acknowledged.
    acknowledged: u64,
}

impl LentRing {
    /// Every slot filled with the message, as often as a call takes it.
    pub fn new(socket: RawFd, message: &Message, shape: LentShape) -> io::Result<LentRing> {
        let mut memory = Mapping::anonymous(shape.memory_bytes(), Pages::Base)?;
        let mut fields = Vec::new();
        let mut at = 0;
        for _ in 0..shape.per_call {
            for length in &shape.fields {
                fields.push((at, *length));
                at += shape.room(*length);
            }
        }
        let (first, others) = memory.split_at_mut(shape.slot_bytes());
        for ((start, length), field) in fields.iter().zip(message.fields().iter().cycle()) {
            first[*start..start + length].copy_from_slice(field);
        }
        for slot in others.chunks_exact_mut(shape.slot_bytes()).take(shape.slots - 1) {
            slot.copy_from_slice(first);
        }
        Ok(LentRing { socket, shape, fields, memory, calls: 0, acknowledged: 0 })
    }

    pub fn per_call(&self) -> u64 {
        self.shape.per_call as u64
    }

    /// Waits until the next slot may be written; returns the system calls that it took.
    #[inline]
    pub fn wait_for_slot(&mut self) -> io::Result<u64> {
        // Up to the end of the slot's last use, and as much as can be unread behind it.
        let Some(uses_before) = (self.calls + 1).checked_sub(self.shape.slots as u64) else { return Ok(0) };
        let needed = match uses_before {
            0 => return Ok(0),
            calls => calls * self.shape.call_bytes() + self.shape.unread,
        };
        if self.acknowledged >= needed { Ok(0) } else { self.wait_for(needed) }
    }

    #[cold]
    fn wait_for(&mut self, needed: u64) -> io::Result<u64> {
        let sent = self.calls * self.shape.call_bytes();
        let mut calls = 0;
        loop {
            calls += 1;
            self.acknowledged = sent.saturating_sub(socket::unacknowledged(self.socket)?);
            if self.acknowledged >= needed {
                return Ok(calls);
            }
            // What MSG_MORE or Nagle's algorithm holds back is never acknowledged.
            socket::push(self.socket)?;
            socket::sleep_while_connected(self.socket, NAP)?;
            calls += 2;
        }
    }

    /// The next slot's memory.
    pub fn slot(&mut self) -> &mut [u8] {
        let at = self.at();
        &mut self.memory[at..at + self.shape.slot_bytes()]
    }

    /// Gives out the next slot's fields, and goes on to the one after it.
    #[inline]
    pub fn lend(&mut self, lent: &mut Lent) {
        let at = self.at();
        for (start, length) in &self.fields {
            lent.push(&self.memory[at + start..at + start + length]);
        }
        self.calls += 1;
    }

    fn at(&self) -> usize {
        (self.calls % self.shape.slots as u64) as usize * self.shape.slot_bytes()
    }
}
