//! A filter of system calls on the calling thread: installed, never taken off.
//!
//! Sources: seccomp(2), linux/filter.h, linux/seccomp.h.

use std::io;

/// Offsets in what the kernel hands to a filter (struct seccomp_data).
const NUMBER: u32 = 0;
const FIRST_ARGUMENT: u32 = 16;

/// What the kernel says of the one call that every filter here refuses: nothing else says it of getpgid(2).
const REFUSAL: i32 = libc::ENOTUNIQ;
const REFUSED: libc::c_long = libc::SYS_getpgid;

const LOAD_WORD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
const JUMP_IF_EQUAL: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;

const fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}

/// A program that allows every call but getpgid(2).
pub struct CallFilter(Vec<libc::sock_filter>);

impl CallFilter {
    /// Decides by the number of the call alone. Newer kernels remember what such a filter always allows (5.11).
    pub fn by_number() -> CallFilter {
        CallFilter::with(Vec::new())
    }

    /// Looks at an argument too, and compares it so often: it has to run at every call.
    pub fn by_argument(comparisons: usize) -> CallFilter {
        let mut looks = vec![instruction(LOAD_WORD, 0, 0, FIRST_ARGUMENT)];
        // Equal or not, the next instruction follows.
        looks.extend((0..comparisons).map(|i| instruction(JUMP_IF_EQUAL, 0, 0, 0x5eed_0000 + i as u32)));
        CallFilter::with(looks)
    }

    fn with(looks: Vec<libc::sock_filter>) -> CallFilter {
        let refuse = libc::SECCOMP_RET_ERRNO | REFUSAL as u32;
        let mut program = vec![
            instruction(LOAD_WORD, 0, 0, NUMBER),
            instruction(JUMP_IF_EQUAL, 0, 1, REFUSED as u32),
            instruction(RETURN, 0, 0, refuse),
        ];
        program.extend(looks);
        program.push(instruction(RETURN, 0, 0, libc::SECCOMP_RET_ALLOW));
        CallFilter(program)
    }

    /// Instructions that a call runs through which is allowed.
    pub fn length(&self) -> usize {
        // All but the one that refuses.
        self.0.len() - 1
    }

    /// Installs it on the calling thread and on threads that it starts from now on. The thread can gain no rights by
    /// executing a program any more, which an ordinary user has to promise.
    pub fn install(&self) -> io::Result<()> {
        let length = self.0.len() as libc::c_ushort;
        let program = libc::sock_fprog { len: length, filter: self.0.as_ptr().cast_mut() };
        // SAFETY: prctl takes numbers only; the program is live, and the kernel only reads it.
        let failed = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::syscall(libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER, 0, &raw const program) != 0
        };
        if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
    }
}

/// Does a filter of this module act on the calling thread? It refuses what is otherwise always answered.
pub fn is_filtered() -> bool {
    // SAFETY: takes a number only.
    let answer = unsafe { libc::syscall(REFUSED, 0) };
    answer == -1 && io::Error::last_os_error().raw_os_error() == Some(REFUSAL)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::call;

    #[test]
    fn a_filter_refuses_its_call_on_its_thread_and_allows_others() {
        for (filter, length) in [(CallFilter::by_number(), 3), (CallFilter::by_argument(100), 104)] {
            assert_eq!(filter.length(), length);
            let filtered = std::thread::spawn(move || {
                assert!(!is_filtered());
                filter.install().map(|()| is_filtered() && call::getppid() > 0)
            });
            match filtered.join().unwrap() {
                Ok(acts) => assert!(acts),
                Err(error) => eprintln!("skipped: no filter may be installed here: {error}"),
            }
            assert!(!is_filtered(), "other threads are as before");
        }
    }
}
