//! What goes on beside a run, or holds it back: the same machine as another one.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::{fs, hint, thread};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum BesideRun {
    Nothing,
    /// So many threads that fill 64 MiB of memory each again and again.
    Pressure(usize),
    /// Two threads that only count.
    Load,
    /// The run has half a CPU.
    Quota,
    /// The run may use one CPU.
    OneCpu,
}

impl BesideRun {
    /// After what was run.
    pub fn how(self) -> &'static str {
        match self {
            BesideRun::Nothing => "",
            BesideRun::Pressure(1) => ", beside a thread that fills 64 MiB of memory again and again",
            BesideRun::Pressure(_) => ", beside two threads that fill 64 MiB of memory again and again",
            BesideRun::Load => ", beside two threads that never sleep",
            BesideRun::Quota => ", in a cgroup with half a CPU",
            BesideRun::OneCpu => ", allowed to use one CPU",
        }
    }

    /// The program with these arguments, into the directory.
    pub fn run<'a>(self, program: &Path, arguments: impl Iterator<Item = &'a str>, out: &Path) -> Result<()> {
        let mut command = Command::new("sh");
        // The shell puts itself into the group of the quota, or on one CPU, and becomes the program.
        let become_program = "[ -z \"$GROUP\" ] || echo $$ > \"$GROUP/cgroup.procs\"; \
                              [ -z \"$CPU\" ] || exec taskset -c \"$CPU\" \"$@\"; exec \"$@\"";
        command.args(["-c", become_program, "sh"]);
        command.arg(program).args(arguments).arg("--out").arg(out);
        let group = if self == BesideRun::Quota { Some(HalfCpu::new()?) } else { None };
        command.env("GROUP", group.as_ref().map_or(Path::new(""), |group| &group.0));
        command.env("CPU", if self == BesideRun::OneCpu { first_cpu()? } else { String::new() });
        let work = match self {
            BesideRun::Pressure(threads) => vec![fill_memory as fn(&AtomicBool); threads],
            BesideRun::Load => vec![count as fn(&AtomicBool); 2],
            _ => Vec::new(),
        };
        let over = AtomicBool::new(false);
        let status = thread::scope(|scope| {
            for work in &work {
                scope.spawn(|| work(&over));
            }
            let status = command.status();
            over.store(true, Ordering::Relaxed);
            status
        })?;
        // 1: a case failed or was not reached, which disturbed machines are for.
        ensure!(status.code().is_some_and(|code| code <= 1), "{program:?}{} ended with {status}", self.how());
        Ok(())
    }
}

fn fill_memory(over: &AtomicBool) {
    let mut memory = vec![0u8; 64 << 20];
    while !over.load(Ordering::Relaxed) {
        memory.iter_mut().for_each(|byte| *byte = byte.wrapping_add(1));
        hint::black_box(&memory);
    }
}

fn count(over: &AtomicBool) {
    while !over.load(Ordering::Relaxed) {
        hint::spin_loop();
    }
}

/// The first CPU that this process may use.
fn first_cpu() -> Result<String> {
    let status = fs::read_to_string("/proc/self/status")?;
    let allowed = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    let first = allowed.and_then(|list| list.trim().split(['-', ',']).next());
    Ok(first.context("the kernel does not say which CPUs are allowed")?.to_string())
}

/// A control group with half a CPU, removed at the end.
struct HalfCpu(PathBuf);

impl HalfCpu {
    fn new() -> Result<HalfCpu> {
        let first = Path::new("/sys/fs/cgroup/cpu");
        let (root, limit, half) = match first.is_dir() {
            true => (first, "cpu.cfs_quota_us", "50000"),
            false => (Path::new("/sys/fs/cgroup"), "cpu.max", "50000 100000"),
        };
        let group = HalfCpu(root.join(format!("syscost-conditions-{}", std::process::id())));
        fs::create_dir(&group.0).context("the condition `quota` makes a control group: run this as root")?;
        fs::write(group.0.join(limit), half)
            .with_context(|| format!("no {limit} in {}", group.0.display()))?;
        Ok(group)
    }
}

impl Drop for HalfCpu {
    fn drop(&mut self) {
        // The run has ended: nothing is in it. What the kernel keeps for a moment does no harm.
        let _ = fs::remove_dir(&self.0);
    }
}
