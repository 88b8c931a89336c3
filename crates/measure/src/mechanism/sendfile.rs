//! `sendfile`: sendfile(2) of messages that lie in a file, from the page cache.
//!
//! The socket gets references to the file's pages: nothing is copied to it, on any path. What it is
//! measured on is a file in memory that holds the messages of one call. The price is that the bytes
//! must already be in a file, and that whoever writes the file changes what is still on its way.
//! Source: sendfile(2).

use super::page_cache::{FileSource, tried};
use super::{
    About, Handover, MESSAGES_PER_CALL, Mechanism, Packing, Reuse, Sender, SenderSetup, Sending, sender,
};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use syscost_host::Unavailable;
use syscost_sys::splice;

pub struct SendFile;

impl Mechanism for SendFile {
    fn about(&self) -> About<Sending> {
        About {
            id: "sendfile",
            title: "zero-copy, sendfile",
            summary: "sendfile(2) of a file in memory: the socket refers to the page cache",
            source: "sendfile(2)",
            axes: &[MESSAGES_PER_CALL],
            ..About::of(Sending::of(Packing::Beforehand, Handover::Referenced, Reuse::File))
        }
    }

    fn available(&self) -> Result<(), Unavailable> {
        tried("sendfile(2)", |file| {
            let (sender, _receiver) = UnixStream::pair()?;
            splice::send_file(sender.as_raw_fd(), file, 1).map(drop)
        })
    }

    fn start(&self, setup: SenderSetup<'_>) -> io::Result<Box<dyn Sender>> {
        let source = FileSource::new(setup.socket, &setup.message, setup.point)?;
        Ok(sender(setup.point, move || source.send()))
    }
}
