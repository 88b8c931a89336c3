//! `ktls_send`: one contiguous buffer, one send(2), encrypted by the kernel into TLS records.
//!
//! `send` with what a secure connection adds: the kernel encrypts from the sender's buffer into pages of
//! its own, a record of at most 16 KiB at a time, and opens the records for the receiver. A call ends a
//! record (no MSG_MORE here: shutdown(2) would lose a record that is left open). The key is a fixed test key. Source: Documentation/networking/tls.rst.

use super::ktls::Ktls;
use super::send::SEND;
use super::{About, Handover, MESSAGES_PER_CALL, Packing, Reuse, Sending};

pub static KTLS_SEND: Ktls = Ktls {
    about: About {
        id: "ktls_send",
        title: "encrypted send (kTLS)",
        summary: "one contiguous buffer, one send(2), which the kernel encrypts (TLS 1.3, AES-128-GCM, in software)",
        source: "Documentation/networking/tls.rst",
        // Not MSG_MORE: shutdown(2) would lose a record that is left open.
        axes: &[MESSAGES_PER_CALL],
        ..About::of(Sending::of(Packing::Beforehand, Handover::Encrypted, Reuse::AtReturn))
    },
    sends: &SEND,
};
