//! Real streams: every byte in order, buffers that run out, the peer's end, and a request taken back.

use super::*;
use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;

fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (sender, listener.accept().unwrap().0)
}

fn available() -> bool {
    super::super::probe::receive().inspect_err(|error| eprintln!("skipped: {error}")).is_ok()
}

#[test]
fn every_byte_arrives_in_order_and_then_the_end() {
    if !available() {
        return;
    }
    // One small buffer runs out with every piece; many large ones do not.
    for (buffers, buffer_bytes) in [(1, 100), (4, 4096), (8, 32 << 10)] {
        let (mut sender, receiver) = pair();
        let sent: Vec<u8> = (0..1_000_000usize).map(|i| (i * 7 + i / 251) as u8).collect();
        let bytes = sent.clone();
        let writer = std::thread::spawn(move || sender.write_all(&bytes).unwrap());
        let mut stream = MultishotReceive::new(receiver.as_raw_fd(), buffers, buffer_bytes).unwrap();
        let mut got = Vec::new();
        loop {
            let bytes = stream.receive().unwrap();
            let pieces: Vec<&[u8]> = stream.pieces().collect();
            assert_eq!(pieces.iter().map(|piece| piece.len()).sum::<usize>(), bytes);
            pieces.into_iter().for_each(|piece| got.extend_from_slice(piece));
            if bytes == 0 {
                break;
            }
        }
        writer.join().unwrap();
        assert!(got == sent, "{buffers} buffers of {buffer_bytes}: {} bytes", got.len());
        assert_eq!(stream.receive().unwrap(), 0, "the end stays the end");
    }
}

#[test]
fn a_stream_that_waits_can_be_dropped() {
    if !available() {
        return;
    }
    let (mut sender, receiver) = pair();
    let mut stream = MultishotReceive::new(receiver.as_raw_fd(), 2, 4096).unwrap();
    sender.write_all(b"x").unwrap();
    assert_eq!(stream.receive().unwrap(), 1);
    assert!(stream.disarm(), "the kernel gave the buffers back");
}

#[test]
fn an_error_of_the_connection_is_told() {
    if !available() {
        return;
    }
    let (sender, receiver) = pair();
    let mut stream = MultishotReceive::new(receiver.as_raw_fd(), 2, 4096).unwrap();
    socket2::SockRef::from(&sender).set_linger(Some(Duration::ZERO)).unwrap();
    drop(sender);
    assert_eq!(stream.receive().unwrap_err().raw_os_error(), Some(libc::ECONNRESET));
}
