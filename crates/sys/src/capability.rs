//! Giving up rights for good: all capabilities of the calling thread but those named.
//!
//! It never gains any. It must be called while the process has one thread: the kernel keeps capabilities
//! for each thread, and those started later inherit them.
//! Sources: capabilities(7), capget(2), prctl(2), linux/capability.h.

use std::io;

/// Capabilities that something here is known to need, by their numbers in the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum Capability {
    DacReadSearch = 2,
    SetGid = 6,
    SetUid = 7,
    NetBindService = 10,
    NetAdmin = 12,
    NetRaw = 13,
    IpcLock = 14,
    SysAdmin = 21,
    SysResource = 24,
    Perfmon = 38,
}

impl Capability {
    /// As capabilities(7) writes it.
    pub fn name(self) -> &'static str {
        match self {
            Capability::DacReadSearch => "CAP_DAC_READ_SEARCH",
            Capability::SetGid => "CAP_SETGID",
            Capability::SetUid => "CAP_SETUID",
            Capability::NetBindService => "CAP_NET_BIND_SERVICE",
            Capability::NetAdmin => "CAP_NET_ADMIN",
            Capability::NetRaw => "CAP_NET_RAW",
            Capability::IpcLock => "CAP_IPC_LOCK",
            Capability::SysAdmin => "CAP_SYS_ADMIN",
            Capability::SysResource => "CAP_SYS_RESOURCE",
            Capability::Perfmon => "CAP_PERFMON",
        }
    }

    pub fn bit(self) -> u64 {
        1 << self as u32
    }
}

/// `_LINUX_CAPABILITY_VERSION_3`: sets of 64 bits, in two halves.
const VERSION: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: libc::c_int,
}

/// Half of the three sets.
#[repr(C)]
#[derive(Clone, Copy, Default)]
struct Half {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

/// Gives up every capability that is not in `kept`, in every set, and every way to gain one by executing a
/// file. A capability of `kept` that the caller does not hold is not held afterwards either.
pub fn keep_only(kept: &[Capability]) -> io::Result<()> {
    // SAFETY: prctl with these arguments touches no memory of ours.
    check(unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
    // SAFETY: as above.
    check(unsafe { libc::prctl(libc::PR_CAP_AMBIENT, libc::PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) }.into())?;
    let kept = kept.iter().fold(0, |mask, capability| mask | capability.bit());
    let mut halves = held()?;
    bound_to(kept)?;
    for (half, kept) in halves.iter_mut().zip([kept as u32, (kept >> 32) as u32]) {
        half.permitted &= kept;
        half.effective = half.permitted;
        half.inheritable = 0;
    }
    let header = Header { version: VERSION, pid: 0 };
    // SAFETY: a header of version 3 comes with two halves, which live for the length of the call.
    check(unsafe { libc::syscall(libc::SYS_capset, &raw const header, halves.as_ptr()) })
}

fn held() -> io::Result<[Half; 2]> {
    let mut header = Header { version: VERSION, pid: 0 };
    let mut halves = [Half::default(); 2];
    // SAFETY: a header of version 3 comes with room for two halves, which live for the length of the call.
    check(unsafe { libc::syscall(libc::SYS_capget, &raw mut header, halves.as_mut_ptr()) })?;
    Ok(halves)
}

/// Takes the others out of the bounding set. Only who may set capabilities (CAP_SETPCAP) can; for anybody
/// else executing a file gives nothing either, by `PR_SET_NO_NEW_PRIVS`.
fn bound_to(kept: u64) -> io::Result<()> {
    for number in (0..u64::BITS).filter(|number| kept >> number & 1 == 0) {
        // SAFETY: prctl with these arguments touches no memory of ours.
        let result = unsafe { libc::prctl(libc::PR_CAPBSET_DROP, libc::c_ulong::from(number), 0, 0, 0) };
        match check(result.into()).map_err(|error| error.raw_os_error()) {
            // The last one that this kernel knows was before this one; or this is nobody who may.
            Err(Some(libc::EINVAL | libc::EPERM)) => return Ok(()),
            Err(_) => return Err(io::Error::last_os_error()),
            Ok(()) => {}
        }
    }
    Ok(())
}

fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of the calling thread, as the kernel tells it.
    fn told(name: &str) -> u64 {
        let status = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
        u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
    }

    #[test]
    fn what_is_given_up_is_gone_and_nothing_is_gained() {
        let work = || {
            let before = told("CapPrm");
            let kept = Capability::IpcLock.bit() | Capability::Perfmon.bit();
            keep_only(&[Capability::IpcLock, Capability::Perfmon]).unwrap();
            for set in ["CapPrm", "CapEff"] {
                assert_eq!(told(set), before & kept, "{set}");
            }
            assert_eq!((told("CapInh"), told("CapAmb"), told("NoNewPrivs")), (0, 0, 1));
            keep_only(&[]).unwrap();
            keep_only(&[Capability::IpcLock]).unwrap();
            assert_eq!((told("CapPrm"), told("CapEff")), (0, 0), "what was given up does not come back");
        };
        // A thread of its own: the others of this process keep what they have.
        let before = told("CapEff");
        std::thread::spawn(work).join().unwrap();
        assert_eq!(told("CapEff"), before);
    }
}
