//! Giving up rights for good: all capabilities of the calling thread but those named.
//!
//! It never gains any. It must be called while the process has one thread: the kernel keeps capabilities
//! for each thread, and those started later inherit them.
//! Sources: capabilities(7), capget(2), prctl(2).

use rustix::io::Errno;
pub use rustix::thread::CapabilitySet;
use rustix::thread::{
    capabilities, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};
use std::io;

/// Gives up every capability that is not in `kept`, in every set, and every way to gain one by executing a
/// file. A capability of `kept` that the caller does not hold is not held afterwards either.
pub fn keep_only(kept: CapabilitySet) -> io::Result<()> {
    let steps = [set_no_new_privs(true), clear_ambient_capability_set()].map(|step| Ok(step?));
    let set = || {
        let mut held = capabilities(None)?;
        held.permitted &= kept;
        held.effective = held.permitted;
        held.inheritable = CapabilitySet::empty();
        Ok(set_capabilities(None, held)?)
    };
    // A sandbox may refuse any of them: the others are worth it without that one.
    let all = steps.into_iter().chain([bound_to(kept), set()]).fold(Ok(()), io::Result::and);
    unless_none_is_held(kept, all)
}

/// Gives up every capability that is not in `kept`, and so does what this thread executes where it may say so.
pub fn limit_to(kept: CapabilitySet) -> io::Result<()> {
    let bound = bound_to(kept);
    unless_none_is_held(kept, hold_only(kept).and(bound))
}

/// The same of this thread alone: what root executes has all that root has.
pub fn hold_only(kept: CapabilitySet) -> io::Result<()> {
    let set = || {
        let mut held = capabilities(None)?;
        held.permitted &= kept;
        held.effective &= kept;
        // What is not inheritable is not ambient either.
        held.inheritable &= kept;
        Ok(set_capabilities(None, held)?)
    };
    unless_none_is_held(kept, set())
}

/// Who holds nothing else has nothing to give up, whatever a sandbox refuses.
fn unless_none_is_held(kept: CapabilitySet, answer: io::Result<()>) -> io::Result<()> {
    let held = || capabilities(None).ok().map(|held| held.permitted).or_else(told);
    answer.or_else(|error| match held() {
        Some(held) if kept.contains(held) => Ok(()),
        _ => Err(error),
    })
}

/// What proc_pid_status(5) says that the calling thread holds.
fn told() -> Option<CapabilitySet> {
    let status = std::fs::read_to_string("/proc/thread-self/status").ok()?;
    let held = status.lines().find_map(|line| line.strip_prefix("CapPrm:"))?;
    u64::from_str_radix(held.trim(), 16).ok().map(CapabilitySet::from_bits_retain)
}

/// Takes the others out of the bounding set. Only who may set capabilities (CAP_SETPCAP) can; for anybody
/// else executing a file gives nothing either, by `PR_SET_NO_NEW_PRIVS`.
fn bound_to(kept: CapabilitySet) -> io::Result<()> {
    for capability in (0..u64::BITS).map(|number| CapabilitySet::from_bits_retain(1 << number)) {
        if kept.contains(capability) {
            continue;
        }
        match remove_capability_from_bounding_set(capability) {
            // The last one that this kernel knows was before this one; or this is nobody who may.
            Err(Errno::INVAL | Errno::PERM) => return Ok(()),
            answer => answer?,
        }
    }
    Ok(())
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
            let kept = (CapabilitySet::IPC_LOCK | CapabilitySet::PERFMON).bits();
            keep_only(CapabilitySet::IPC_LOCK | CapabilitySet::PERFMON).unwrap();
            for set in ["CapPrm", "CapEff"] {
                assert_eq!(told(set), before & kept, "{set}");
            }
            assert_eq!((told("CapInh"), told("CapAmb"), told("NoNewPrivs")), (0, 0, 1));
            keep_only(CapabilitySet::empty()).unwrap();
            keep_only(CapabilitySet::IPC_LOCK).unwrap();
            assert_eq!((told("CapPrm"), told("CapEff")), (0, 0), "what was given up does not come back");
        };
        // A thread of its own: the others of this process keep what they have.
        let limited = || {
            let before = told("CapPrm");
            limit_to(CapabilitySet::NET_RAW | CapabilitySet::SETPCAP).unwrap();
            hold_only(CapabilitySet::NET_RAW).unwrap();
            assert_eq!(
                (told("CapPrm"), told("CapEff")),
                (before & CapabilitySet::NET_RAW.bits(), told("CapPrm"))
            );
            let status = std::process::Command::new("cat").arg("/proc/self/status").output().unwrap().stdout;
            let status = String::from_utf8(status).unwrap();
            let line = status.lines().find_map(|line| line.strip_prefix("CapEff:")).unwrap();
            let inherited = u64::from_str_radix(line.trim(), 16).unwrap();
            let may = CapabilitySet::NET_RAW | CapabilitySet::SETPCAP;
            assert_eq!(inherited & !may.bits(), 0, "what is executed gains nothing");
        };
        std::thread::spawn(limited).join().unwrap();
        let before = told("CapEff");
        std::thread::spawn(work).join().unwrap();
        assert_eq!(told("CapEff"), before);
    }
}
