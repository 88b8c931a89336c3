//! Loads committed eBPF programs and attaches them to raw tracepoints; says why where it cannot.
//!
//! Nothing is pinned: programs, their attachment and their maps are descriptors of this process, so
//! the kernel removes all of it however this process ends.
//! Sources: bpf(2); the aya crate, which relocates a program by the running kernel's BTF.

use aya::maps::{Array, MapData};
use aya::programs::RawTracePoint;
use aya::{Btf, Ebpf, EbpfError, EbpfLoader, Pod};
use std::error::Error;
use std::io;
use syscost_host::files::Root;
use syscost_host::{Unavailable, settings};
use syscost_sys::limit::LockedMemory;

/// Loads an object and attaches each function of it to its tracepoint.
pub fn attach(object: &[u8], tracepoints: &[(&str, &str)]) -> Result<Ebpf, Unavailable> {
    let _kept = LockedMemory::keep();
    // Without them the object loads all the same, reads wherever its fields lay when it was built, and counts nothing.
    let types = Btf::from_sys_fs().map_err(|error| no_types(&error))?;
    let loaded = EbpfLoader::new().btf(Some(&types)).load(object);
    let mut programs = loaded.map_err(|error| refusal(&error))?;
    for pair in tracepoints {
        attach_one(&mut programs, *pair).map_err(|error| unattached(&error, pair.1))?;
    }
    Ok(programs)
}

/// A map of a loaded object.
pub fn map<V: Pod>(programs: &mut Ebpf, name: &str) -> Result<Array<MapData, V>, Unavailable> {
    let map = programs.take_map(name).expect("the program declares it");
    Array::try_from(map).map_err(|error| refusal(&error))
}

/// All counters of a program, in its own order; they only grow.
pub struct Sums<const N: usize> {
    counters: Array<MapData, u64>,
    before: [u64; N],
}

impl<const N: usize> Sums<N> {
    pub fn of(programs: &mut Ebpf, name: &str) -> Result<Sums<N>, Unavailable> {
        Ok(Sums { counters: map(programs, name)?, before: [0; N] })
    }

    /// Counts from now on.
    pub fn start(&mut self) -> io::Result<()> {
        self.before = self.now()?;
        Ok(())
    }

    /// What was counted since.
    pub fn since(&self) -> io::Result<[u64; N]> {
        let now = self.now()?;
        Ok(std::array::from_fn(|index| now[index] - self.before[index]))
    }

    fn now(&self) -> io::Result<[u64; N]> {
        let mut sums = [0; N];
        for (index, sum) in (0..).zip(&mut sums) {
            *sum = self.counters.get(&index, 0).map_err(io::Error::other)?;
        }
        Ok(sums)
    }
}

/// Attaches one more function of a loaded object.
pub fn attach_one(programs: &mut Ebpf, (function, tracepoint): (&str, &str)) -> Result<(), EbpfError> {
    let program = programs.program_mut(function).expect("the program has this function");
    let program: &mut RawTracePoint = program.try_into()?;
    program.load()?;
    program.attach(tracepoint)?;
    Ok(())
}

fn no_types(error: &(dyn Error + 'static)) -> Unavailable {
    Unavailable {
        reason: format!(
            "the kernel does not say how its data lies in memory (BTF, /sys/kernel/btf/vmlinux): {}",
            last_cause(error)
        ),
        remedy: "use Linux 5.15 or later with CONFIG_DEBUG_INFO_BTF; in a container, let it see /sys (read-only is \
                 enough)"
            .into(),
    }
}

fn unattached(error: &(dyn Error + 'static), tracepoint: &str) -> Unavailable {
    match errno(error) {
        Some(libc::ENOENT | libc::EINVAL) => Unavailable {
            reason: format!("this kernel has no tracepoint {tracepoint}"),
            remedy: "use Linux 5.15 or later with CONFIG_TRACEPOINTS".into(),
        },
        _ => refusal(error),
    }
}

fn errno(error: &(dyn Error + 'static)) -> Option<i32> {
    chain(error).find_map(|e| e.downcast_ref::<io::Error>()?.raw_os_error())
}

/// Why the program cannot be used here. Told from the errors of the calls, not from versions.
pub fn refusal(error: &(dyn Error + 'static)) -> Unavailable {
    explain(error, &Root::here())
}

fn explain(error: &(dyn Error + 'static), root: &Root) -> Unavailable {
    let (reason, remedy) = match errno(error) {
        // Whoever has the rights is not told to get them.
        Some(libc::EPERM | libc::EACCES) if settings::holds(root, &["CAP_BPF", "CAP_PERFMON"]) => (
            format!("a sandbox (seccomp, a security module) or a locked-down kernel refuses a tracing program: {}", last_cause(error)),
            "allow bpf and perf_event_open in it (Docker: --cap-add SYS_ADMIN, or a seccomp profile that has them); \
             /sys/kernel/security/lockdown tells whether the kernel is locked down",
        ),
        Some(libc::EPERM | libc::EACCES) => (
            "counting copies needs rights that this user lacks (the kernel refuses to load a tracing program)"
                .into(),
            "run as root, or give the binary its rights: sudo setcap cap_bpf,cap_perfmon+ep syscost \
             (where the kernel is locked down, /sys/kernel/security/lockdown, even root is refused)",
        ),
        Some(libc::ENOMEM) => (
            "there is no memory for the tracing program's counters".into(),
            "allow more: the control group's memory.max, or ulimit -l before Linux 5.11",
        ),
        Some(libc::ENOSYS) => (
            format!("the kernel, or a sandbox, has no bpf(2): {}", last_cause(error)),
            "use Linux 5.15 or later with CONFIG_BPF_SYSCALL, outside sandboxes that hide it",
        ),
        _ => {
            let told: Vec<String> = chain(error).map(line).filter(|line| !line.is_empty()).collect();
            (
                format!("the kernel does not take the tracing program: {}", told.join(": ")),
                "use Linux 5.15 or later with BTF (CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux)",
            )
        }
    };
    Unavailable { reason, remedy: remedy.into() }
}

/// An error, its cause, the cause's cause.
fn chain<'e>(error: &'e (dyn Error + 'static)) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |cause: &&'e (dyn Error + 'static)| (*cause).source())
}

/// What an error says in one line: of a verifier's log, which has thousands, the first.
fn line(error: &(dyn Error + 'static)) -> String {
    error.to_string().lines().next().unwrap_or_default().to_string()
}

/// What is at the bottom of an error.
pub fn last_cause(error: &(dyn Error + 'static)) -> String {
    chain(error).map(line).filter(|line| !line.is_empty()).last().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    #[test]
    fn a_refusal_says_what_is_missing() {
        let machine = Machine::empty();
        let why = |errno| explain(&io::Error::from_raw_os_error(errno), &machine.root());
        assert!(why(libc::EPERM).reason.contains("rights") && why(libc::EPERM).remedy.contains("cap_bpf"));
        machine.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
        assert!(why(libc::EPERM).reason.contains("sandbox") && !why(libc::EPERM).remedy.contains("root"));
        assert!(why(libc::ENOSYS).reason.contains("bpf(2)") && why(libc::ENOSYS).remedy.contains("sandbox"));
        let other = refusal(&io::Error::other("unknown func\nR1 type=inv\n"));
        assert!(other.reason.ends_with("unknown func") && other.remedy.contains("BTF"));
        assert!(why(libc::ENOMEM).remedy.contains("memory.max"));
        let absent = unattached(&io::Error::from_raw_os_error(libc::ENOENT), "tcp_probe");
        assert_eq!(absent.reason, "this kernel has no tracepoint tcp_probe");
        assert!(
            unattached(&io::Error::from_raw_os_error(libc::EPERM), "tcp_probe").reason.contains("refuse")
        );
    }
}
