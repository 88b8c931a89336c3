//! What the first process of a machine does: loading kernel modules, and ending the machine.
//!
//! Only the init of an emulated guest may use it. Sources: finit_module(2), reboot(2).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Loads a module; one that is loaded already is no error.
pub fn load_module(module: &File) -> io::Result<()> {
    let no_parameters = c"";
    // SAFETY: the descriptor is open for as long as the borrow, the text is a C string.
    let result =
        unsafe { libc::syscall(libc::SYS_finit_module, module.as_raw_fd(), no_parameters.as_ptr(), 0) };
    match result {
        0 => Ok(()),
        _ => match io::Error::last_os_error() {
            error if error.raw_os_error() == Some(libc::EEXIST) => Ok(()),
            error => Err(error),
        },
    }
}

/// Restarts the machine, of which this process must be the first: an emulator that was told so ends
/// instead. It returns only where the kernel refuses.
pub fn restart() {
    if std::process::id() != 1 {
        return;
    }
    // SAFETY: sync takes nothing; reboot takes a number.
    unsafe {
        libc::sync();
        libc::reboot(libc::RB_AUTOBOOT);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_module_is_refused() {
        let file = tempfile::tempfile().unwrap();
        assert!(load_module(&file).is_err(), "an empty file, or no right to load any");
    }

    #[test]
    fn nothing_restarts_but_a_guest() {
        restart();
        assert_ne!(std::process::id(), 1);
    }
}
