//! What the ways through the kernel share: writev(2) of a message's fields and read(2) into one buffer.
//!
//! Sources: writev(2), read(2).

use crate::mechanism::{Sender, Tally};
use crate::message::{MOST_PIECES, Message, PAGE};
use crate::receiver::{Received, Receiver};
use std::io::{self, ErrorKind, IoSlice, Read, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use syscost_sys::buffer::Buffer;

/// That of the TCP receiver: what is compared is the path, not the buffer.
const BUFFER_BYTES: usize = 128 * 1024;
const MOST_SLICES: usize = MOST_PIECES as usize;

/// Gathers the fields of so many messages into one writev(2).
pub struct Gatherer<W: Write> {
    into: W,
    message: Message,
    per_call: u64,
    tally: Tally,
}

impl<W: Write> Gatherer<W> {
    pub fn new(into: W, message: Message, per_call: u64) -> Gatherer<W> {
        Gatherer { into, message, per_call, tally: Tally::default() }
    }
}

impl<W: Write> Sender for Gatherer<W> {
    fn send(&mut self, messages: u64) -> io::Result<()> {
        let mut slices = [IoSlice::new(&[]); MOST_SLICES];
        let fields = self.message.fields();
        let used = fields.len() * self.per_call as usize;
        for (slice, field) in slices[..used].iter_mut().zip(fields.iter().cycle()) {
            *slice = IoSlice::new(field);
        }
        for _ in 0..messages / self.per_call {
            self.tally.system_calls += write_all(&mut self.into, &slices[..used])?;
        }
        Ok(())
    }

    fn tally(&self) -> Tally {
        self.tally
    }
}

/// A socket whose other descriptors stay open, so that closing this one would end nothing: dropping it ends the stream.
pub struct EndedByDrop(pub UnixStream);

impl Write for EndedByDrop {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    #[inline]
    fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.write_vectored(slices)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for EndedByDrop {
    fn drop(&mut self) {
        // Where it fails the socket is gone, and the stream with it.
        let _ = self.0.shutdown(Shutdown::Write);
    }
}

/// writev(2) until everything is out; returns the number of calls.
#[inline]
fn write_all(into: &mut impl Write, slices: &[IoSlice<'_>]) -> io::Result<u64> {
    let bytes: usize = slices.iter().map(|slice| slice.len()).sum();
    match into.write_vectored(slices) {
        Ok(written) if written == bytes => Ok(1),
        Ok(written) => write_rest(into, slices, written),
        Err(error) if error.kind() == ErrorKind::Interrupted => write_rest(into, slices, 0),
        Err(error) => Err(error),
    }
}

/// What a call left that a signal cut short.
#[cold]
fn write_rest(into: &mut impl Write, slices: &[IoSlice<'_>], mut written: usize) -> io::Result<u64> {
    let mut owned = [IoSlice::new(&[]); MOST_SLICES];
    owned[..slices.len()].copy_from_slice(slices);
    let mut rest = &mut owned[..slices.len()];
    let mut calls = 1;
    loop {
        IoSlice::advance_slices(&mut rest, written);
        if rest.is_empty() {
            return Ok(calls);
        }
        calls += 1;
        written = match into.write_vectored(rest) {
            Ok(0) => return Err(ErrorKind::WriteZero.into()),
            Ok(written) => written,
            Err(error) if error.kind() == ErrorKind::Interrupted => 0,
            Err(error) => return Err(error),
        };
    }
}

/// read(2) into one large reused buffer.
pub struct FileTaker<R: Read> {
    from: R,
    buffer: Buffer,
    filled: usize,
}

impl<R: Read> FileTaker<R> {
    pub fn new(from: R) -> FileTaker<R> {
        FileTaker { from, buffer: Buffer::zeroed(BUFFER_BYTES, PAGE), filled: 0 }
    }
}

impl<R: Read> Receiver for FileTaker<R> {
    fn receive(&mut self) -> io::Result<Received> {
        let mut system_calls = 0;
        loop {
            system_calls += 1;
            match self.from.read(&mut self.buffer) {
                Ok(bytes) => {
                    self.filled = bytes;
                    return Ok(Received { bytes, system_calls });
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn last(&self) -> Option<Vec<&[u8]>> {
        Some(vec![&self.buffer[..self.filled]])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{Alignment, verify};
    use proptest::prelude::*;

    /// Takes a few bytes at a time, and is interrupted now and then.
    struct Reluctant {
        taken: Vec<u8>,
        turn: usize,
        most: usize,
    }

    impl Write for Reluctant {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.write_vectored(&[IoSlice::new(bytes)])
        }

        fn write_vectored(&mut self, slices: &[IoSlice<'_>]) -> io::Result<usize> {
            self.turn += 1;
            if self.turn % 3 == 0 {
                return Err(ErrorKind::Interrupted.into());
            }
            let before = self.taken.len();
            self.taken.extend(slices.iter().flat_map(|s| s.iter()).take(self.most));
            Ok(self.taken.len() - before)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    proptest! {
        #[test]
        fn partial_writes_lose_and_repeat_nothing(bytes in 8usize..600, per_call in 1u64..5, most in 1usize..700) {
            let into = Reluctant { taken: Vec::new(), turn: 0, most };
            let mut sender = Gatherer::new(into, Message::new(bytes, Alignment::Heap), per_call);
            sender.send(2 * per_call).unwrap();
            let taken = &sender.into.taken;
            prop_assert_eq!(taken.len(), bytes * 2 * per_call as usize);
            prop_assert_eq!(verify(taken, 0, bytes), Ok(()));
            prop_assert!(sender.tally().system_calls >= 2);
        }
    }
}
