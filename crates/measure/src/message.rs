//! The eight-field message: what every mechanism sends, and how its bytes are verified.
//!
//! Eight separately allocated heap fields whose sizes add up to the message size, remainders
//! spread over the first ones, filled with a pattern that depends on the offset: a swapped,
//! lost, repeated or stale byte shows. Copies of payload in user space are counted here, whoever asks for them.

use std::cell::Cell;
use syscost_core::axis::{IntAxis, NameAxis, Point};
use syscost_sys::buffer::Buffer;

pub const MESSAGE_BYTES: IntAxis = IntAxis::new("message_bytes");
pub const ALIGNMENT: NameAxis = NameAxis::new("alignment");

/// Fields of a message, as in the course assignments that the study repeats.
pub const FIELDS: usize = 8;
/// The smallest message: one byte a field.
pub const SMALLEST: u64 = FIELDS as u64;
pub const PAGE: usize = 4096;

/// How each field is allocated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alignment {
    /// As the allocator gives it (16 bytes).
    Heap,
    /// Every field at the start of a page.
    Page,
}

impl Alignment {
    pub fn of(point: &Point) -> Alignment {
        if point.text(ALIGNMENT) == Some("page") { Alignment::Page } else { Alignment::Heap }
    }
}

/// Eight filled fields.
#[derive(Debug)]
pub struct Message {
    fields: [Buffer; FIELDS],
    alignment: Alignment,
}

impl Message {
    pub fn new(bytes: usize, alignment: Alignment) -> Message {
        let mut fields = empty_fields(bytes, alignment);
        let mut offset = 0;
        for field in &mut fields {
            fill(field, offset);
            offset += field.len();
        }
        Message { fields, alignment }
    }

    /// Another message with the same sizes and content in memory of its own.
    pub fn twin(&self) -> Message {
        Message::new(self.len(), self.alignment)
    }

    pub fn fields(&self) -> &[Buffer; FIELDS] {
        &self.fields
    }

    /// The fields themselves, for an owner that outlives the message.
    pub fn into_fields(self) -> [Buffer; FIELDS] {
        self.fields
    }

    pub fn alignment(&self) -> Alignment {
        self.alignment
    }

    /// Copies the fields one after the other into `packed`, which is as long as the message, and counts that.
    #[inline]
    pub fn pack_into(&self, packed: &mut [u8]) {
        let mut at = 0;
        for field in &self.fields {
            packed[at..at + field.len()].copy_from_slice(field);
            at += field.len();
        }
        count_copied(at as u64);
    }

    /// Message size in bytes.
    pub fn len(&self) -> usize {
        self.fields.iter().map(|f| f.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

thread_local! {
    static USER_COPIED: Cell<u64> = const { Cell::new(0) };
}

/// Counts payload that this thread copied from user memory to user memory; nothing else can see such a copy.
#[inline]
pub fn count_copied(bytes: u64) {
    USER_COPIED.set(USER_COPIED.get().wrapping_add(bytes));
}

/// Payload bytes that this thread has copied within user space, in all its life.
pub fn user_copied_bytes() -> u64 {
    USER_COPIED.get()
}

/// Room for the eight fields of a message of so many bytes, zeroed.
pub fn empty_fields(bytes: usize, alignment: Alignment) -> [Buffer; FIELDS] {
    let align = match alignment {
        Alignment::Heap => 16,
        Alignment::Page => PAGE,
    };
    std::array::from_fn(|i| Buffer::zeroed(bytes / FIELDS + usize::from(i < bytes % FIELDS), align))
}

/// The byte at this offset of every message.
#[inline]
pub fn pattern(offset: usize) -> u8 {
    let word = (offset as u64 >> 3).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((word ^ (word >> 29)) >> ((offset & 7) * 8)) as u8
}

/// Fills a piece of a message that starts at `offset`.
pub fn fill(piece: &mut [u8], offset: usize) {
    for (i, byte) in piece.iter_mut().enumerate() {
        *byte = pattern(offset + i);
    }
}

/// Checks a piece of a stream of messages against the pattern; the error is the stream offset of
/// the first wrong byte.
pub fn verify(piece: &[u8], stream_offset: u64, message_bytes: usize) -> Result<(), u64> {
    let mut offset = (stream_offset % message_bytes as u64) as usize;
    for (i, byte) in piece.iter().enumerate() {
        if *byte != pattern(offset) {
            return Err(stream_offset + i as u64);
        }
        offset += 1;
        if offset == message_bytes {
            offset = 0;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn flat(message: &Message) -> Vec<u8> {
        message.fields().iter().flat_map(|f| f.to_vec()).collect()
    }

    proptest! {
        #[test]
        fn fields_add_up_and_verify(bytes in 8usize..5000, page in any::<bool>()) {
            let message = Message::new(bytes, if page { Alignment::Page } else { Alignment::Heap });
            prop_assert_eq!(message.len(), bytes);
            let sizes: Vec<usize> = message.fields().iter().map(|f| f.len()).collect();
            prop_assert!(sizes.iter().max().unwrap() - sizes.iter().min().unwrap() <= 1);
            let mut stream = flat(&message);
            stream.extend(flat(&message.twin()));
            prop_assert_eq!(verify(&stream, 0, bytes), Ok(()));
            prop_assert_eq!(verify(&stream[3..], 3, bytes), Ok(()));
        }

        #[test]
        fn one_wrong_byte_is_found(bytes in 64usize..5000, at in 0usize..64, flip in 1u8..=255) {
            let mut stream = flat(&Message::new(bytes, Alignment::Heap));
            stream[at] ^= flip;
            prop_assert_eq!(verify(&stream, 0, bytes), Err(at as u64));
        }
    }

    #[test]
    fn page_aligned_fields_start_on_pages() {
        let message = Message::new(1000, Alignment::Page);
        assert!(message.fields().iter().all(|f| (f.as_ptr() as usize).is_multiple_of(PAGE)));
    }
}
