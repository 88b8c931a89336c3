//! A pair whose other end misbehaves.

use super::sending;
use super::way::NUMBER_BYTES;
use super::{DUPLICATED, LOST, MECHANISM, RECEIVER, RECEIVES, REORDERED, SENT, TRUNCATED, receiving};
use crate::mechanism::Sender;
use crate::message::{self, MESSAGE_BYTES};
use crate::probe::streaming::receiving::Source;
use crate::probe::{Task, Timing};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use syscost_core::axis::{Point, Value};

const BYTES: u64 = 100;

fn task(role: &str) -> Task {
    let mut point = Point::default();
    point.set(MECHANISM.id, Value::text("udp_send"));
    point.set(RECEIVER.id, Value::text("udp_recv"));
    point.set(MESSAGE_BYTES.id, Value::Int(BYTES));
    let timing = Timing { warmup_ns: 0, window_ns: 0, windows: 0 };
    Task { role: role.into(), ..Task::of(point, timing) }
}

fn line() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (near, listener.accept().unwrap().0)
}

/// The other side of the line, by hand: a socket, and the port of the one that is tried.
fn by_hand(mut line: &TcpStream, window: u64) -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let said = [u64::from(socket.local_addr().unwrap().port()), window];
    line.write_all(&said.map(u64::to_le_bytes).concat()).unwrap();
    let mut heard = [0; 16];
    line.read_exact(&mut heard).unwrap();
    (socket, u16::from_le_bytes([heard[0], heard[1]]))
}

fn sender(window: u64) -> (Box<dyn Sender>, UdpSocket, TcpStream) {
    let (near, far) = line();
    let started = std::thread::spawn(move || {
        let other = by_hand(&far, window);
        (other, far)
    });
    let sender = sending::start(&task("sender"), &near).unwrap();
    let ((socket, _), far) = started.join().unwrap();
    (sender, socket, far)
}

#[test]
fn where_nobody_receives_any_more_the_error_says_so() {
    let (mut sender, socket, _line) = sender(1000);
    drop(socket);
    let sent = (0..100).find_map(|_| sender.send(1).err()).expect("ICMP says it");
    assert!(sent.to_string().contains("nobody receives there"), "{sent}");
}

#[test]
fn a_receiver_that_stops_gets_no_more_than_its_window_and_is_given_up() {
    let (mut sender, socket, mut line) = sender(5);
    let stopped = sender.send(6).unwrap_err();
    assert!(stopped.to_string().contains("it stopped"), "{stopped}");
    socket.set_nonblocking(true).unwrap();
    let arrived = std::iter::from_fn(|| socket.recv(&mut [0; 200]).ok()).count();
    assert_eq!(arrived, 5);
    // It was told how many were sent.
    let mut note = [0; 8];
    line.read_exact(&mut note).unwrap();
    assert_eq!(u64::from_le_bytes(note), 5);
}

fn datagram(number: u64) -> Vec<u8> {
    let mut bytes = vec![0; BYTES as usize];
    message::fill(&mut bytes, 0);
    bytes[..NUMBER_BYTES].copy_from_slice(&number.to_le_bytes());
    bytes
}

/// What a receiver makes of these datagrams, when so many were sent.
fn received(datagrams: &[Vec<u8>], sent: u64) -> (anyhow::Result<()>, Vec<(&'static str, u64)>) {
    let (near, far) = line();
    let datagrams = datagrams.to_vec();
    let other = std::thread::spawn(move || {
        let (socket, port) = by_hand(&far, 0);
        socket.connect(("127.0.0.1", port)).unwrap();
        datagrams.iter().for_each(|datagram| _ = socket.send(datagram).unwrap());
        super::pair::Note { sent, last: true, ..Default::default() }.tell(&far).unwrap();
        socket.send(&[]).unwrap();
        (socket, far)
    });
    let mut source = receiving::start(&task(RECEIVES), &near).unwrap();
    while source.take_next().unwrap() {}
    let _other = other.join().unwrap();
    (source.whole(), source.totals())
}

#[test]
fn what_is_cut_lost_or_damaged_is_seen() {
    let total = |totals: &[(&str, u64)], wanted| totals.iter().find(|(id, _)| *id == wanted).unwrap().1;
    let mut cut = datagram(1);
    cut.truncate(90);
    let long = [datagram(2), vec![0]].concat();
    let (whole, totals) = received(&[datagram(0), cut, long, datagram(3)], 5);
    whole.unwrap();
    assert_eq!([SENT, LOST, TRUNCATED].map(|id| total(&totals, id)), [5, 3, 2], "the fifth never came");

    let (whole, totals) = received(&[datagram(0), datagram(1)], 2);
    assert_eq!((whole.is_ok(), total(&totals, LOST)), (true, 0));
    let mut damaged = datagram(1);
    damaged[70] ^= 1;
    let (whole, _) = received(&[datagram(0), damaged], 2);
    assert!(whole.unwrap_err().to_string().contains("byte 70"));
}

#[test]
fn what_comes_late_or_twice_is_counted_as_that_and_is_not_lost() {
    let (whole, totals) = received(&[0, 2, 1, 1, 3].map(datagram), 5);
    whole.unwrap();
    let total = |wanted| totals.iter().find(|(id, _)| *id == wanted).unwrap().1;
    assert_eq!([SENT, LOST, REORDERED, DUPLICATED, TRUNCATED].map(total), [5, 1, 1, 1, 0]);
}
