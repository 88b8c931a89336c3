//! The ledger against connections of the test's own: both families, pages of files, receivers that do
//! not copy, and strangers.

use crate::{ledger, turn};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;
use syscost_measure::ledger::{Counts, Ledger, Watched};
use syscost_sys::namespace;

/// More than fits into one segment, and no multiple of a page.
const BYTES: usize = 3_000_001;

struct Connection {
    sender: TcpStream,
    receiver: TcpStream,
    port: u16,
}

fn connect(address: &str) -> Option<Connection> {
    let listener = TcpListener::bind((address, 0)).ok()?;
    let port = listener.local_addr().ok()?.port();
    let mut sender = TcpStream::connect((address, port)).ok()?;
    let (mut receiver, _) = listener.accept().ok()?;
    // Data that comes while the connection is being set up is handled elsewhere in the kernel.
    sender.write_all(b"!").ok()?;
    receiver.read_exact(&mut [0]).ok()?;
    receiver.set_read_timeout(Some(Duration::from_secs(20))).ok()?;
    Some(Connection { sender, receiver, port })
}

fn watch(ledger: &mut Ledger, port: u16) {
    let here = namespace::current("net").and_then(|n| namespace::number(n.as_fd())).expect("a namespace");
    ledger
        .watch(&Watched { port, sender_namespace: here, receiver_namespace: here })
        .expect("the ledger is directed");
}

/// Sends with one function and receives with the other until all has arrived.
fn move_all(
    connection: &mut Connection,
    send: impl FnOnce(&TcpStream) + Send,
    receive: impl Fn(&mut TcpStream) -> usize,
) {
    let Connection { sender, receiver, .. } = connection;
    std::thread::scope(|scope| {
        scope.spawn(|| send(sender));
        let mut got = 0;
        while got < BYTES {
            let piece = receive(receiver);
            assert!(piece > 0, "the stream ended after {got} bytes");
            got += piece;
        }
        assert_eq!(got, BYTES);
    });
}

fn write(stream: &TcpStream) {
    let mut stream = stream;
    stream.write_all(&vec![7; BYTES]).expect("sent");
}

fn read(stream: &mut TcpStream) -> usize {
    stream.read(&mut [0; 100_000]).expect("received")
}

const ALL: u64 = BYTES as u64;

/// One connection is watched while it is served so: what is counted of it.
fn moves(
    test: &str,
    wanted: Moved,
    send: impl FnOnce(&TcpStream) + Send,
    receive: impl Fn(&mut TcpStream) -> usize,
) {
    let _turn = turn();
    let Some(mut ledger) = ledger(test) else { return };
    let mut ours = connect("127.0.0.1").expect("loopback");
    watch(&mut ledger, ours.port);
    move_all(&mut ours, send, receive);
    assert_eq!(counted(&ledger), counts(wanted), "{test}");
}

/// Bytes that were copied in, taken in uncopied and copied out; nothing else was counted.
type Moved = [u64; 3];
const COPIED: Moved = [ALL, 0, ALL];
const UNCOPIED: Moved = [0, ALL, ALL];
const NOT_OUT: Moved = [ALL, 0, 0];

fn counts([copied_in, uncopied_in, copied_out]: Moved) -> Counts {
    Counts { copied_in, uncopied_in, copied_out, ..Counts::default() }
}

/// What was counted; a busy machine may send a segment twice, which is none of these tests' matter.
fn counted(ledger: &Ledger) -> Counts {
    Counts { retransmitted: 0, ..ledger.counts().expect("counts") }
}

#[test]
fn both_families_are_counted_and_strangers_are_not() {
    let _turn = turn();
    let Some(mut ledger) = ledger("both_families_are_counted_and_strangers_are_not") else { return };
    for address in ["127.0.0.1", "::1"] {
        let (Some(mut ours), Some(mut strange)) = (connect(address), connect(address)) else {
            crate::skipped("both_families_are_counted_and_strangers_are_not", &format!("no {address} here"));
            continue;
        };
        watch(&mut ledger, ours.port);
        move_all(&mut strange, write, read);
        assert_eq!(counted(&ledger), Counts::default(), "a connection to another port");
        move_all(&mut ours, write, read);
        assert_eq!(counted(&ledger), counts(COPIED), "{address}");
    }
}

#[test]
fn another_namespace_is_not_ours() {
    let _turn = turn();
    let Some(mut ledger) = ledger("another_namespace_is_not_ours") else { return };
    let mut ours = connect("127.0.0.1").expect("loopback");
    ledger
        .watch(&Watched { port: ours.port, sender_namespace: 1, receiver_namespace: 1 })
        .expect("the ledger is directed");
    move_all(&mut ours, write, read);
    assert_eq!(counted(&ledger), Counts::default());
}

#[test]
fn pages_of_a_file_are_sent_without_a_copy() {
    let mut file = tempfile::tempfile().expect("a scratch file");
    file.write_all(&vec![7; BYTES]).expect("written");
    // The file stays open until all is received: pages of one that is gone would look like the kernel's.
    moves("pages_of_a_file_are_sent_without_a_copy", UNCOPIED, |stream| send_file(&file, stream), read);
}

fn send_file(file: &File, stream: &TcpStream) {
    let mut offset: libc::off_t = 0;
    while (offset as usize) < BYTES {
        let left = BYTES - offset as usize;
        // SAFETY: both descriptors are open, and the offset is live.
        let sent = unsafe { libc::sendfile(stream.as_raw_fd(), file.as_raw_fd(), &mut offset, left) };
        assert!(sent > 0, "{}", std::io::Error::last_os_error());
    }
}

#[test]
fn a_receiver_that_drops_is_not_copied_to() {
    moves("a_receiver_that_drops_is_not_copied_to", NOT_OUT, write, |stream| {
        // SAFETY: with MSG_TRUNC the kernel writes nothing to the buffer, which may then be null.
        let got = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), 100_000, libc::MSG_TRUNC) };
        usize::try_from(got).expect("received")
    });
}

/// Both ends of a pipe, closed when it is dropped.
struct Pipe {
    out: OwnedFd,
    into: OwnedFd,
}

impl Pipe {
    fn new() -> Pipe {
        let mut ends = [0; 2];
        // SAFETY: the array has room for both descriptors.
        assert_eq!(unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) }, 0);
        // SAFETY: the kernel just made them, and nobody else has them.
        let [out, into] = ends.map(|end| unsafe { OwnedFd::from_raw_fd(end) });
        Pipe { out, into }
    }

    /// All that was put in goes to the socket.
    fn empty_into(&self, stream: &TcpStream, mut bytes: usize) {
        while bytes > 0 {
            bytes -= splice(self.out.as_raw_fd(), stream.as_raw_fd(), bytes);
        }
    }
}

fn splice(from: RawFd, to: RawFd, bytes: usize) -> usize {
    let null = std::ptr::null_mut();
    // SAFETY: both descriptors are open, and null offsets are allowed.
    let moved = unsafe { libc::splice(from, null, to, null, bytes, 0) };
    usize::try_from(moved).unwrap_or_else(|_| panic!("{}", std::io::Error::last_os_error()))
}

/// A pipe's capacity.
const PIPED: usize = 64 << 10;

#[test]
fn pages_of_memory_that_is_spliced_are_sent_without_a_copy() {
    const TEST: &str = "pages_of_memory_that_is_spliced_are_sent_without_a_copy";
    // A user's pages (vmsplice), and those of a file in memory: neither is lent until a completion.
    let memory = vec![7; BYTES];
    // SAFETY: the name is a string of C.
    let memfd = unsafe { OwnedFd::from_raw_fd(libc::memfd_create(c"spliced".as_ptr(), libc::MFD_CLOEXEC)) };
    let mut file = File::from(memfd);
    file.write_all(&memory).expect("written");
    let user = |stream: &TcpStream| {
        let pipe = Pipe::new();
        let mut sent = 0;
        while sent < BYTES {
            let piece = &memory[sent..BYTES.min(sent + PIPED / 2)];
            let iovec = libc::iovec { iov_base: piece.as_ptr().cast_mut().cast(), iov_len: piece.len() };
            // SAFETY: the piece is live until all is received, and nobody writes to it.
            let put = unsafe { libc::vmsplice(pipe.into.as_raw_fd(), &iovec, 1, 0) };
            let put = usize::try_from(put).expect("spliced");
            pipe.empty_into(stream, put);
            sent += put;
        }
    };
    let cached = |stream: &TcpStream| {
        let pipe = Pipe::new();
        let mut offset = 0i64;
        while (offset as usize) < BYTES {
            let (from, to) = (file.as_raw_fd(), pipe.into.as_raw_fd());
            // SAFETY: both descriptors are open, and the offset is live.
            let put = unsafe { libc::splice(from, &mut offset, to, std::ptr::null_mut(), PIPED, 0) };
            pipe.empty_into(stream, usize::try_from(put).expect("spliced"));
        }
    };
    moves(TEST, UNCOPIED, user, read);
    moves(TEST, UNCOPIED, cached, read);
}

#[test]
fn what_was_written_into_a_pipe_was_copied_in() {
    let written = |stream: &TcpStream| {
        let pipe = Pipe::new();
        let mut into = File::from(pipe.into.try_clone().expect("one more"));
        let memory = vec![7; PIPED];
        let mut sent = 0;
        while sent < BYTES {
            let piece = into.write(&memory[..PIPED.min(BYTES - sent)]).expect("written");
            pipe.empty_into(stream, piece);
            sent += piece;
        }
    };
    moves("what_was_written_into_a_pipe_was_copied_in", COPIED, written, read);
}

#[test]
fn what_a_receiver_splices_on_is_not_copied() {
    let pipe = Pipe::new();
    let nowhere = File::options().write(true).open("/dev/null").expect("/dev/null");
    moves("what_a_receiver_splices_on_is_not_copied", NOT_OUT, write, |stream| {
        let got = splice(stream.as_raw_fd(), pipe.into.as_raw_fd(), PIPED);
        let mut left = got;
        while left > 0 {
            left -= splice(pipe.out.as_raw_fd(), nowhere.as_raw_fd(), left);
        }
        got
    });
}
