//! A user's way to send that is a program: it inherits the connected socket and the message, and each turn is a number of
//! messages.

use super::TurnTaker;
use crate::buffer::Buffer;
use crate::clock;
use crate::own_object::OwnCounts;
use crate::splice::memory_file;
use std::io;
use std::os::fd::{BorrowedFd, RawFd};

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

/// A way to send that is ready for turns, used by the thread that started it.
pub struct SendingProgram {
    taker: TurnTaker,
    message_bytes: u64,
    clock: libc::clockid_t,
    /// CPU time before its first turn.
    began_ns: u64,
    handed: u64,
    pub empty: EmptyTurn,
    /// As the program has told.
    pub counts: OwnCounts,
}

impl SendingProgram {
    /// Starts it, waits until it is ready, and measures its empty turns.
    pub fn start(words: &[String], socket: RawFd, fields: &[Buffer]) -> io::Result<SendingProgram> {
        let message =
            memory_file(&fields.iter().flat_map(|field| field.iter().copied()).collect::<Vec<u8>>())?;
        // SAFETY: the caller holds the socket open.
        let socket = unsafe { BorrowedFd::borrow_raw(socket) }.try_clone_to_owned()?;
        let lengths: Vec<String> = fields.iter().map(|field| field.len().to_string()).collect();
        let lengths = [("SYSCOST_FIELDS", lengths.join(","))];
        let taker = TurnTaker::start(words, socket.into(), &lengths, &[("SYSCOST_MESSAGE", &message)])?;
        let clock = clock::of_process(taker.child.id())?;
        let mut program = SendingProgram {
            taker,
            message_bytes: fields.iter().map(|field| field.len() as u64).sum(),
            clock,
            began_ns: 0,
            handed: 0,
            empty: EmptyTurn::default(),
            counts: OwnCounts::default(),
        };
        program.measure_empty_turns()?;
        program.is_alone()?;
        program.began_ns = clock::gettime(clock);
        program.handed = 0;
        Ok(program)
    }

    /// Hands it a turn of so many messages, and waits until it has sent them.
    pub fn send(&mut self, messages: u64) -> io::Result<()> {
        self.handed += 1;
        self.taker.turn(messages)?;
        let bytes = messages * self.message_bytes;
        let [sent, length, system_calls, copied_bytes] =
            self.taker.numbers(2, "MESSAGES BYTES [SYSTEM_CALLS [COPIED_BYTES]]")?;
        if (sent, length) != (messages, bytes) {
            return Err(io::Error::other(format!(
                "it was to send {messages} messages, {bytes} B, and says that it sent {sent}, {length} B"
            )));
        }
        self.counts.system_calls += system_calls;
        self.counts.copied_bytes += copied_bytes;
        Ok(())
    }

    /// Has it started processes? Nobody counts their time.
    pub fn is_alone(&self) -> io::Result<()> {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.taker.child.id()));
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
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{READY, bash};
    use super::*;
    use crate::process;
    use std::io::Read;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsRawFd;

    fn by(script: &str) -> (io::Result<SendingProgram>, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let mut field = Buffer::zeroed(6, 64);
        field.copy_from_slice(b"hello\n");
        (SendingProgram::start(&bash(script), stream.as_raw_fd(), &[field]), listener.accept().unwrap().0)
    }

    #[test]
    fn it_sends_in_its_turn_and_what_handing_over_costs_is_known() {
        let turn = "for ((i = 0; i < n; i++)); do echo hello >&0; done; echo $n $((6 * n)) $n >&$out";
        let (program, mut peer) = by(&format!("{READY} {turn}; done"));
        let mut program = program.unwrap();
        assert!(program.empty.cpu_ns > 100.0 && program.empty.elapsed_ns > 100.0, "{:?}", program.empty);
        program.send(3).unwrap();
        assert_eq!(program.counts, OwnCounts { system_calls: 3, ..OwnCounts::default() });
        let pid = program.taker.child.id();
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
        let turns = |answer: &str| format!("{READY} echo {answer} >&$out; done");
        assert!(why("exit 7").contains("exit status: 7"));
        assert!(why("echo no >&$SYSCOST_ANSWERS; sleep 9").contains("say \"ready\" first, and said \"no\""));
        let fewer = why(&turns("$((n > 1 ? 1 : n)) $((n > 1 ? 6 : 0))"));
        assert!(fewer.contains("was to send 2 messages, 12 B, and says that it sent 1, 6 B"), "{fewer}");
        assert!(why(&turns("done")).contains("MESSAGES BYTES"));
        let helper = why(&format!("sleep 9 & {READY} echo 0 0 >&$out; done"));
        assert!(helper.contains("has started processes"), "{helper}");
        assert!(why(&format!("{READY} kill -9 $$; done")).contains("signal: 9"));
    }
}
