//! The size of a terminal. Source: ioctl_tty(2), TIOCGWINSZ.

use std::os::fd::{AsRawFd, BorrowedFd};

/// Columns of the terminal behind a descriptor; `None` where it is none, or does not say.
pub fn columns(descriptor: BorrowedFd<'_>) -> Option<u16> {
    // SAFETY: a struct of integers, for which zero is a value.
    let mut size: libc::winsize = unsafe { std::mem::zeroed() };
    // SAFETY: the request writes one winsize to the pointer, which outlives the call.
    let result = unsafe { libc::ioctl(descriptor.as_raw_fd(), libc::TIOCGWINSZ, &mut size) };
    (result == 0 && size.ws_col > 0).then_some(size.ws_col)
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    #[test]
    fn a_file_is_no_terminal() {
        let file = std::fs::File::open("/proc/self/exe").unwrap();
        assert_eq!(super::columns(file.as_fd()), None);
    }
}
