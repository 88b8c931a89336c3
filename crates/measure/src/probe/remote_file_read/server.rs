//! The file server nfs-ganesha in user space (NFS 4), and its client libnfs: what both need, and how the server is started.
//!
//! It must not announce itself: this machine's rpcbind and D-Bus are hidden from it, and its state is kept where it is
//! removed. Starting and watching it is [`super::serving`]. Sources: ganesha-core-config(8), ganesha-export-config(8),
//! ganesha-vfs-config(8).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_host::Unavailable;
use syscost_host::files::Root;
use syscost_host::settings;
use syscost_sys::c_library;
use syscost_sys::nfs_client::{self, NfsFile};
use syscost_sys::program;

/// Its value on the axis of file servers.
pub const ID: &str = "nfs";
pub const PROGRAM: &str = "ganesha.nfsd";
/// The protocol's own: in a namespace of one's own every port is free.
pub const PORT: u16 = 2049;
/// Directories that it must not see: sockets of this machine's services, its own old state.
pub const HIDDEN: [&str; 2] = ["/run", "/var/lib/nfs"];
/// What a person installs to have all of it (Debian's names).
const PACKAGES: &str = "nfs-ganesha nfs-ganesha-vfs libnfs-utils";

/// Where the server may write, and what it serves.
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

/// Can it be started here, and its client be loaded?
pub fn available() -> Result<(), Unavailable> {
    may_start(&Root::here())?;
    client_can_be_loaded(c_library::STATIC)?;
    let missing = |reason: String| Unavailable {
        reason,
        remedy: format!(
            "apt-get install --no-install-recommends {PACKAGES} (and see that no service of theirs is started)"
        ),
    };
    path().ok_or_else(|| missing(format!("{PROGRAM} is not installed")))?;
    parts().map_err(missing)
}

/// The program's file.
pub fn path() -> Option<PathBuf> {
    program::named(PROGRAM, &SYSTEM_FOLDERS)
}

/// Opens the served file, from the other side.
pub fn open(address: &str) -> io::Result<NfsFile> {
    NfsFile::open(address, EXPORT, FILE)
}

const PLUGIN: &str = "libfsalvfs.so";
const EXPORT: &str = "/export";

fn parts() -> Result<(), String> {
    plugins().ok_or_else(|| format!("{PLUGIN}, the server's part for local files, is not installed"))?;
    nfs_client::available()
}

/// The folder of the server's parts: distributions put it in different places.
fn plugins() -> Option<PathBuf> {
    let of_triplets = fs::read_dir("/usr/lib").into_iter().flatten().flatten().map(|entry| entry.path());
    let libraries = ["/usr/lib64", "/usr/lib", "/usr/local/lib"].map(PathBuf::from);
    libraries.into_iter().chain(of_triplets).map(|p| p.join("ganesha")).find(|p| p.join(PLUGIN).is_file())
}

/// Writes the configuration, and says how the program is started with it.
pub fn prepare(site: &Site, program: &Path) -> io::Result<Command> {
    let plugins = plugins().ok_or(io::ErrorKind::NotFound)?;
    let state = site.directory.join("state");
    fs::create_dir(&state)?;
    let configuration = configuration(site, &plugins, &state);
    let file = site.directory.join("ganesha.conf");
    fs::write(&file, configuration)?;
    let mut command = Command::new(program);
    // -F: stays in the foreground, our child.
    command.arg("-F").arg("-f").arg(file);
    command.arg("-L").arg("STDOUT").arg("-p").arg(site.directory.join("ganesha.pid"));
    Ok(command)
}

fn configuration(site: &Site, plugins: &Path, state: &Path) -> String {
    let (address, port) = (&site.address, PORT);
    let (export, plugins, state) = (site.export.display(), plugins.display(), state.display());
    format!(
        "NFS_CORE_PARAM {{
    Protocols = 4;
    NFS_Port = {port};
    Bind_addr = {address};
    Enable_NLM = false;
    Enable_RQUOTA = false;
    Enable_UDP = false;
    Plugins_Dir = \"{plugins}\";
}}
NFSV4 {{
    Graceless = true;
    RecoveryBackend = fs;
    RecoveryRoot = \"{state}\";
}}
NFS_KRB5 {{ Active_krb5 = false; }}
EXPORT {{
    Export_Id = 1;
    Path = \"{export}\";
    Pseudo = {EXPORT};
    Access_Type = RO;
    Squash = No_Root_Squash;
    Protocols = 4;
    Transports = TCP;
    SecType = sys;
    FSAL {{ Name = VFS; }}
}}
"
    )
}

/// The client is a shared library: no package helps a program that can load none.
fn client_can_be_loaded(is_static: bool) -> Result<(), Unavailable> {
    if !is_static {
        return Ok(());
    }
    Err(Unavailable {
        reason: "this syscost is a static build, which cannot load the client's shared library".into(),
        remedy: "measure with the shared build: cargo build --release, without a --target".into(),
    })
}

/// Capabilities that it does not work without: files opened by handle; a mount namespace of its own, namespaces of the network
/// that root made, and ids of every user.
const NEEDED: [(u32, &str); 2] = [(2, "CAP_DAC_READ_SEARCH"), (21, "CAP_SYS_ADMIN")];

/// Is this root of the machine, with what the server needs? Root of a user namespace may not open
/// files by handle (open_by_handle_at(2)), and has no other users to become.
fn may_start(root: &Root) -> Result<(), Unavailable> {
    let refuse = |reason: String, remedy: &str| Err(Unavailable { reason, remedy: remedy.into() });
    if settings::effective_uid(root) != Some(0) || !settings::has_every_user(root) {
        let reason = "the NFS server acts for every user, which only root may".into();
        return refuse(reason, "run as root, outside a user namespace");
    }
    let held = settings::status(root, "CapEff").and_then(|mask| u64::from_str_radix(&mask, 16).ok());
    let lacks = |(bit, _): &&(u32, &str)| held.is_some_and(|held| held >> bit & 1 == 0);
    match NEEDED.iter().find(lacks) {
        None => Ok(()),
        Some((_, name)) => refuse(
            format!("the NFS server cannot be started without {name}"),
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
            may_start(&machine.root()).map_err(|why| why.reason)
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
}
