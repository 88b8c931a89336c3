//! The frames between the harness and a worker: a little-endian u32 length, then that many bytes
//! of JSON. A peer that says anything else is refused, whatever it is.

use crate::probe::{RoleReport, Task};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use syscost_host::Unavailable;
use syscost_host::remote::frame;

/// No honest frame is larger; a larger length is garbage (a shell's greeting, say).
const LARGEST_FRAME: usize = 16 << 20;

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum ToWorker {
    Task { task: Box<Task> },
    Go,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub enum FromWorker {
    /// For the next role: where this one listens.
    Offer {
        offer: serde_json::Value,
    },
    /// Set up; waiting for `Go`.
    Ready,
    Done {
        report: Box<RoleReport>,
    },
    /// This machine cannot do what the case needs.
    Unavailable {
        why: Unavailable,
    },
    /// The role failed; causes from the outermost in.
    Failed {
        causes: Vec<String>,
        /// Another role went away: what this one says is a consequence, and that one may know why.
        peer_lost: bool,
    },
}

pub fn write<T: Serialize>(out: &mut impl Write, frame: &T) -> io::Result<()> {
    let body = serde_json::to_vec(frame).map_err(io::Error::other)?;
    let length = u32::try_from(body.len()).map_err(|_| io::Error::other("a frame above 4 GiB"))?;
    let mut whole = length.to_le_bytes().to_vec();
    whole.extend(body);
    out.write_all(&whole)?;
    out.flush()
}

/// Reads a frame; `Ok(None)` at a clean end of the stream.
pub fn read<T: DeserializeOwned>(input: &mut impl Read) -> io::Result<Option<T>> {
    let Some(length) = frame::head(input)? else { return Ok(None) };
    let length = u32::from_le_bytes(length) as usize;
    if length > LARGEST_FRAME {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "what it says is no frame of the worker protocol",
        ));
    }
    frame::understand(&frame::body(input, length)?).map(Some)
}

/// Until when an answer is waited for. Time in which this process itself stood still (it was stopped,
/// its control group frozen, its machine paused) is not counted, and is remembered.
pub struct Deadline {
    at: Instant,
    pub stood_still: Duration,
}

impl Deadline {
    pub fn at(at: Instant) -> Deadline {
        Deadline { at, stood_still: Duration::ZERO }
    }

    fn left(&self) -> Duration {
        self.at.saturating_duration_since(Instant::now())
    }

    pub fn has_passed(&self) -> bool {
        self.left().is_zero()
    }

    /// Takes in that a wait of `asked` took so long.
    pub fn waited(&mut self, asked: Duration, took: Duration) {
        let longer = took.saturating_sub(asked);
        if longer > STOOD_STILL {
            self.at += longer;
            self.stood_still += longer;
        }
    }
}

/// A pipe whose reads give up at a deadline or when the run is interrupted.
pub struct Patient<'a, R> {
    pub pipe: &'a mut R,
    pub deadline: &'a mut Deadline,
    pub interrupted: &'a dyn Fn() -> bool,
}

/// How often a waiting harness looks whether it was interrupted.
pub const LOOK: Duration = Duration::from_millis(100);
/// A process that only waits gets a CPU again sooner than this, on a busy machine too.
const STOOD_STILL: Duration = Duration::from_secs(1);

impl<R: Read + AsFd> Read for Patient<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            if (self.interrupted)() {
                return Err(io::Error::other("interrupted"));
            }
            let left = self.deadline.left();
            let wait = left.min(LOOK);
            let began = Instant::now();
            // What was said in time is heard, however late this process comes to listen.
            if syscost_sys::process::wait_readable(&*self.pipe, wait)? {
                self.deadline.waited(wait, began.elapsed());
                return self.pipe.read(buffer);
            }
            self.deadline.waited(wait, began.elapsed());
            if left.is_zero() && self.deadline.left().is_zero() {
                return Err(io::Error::new(io::ErrorKind::TimedOut, "no answer in time"));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn frames_read_back() {
        let mut bytes = Vec::new();
        write(&mut bytes, &FromWorker::Ready).unwrap();
        write(&mut bytes, &FromWorker::Failed { causes: vec!["a".into()], peer_lost: true }).unwrap();
        let mut input = bytes.as_slice();
        assert!(matches!(read::<FromWorker>(&mut input), Ok(Some(FromWorker::Ready))));
        assert!(matches!(read::<FromWorker>(&mut input), Ok(Some(FromWorker::Failed { .. }))));
        assert!(matches!(read::<FromWorker>(&mut input), Ok(None)));
    }

    #[test]
    fn an_answer_in_time_is_heard_late_and_a_standstill_is_not_counted() {
        use std::process::{Command, Stdio};
        let mut child = Command::new("echo").arg("said").stdout(Stdio::piped()).spawn().unwrap();
        child.wait().unwrap();
        let pipe = &mut child.stdout.take().unwrap();
        let past = Instant::now().checked_sub(Duration::from_secs(1)).unwrap();
        let mut deadline = Deadline::at(past);
        let mut patient = Patient { pipe, deadline: &mut deadline, interrupted: &|| false };
        let mut text = [0; 4];
        assert_eq!(patient.read(&mut text).unwrap(), 4, "it was there before anyone listened");

        let mut silent = Command::new("sleep").arg("60").stdout(Stdio::piped()).spawn().unwrap();
        let pipe = &mut silent.stdout.take().unwrap();
        let mut patient = Patient { pipe, deadline: &mut deadline, interrupted: &|| false };
        assert_eq!(patient.read(&mut text).unwrap_err().kind(), io::ErrorKind::TimedOut);
        silent.kill().unwrap();
        silent.wait().unwrap();

        let mut deadline = Deadline::at(Instant::now());
        deadline.waited(LOOK, Duration::from_secs(10));
        assert!(deadline.left() > Duration::from_secs(9) && deadline.stood_still > Duration::from_secs(9));
        deadline.waited(LOOK, LOOK * 3);
        assert!(deadline.stood_still < Duration::from_secs(10), "a busy machine is no standstill");
    }

    proptest! {
        #[test]
        fn garbage_is_an_error_not_a_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read::<FromWorker>(&mut bytes.as_slice());
            let _ = read::<ToWorker>(&mut bytes.as_slice());
        }
    }
}
