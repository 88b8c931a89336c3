//! A user's own way to send that is a program: a process that waits for its turn, sends so many messages, and says what it
//! did. It inherits the connected socket, the message and two pipes; `docs/own-code.md` has the protocol.
//!
//! It is one process of the worker's group, with the worker's rights, and ends with the thread that started it. Who waits
//! for an answer waits for ever: the harness ends the worker in time.

use crate::buffer::Buffer;
use crate::clock;
use crate::own_object::OwnCounts;
use crate::pipe::pipe;
use crate::process;
use crate::sleep::sleep;
use crate::splice::memory_file;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Until a program that has no more turns has ended.
const TO_END: Duration = Duration::from_millis(300);
/// Empty turns: in so many lots, of which the median counts.
const LOTS: usize = 9;
const TURNS_OF_A_LOT: u32 = 16;

/// What an empty turn costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct EmptyTurn {
    /// CPU time of the program and of who hands it the turn.
    pub cpu_ns: f64,
    pub elapsed_ns: f64,
}

/// A program that is ready for turns, used by the thread that started it.
pub struct OwnProgram {
    child: Child,
    /// `None`: it is to end.
    turns: Option<File>,
    answers: BufReader<File>,
    line: String,
    message_bytes: u64,
    clock: libc::clockid_t,
    /// CPU time before its first turn.
    began_ns: u64,
    handed: u64,
    pub empty: EmptyTurn,
    /// As the program has told.
    pub counts: OwnCounts,
}

impl OwnProgram {
    /// Starts it and waits until it is ready.
    pub fn start(command: &[String], socket: RawFd, fields: &[Buffer]) -> io::Result<OwnProgram> {
        let (program, arguments) =
            command.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
        let message =
            memory_file(&fields.iter().flat_map(|field| field.iter().copied()).collect::<Vec<u8>>())?;
        let ((take, turns), (answers, answer)) = (pipe()?, pipe()?);
        // SAFETY: the caller holds the socket open.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) }.try_clone_to_owned()?;
        let lengths: Vec<String> = fields.iter().map(|field| field.len().to_string()).collect();
        let mut start = Command::new(program);
        start.args(arguments).stdin(Stdio::from(socket)).env("SYSCOST_FIELDS", lengths.join(","));
        for (name, file) in
            [("SYSCOST_TURNS", &take), ("SYSCOST_ANSWERS", &answer), ("SYSCOST_MESSAGE", &message)]
        {
            start.env(name, file.as_raw_fd().to_string());
            process::inherit_on_exec(&mut start, file.as_raw_fd());
        }
        process::die_with_parent_on_exec(&mut start);
        let child = start
            .spawn()
            .map_err(|error| io::Error::new(error.kind(), format!("cannot start {program}: {error}")))?;
        let clock = clock::of_process(child.id())?;
        let message_bytes = fields.iter().map(|field| field.len() as u64).sum();
        let mut program = OwnProgram {
            child,
            turns: Some(turns),
            answers: BufReader::new(answers),
            line: String::new(),
            message_bytes,
            clock,
            began_ns: 0,
            handed: 0,
            empty: EmptyTurn::default(),
            counts: OwnCounts::default(),
        };
        // Its end of the pipe is the only one from here on: its death is the end of its answers.
        drop((take, answer));
        program.hear()?;
        if program.line.trim() != "ready" {
            return Err(io::Error::other(format!(
                "it has to say \"ready\" first, and said {:?}",
                program.line.trim()
            )));
        }
        program.measure_empty_turns()?;
        program.is_alone()?;
        program.began_ns = clock::gettime(clock);
        program.handed = 0;
        Ok(program)
    }

    /// Hands it a turn of so many messages, and waits until it has sent them.
    pub fn send(&mut self, messages: u64) -> io::Result<()> {
        let turns = self.turns.as_mut().expect("it is there until this is dropped");
        self.handed += 1;
        // One write: a line that comes in pieces would wake it twice.
        if let Err(error) = turns.write_all(format!("{messages}\n").as_bytes()) {
            return Err(self.ended(&error.to_string()));
        }
        self.hear()?;
        let mut said = self.line.split_ascii_whitespace().map(str::parse::<u64>);
        let bytes = messages * self.message_bytes;
        let (sent, length) = match (said.next(), said.next()) {
            (Some(Ok(sent)), Some(Ok(length))) => (sent, length),
            _ => {
                return Err(io::Error::other(format!(
                    "its answer has to be MESSAGES BYTES [SYSTEM_CALLS [COPIED_BYTES]], and was {:?}",
                    self.line.trim()
                )));
            }
        };
        if (sent, length) != (messages, bytes) {
            return Err(io::Error::other(format!(
                "it was to send {messages} messages, {bytes} B, and says that it sent {sent}, {length} B"
            )));
        }
        let mut more = || said.next().and_then(Result::ok).unwrap_or(0);
        self.counts.system_calls += more();
        self.counts.copied_bytes += more();
        Ok(())
    }

    /// Has it started processes? Nobody counts their time.
    pub fn is_alone(&self) -> io::Result<()> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let children = |task: io::Result<std::fs::DirEntry>| {
            std::fs::read_to_string(task.ok()?.path().join("children")).ok()
        };
        // Where the kernel lists no children (CONFIG_PROC_CHILDREN) nobody knows of any.
        let children: String = tasks.into_iter().flatten().filter_map(children).collect();
        match children.trim() {
            "" => Ok(()),
            pids => Err(io::Error::other(format!(
                "it has started processes ({pids}), whose CPU time is not counted: let the program itself send (exec in a \
                 script)"
            ))),
        }
    }

    /// Turns so far.
    pub fn turns(&self) -> u64 {
        self.handed
    }

    /// CPU time that its messages took beside that of who hands over, less what handing over cost both.
    pub fn cpu_ns(&self) -> i64 {
        let spent = clock::gettime(self.clock).saturating_sub(self.began_ns);
        spent as i64 - (self.handed as f64 * self.empty.cpu_ns) as i64
    }

    fn measure_empty_turns(&mut self) -> io::Result<()> {
        let mut lots = Vec::new();
        let clock = self.clock;
        let cpu = || clock::thread_cpu_ns() + clock::gettime(clock);
        for _ in 0..LOTS {
            let (cpu_ns, from_ns) = (cpu(), clock::monotonic_ns());
            for _ in 0..TURNS_OF_A_LOT {
                self.send(0)?;
            }
            let each = |ns: u64| ns as f64 / f64::from(TURNS_OF_A_LOT);
            lots.push(EmptyTurn {
                cpu_ns: each(cpu().saturating_sub(cpu_ns)),
                elapsed_ns: each(clock::monotonic_ns() - from_ns),
            });
        }
        lots.sort_by(|a, b| a.cpu_ns.total_cmp(&b.cpu_ns));
        self.empty = lots[LOTS / 2];
        Ok(())
    }

    /// Its next line.
    fn hear(&mut self) -> io::Result<()> {
        self.line.clear();
        match self.answers.read_line(&mut self.line)? {
            0 => Err(self.ended("it closed its answers")),
            _ => Ok(()),
        }
    }

    fn ended(&mut self, why: &str) -> io::Error {
        self.wait();
        let how = self.child.try_wait().ok().flatten().map_or(why.to_string(), |status| status.to_string());
        io::Error::other(format!("the program ended while it was needed ({how})"))
    }

    fn wait(&self) {
        let until = Instant::now() + TO_END;
        while !process::has_ended(self.child.id()) && Instant::now() < until {
            sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for OwnProgram {
    fn drop(&mut self) {
        self.turns = None;
        self.wait();
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};

    fn by(script: &str) -> (io::Result<OwnProgram>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut field = Buffer::zeroed(6, 64);
        field.copy_from_slice(b"hello\n");
        let command = ["bash", "-c", script].map(str::to_string);
        (OwnProgram::start(&command, stream.as_raw_fd(), &[field]), listener.accept().unwrap().0)
    }

    const READY: &str = "exec {in}<&$SYSCOST_TURNS {out}>&$SYSCOST_ANSWERS; echo ready >&$out";

    #[test]
    fn it_sends_in_its_turn_and_what_handing_over_costs_is_known() {
        let turn = "while read -u $in n; do for ((i = 0; i < n; i++)); do echo hello >&0; done; echo $n $((6 * n)) $n >&$out; done";
        let (program, mut peer) = by(&format!("{READY}; {turn}"));
        let mut program = program.unwrap();
        assert!(program.empty.cpu_ns > 100.0 && program.empty.elapsed_ns > 100.0, "{:?}", program.empty);
        program.send(3).unwrap();
        assert_eq!(program.counts, OwnCounts { system_calls: 3, ..OwnCounts::default() });
        let pid = program.child.id();
        drop(program);
        assert!(!process::exists(pid), "it ended with its turns");
        let mut all = String::new();
        peer.read_to_string(&mut all).unwrap();
        assert_eq!(all, "hello\n".repeat(3));
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let why = |script: &str| match by(script).0 {
            Ok(mut program) => program.send(2).expect_err("it lies").to_string(),
            Err(error) => error.to_string(),
        };
        let turns = |answer: &str| format!("{READY}; while read -u $in n; do echo {answer} >&$out; done");
        assert!(why("exit 7").contains("exit status: 7"));
        assert!(why("echo no >&$SYSCOST_ANSWERS; sleep 9").contains("say \"ready\" first, and said \"no\""));
        let fewer = why(&turns("$((n > 1 ? 1 : n)) $((n > 1 ? 6 : 0))"));
        assert!(fewer.contains("was to send 2 messages, 12 B, and says that it sent 1, 6 B"), "{fewer}");
        assert!(why(&turns("done")).contains("MESSAGES BYTES"));
        let helper = why(&format!("sleep 9 & {READY}; while read -u $in n; do echo 0 0 >&$out; done"));
        assert!(helper.contains("has started processes"), "{helper}");
        assert!(why(&format!("{READY}; kill -9 $$")).contains("signal: 9"));
    }
}
