//! Requests of generic netlink families that the kernel's devices are configured by, in the calling thread's network
//! namespace.
//!
//! It knows no family: callers name theirs. Source: include/uapi/linux/genetlink.h, netlink(7).

use netlink_packet_core::{DefaultNla, Emitable, NLA_F_NESTED, NlasIterator};
use netlink_sys::{Socket, SocketAddr, protocols::NETLINK_GENERIC};
use std::io;

/// The family that finds others: GENL_ID_CTRL, its CTRL_CMD_GETFAMILY and attributes.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// Of every family that is asked here.
const VERSION: u8 = 1;
/// Headers of netlink and of generic netlink.
const HEADERS: usize = 16 + 4;

/// The kernel's number of a generic netlink family; ENOENT: it has none of this name.
pub fn family(name: &str) -> io::Result<u16> {
    let name = [name.as_bytes(), b"\0"].concat();
    let answer = call(CONTROL, GET_FAMILY, 0, &[DefaultNla::new(FAMILY_NAME, name)])?;
    let found = find(&answer, FAMILY_ID);
    let number = found.and_then(|bytes| Some(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?)));
    number.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "the kernel named no family"))
}

pub fn nested(kind: u16, attributes: &[DefaultNla]) -> DefaultNla {
    DefaultNla::new(kind | NLA_F_NESTED, emitted(attributes))
}

/// One request of a family with these further flags, and the attributes of the datagram that answers it.
pub fn call(family: u16, command: u8, flags: i32, attributes: &[DefaultNla]) -> io::Result<Vec<u8>> {
    let attributes = emitted(attributes);
    let mut socket = Socket::new(NETLINK_GENERIC)?;
    socket.bind_auto()?;
    socket.connect(&SocketAddr::new(0, 0))?;
    let length = (HEADERS + attributes.len()) as u32;
    let flags = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | flags) as u16;
    let mut request = Vec::with_capacity(length as usize);
    request.extend_from_slice(&length.to_ne_bytes());
    request.extend_from_slice(&family.to_ne_bytes());
    request.extend_from_slice(&flags.to_ne_bytes());
    // Sequence number, and the port that the kernel fills in.
    request.extend_from_slice(&[1, 0, 0, 0, 0, 0, 0, 0]);
    request.extend_from_slice(&[command, VERSION, 0, 0]);
    request.extend_from_slice(&attributes);
    socket.send(&request, 0)?;
    let (answer, _) = socket.recv_from_full()?;
    match refusal(&answer) {
        Some(code) => Err(io::Error::from_raw_os_error(code)),
        None => Ok(answer.get(HEADERS..).unwrap_or_default().to_vec()),
    }
}

/// The error number of a datagram that is a refusal.
fn refusal(answer: &[u8]) -> Option<i32> {
    let kind = u16::from_ne_bytes(answer.get(4..6)?.try_into().ok()?);
    let code = i32::from_ne_bytes(answer.get(16..20)?.try_into().ok()?);
    (i32::from(kind) == libc::NLMSG_ERROR && code != 0).then_some(-code)
}

fn emitted(attributes: &[DefaultNla]) -> Vec<u8> {
    let mut bytes = vec![0; attributes.buffer_len()];
    attributes.emit(&mut bytes);
    bytes
}

/// The value of the first attribute of this kind.
pub fn find(attributes: &[u8], kind: u16) -> Option<Vec<u8>> {
    let mut whole = NlasIterator::new(attributes).map_while(Result::ok);
    whole.find(|attribute| attribute.kind() == kind).map(|attribute| attribute.value().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn attributes_are_found_again() {
        let attributes = [(7, b"abcde".to_vec()), (FAMILY_ID, 29u16.to_ne_bytes().to_vec())];
        let bytes = emitted(&attributes.map(|(kind, value)| DefaultNla::new(kind, value)));
        assert_eq!(bytes.len(), 12 + 8, "padded");
        assert_eq!(find(&bytes, FAMILY_ID), Some(29u16.to_ne_bytes().to_vec()));
        assert_eq!(find(&bytes, 9), None);
        assert_eq!(find(&[0; 8], 9), None, "a length of nothing does not loop");
    }

    #[test]
    fn the_family_of_families_has_its_fixed_number_and_strangers_have_none() {
        assert_eq!(family("nlctrl").unwrap(), CONTROL);
        assert_eq!(family("no-such-family").unwrap_err().raw_os_error(), Some(libc::ENOENT));
    }
}
