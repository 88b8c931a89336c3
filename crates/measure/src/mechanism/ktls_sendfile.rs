//! `ktls_sendfile`: sendfile(2) of messages in a file, encrypted by the kernel into TLS records.
//!
//! What a web server does with a static file: the bytes never come to user memory; the kernel encrypts
//! from the page cache into pages of its own. The key is a fixed test key.
//! Sources: Documentation/networking/tls.rst, sendfile(2).

use super::ktls::Ktls;
use super::sendfile::SendFile;
use super::{About, Handover, MESSAGES_PER_CALL, Packing, Reuse, Sending};

pub static KTLS_SENDFILE: Ktls = Ktls {
    about: About {
        id: "ktls_sendfile",
        title: "encrypted sendfile (kTLS)",
        summary: "sendfile(2) of a file in memory, which the kernel encrypts (TLS 1.3, AES-128-GCM, in software)",
        source: "Documentation/networking/tls.rst",
        // Not MSG_MORE: shutdown(2) would lose a record that is left open.
        axes: &[MESSAGES_PER_CALL],
        ..About::of(Sending::of(Packing::Beforehand, Handover::Encrypted, Reuse::File))
    },
    sends: &SendFile,
};
