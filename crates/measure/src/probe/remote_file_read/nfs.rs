//! NFS 4: the server nfs-ganesha in user space, the client libnfs.
//!
//! The server must not announce itself: this machine's rpcbind and D-Bus are hidden from it, and
//! its state is kept where it is removed. Sources: ganesha-core-config(8), ganesha-export-config(8),
//! ganesha-vfs-config(8).

use super::server::{FILE, RemoteFile, Server, Site};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use syscost_sys::nfs_client;

pub const SERVER: Server = Server {
    id: "nfs",
    title: "NFS",
    published: true,
    program: "ganesha.nfsd",
    packages: "nfs-ganesha nfs-ganesha-vfs libnfs-utils",
    port: 2049,
    // Files are opened by handle.
    rights: &[(2, "CAP_DAC_READ_SEARCH")],
    hidden: &["/run", "/var/lib/nfs"],
    parts,
    prepare,
    open,
};

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

fn prepare(site: &Site, program: &Path) -> io::Result<Command> {
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
    let (address, port) = (&site.address, SERVER.port);
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

impl RemoteFile for nfs_client::NfsFile {
    #[inline]
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        nfs_client::NfsFile::read_at(self, buffer, offset)
    }
}

fn open(address: &str) -> io::Result<Box<dyn RemoteFile>> {
    Ok(Box::new(nfs_client::NfsFile::open(address, EXPORT, FILE)?))
}
