//! The frames between the harness and the agent on another host: a channel and a length, both
//! little-endian u32, then so many bytes.
//!
//! Channel 0 carries what the two say to each other; every other one is a worker's standard input or
//! output, as it is, and an empty frame on it is its end. The far host is not trusted: nothing that it
//! sends makes us allocate more than a frame, or panic.

use crate::Fact;
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::io::{self, BufRead, Read, Write};
use std::net::{IpAddr, SocketAddr};

/// Both sides speak the same one, or nothing is measured.
pub const PROTOCOL: u32 = 5;
/// What the two say to each other.
pub const CONTROL: u32 = 0;
/// No honest frame is larger: workers' output comes in pieces.
const LARGEST: usize = 1 << 20;
/// What carries an agent's words may pass on whole lines only, as srun does: each thing said ends one. Of itself it
/// says nothing.
pub const END_OF_LINE: &[u8] = b"\n";
/// What login shells may print before our own words come.
const LARGEST_GREETING: u64 = 64 << 10;
/// How much of a worker's output is carried at once.
pub const PIECE: usize = 64 << 10;

/// The agent's first frame: what it is and where.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Hello {
    pub protocol: u32,
    pub version: String,
    pub sha256: String,
    /// `SSH_CONNECTION` as sshd set it.
    pub connection: String,
    /// Its own addresses that a peer could reach, in the order of its devices.
    pub addresses: Vec<IpAddr>,
    pub facts: Vec<Fact>,
    /// Rate of the far time-stamp counter, where it is constant.
    pub tsc_hz: Option<f64>,
}

/// A question to the agent, numbered so that a late answer is not taken for another's.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Ask {
    pub number: u64,
    pub what: AgentQuestion,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentQuestion {
    /// A fresh worker on this channel.
    Start { channel: u32 },
    /// The wall clock.
    Time,
    /// The device that has this address, and the route from there to the other end.
    End { address: IpAddr, toward: Option<IpAddr> },
    /// Can that machine do what these values of axes ask of its side?
    Allows { wanted: Value },
    /// Wait a moment for one connection that presents the token.
    Listen { address: IpAddr, ports: Option<super::target::Ports>, token: String },
    /// The address from which that machine sends to this one.
    Source { toward: IpAddr },
    /// Make that connection.
    Connect { from: IpAddr, to: SocketAddr, token: String },
}

/// What the question asks for, as it is or as [`typed`] has it; or why there is no answer.
pub type AgentAnswer = Result<Value, String>;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMessage {
    Reply {
        number: u64,
        answer: AgentAnswer,
    },
    /// A worker is gone; its own last words.
    Ended {
        channel: u32,
        words: String,
    },
}

/// What was asked for, of an answer that may be anything.
pub fn typed<T: DeserializeOwned>(answer: Value) -> io::Result<T> {
    let told = answer.to_string();
    serde_json::from_value(answer).map_err(|_| {
        let told = super::plain(&told);
        io::Error::other(format!("it answered out of turn ({told}): use the same syscost on both hosts"))
    })
}

pub fn write(out: &mut impl Write, channel: u32, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    let mut whole = Vec::with_capacity(8 + payload.len());
    whole.extend(channel.to_le_bytes());
    whole.extend(length.to_le_bytes());
    whole.extend(payload);
    out.write_all(&whole)?;
    out.flush()
}

pub fn say<T: Serialize>(out: &mut impl Write, what: &T) -> io::Result<()> {
    let mut payload = serde_json::to_vec(what).map_err(io::Error::other)?;
    payload.extend(END_OF_LINE);
    write(out, CONTROL, &payload)
}

/// A worker's output, and the end of a line.
pub fn carry(out: &mut impl Write, channel: u32, payload: &[u8]) -> io::Result<()> {
    write(out, channel, payload)?;
    write(out, CONTROL, END_OF_LINE)
}

/// Skips what login shells print, up to the mark. `Ok(Err(said))`: the mark did not come, but this.
pub fn skip_to(input: &mut impl BufRead, mark: &str) -> io::Result<Result<(), String>> {
    let mut left = LARGEST_GREETING;
    let mut said = String::new();
    loop {
        let mut words = Vec::new();
        let got = input.by_ref().take(left).read_until(b'\n', &mut words)?;
        if got == 0 {
            return Ok(Err(said));
        }
        left -= got as u64;
        let words = String::from_utf8_lossy(&words);
        if words.trim_end() == mark {
            return Ok(Ok(()));
        }
        said.push_str(&words);
    }
}

/// The line after the mark.
pub fn greeting(input: &mut impl BufRead, mark: &str) -> io::Result<Result<String, String>> {
    if let Err(said) = skip_to(input, mark)? {
        return Ok(Err(said));
    }
    let mut words = Vec::new();
    match input.by_ref().take(LARGEST_GREETING).read_until(b'\n', &mut words)? {
        0 => Ok(Err(String::new())),
        _ => Ok(Ok(String::from_utf8_lossy(&words).trim().to_string())),
    }
}

/// The next frame; `Ok(None)` at a clean end.
pub fn read(input: &mut impl Read) -> io::Result<Option<(u32, Vec<u8>)>> {
    let Some(head) = head::<8>(input)? else { return Ok(None) };
    let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
    let (channel, length) = (word(0), word(4) as usize);
    if length > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "not a frame of syscost"));
    }
    Ok(Some((channel, body(input, length)?)))
}

/// The head of a frame; `Ok(None)` at a clean end.
pub fn head<const N: usize>(input: &mut impl Read) -> io::Result<Option<[u8; N]>> {
    let mut head = [0; N];
    let mut got = 0;
    while got < N {
        match input.read(&mut head[got..]) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(broken_off()),
            Ok(n) => got += n,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(Some(head))
}

/// So many bytes, of which no more are made room for than come.
pub fn body(input: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    input.take(length as u64).read_to_end(&mut body)?;
    if body.len() < length { Err(broken_off()) } else { Ok(body) }
}

fn broken_off() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "it broke off in the middle of a frame")
}

pub fn understand<T: DeserializeOwned>(payload: &[u8]) -> io::Result<T> {
    serde_json::from_slice(payload)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, format!("bad frame: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_read_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, 7, b"abc").unwrap();
        say(&mut bytes, &AgentMessage::Reply { number: 3, answer: Ok(9.into()) }).unwrap();
        assert_eq!(bytes.last(), Some(&b'\n'), "what is said ends a line");
        write(&mut bytes, 7, b"").unwrap();
        let mut input = bytes.as_slice();
        assert_eq!(read(&mut input).unwrap(), Some((7, b"abc".to_vec())));
        let (channel, payload) = read(&mut input).unwrap().unwrap();
        assert_eq!(channel, CONTROL);
        let said = understand::<AgentMessage>(&payload).unwrap();
        let AgentMessage::Reply { number: 3, answer: Ok(answer) } = said else { panic!("{said:?}") };
        assert_eq!(typed::<u64>(answer.clone()).unwrap(), 9);
        assert!(typed::<String>(answer).unwrap_err().to_string().contains("out of turn (9)"));
        assert_eq!(read(&mut input).unwrap(), Some((7, Vec::new())));
        assert_eq!(read(&mut input).unwrap(), None);
    }

    #[test]
    fn a_greeting_is_skipped_up_to_the_mark_and_is_not_waited_for_forever() {
        let after = |text: &str| greeting(&mut text.as_bytes(), "mark").unwrap();
        assert_eq!(after("Welcome\r\nmark\r\n Linux x86_64 \nrest").as_deref(), Ok("Linux x86_64"));
        assert_eq!(after("no mark\nmarks\n"), Err("no mark\nmarks\n".into()));
        let endless = "words\n".repeat(LARGEST_GREETING as usize);
        assert!(after(&(endless + "mark\nLinux x86_64\n")).is_err());
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&mut bytes.as_slice());
            let _ = understand::<AgentMessage>(&bytes);
            let _ = understand::<Hello>(&bytes);
            let _ = understand::<Ask>(&bytes);
        }
    }
}
