//! What a run could leave on a machine, seen from outside: processes by a mark in their environment,
//! files, links, mounts, settings, control groups.

use crate::common;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use syscost_sys::netlink::Netlink;
use syscost_sys::process;

const MARK: &str = "SYSCOST_TEST_MARK";

/// Everything that one command starts, whatever becomes of its parents: children inherit the mark.
pub struct Marked(String);

impl Marked {
    pub fn new() -> Marked {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        Marked(format!("{MARK}={}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)))
    }

    pub fn put_on(&self, command: &mut Command) {
        let (name, value) = self.0.split_once('=').expect("written above");
        command.env(name, value);
    }

    /// Process ids of all that bear the mark and have not ended.
    pub fn processes(&self) -> Vec<u32> {
        let all = fs::read_dir("/proc").expect("/proc is mounted").flatten();
        let numbers = all.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        numbers.filter(|pid| self.is_on(*pid)).collect()
    }

    fn is_on(&self, pid: u32) -> bool {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == self.0.as_bytes())
    }

    /// Kills one of them; what it was, unless it ended before.
    pub fn kill(&self, pid: u32) -> Option<String> {
        let role = role(pid);
        // Between the look and the kill the number cannot come round again: it is some thousands of
        // processes away.
        let alive = self.is_on(pid);
        // SAFETY: kill touches no memory of ours.
        let killed = alive && unsafe { libc::kill(pid as i32, libc::SIGKILL) } == 0;
        killed.then_some(role)
    }

    pub fn wait_until_all_ended(&self, patience: Duration) {
        let start = Instant::now();
        loop {
            let left = self.processes();
            if left.is_empty() {
                return;
            }
            if start.elapsed() > patience {
                let commands = left.iter().map(|pid| fs::read_to_string(format!("/proc/{pid}/cmdline")));
                panic!("processes are left: {:?}", commands.collect::<Vec<_>>());
            }
            syscost_sys::sleep::sleep(Duration::from_millis(2));
        }
    }
}

/// The program of a process; of the binary under test its subcommand.
pub fn role(pid: u32) -> String {
    let command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<_> = command.split(|byte| *byte == 0).map(String::from_utf8_lossy).collect();
    let program = words[0].rsplit('/').next().unwrap_or_default().to_string();
    let subcommand = words.get(1).filter(|_| program == "syscost").map(|word| word.to_string());
    subcommand.unwrap_or(program)
}

/// Gives the calling thread and those that it starts a view of the file systems of their own.
pub fn own_mounts() -> io::Result<()> {
    // SAFETY: takes a flag; this thread's view alone changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNS) })?;
    let (none, private) = (std::ptr::null(), libc::MS_REC | libc::MS_PRIVATE);
    // SAFETY: one C string, and nulls where this call reads nothing.
    check(unsafe { libc::mount(none, c"/".as_ptr(), none, private, none.cast()) })
}

/// Gives the calling thread and those that it starts a network of their own, with its loopback.
pub fn own_network() -> io::Result<()> {
    // SAFETY: takes a flag; this thread's network alone changes.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) })?;
    Netlink::open()?.set_up("lo")
}

pub fn check(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// What must be the same afterwards: of a thread with [`own_mounts`] and [`own_network`], so that
/// nobody else changes it meanwhile.
pub struct Machine(BTreeMap<&'static str, Vec<String>>);

impl Machine {
    pub fn now() -> Machine {
        let lines = |file: &str| -> Vec<String> {
            fs::read_to_string(file).expect("proc(5)").lines().map(str::to_string).collect()
        };
        let links = lines("/proc/thread-self/net/dev");
        let links = links.iter().filter_map(|line| Some(line.split_once(':')?.0.trim().to_string()));
        let groups = ["cpuset", "memory", "cpu", ""].map(|c| names(&Path::new("/sys/fs/cgroup").join(c)));
        // Groups of other tests bear their name.
        let is_ours = |name: &String| name.contains("syscost") && !name.contains("-test-");
        Machine(BTreeMap::from([
            ("links", links.collect()),
            ("mounts", lines("/proc/thread-self/mountinfo")),
            ("settings", settings()),
            ("control groups", groups.into_iter().flatten().filter(is_ours).collect()),
        ]))
    }

    pub fn same_as(&self, before: &Machine) {
        for (what, now) in &self.0 {
            let then = &before.0[what];
            let new: Vec<_> = now.iter().filter(|line| !then.contains(line)).collect();
            let gone: Vec<_> = then.iter().filter(|line| !now.contains(line)).collect();
            assert!(new.is_empty() && gone.is_empty(), "{what}: new {new:?}, gone {gone:?}");
        }
    }
}

/// Settings of the kernel that a measuring program might want to change, with their values.
fn settings() -> Vec<String> {
    let folders = ["net/core", "net/ipv4", "vm"].map(|folder| Path::new("/proc/sys").join(folder));
    let files = folders.iter().flat_map(fs::read_dir).flatten().flatten();
    let writable = files.filter(|file| file.metadata().is_ok_and(|m| m.is_file() && m.mode() & 0o200 != 0));
    let said = writable.filter_map(|file| {
        let value = fs::read_to_string(file.path()).ok()?;
        Some(format!("{} = {}", file.path().display(), value.trim()))
    });
    said.collect()
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// Everything below a directory, a line each: what to look at where something is left.
pub fn tree(directory: &Path) -> String {
    let output = Command::new("find").arg(directory).arg("-ls").output();
    output.map_or_else(|error| error.to_string(), |o| common::said(&o))
}

/// Has this child, which nobody has waited for, ended?
pub fn has_ended(child: u32) -> bool {
    common::stat_field(child, 3).is_none_or(|state| matches!(state.as_str(), "Z" | "X"))
}

/// A process that has just ended, as the names of what it could have left say it.
pub fn ended_process() -> String {
    let mut child = Command::new("true").spawn().expect("true(1)");
    let began = process::started(child.id()).expect("it is not reaped");
    child.wait().expect("it ends");
    let own = process::identity();
    let (namespace, _) = own.split_once('-').expect("its parts");
    format!("{namespace}-{}-{began}", child.id())
}

/// Where randomness of a test begins: from the environment to repeat one, otherwise from the clock.
pub fn seed() -> u64 {
    let given = std::env::var("SYSCOST_SEED").ok().map(|text| text.parse().expect("a number"));
    given.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |time| time.subsec_nanos().into())
    })
}
