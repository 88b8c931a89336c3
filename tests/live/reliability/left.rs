//! What a run could leave on a machine, seen from outside: processes by a mark in their environment,
//! files, links, mounts, settings, control groups.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

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
            std::thread::sleep(Duration::from_millis(2));
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

/// What belongs to the whole machine and must be the same afterwards.
#[derive(Debug, PartialEq)]
pub struct Machine {
    links: Vec<String>,
    mounts: Vec<String>,
    settings: BTreeMap<PathBuf, String>,
    groups: Vec<String>,
}

impl Machine {
    pub fn now() -> Machine {
        let mut settings = BTreeMap::new();
        for folder in ["net/core", "net/ipv4", "vm"] {
            for entry in fs::read_dir(Path::new("/proc/sys").join(folder)).into_iter().flatten().flatten() {
                let writable = entry.metadata().is_ok_and(|m| m.is_file() && m.mode() & 0o200 != 0);
                if let (true, Ok(text)) = (writable, fs::read_to_string(entry.path())) {
                    settings.insert(entry.path(), text);
                }
            }
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").expect("proc(5)");
        let groups = ["cpuset", "memory", "cpu", ""].map(|c| names(&Path::new("/sys/fs/cgroup").join(c)));
        Machine {
            links: names(Path::new("/sys/class/net")),
            // Other tests have mounts and groups of their own, which bear their names.
            mounts: mounts.lines().filter(|line| !line.contains("-test-")).map(str::to_string).collect(),
            settings,
            groups: groups.into_iter().flatten().filter(|name| !name.contains("-test-")).collect(),
        }
    }

    /// Links, mounts, settings and control groups are those of before.
    pub fn same_as(&self, before: &Machine) {
        assert_eq!(self, before);
    }
}

/// Names in a directory, sorted.
pub fn names(directory: &Path) -> Vec<String> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

/// The number of a process that has just ended.
pub fn ended_process() -> u32 {
    let mut child = Command::new("true").spawn().expect("true(1)");
    child.wait().expect("it ends");
    child.id()
}

/// The number of this pid namespace: part of the name of what a janitor looks after.
pub fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").expect("proc(5)").ino()
}

/// Where randomness of a test begins: from the environment to repeat one, otherwise from the clock.
pub fn seed() -> u64 {
    let given = std::env::var("SYSCOST_SEED").ok().map(|text| text.parse().expect("a number"));
    given.unwrap_or_else(|| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |time| time.subsec_nanos().into())
    })
}
