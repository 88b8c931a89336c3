//! Real chains on real sockets: order, short sends, a peer that goes away, memory that stays.

use super::*;
use crate::buffer::Buffer;
use std::io::Read;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

const COPYING: [SendMode; 2] = [
    SendMode { gathered: false, zero_copy: false, registered: false, flags: 0 },
    SendMode { gathered: true, zero_copy: false, registered: false, flags: 0 },
];
const ZERO_COPY: [SendMode; 3] = [
    SendMode { gathered: false, zero_copy: true, registered: false, flags: 0 },
    SendMode { gathered: false, zero_copy: true, registered: true, flags: 0 },
    SendMode { gathered: true, zero_copy: true, registered: false, flags: 0 },
];

/// A connected pair whose sender's buffer is small: messages go out in parts.
fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    socket2::SockRef::from(&sender).set_send_buffer_size(16 << 10).unwrap();
    (sender, listener.accept().unwrap().0)
}

/// Does this machine take the way? Says why not.
fn takes(way: SendMode) -> bool {
    match super::super::probe::send(way) {
        Ok(()) => true,
        Err(error) => {
            eprintln!("skipped: {way:?}: {error}");
            false
        }
    }
}

/// Messages of this size, each with bytes of its own, in several pieces where the way gathers; and all
/// their bytes.
fn messages(count: usize, bytes: usize, way: SendMode) -> (Vec<Memory>, Vec<u8>) {
    let mut all = Vec::new();
    let memory = (0..count).map(|number| {
        let mut whole = Buffer::zeroed(bytes, 4096);
        whole.iter_mut().enumerate().for_each(|(i, byte)| *byte = (number * 89 + i * 7 + i / 251) as u8);
        all.extend_from_slice(&whole);
        let (third, cut) = (bytes / 3, bytes / 2);
        match way.gathered {
            true => Memory::within(whole, &[0..third, third..cut, cut..bytes]),
            false => Memory::of(vec![whole]),
        }
    });
    (memory.collect(), all)
}

/// Sends `rounds` times the line's messages in calls of `call`, and returns what arrived and the counts.
fn through(
    way: SendMode,
    bytes: usize,
    count: usize,
    call: usize,
    rounds: usize,
) -> (Vec<u8>, Vec<u8>, SubmissionCounts) {
    let (socket, mut peer) = pair();
    let (memory, all) = messages(count, bytes, way);
    let reader = std::thread::spawn(move || {
        let mut got = Vec::new();
        peer.read_to_end(&mut got).unwrap();
        got
    });
    let mut line = SendQueue::new(socket.as_raw_fd(), memory, call, way).unwrap();
    for _ in 0..rounds * count / call {
        line.send(call).unwrap();
    }
    line.settle().unwrap();
    assert!(!line.owed());
    let counts = line.counts();
    drop(line);
    socket.shutdown(std::net::Shutdown::Write).unwrap();
    (reader.join().unwrap(), all.repeat(rounds), counts)
}

#[test]
fn chains_keep_the_order_of_messages() {
    for way in COPYING.into_iter().chain(ZERO_COPY).filter(|way| takes(*way)) {
        for (bytes, count, call) in [(1, 1, 1), (1000, 8, 8), (70_000, 6, 3), (70_000, 4, 1)] {
            let (got, sent, counts) = through(way, bytes, count, call, 5);
            assert!(got == sent, "{way:?}, {count} messages of {bytes} in calls of {call}");
            let expected = if way.zero_copy { 5 * count as u64 } else { 0 };
            assert_eq!(counts.notifications, expected, "{way:?}");
            assert_eq!(counts.copied, expected, "loopback copies after all: {way:?}");
            assert_eq!(counts.entries, 5 * count as u64 + expected, "{way:?}");
        }
    }
}

/// A request that must not wait ends short when the socket's buffer is full, and breaks its chain.
#[test]
fn a_short_send_is_finished_before_the_next_message() {
    for way in COPYING.into_iter().chain(ZERO_COPY).filter(|way| takes(*way)) {
        let way = SendMode { flags: libc::MSG_DONTWAIT, ..way };
        let (got, sent, counts) = through(way, 300_000, 4, 4, 3);
        assert!(got == sent, "{way:?}");
        assert!(counts.entries > 12, "nothing was short: {way:?} {counts:?}");
    }
}

#[test]
fn a_peer_that_goes_away_is_an_error_and_no_wait() {
    for way in COPYING.into_iter().chain(ZERO_COPY).filter(|way| takes(*way)) {
        let (socket, peer) = pair();
        let (memory, _) = messages(4, 100_000, way);
        let mut line = SendQueue::new(socket.as_raw_fd(), memory, 4, way).unwrap();
        let closer = std::thread::spawn(move || {
            crate::sleep::sleep(Duration::from_millis(20));
            drop(peer);
        });
        let error = (0..10_000).find_map(|_| line.send(4).err()).expect("the peer is gone");
        let code = error.raw_os_error();
        assert!([Some(libc::EPIPE), Some(libc::ECONNRESET)].contains(&code), "{way:?}: {error}");
        closer.join().unwrap();
    }
}

#[test]
fn a_slot_is_whole_again_after_its_parts_are_out() {
    let way = COPYING[1];
    let (memory, _) = messages(1, 100, way);
    let mut slot = memory.into_iter().map(|memory| Slot::new(memory, 0, way).unwrap()).next().unwrap();
    slot.advance(40);
    slot.advance(59);
    assert_eq!(slot.left(), 1);
    slot.renew();
    assert_eq!(slot.left(), 100);
}

#[test]
fn a_message_in_pieces_needs_a_gather_and_registration_one_buffer() {
    let (socket, _peer) = pair();
    let pieces = || Memory::of(vec![Buffer::zeroed(8, 16), Buffer::zeroed(8, 16)]);
    let refused =
        |way| SendQueue::new(socket.as_raw_fd(), vec![pieces()], 1, way).map(drop).unwrap_err().kind();
    if takes(COPYING[0]) {
        assert_eq!(refused(COPYING[0]), io::ErrorKind::InvalidInput);
        let way = SendMode { gathered: true, zero_copy: true, registered: true, flags: 0 };
        assert_eq!(refused(way), io::ErrorKind::InvalidInput);
    }
}
