//! A far host that lies: stands where ssh would, starts a real agent, and changes what it says, by a seed.
//!
//! Frames of the line to the agent are a channel, a length and a payload; a worker's payload is a length and JSON
//! (`remote/frame.rs`, `worker/protocol.rs`). Lies keep the lengths right, or not.

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use syscost_core::stats::random::Random;
use syscost_sys::process;

/// In the environment of the process that is in place of ssh.
pub const SEED: &str = "SYSCOST_TEST_FAR_SEED";
/// Where it notes connections and lies; the far user's home is below.
pub const PLACE: &str = "SYSCOST_TEST_FAR_PLACE";
/// What ssh was asked to run there.
pub const COMMAND: &str = "SYSCOST_TEST_FAR_COMMAND";

const LARGEST: usize = 4 << 20;

/// How much of what is said is a lie, of one connection.
#[derive(Clone, Copy)]
struct Habit {
    first: usize,
    share: f64,
    greets: bool,
}

impl Habit {
    fn of(random: &mut Random) -> Habit {
        let shares = [1.0, 0.5, 0.2, 0.1, 0.05];
        // Some thirty answers come before the first worker speaks.
        let first = if random.below(4) == 0 { random.below(40) } else { 28 + random.below(60) };
        Habit { first, share: shares[random.below(shares.len())], greets: random.below(20) > 0 }
    }
}

#[derive(Clone, Copy, Debug)]
enum Lie {
    Bits,
    Head,
    Shorter,
    CutOff,
    Again,
    Flood,
    Late,
    Withheld,
    Silence,
    End,
    Garbage,
    Number,
    Node,
}

/// Values within what is said lead furthest.
const LIES: [Lie; 17] = [
    Lie::Bits,
    Lie::Head,
    Lie::Shorter,
    Lie::CutOff,
    Lie::Again,
    Lie::Flood,
    Lie::Late,
    Lie::Withheld,
    Lie::Silence,
    Lie::End,
    Lie::Garbage,
    Lie::Number,
    Lie::Node,
    Lie::Number,
    Lie::Node,
    Lie::Number,
    Lie::Node,
];

/// The far end of a connection.
pub struct Liar {
    random: Random,
    habit: Habit,
    out: File,
    notes: File,
    held_back: Option<Vec<u8>>,
}

/// What becomes of the connection after a frame.
#[derive(PartialEq)]
enum Goes {
    On,
    Silent,
    Ends,
}

/// Plays ssh until one of both ends.
pub fn play() -> ! {
    let place = PathBuf::from(std::env::var_os(PLACE).expect("the test gives it"));
    let seed: u64 = std::env::var(SEED).ok().and_then(|text| text.parse().ok()).expect("a number");
    let command = std::env::var(COMMAND).expect("the script gives it");
    let append = |name: &str| OpenOptions::new().create(true).append(true).open(place.join(name));
    let mut connections = append("connections").expect("a note");
    let number = connections.metadata().expect("a file").len();
    connections.write_all(b".").expect("a note");
    let mut random = Random::new(Random::derived(seed, number));
    let habit = Habit::of(&mut random);
    let out = File::from(io::stdout().as_fd().try_clone_to_owned().expect("a descriptor"));
    let notes = append("lies").expect("a note");
    let mut agent = far_command(&command, &place).spawn().expect("a shell");
    carry_input(&mut agent);
    let said = BufReader::new(agent.stdout.take().expect("piped"));
    // What cannot be written has nobody who reads it.
    let _ = Liar { random, habit, out, notes, held_back: None }.tell(said);
    std::process::exit(agent.wait().ok().and_then(|status| status.code()).unwrap_or(255))
}

fn far_command(command: &str, place: &std::path::Path) -> Command {
    let mut far = Command::new("sh");
    far.args(["-c", command]).env("HOME", place.join("home")).env_remove("XDG_CACHE_HOME");
    far.env("SSH_CONNECTION", "127.0.0.1 50000 127.0.0.1 22");
    far.stdin(Stdio::piped()).stdout(Stdio::piped());
    process::die_with_parent_on_exec(&mut far);
    far
}

/// Its end is the end of the agent's input.
fn carry_input(agent: &mut Child) {
    let mut there = agent.stdin.take().expect("piped");
    std::thread::spawn(move || io::copy(&mut io::stdin().lock(), &mut there));
}

impl Liar {
    fn tell(mut self, mut said: impl BufRead) -> io::Result<()> {
        self.greet(&mut said)?;
        for number in 0.. {
            let Some(frame) = next(&mut said)? else { break };
            let lies = number >= self.habit.first && self.random.unit() < self.habit.share;
            let goes = if lies { self.lie(frame)? } else { self.say(&frame).map(|()| Goes::On)? };
            match goes {
                Goes::On => {}
                Goes::Silent => return io::copy(&mut said, &mut io::sink()).map(drop),
                Goes::Ends => std::process::exit(0),
            }
        }
        Ok(())
    }

    /// What comes before the first frame: a mark, and what the system is.
    fn greet(&mut self, said: &mut impl BufRead) -> io::Result<()> {
        let mut marked = false;
        loop {
            let mut line = Vec::new();
            if said.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            let last = marked;
            marked = line.starts_with(b"syscost-");
            if !self.habit.greets {
                self.flip(&mut line);
            }
            self.out.write_all(&line)?;
            if last {
                return Ok(());
            }
        }
    }

    fn say(&mut self, frame: &[u8]) -> io::Result<()> {
        self.out.write_all(frame)?;
        match self.held_back.take() {
            Some(late) => self.out.write_all(&late),
            None => Ok(()),
        }
    }

    fn lie(&mut self, mut frame: Vec<u8>) -> io::Result<Goes> {
        let lie = LIES[self.random.below(LIES.len())];
        let _ = writeln!(self.notes, "{lie:?} of {} bytes on channel {}", frame.len(), word(&frame, 0));
        match lie {
            Lie::Bits => self.flip(&mut frame[8..]),
            Lie::Head => self.flip(&mut frame[..8]),
            Lie::Shorter => {
                let kept = 8 + self.random.below(frame.len() - 7);
                frame.truncate(kept);
                measure(&mut frame);
            }
            Lie::CutOff => {
                let kept = self.random.below(frame.len());
                frame.truncate(kept);
            }
            Lie::Again => self.say(&frame.clone())?,
            Lie::Flood => {
                for _ in 0..self.random.below(20_000) {
                    self.out.write_all(&frame)?;
                }
            }
            Lie::Late => {
                self.held_back = Some(frame);
                return Ok(Goes::On);
            }
            Lie::Withheld => return Ok(Goes::On),
            Lie::Silence => return Ok(Goes::Silent),
            Lie::End => {
                let kept = self.random.below(frame.len());
                self.out.write_all(&frame[..kept])?;
                return Ok(Goes::Ends);
            }
            Lie::Garbage => {
                let mut garbage = frame[..8].to_vec();
                let length = self.random.below(2 << 20);
                garbage.extend((0..length).map(|_| self.random.next_u64() as u8));
                measure(&mut garbage);
                self.out.write_all(&garbage)?;
            }
            Lie::Number => self.change(&mut frame, true),
            Lie::Node => self.change(&mut frame, false),
        }
        self.say(&frame).map(|()| Goes::On)
    }

    fn flip(&mut self, bytes: &mut [u8]) {
        if !bytes.is_empty() {
            for _ in 0..=self.random.below(4) {
                let at = self.random.below(bytes.len());
                bytes[at] ^= 1 << self.random.below(8);
            }
        }
    }

    /// Another value at one place of what is said in JSON, in a whole frame again; bits where it is none.
    fn change(&mut self, frame: &mut Vec<u8>, numbers: bool) {
        // A worker's words are in a frame of their own.
        let inner = if word(frame, 0) == 0 { 8 } else { 12 };
        let Some(mut told) = frame.get(inner..).and_then(|json| serde_json::from_slice::<Value>(json).ok())
        else {
            return self.flip(&mut frame[8..]);
        };
        let places = count(&told, numbers);
        if places > 0 {
            let mut at = self.random.below(places);
            let lie = if numbers { self.number() } else { self.node() };
            replace(&mut told, numbers, &mut at, &lie);
        }
        frame.truncate(inner);
        serde_json::to_writer(&mut *frame, &told).expect("in memory");
        if inner > 8 {
            let length = (frame.len() - inner) as u32;
            frame[8..12].copy_from_slice(&length.to_le_bytes());
        }
        measure(frame);
    }

    fn number(&mut self) -> Value {
        let numbers = [
            json!(0),
            json!(-1),
            json!(1),
            json!(0.5),
            json!(1e308),
            json!(-1e-308),
            json!(u64::MAX),
            json!(i64::MIN),
            json!(1u64 << 53),
            json!(1_000_000),
        ];
        match self.random.below(4) {
            0 => json!(self.random.next_u64()),
            1 => json!(self.random.unit() * 1e6),
            _ => numbers[self.random.below(numbers.len())].clone(),
        }
    }

    fn node(&mut self) -> Value {
        let deep = (0..100).fold(json!([]), |inner, _| json!([inner]));
        let many = Value::Array(vec![json!(1); 50_000]);
        let nodes = [
            Value::Null,
            json!(true),
            json!(""),
            json!("=1+1"),
            json!("\u{1b}[2J\r\n,\"'</script>"),
            json!("x".repeat(300_000)),
            json!([]),
            json!({}),
            deep,
            many,
        ];
        match self.random.below(nodes.len() + 1) {
            place if place < nodes.len() => nodes[place].clone(),
            _ => self.number(),
        }
    }
}

/// A whole frame with its head; what claims to be larger than anything is passed on as far as it goes.
fn next(said: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut frame = vec![0; 8];
    match said.read_exact(&mut frame) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = (word(&frame, 4) as usize).min(LARGEST);
    frame.resize(8 + length, 0);
    said.read_exact(&mut frame[8..]).map(|()| Some(frame))
}

fn word(frame: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([frame[at], frame[at + 1], frame[at + 2], frame[at + 3]])
}

/// Writes into a frame's head how long it is.
fn measure(frame: &mut [u8]) {
    let length = (frame.len() - 8) as u32;
    frame[4..8].copy_from_slice(&length.to_le_bytes());
}

fn children(value: &Value) -> Vec<&Value> {
    match value {
        Value::Array(values) => values.iter().collect(),
        Value::Object(fields) => fields.values().collect(),
        _ => Vec::new(),
    }
}

/// Places where another value could stand.
fn count(value: &Value, numbers: bool) -> usize {
    let own = usize::from(!numbers || value.is_number());
    own + children(value).into_iter().map(|child| count(child, numbers)).sum::<usize>()
}

/// Puts a value at the place of this number, counted down on the way.
fn replace(value: &mut Value, numbers: bool, at: &mut usize, with: &Value) -> bool {
    if !numbers || value.is_number() {
        if *at == 0 {
            *value = with.clone();
            return true;
        }
        *at -= 1;
    }
    match value {
        Value::Array(values) => values.iter_mut().any(|child| replace(child, numbers, at, with)),
        Value::Object(fields) => fields.values_mut().any(|child| replace(child, numbers, at, with)),
        _ => false,
    }
}
