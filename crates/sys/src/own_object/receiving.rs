//! A user's way to receive: what it hands back is looked at before anybody reads it.

use super::{
    OfferedCode, OwnLibrary, OwnMessage, RawAxis, RawMessage, RawPiece, checked, list, made, offered_code,
    succeeded, text,
};
use std::ffi::{c_char, c_int, c_void};
use std::io;
use std::os::fd::RawFd;
use std::{ptr, slice};

/// Pieces that one call may hand back: as many as one recvmsg(2) fills (IOV_MAX).
const MOST_PIECES: usize = 1024;

#[repr(C)]
pub(super) struct RawReceiver {
    size: usize,
    name: *const c_char,
    summary: *const c_char,
    axes: *const RawAxis,
    axis_count: usize,
    open: Option<unsafe extern "C" fn(c_int, *const RawMessage) -> *mut c_void>,
    receive: Option<ReceiveFunction>,
    close: Option<unsafe extern "C" fn(*mut c_void)>,
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
    fn receivers(&self) -> Result<Vec<&'static RawReceiver>, String> {
        // SAFETY: the header declares a list of so many pointers.
        let all = unsafe { list(self.exports.receivers, self.exports.receiver_count) }?;
        let sized = |raw: *const RawReceiver| checked(raw, |raw| raw.size, "syscost_receiver");
        all.iter().map(|raw| sized(*raw)).collect()
    }

    pub(super) fn offered_receivers(&self) -> Result<Vec<OfferedCode>, String> {
        let offered = |raw: &RawReceiver| {
            let code = offered_code(raw.name, raw.summary, (raw.axes, raw.axis_count))?;
            if raw.open.is_none() || raw.receive.is_none() {
                return Err(format!("its receiver {} lacks open() or receive()", code.name));
            }
            Ok(code)
        };
        self.receivers()?.into_iter().map(offered).collect()
    }

    /// Opens the way of this name on a connected socket; its messages have fields of these lengths.
    pub fn receiver(
        &self,
        name: &str,
        socket: RawFd,
        lengths: &[usize],
        settings: &[(String, String)],
    ) -> io::Result<OwnReceiving> {
        let found = self.receivers().map_err(io::Error::other)?;
        let found = found.into_iter().find(|raw| text(raw.name, "").is_ok_and(|own| own == name));
        let raw = found.ok_or_else(|| io::Error::other(format!("the object has no receiver {name}")))?;
        let piece = |bytes: &usize| RawPiece { data: ptr::null(), bytes: *bytes };
        let message = OwnMessage::of(lengths.iter().map(piece).collect(), 0, settings, Vec::new())?;
        let (Some(open), Some(receive)) = (raw.open, raw.receive) else {
            return Err(io::Error::other(format!("its receiver {name} lacks open() or receive()")));
        };
        // SAFETY: the message and all that it points to live as long as what is returned.
        let context = made(|| unsafe { open(socket, message.raw()) }, "open")?;
        Ok(OwnReceiving { raw, receive, context, received: OwnReceived::NOTHING, _message: message })
    }
}

/// A user's way to receive on one connection, used by one thread.
pub struct OwnReceiving {
    raw: &'static RawReceiver,
    receive: ReceiveFunction,
    context: *mut c_void,
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
        let status = unsafe { (self.receive)(self.context, &raw mut self.received) };
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

impl Drop for OwnReceiving {
    fn drop(&mut self) {
        if let Some(close) = self.raw.close {
            // SAFETY: the context is the object's own, and is not used again.
            unsafe { close(self.context) };
        }
    }
}
