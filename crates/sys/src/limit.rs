//! Limits of this process: that on locked memory, kept while something else may change it; and that on
//! descriptors; `None`: as much as it likes. Source: getrlimit(2).

use rustix::process::{Resource, Rlimit, setrlimit};

/// Puts the limit back as it was when dropped: workers inherit it, and zero-copy senders are bound
/// by it, so a library that raises it would change what is measured.
pub struct LockedMemory(Option<Rlimit>);

impl LockedMemory {
    /// Remembers the limit as it is.
    pub fn keep() -> LockedMemory {
        LockedMemory(limit(Resource::Memlock))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // Lowering needs no right.
        let _ = self.0.map(|limit| setrlimit(Resource::Memlock, limit));
    }
}

/// How much memory this process may lock.
pub fn locked_memory_bytes() -> Option<u64> {
    limit(Resource::Memlock)?.current
}

/// How many descriptors this process may have.
pub fn open_files() -> Option<u64> {
    limit(Resource::Nofile)?.current
}

/// Lets this process, and no other, have so many descriptors, as far as its hard limit goes; returns what it
/// may have now.
pub fn allow_open_files(wanted: u64) -> Option<u64> {
    let limit = limit(Resource::Nofile)?;
    if limit.current.is_some_and(|current| current < wanted) {
        let current = Some(wanted.min(limit.maximum.unwrap_or(u64::MAX)));
        // Up to the hard limit it needs no right.
        let _ = setrlimit(Resource::Nofile, Rlimit { current, ..limit });
    }
    open_files()
}

/// Not by rustix, which takes the call for one that cannot fail: a sandbox may refuse it.
fn limit(resource: Resource) -> Option<Rlimit> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the live struct that it is given.
    let got = unsafe { libc::getrlimit(resource as _, &mut limit) };
    let known = |limit: u64| (limit != libc::RLIM_INFINITY).then_some(limit);
    (got == 0).then(|| Rlimit { current: known(limit.rlim_cur), maximum: known(limit.rlim_max) })
}
