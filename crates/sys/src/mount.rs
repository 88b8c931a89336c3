//! A command with mounts of its own: what it must not see of this machine is hidden from it.
//!
//! It changes nothing outside the command: the mounts live in a namespace that ends with it.
//! Sources: mount_namespaces(7), mount(2), prctl(2).

use super::{namespace, process};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_bind, mount_change};
use rustix::thread::UnshareFlags;
use std::ffi::CString;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// Makes the command see an empty directory in place of each of these (those that do not exist
/// stay so), and die with the thread that starts it.
pub fn seclude_on_exec(command: &mut Command, hidden: &[&Path]) -> io::Result<()> {
    let there = hidden.iter().filter(|path| path.is_dir());
    let hidden: Vec<CString> =
        there.map(|path| CString::new(path.as_os_str().as_bytes())).collect::<Result<_, _>>()?;
    let parent = std::process::id();
    let seclude = move || -> io::Result<()> {
        process::die_with(parent)?;
        namespace::unshare(UnshareFlags::NEWNS)?;
        mount_change(c"/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE)?;
        let flags = MountFlags::NOSUID | MountFlags::NODEV;
        hidden.iter().try_for_each(|path| Ok(mount(c"tmpfs", path, c"tmpfs", flags, c"mode=0700")?))
    };
    // SAFETY: between fork and exec only system calls are made, on memory prepared before.
    unsafe { command.pre_exec(seclude) };
    Ok(())
}

/// Mounts a new file system of this kind (`proc`, `tmpfs`), for the init of a guest.
pub fn mount_new(kind: &str, target: &Path) -> io::Result<()> {
    Ok(mount(kind, target, kind, MountFlags::empty(), None)?)
}

/// Makes a file appear in place of another, and stay as long as that is mounted.
pub fn bind(what: &Path, target: &Path) -> io::Result<()> {
    Ok(mount_bind(what, target)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_directory_is_empty_and_only_for_the_command() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("secret"), "here").unwrap();
        let mut command = Command::new("ls");
        command.arg(folder.path());
        seclude_on_exec(&mut command, &[folder.path(), Path::new("/nowhere-at-all")]).unwrap();
        match command.output() {
            Ok(output) => {
                assert!(output.status.success(), "{output:?}");
                assert_eq!(String::from_utf8_lossy(&output.stdout), "");
            }
            Err(error) => {
                assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
                eprintln!("skipped: mounts of one's own: {error}");
            }
        }
        assert!(folder.path().join("secret").exists(), "nothing changed outside");
    }
}
