//! The file servers: one file each, one visible list.
//!
//! It says what a server needs and how it is started; starting and watching it is [`super::serving`].

use super::axes::FILE_SERVER;
use super::{nfs, smb};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_core::axis::Point;
use syscost_host::Unavailable;
use syscost_host::files::Root;
use syscost_host::settings;
use syscost_sys::c_library;

/// An open file of a server, seen from its client.
pub trait RemoteFile {
    /// One request to the server; returns the bytes read.
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// One kind of file server with its client.
pub struct Server {
    pub id: &'static str,
    /// For people: `NFS`.
    pub title: &'static str,
    /// The published tables' remote rows are compared with this one.
    pub published: bool,
    pub program: &'static str,
    /// What a person installs to have all of it (Debian's names).
    pub packages: &'static str,
    /// The protocol's own: in a namespace of one's own every port is free.
    pub port: u16,
    /// Capabilities that it does not work without: bit and name.
    pub rights: &'static [(u32, &'static str)],
    /// Directories that it must not see: sockets of this machine's services, its own old state.
    pub hidden: &'static [&'static str],
    /// Is what it needs beside the program here?
    pub parts: fn() -> Result<(), String>,
    /// Writes the configuration, and says how the program is started with it.
    pub prepare: fn(&Site, &Path) -> io::Result<Command>,
    /// Opens the served file, from the other side.
    pub open: fn(&str) -> io::Result<Box<dyn RemoteFile>>,
}

/// Every server, in the order of reports.
pub const ALL: &[Server] = &[nfs::SERVER, smb::SERVER];

/// Where a server may write, and what it serves.
pub struct Site {
    /// For configuration, logs and state.
    pub directory: PathBuf,
    /// Holds [`FILE`] and nothing else.
    pub export: PathBuf,
    /// The address that it listens on.
    pub address: String,
}

/// The name of the served file.
pub const FILE: &str = "data";
/// Where system administration programs are, whether in the search path or not.
const SYSTEM_FOLDERS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

impl Server {
    pub fn of(point: &Point) -> Result<&'static Server, Unavailable> {
        let id = point.text(FILE_SERVER);
        ALL.iter().find(|server| Some(server.id) == id).ok_or_else(|| Unavailable {
            reason: "no such file server".into(),
            remedy: "syscost list names the file servers".into(),
        })
    }

    /// Can it be started here, and its client be loaded?
    pub fn available(&self) -> Result<(), Unavailable> {
        may_start(&Root::here(), self)?;
        client_can_be_loaded(c_library::STATIC)?;
        let missing = |reason: String| Unavailable {
            reason,
            remedy: format!(
                "apt-get install --no-install-recommends {} (and see that no service of theirs is started)",
                self.packages
            ),
        };
        self.path().ok_or_else(|| missing(format!("{} is not installed", self.program)))?;
        (self.parts)().map_err(missing)
    }

    /// The program's file.
    pub fn path(&self) -> Option<PathBuf> {
        let search = std::env::var_os("PATH").unwrap_or_default();
        let folders = std::env::split_paths(&search).chain(SYSTEM_FOLDERS.map(PathBuf::from));
        folders.map(|folder| folder.join(self.program)).find(|path| path.is_file())
    }
}

/// The clients are shared libraries: no package helps a program that can load none.
fn client_can_be_loaded(is_static: bool) -> Result<(), Unavailable> {
    if !is_static {
        return Ok(());
    }
    Err(Unavailable {
        reason: "this syscost is a static build, which cannot load the client's shared library".into(),
        remedy: "measure with the shared build: cargo build --release, without a --target".into(),
    })
}

/// A mount namespace of its own, namespaces of the network that root made, and ids of every user.
const SYS_ADMIN: (u32, &str) = (21, "CAP_SYS_ADMIN");

/// Is this root of the machine, with what the server needs? Root of a user namespace may not open
/// files by handle (open_by_handle_at(2)), and has no other users to become.
fn may_start(root: &Root, server: &Server) -> Result<(), Unavailable> {
    let refuse = |reason: String, remedy: &str| Err(Unavailable { reason, remedy: remedy.into() });
    if settings::effective_uid(root) != Some(0) || !settings::has_every_user(root) {
        let reason = format!("the {} server acts for every user, which only root may", server.title);
        return refuse(reason, "run as root, outside a user namespace");
    }
    let held = settings::status(root, "CapEff").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    let lacks = |(bit, _): &&(u32, &str)| held.is_some_and(|held| held >> bit & 1 == 0);
    match server.rights.iter().chain([&SYS_ADMIN]).find(lacks) {
        None => Ok(()),
        Some((_, name)) => refuse(
            format!("the {} server cannot be started without {name}", server.title),
            "give the container that capability (docker run --cap-add), or measure outside it",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::Machine;

    #[test]
    fn a_static_build_names_the_build_that_can() {
        assert_eq!(client_can_be_loaded(false), Ok(()));
        let why = client_can_be_loaded(true).unwrap_err();
        assert!(
            why.reason.contains("static build") && why.remedy.contains("cargo build --release"),
            "{why:?}"
        );
    }

    #[test]
    fn root_of_the_machine_with_its_capabilities_may_start_a_server() {
        let whole = "         0          0 4294967295\n";
        let all = "Uid:\t0\t0\t0\t0\nCapEff:\t000001ffffffffff\n";
        let may = |status: &str, uid_map: &str| {
            let machine = Machine::empty();
            machine.write("proc/self/status", status);
            machine.write("proc/self/uid_map", uid_map);
            may_start(&machine.root(), &nfs::SERVER).map_err(|why| why.reason)
        };
        assert_eq!(may(all, whole), Ok(()));
        assert!(may(all, "         0     100000      65536\n").unwrap_err().contains("only root"));
        let ordinary = "Uid:\t9\t9\t9\t9\nCapEff:\t0000000000000000\n";
        assert!(may(ordinary, whole).unwrap_err().contains("only root"));
        // What Docker gives root of a container, and the same with DAC_READ_SEARCH.
        for (mask, name) in [("00000000a80425fb", "DAC_READ_SEARCH"), ("00000000a80425ff", "SYS_ADMIN")] {
            let why = may(&format!("Uid:\t0\t0\t0\t0\nCapEff:\t{mask}\n"), whole).unwrap_err();
            assert!(why.contains(name), "{why}");
        }
    }

    #[test]
    fn what_is_missing_has_a_package() {
        for server in ALL {
            if let Err(why) = server.available() {
                assert!(!why.reason.is_empty() && !why.remedy.is_empty(), "{why:?}");
            }
            let absent = Server { program: "syscost-no-such-program", ..*server };
            assert_eq!(absent.path(), None);
        }
    }
}
