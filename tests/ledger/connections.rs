//! The ledger against connections of the test's own: both families, pages of files, receivers that do
//! not copy, and strangers.

use crate::{ledger, turn};
use std::fs::File;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;
use syscost::ledger::{Counts, Ledger, Watched};
use syscost::sys::namespace;

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
    let here = namespace::current_net().and_then(|n| namespace::number(n.as_fd())).expect("a namespace");
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
        assert_eq!(ledger.counts().expect("counts"), Counts::default(), "a connection to another port");
        move_all(&mut ours, write, read);
        let counts = ledger.counts().expect("counts");
        assert_eq!(counts, Counts { copied_in: ALL, copied_out: ALL, ..Counts::default() }, "{address}");
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
    assert_eq!(ledger.counts().expect("counts"), Counts::default());
}

#[test]
fn pages_of_a_file_are_sent_without_a_copy() {
    let _turn = turn();
    let Some(mut ledger) = ledger("pages_of_a_file_are_sent_without_a_copy") else { return };
    let mut file = tempfile::tempfile().expect("a scratch file");
    file.write_all(&vec![7; BYTES]).expect("written");
    let mut ours = connect("127.0.0.1").expect("loopback");
    watch(&mut ledger, ours.port);
    // The file stays open until all is received: pages of one that is gone would look like the kernel's.
    move_all(&mut ours, |stream| send_file(&file, stream), read);
    let counts = ledger.counts().expect("counts");
    assert_eq!(counts, Counts { uncopied_in: ALL, copied_out: ALL, ..Counts::default() });
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
    let _turn = turn();
    let Some(mut ledger) = ledger("a_receiver_that_drops_is_not_copied_to") else { return };
    let mut ours = connect("127.0.0.1").expect("loopback");
    watch(&mut ledger, ours.port);
    move_all(&mut ours, write, |stream| {
        // SAFETY: with MSG_TRUNC the kernel writes nothing to the buffer, which may then be null.
        let got = unsafe { libc::recv(stream.as_raw_fd(), std::ptr::null_mut(), 100_000, libc::MSG_TRUNC) };
        usize::try_from(got).expect("received")
    });
    let counts = ledger.counts().expect("counts");
    assert_eq!(counts, Counts { copied_in: ALL, ..Counts::default() });
}
