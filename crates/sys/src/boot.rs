//! What the first process of a machine does: loading kernel modules, and ending the machine.
//!
//! Only the init of an emulated guest may use it. Sources: finit_module(2), reboot(2).

use rustix::io::Errno;
use rustix::system::{RebootCommand, finit_module, reboot};
use std::fs::File;
use std::io;

/// Loads a module; one that is loaded already is no error.
pub fn load_module(module: &File) -> io::Result<()> {
    match finit_module(module, c"", 0) {
        Err(Errno::EXIST) => Ok(()),
        answer => Ok(answer?),
    }
}

/// Restarts the machine, of which this process must be the first: an emulator that was told so ends
/// instead. It returns only where the kernel refuses.
pub fn restart() {
    if std::process::id() == 1 {
        rustix::fs::sync();
        let _ = reboot(RebootCommand::Restart);
    }
}
