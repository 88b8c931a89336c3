//! The message: what every mechanism sends, and how its bytes are verified.
//!
//! Separately allocated fields on the heap, whose sizes its shape says (`shape.rs`), filled with a pattern that depends on
//! the offset: a swapped, lost, repeated or stale byte shows. Copies of payload in user space are counted here, whoever asks
//! for them.

mod shape;

pub use shape::{FIELDS, LARGEST, MOST_PIECES, MessageShape, OpenPiece, SMALLEST, fits, fits_together};

use std::cell::Cell;
use syscost_core::axis::{IntAxis, NameAxis, Point};
use syscost_sys::buffer::Buffer;

pub const MESSAGE_BYTES: IntAxis = IntAxis::new("message_bytes");
pub const ALIGNMENT: NameAxis = NameAxis::new("alignment");

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

    /// Where a field may start.
    pub fn bytes(self) -> usize {
        match self {
            Alignment::Heap => 16,
            Alignment::Page => PAGE,
        }
    }
}

/// Filled fields.
#[derive(Debug)]
pub struct Message {
    fields: Vec<Buffer>,
    alignment: Alignment,
}

impl Message {
    /// Of the usual shape.
    pub fn new(bytes: usize, alignment: Alignment) -> Message {
        Message::of(&MessageShape::default().lengths(bytes as u64), alignment)
    }

    /// With fields of these lengths.
    pub fn of(lengths: &[usize], alignment: Alignment) -> Message {
        let mut fields = empty_fields(lengths, alignment);
        let mut offset = 0;
        for field in &mut fields {
            fill(field, offset);
            offset += field.len();
        }
        Message { fields, alignment }
    }

    /// Another message with the same sizes and content in memory of its own.
    pub fn twin(&self) -> Message {
        Message::of(&self.lengths(), self.alignment)
    }

    pub fn fields(&self) -> &[Buffer] {
        &self.fields
    }

    pub fn lengths(&self) -> Vec<usize> {
        self.fields.iter().map(|field| field.len()).collect()
    }

    /// The fields themselves, for an owner that outlives the message.
    pub fn into_fields(self) -> Vec<Buffer> {
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

/// Room for fields of these lengths, zeroed.
pub fn empty_fields(lengths: &[usize], alignment: Alignment) -> Vec<Buffer> {
    lengths.iter().map(|length| Buffer::zeroed(*length, alignment.bytes())).collect()
}

/// The eight bytes of every message from 8 x `index` on.
#[inline]
fn pattern_word(index: usize) -> [u8; 8] {
    let word = (index as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ (word >> 29)).to_le_bytes()
}

/// The byte at this offset of every message.
#[inline]
pub fn pattern(offset: usize) -> u8 {
    pattern_word(offset / 8)[offset % 8]
}

/// Fills a piece of a message that starts at `offset`: by words, because a round fills hundreds of megabytes.
pub fn fill(piece: &mut [u8], offset: usize) {
    let single = |bytes: &mut [u8], from: usize| {
        bytes.iter_mut().enumerate().for_each(|(i, byte)| *byte = pattern(from + i));
    };
    let before_words = (offset.next_multiple_of(8) - offset).min(piece.len());
    let (head, rest) = piece.split_at_mut(before_words);
    single(head, offset);
    let at = offset + head.len();
    let mut words = rest.chunks_exact_mut(8);
    let mut index = at / 8;
    for word in &mut words {
        word.copy_from_slice(&pattern_word(index));
        index += 1;
    }
    single(words.into_remainder(), index * 8);
}

/// Checks a piece of a stream of messages against the pattern; the error is the stream offset of
/// the first wrong byte.
pub fn verify(piece: &[u8], stream_offset: u64, message_bytes: usize) -> Result<(), u64> {
    let mut offset = (stream_offset % message_bytes as u64) as usize;
    let mut checked = 0;
    while checked < piece.len() {
        let of_message = (message_bytes - offset).min(piece.len() - checked);
        let wrong = first_wrong(&piece[checked..checked + of_message], offset);
        if let Some(wrong) = wrong {
            return Err(stream_offset + (checked + wrong) as u64);
        }
        checked += of_message;
        offset = 0;
    }
    Ok(())
}

/// Where a piece of one message, from this offset on, is not the pattern.
fn first_wrong(piece: &[u8], offset: usize) -> Option<usize> {
    /// A few cache lines: what is verified of a piece while others are timed is 64 bytes.
    const AT_ONCE: usize = 256;
    let mut expected = [0; AT_ONCE];
    piece.chunks(AT_ONCE).zip((0..).step_by(AT_ONCE)).find_map(|(bytes, at)| {
        let expected = &mut expected[..bytes.len()];
        fill(expected, offset + at);
        let wrong = || bytes.iter().zip(&*expected).position(|(byte, expected)| byte != expected);
        if bytes == expected { None } else { wrong().map(|place| at + place) }
    })
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
        fn one_wrong_byte_is_found(bytes in 8usize..3000, at in 0usize..6000, from in 0usize..20, flip in 1u8..=255) {
            let mut stream = flat(&Message::new(bytes, Alignment::Heap)).repeat(3);
            let at = at % stream.len();
            stream[at] ^= flip;
            let found = if at < from { Ok(()) } else { Err(at as u64) };
            prop_assert_eq!(verify(&stream[from..], from as u64, bytes), found);
        }

        #[test]
        fn words_are_filled_as_single_bytes_are(offset in 0usize..100, length in 0usize..100) {
            let mut piece = vec![0; length];
            fill(&mut piece, offset);
            prop_assert_eq!(piece, (offset..offset + length).map(pattern).collect::<Vec<u8>>());
        }
    }

    #[test]
    fn page_aligned_fields_start_on_pages() {
        let message = Message::new(1000, Alignment::Page);
        assert!(message.fields().iter().all(|f| (f.as_ptr() as usize) % PAGE == 0));
    }
}
