//! TLS records made and opened inside the kernel (kTLS), with keys that are given to it.
//!
//! Nothing is negotiated here: both sides use one fixed key that anybody can read below. It measures
//! encryption and protects nothing; no secret may ever go through it.
//! Sources: Documentation/networking/tls.rst, linux/tls.h, RFC 8446, RFC 5116.

use super::socket::{option_into, set_option_of};
use std::io;
use std::os::fd::RawFd;

// Of linux/tls.h; libc lacks them.
const TLS_TX: libc::c_int = 1;
const TLS_RX: libc::c_int = 2;
const TLS_1_3_VERSION: u16 = 0x0304;
const TLS_CIPHER_AES_GCM_128: u16 = 51;

/// `struct tls12_crypto_info_aes_gcm_128`, which TLS 1.3 uses as well.
#[repr(C)]
struct AesGcm128 {
    version: u16,
    cipher: u16,
    iv: [u8; 8],
    key: [u8; 16],
    salt: [u8; 4],
    record: [u8; 8],
}

/// One direction of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Send,
    Receive,
}

/// Puts the TLS layer on a connected TCP socket: from now on it can be given keys.
pub fn layer(socket: RawFd) -> io::Result<()> {
    set_option_of(socket, libc::IPPROTO_TCP, libc::TCP_ULP, b"tls")
}

/// From now on this direction is TLS 1.3 records of AES-128-GCM under the test key.
pub fn encrypt(socket: RawFd, direction: Direction) -> io::Result<()> {
    let info = AesGcm128 {
        version: TLS_1_3_VERSION,
        cipher: TLS_CIPHER_AES_GCM_128,
        iv: *b"test iv!",
        key: *b"not a secret key",
        salt: *b"salt",
        record: [0; 8],
    };
    let option = match direction {
        Direction::Send => TLS_TX,
        Direction::Receive => TLS_RX,
    };
    // SAFETY: plain integers and arrays without padding (2 + 2 + 8 + 16 + 4 + 8), live for the call.
    let bytes =
        unsafe { std::slice::from_raw_parts((&raw const info).cast::<u8>(), std::mem::size_of_val(&info)) };
    set_option_of(socket, libc::SOL_TLS, option, bytes)
}

/// Bytes of a record beside its payload: header, type of its content, tag (RFC 8446, 5.2).
pub const FRAMING_BYTES: u64 = 5 + 1 + 16;

/// Records that this socket has made since it was given its key, by the number of the next one.
pub fn records_made(socket: RawFd) -> io::Result<u64> {
    let mut info = AesGcm128 {
        version: TLS_1_3_VERSION,
        cipher: TLS_CIPHER_AES_GCM_128,
        iv: [0; 8],
        key: [0; 16],
        salt: [0; 4],
        record: [0; 8],
    };
    // SAFETY: any bytes make a valid one.
    unsafe { option_into(socket, libc::SOL_TLS, TLS_TX, &mut info) }?;
    Ok(u64::from_be_bytes(info.record))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_without_the_layer_takes_no_keys() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = std::os::fd::AsRawFd::as_raw_fd(&stream);
        assert!(encrypt(socket, Direction::Send).is_err());
        assert!(records_made(socket).is_err());
    }
}
