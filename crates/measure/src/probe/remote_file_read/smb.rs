//! SMB 3: Samba's smbd as a standalone server for guests, the client libsmbclient.
//!
//! One connection, in one process (`-i`), so that nothing survives it. It uses no account, no
//! printer and no registry of this machine. Sources: smbd(8), smb.conf(5).

use super::server::{FILE, RemoteFile, Server, Site};
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;
use syscost_sys::smb_client;

pub const SERVER: Server = Server {
    id: "smb",
    title: "SMB",
    published: false,
    program: "smbd",
    packages: "samba smbclient",
    port: 445,
    rights: &[],
    hidden: &["/run"],
    parts: smb_client::available,
    prepare,
    open,
};

const SHARE: &str = "share";

fn prepare(site: &Site, program: &Path) -> io::Result<Command> {
    let file = site.directory.join("smb.conf");
    fs::write(&file, configuration(site))?;
    let mut command = Command::new(program);
    // -i: in the foreground, one session, no child processes.
    command.arg("-i").arg("-s").arg(file);
    Ok(command)
}

/// State goes below /run, which is an empty one of the server's own: names of sockets may not be
/// long (unix(7)), as the scratch directory's may be.
fn configuration(site: &Site) -> String {
    let (address, port, export) = (&site.address, SERVER.port, site.export.display());
    let log = site.directory.join("log");
    let log = log.display();
    format!(
        "[global]
    server role = standalone server
    server min protocol = SMB3
    netbios name = SYSCOST
    workgroup = SYSCOST
    disable netbios = yes
    smb ports = {port}
    interfaces = {address}
    bind interfaces only = yes
    map to guest = Bad User
    guest account = root
    load printers = no
    disable spoolss = yes
    printing = bsd
    printcap name = /dev/null
    usershare path =
    private dir = /run
    state directory = /run
    cache directory = /run
    lock directory = /run
    pid directory = /run
    ncalrpc dir = /run/ncalrpc
    binddns dir = /run
    log level = 1
    log file = {log}
[{SHARE}]
    path = {export}
    guest only = yes
    read only = yes
"
    )
}

impl RemoteFile for smb_client::SmbFile {
    #[inline]
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        smb_client::SmbFile::read_at(self, buffer, offset)
    }
}

fn open(address: &str) -> io::Result<Box<dyn RemoteFile>> {
    Ok(Box::new(smb_client::SmbFile::open(address, SHARE, FILE)?))
}
