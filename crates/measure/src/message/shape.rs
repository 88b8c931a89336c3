//! The shape of a message: how many pieces it lies in, and how large each is.
//!
//! Pieces are separated by commas, each `SIZE`, `NxSIZE`, `rest` or `Nxrest`; what the sizes leave of the message is shared by
//! the pieces that have none. A plain number is so many equal pieces. The usual shape is eight, as in the course assignments
//! that the study repeats. Source: writev(2) (IOV_MAX).

use super::{Alignment, MESSAGE_BYTES};
use std::fmt;
use syscost_core::axis::{Axis, NameAxis, Point};
use syscost_core::units::{parse_bytes, short_bytes};
use syscost_host::Unavailable;

pub const FIELDS: NameAxis = NameAxis::new("fields");

/// Sizes of a message: one byte for each of eight pieces at least.
pub const SMALLEST: u64 = USUAL;
pub const LARGEST: u64 = 1 << 30;
/// Pieces that one call takes (UIO_MAXIOV).
pub const MOST_PIECES: u64 = 1024;

const USUAL: u64 = 8;
/// What a piece without a size is called.
const REST: &str = "rest";

/// Runs of equal pieces, in the order of the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageShape(Vec<EqualPieces>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct EqualPieces {
    pieces: u64,
    /// Of each piece; `None`: its part of what the others leave.
    bytes: Option<u64>,
}

/// The only piece whose size hangs on that of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenPiece {
    /// The first is 1.
    pub place: u64,
    pub pieces: u64,
    /// Bytes of all others.
    pub others: u64,
}

impl Default for MessageShape {
    fn default() -> MessageShape {
        MessageShape(vec![EqualPieces { pieces: USUAL, bytes: None }])
    }
}

impl MessageShape {
    /// The shape at this point: the usual one where it says none.
    pub fn of(point: &Point) -> MessageShape {
        point.text(FIELDS).and_then(|text| MessageShape::parse(text).ok()).unwrap_or_default()
    }

    pub fn parse(text: &str) -> Result<MessageShape, String> {
        let number = text.trim().parse::<u64>().ok();
        let shape = match number {
            Some(pieces) => MessageShape(vec![EqualPieces { pieces, bytes: None }]),
            None => MessageShape(text.split(',').map(EqualPieces::parse).collect::<Result<_, _>>()?),
        };
        let pieces = shape.0.iter().fold(0, |sum: u64, run| sum.saturating_add(run.pieces));
        if pieces > MOST_PIECES {
            let one = number.map_or(String::new(), |bytes| format!("; one piece of {bytes} B is 1x{bytes}"));
            return Err(format!("{pieces} pieces are more than the {MOST_PIECES} that one call takes{one}"));
        }
        if shape.0.iter().any(|run| run.pieces == 0 || run.bytes == Some(0)) {
            return Err("there must be at least one piece, and a byte in each".into());
        }
        let (given, open) = (shape.given_bytes(), shape.open_pieces());
        if given.saturating_add(open) > LARGEST {
            return Err(format!("its pieces are more than the largest message, {}", short_bytes(LARGEST)));
        }
        if open == 0 && given < SMALLEST {
            return Err(format!(
                "its pieces are {given} B together, and the smallest message is {SMALLEST} B"
            ));
        }
        Ok(shape)
    }

    pub fn pieces(&self) -> u64 {
        self.0.iter().map(|run| run.pieces).sum()
    }

    /// Bytes of the pieces whose size it says.
    fn given_bytes(&self) -> u64 {
        let bytes = |run: &EqualPieces| run.pieces.saturating_mul(run.bytes.unwrap_or(0));
        self.0.iter().map(bytes).fold(0, u64::saturating_add)
    }

    fn open_pieces(&self) -> u64 {
        self.0.iter().filter(|run| run.bytes.is_none()).map(|run| run.pieces).sum()
    }

    /// The size of the message where every piece has one.
    pub fn whole_bytes(&self) -> Option<u64> {
        (self.open_pieces() == 0).then(|| self.given_bytes())
    }

    /// `None`: there are none, or several, or nothing else beside it.
    pub fn open_piece(&self) -> Option<OpenPiece> {
        let at = self.0.iter().position(|run| run.bytes.is_none())?;
        let place = self.0[..at].iter().map(|run| run.pieces).sum::<u64>() + 1;
        let (pieces, others) = (self.pieces(), self.given_bytes());
        (self.open_pieces() == 1 && pieces > 1).then_some(OpenPiece { place, pieces, others })
    }

    /// The length of each piece of a message of so many bytes, remainders spread over the first of those that share.
    pub fn lengths(&self, bytes: u64) -> Vec<usize> {
        let (left, open) = (bytes.saturating_sub(self.given_bytes()), self.open_pieces().max(1));
        let mut shared = 0;
        let all = self.0.iter().flat_map(|run| std::iter::repeat_n(run.bytes, run.pieces as usize));
        let length = |size: Option<u64>| match size {
            Some(bytes) => bytes as usize,
            None => {
                shared += 1;
                (left / open + u64::from(shared <= left % open)) as usize
            }
        };
        all.map(length).collect()
    }

    /// Memory that the pieces of such a message take.
    pub fn room(&self, bytes: u64, alignment: Alignment) -> u64 {
        self.lengths(bytes).iter().map(|length| length.next_multiple_of(alignment.bytes()) as u64).sum()
    }
}

impl EqualPieces {
    fn parse(text: &str) -> Result<EqualPieces, String> {
        let text = text.trim();
        let (pieces, size) = match text.split_once(['x', 'X']) {
            Some((pieces, size)) => (pieces.trim().parse().map_err(|_| wrong(text))?, size.trim()),
            None => (1, text),
        };
        let open = size == REST || size == "*";
        let bytes = if open { None } else { Some(parse_bytes(size).map_err(|_| wrong(text))?) };
        Ok(EqualPieces { pieces, bytes })
    }
}

fn wrong(text: &str) -> String {
    format!(
        "{text:?} is no piece: write sizes separated by commas, as in 24,512K or 8x64, with {REST} for a piece that takes what \
         --size leaves, as in 24,{REST}; or a number of equal pieces, as in 3"
    )
}

/// The form that [`MessageShape::parse`] reads back, one for each shape.
impl fmt::Display for MessageShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [EqualPieces { pieces, bytes: None }] = self.0[..] {
            return write!(f, "{pieces}");
        }
        for (at, run) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let times = if run.pieces == 1 { String::new() } else { format!("{}x", run.pieces) };
            let size = run.bytes.map_or(REST.to_string(), short_bytes);
            // A number by itself is one of pieces.
            let alone =
                self.0.len() == 1 && run.pieces == 1 && size.bytes().all(|byte| byte.is_ascii_digit());
            write!(f, "{comma}{times}{}{size}", if alone { "1x" } else { "" })?;
        }
        Ok(())
    }
}

/// Has every piece at least a byte of the point's message?
pub fn fits(point: &Point) -> Result<(), Unavailable> {
    let (shape, Some(bytes)) = (MessageShape::of(point), point.int(MESSAGE_BYTES)) else { return Ok(()) };
    let least = shape.given_bytes() + shape.open_pieces();
    if bytes >= least {
        return Ok(());
    }
    Err(Unavailable {
        reason: format!("a message of {bytes} B has not a byte for every piece of {shape}"),
        remedy: format!(
            "take messages of at least {least} B (--size), or fewer or smaller pieces (--fields)"
        ),
    })
}

/// Do the pieces of so many messages fit into one list of pieces?
pub fn fits_together(point: &Point, axis: &Axis, messages: u64) -> Result<(), Unavailable> {
    let pieces = MessageShape::of(point).pieces();
    if pieces.saturating_mul(messages) <= MOST_PIECES {
        return Ok(());
    }
    Err(Unavailable {
        reason: format!(
            "{messages} messages of {pieces} pieces are more than the {MOST_PIECES} pieces that one call takes"
        ),
        remedy: format!(
            "take --{} {} or fewer, or fewer pieces (--fields)",
            axis.flag,
            (MOST_PIECES / pieces).max(1)
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parsed(text: &str) -> MessageShape {
        MessageShape::parse(text).unwrap_or_else(|why| panic!("{text}: {why}"))
    }

    #[test]
    fn shapes_are_read_as_people_write_them() {
        for (text, kept, bytes, lengths) in [
            ("8", "8", 20, &[3, 3, 3, 3, 2, 2, 2, 2][..]),
            ("24,512K", "24,512K", 0, &[24, 512 << 10]),
            ("24, 524288 B", "24,512K", 0, &[24, 512 << 10]),
            ("2x4,1Kib", "2x4,1K", 0, &[4, 4, 1024]),
            ("24,*", "24,rest", 100, &[24, 76]),
            ("2xrest,24,rest", "2xrest,24,rest", 100, &[26, 25, 24, 25]),
            ("3xrest", "3", 9, &[3, 3, 3]),
            ("rest", "1", 9, &[9]),
            ("1x24", "1x24", 0, &[24]),
            ("4K", "4K", 0, &[4096]),
        ] {
            let shape = parsed(text);
            assert_eq!((shape.to_string().as_str(), &shape.lengths(bytes)[..]), (kept, lengths), "{text}");
            assert_eq!(parsed(kept), parsed(&shape.to_string()), "{text}");
        }
        let open = |text: &str| parsed(text).open_piece();
        assert_eq!(open("24,rest"), Some(OpenPiece { place: 2, pieces: 2, others: 24 }));
        assert_eq!(open("2x8,rest,4"), Some(OpenPiece { place: 3, pieces: 4, others: 20 }));
        assert!(
            ["8", "rest", "24,512K", "rest,24,rest", "24,2xrest"].iter().all(|text| open(text).is_none())
        );
    }

    #[test]
    fn what_is_no_shape_says_what_to_write() {
        for (text, why) in [
            ("24,bogus", "24,rest"),
            ("", "24,rest"),
            ("24,", "24,rest"),
            ("x4", "24,rest"),
            ("-3", "24,rest"),
            ("1.5", "24,rest"),
            ("99999999999999999999", "24,rest"),
            ("0", "a byte in each"),
            ("24,0", "a byte in each"),
            ("0x4K,24", "a byte in each"),
            ("2000", "1x2000"),
            ("1000x4,25x4", "1024"),
            ("18446744073709551615x1,1x8", "1024"),
            ("1G,1", "1G"),
            ("1G,rest", "1G"),
            ("3,4", "smallest message is 8 B"),
        ] {
            let error = MessageShape::parse(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    fn runs() -> impl Strategy<Value = String> {
        let run =
            (1u64..200, prop_oneof![Just("rest".to_string()), (1u64..1 << 22).prop_map(|n| n.to_string())]);
        proptest::collection::vec(run, 1..6)
            .prop_map(|runs| runs.iter().map(|(n, size)| format!("{n}x{size}")).collect::<Vec<_>>().join(","))
    }

    proptest! {
        #[test]
        fn pieces_add_up_to_the_message(text in runs(), more in 0u64..100_000) {
            let Ok(shape) = MessageShape::parse(&text) else { return Ok(()) };
            prop_assert_eq!(parsed(&shape.to_string()), shape.clone(), "{}", shape);
            let least = shape.given_bytes() + shape.open_pieces();
            let bytes = shape.whole_bytes().unwrap_or(least + more);
            let lengths = shape.lengths(bytes);
            prop_assert_eq!(lengths.len() as u64, shape.pieces());
            prop_assert_eq!(lengths.iter().sum::<usize>() as u64, bytes);
            prop_assert!(lengths.iter().all(|length| *length > 0));
            let mut point = Point::default();
            point.set(FIELDS.id, syscost_core::axis::Value::text(text));
            point.set(MESSAGE_BYTES.id, syscost_core::axis::Value::Int(bytes));
            prop_assert!(fits(&point).is_ok());
            if least > 1 && shape.whole_bytes().is_none() {
                point.set(MESSAGE_BYTES.id, syscost_core::axis::Value::Int(least - 1));
                prop_assert!(fits(&point).is_err());
            }
        }

        #[test]
        fn no_text_panics(text in "[0-9xKMGrest,* .]{0,24}") {
            let _ = MessageShape::parse(&text);
        }
    }
}
