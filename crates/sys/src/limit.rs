//! Limits of this process: that on locked memory, kept while something else may change it; and those on
//! descriptors and tasks. Source: getrlimit(2).

/// Puts the limit back as it was when dropped: workers inherit it, and zero-copy senders are bound
/// by it, so a library that raises it would change what is measured.
pub struct LockedMemory(libc::rlimit);

impl LockedMemory {
    /// Remembers the limit as it is.
    pub fn keep() -> Option<LockedMemory> {
        let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
        // SAFETY: getrlimit fills the live struct that it is given.
        let got = unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
        (got == 0).then_some(LockedMemory(limit))
    }
}

impl Drop for LockedMemory {
    fn drop(&mut self) {
        // Lowering needs no right. SAFETY: setrlimit only reads the live struct that it is given.
        unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &self.0) };
    }
}

/// How much memory this process may lock; `None`: as much as it likes.
pub fn locked_memory_bytes() -> Option<u64> {
    let limit = LockedMemory::keep()?;
    (limit.0.rlim_cur != libc::RLIM_INFINITY).then_some(limit.0.rlim_cur)
}

/// How many descriptors this process may have; `None`: as many as it likes.
pub fn open_files() -> Option<u64> {
    // SAFETY: getrlimit fills the live struct that it is given.
    soft(|limit| unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, limit) })
}

/// Lets this process, and no other, have so many descriptors, as far as its hard limit goes; returns what it
/// may have now (`None`: as many as it likes).
pub fn allow_open_files(wanted: u64) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: getrlimit fills the live struct that it is given.
    let got = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) };
    if got == 0 && limit.rlim_cur < wanted && limit.rlim_cur < limit.rlim_max {
        limit.rlim_cur = wanted.min(limit.rlim_max);
        // SAFETY: setrlimit only reads the live struct. Up to the hard limit it needs no right.
        unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &limit) };
    }
    open_files()
}

/// How many processes and threads this user may have; `None`: as many as it likes.
pub fn processes() -> Option<u64> {
    // SAFETY: as above.
    soft(|limit| unsafe { libc::getrlimit(libc::RLIMIT_NPROC, limit) })
}

/// The limit that is kept; the number of a resource is of another type in every C library.
fn soft(read: impl FnOnce(&mut libc::rlimit) -> i32) -> Option<u64> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    (read(&mut limit) == 0 && limit.rlim_cur != libc::RLIM_INFINITY).then_some(limit.rlim_cur)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_limit_comes_back() {
        let now = || LockedMemory::keep().map(|kept| (kept.0.rlim_cur, kept.0.rlim_max));
        let before = now().expect("a limit");
        let kept = LockedMemory::keep();
        let lower = libc::rlimit { rlim_cur: before.0 / 2, rlim_max: before.1 };
        // SAFETY: setrlimit only reads the live struct that it is given.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_MEMLOCK, &lower) }, 0);
        assert_ne!(now(), Some(before));
        drop(kept);
        assert_eq!(now(), Some(before));
    }
}
