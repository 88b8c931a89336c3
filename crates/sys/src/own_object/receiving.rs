//! A user's way to receive: what it hands back is looked at before anybody reads it.

use super::{
    EndFunction, OpenFunction, OwnContext, OwnKind, OwnLibrary, OwnMessage, RawCode, RawHead, RawPiece,
    lacking, made, succeeded,
};
use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::{ptr, slice};

/// Pieces that one call may hand back: as many as one recvmsg(2) fills (IOV_MAX).
const MOST_PIECES: usize = 1024;

#[repr(C)]
pub(super) struct RawReceiver {
    _head: RawHead,
    open: Option<OpenFunction>,
    receive: Option<ReceiveFunction>,
    close: Option<EndFunction>,
}

// SAFETY: as the header has it.
unsafe impl RawCode for RawReceiver {
    const KIND: OwnKind = OwnKind::Receiver;

    fn lacks(&self) -> Option<&'static str> {
        (self.open.is_none() || self.receive.is_none()).then_some("lacks open() or receive()")
    }
}

type ReceiveFunction = unsafe extern "C" fn(*mut c_void, *mut OwnReceived) -> c_int;

/// What the last call handed back, and what the object has added up so far.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct OwnReceived {
    pieces: *const RawPiece,
    piece_count: usize,
    pub system_calls: u64,
    pub copied_bytes: u64,
    pub uncopied_bytes: u64,
}

impl OwnReceived {
    const NOTHING: OwnReceived = OwnReceived {
        pieces: ptr::null(),
        piece_count: 0,
        system_calls: 0,
        copied_bytes: 0,
        uncopied_bytes: 0,
    };

    fn pieces(&self) -> &[RawPiece] {
        if self.pieces.is_null() {
            return &[];
        }
        // SAFETY: not null, and `receive` refused what is no list; it stays until the next call.
        unsafe { slice::from_raw_parts(self.pieces, self.piece_count) }
    }

    /// Bytes of all pieces; 0 at the end of the stream.
    fn bytes(&self) -> io::Result<usize> {
        let refused = |what: &str| Err(io::Error::other(format!("receive() handed back {what}")));
        if self.piece_count > MOST_PIECES || (self.pieces.is_null() && self.piece_count > 0) {
            return refused(&format!(
                "{} pieces, in a list that is NULL or longer than {MOST_PIECES}",
                self.piece_count
            ));
        }
        let mut bytes = 0usize;
        for piece in self.pieces() {
            if piece.data.is_null() || piece.bytes == 0 {
                return refused("a piece without bytes: only the end of the stream has none, and no piece");
            }
            bytes = bytes.saturating_add(piece.bytes);
        }
        Ok(bytes)
    }
}

impl OwnLibrary {
    /// Opens the way of this name on a connected socket; its messages have fields of these lengths.
    pub fn receiver(
        &self,
        name: &str,
        socket: RawFd,
        lengths: &[usize],
        settings: &[(String, String)],
    ) -> io::Result<OwnReceiving> {
        let raw: &RawReceiver = self.find(name)?;
        let piece = |bytes: &usize| RawPiece { data: ptr::null(), bytes: *bytes };
        let message = OwnMessage::of(lengths.iter().map(piece).collect(), 0, settings, Vec::new())?;
        let (Some(open), Some(receive)) = (raw.open, raw.receive) else {
            return Err(lacking(raw, name));
        };
        // SAFETY: the message and all that it points to live as long as what is returned.
        let made = made(|| unsafe { open(socket, message.raw()) }, "open")?;
        let context = OwnContext { made, end: raw.close };
        Ok(OwnReceiving { receive, context, received: OwnReceived::NOTHING, _message: message })
    }
}

/// A user's way to receive on one connection, used by one thread.
pub struct OwnReceiving {
    receive: ReceiveFunction,
    context: OwnContext,
    pub received: OwnReceived,
    /// It was given pointers to it.
    _message: OwnMessage,
}

impl OwnReceiving {
    /// Bytes that came; 0 at the end of the stream.
    #[inline]
    pub fn receive(&mut self) -> io::Result<usize> {
        (self.received.pieces, self.received.piece_count) = (ptr::null(), 0);
        // SAFETY: the context is the object's own; what it adds to is live and exclusively borrowed.
        let status = unsafe { (self.receive)(self.context.made, &raw mut self.received) };
        let bytes = succeeded(status, "receive()").and_then(|()| self.received.bytes());
        if bytes.is_err() {
            (self.received.pieces, self.received.piece_count) = (ptr::null(), 0);
        }
        bytes
    }

    /// What the last call handed back.
    pub fn last(&self) -> Vec<&[u8]> {
        // SAFETY: the object says that so many bytes are there until the next call; a lie is its own crash.
        let bytes = |piece: &RawPiece| unsafe { slice::from_raw_parts(piece.data.cast::<u8>(), piece.bytes) };
        self.received.pieces().iter().map(bytes).collect()
    }
}
