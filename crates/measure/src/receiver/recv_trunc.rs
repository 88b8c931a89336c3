//! `recv_trunc`: recv(2) with MSG_TRUNC, which takes bytes off a TCP stream without copying them.
//!
//! Nobody gets the data: it is what receiving costs without the copy to user memory, an upper bound for
//! every receiver that delivers. Calls are as large as those of the ordinary receiver, so that only the
//! copy differs. Source: tcp(7), MSG_TRUNC.

use super::options;
use super::recv::BufferReceive;
use super::{About, Delivery};

pub static RECV_TRUNC: BufferReceive = BufferReceive {
    about: About {
        id: "recv_trunc",
        title: "discards: upper bound",
        summary: "recv(2) with MSG_TRUNC: the bytes are dropped in the kernel and copied to nobody",
        source: "tcp(7), MSG_TRUNC",
        axes: options::OF_RECV,
        ..About::of(Delivery::Discarded)
    },
    flags: libc::MSG_TRUNC,
};
