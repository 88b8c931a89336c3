//! SMB 3: Samba's smbd as a standalone server for guests, the client libsmbclient.
//!
//! One connection, in one process (`-i`), so that nothing survives it. It uses no account, no
//! printer and no registry of this machine. Sources: smbd(8), smb.conf(5).

use super::server::{FILE, RemoteFile, Server, Site};
use crate::sys::smb_client;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

pub const SERVER: Server = Server {
    id: "smb",
    title: "SMB",
    published: false,
    program: "smbd",
    packages: "samba libsmbclient",
    port: 445,
    hidden: &["/run"],
    parts: smb_client::available,
    prepare,
    open,
};

const SHARE: &str = "share";

fn prepare(site: &Site, program: &Path) -> io::Result<Command> {
    let state = site.directory.join("state");
    fs::create_dir(&state)?;
    let file = site.directory.join("smb.conf");
    fs::write(&file, configuration(site, &state))?;
    let mut command = Command::new(program);
    // -i: in the foreground, one session, no child processes.
    command.arg("-i").arg("-s").arg(file);
    Ok(command)
}

fn configuration(site: &Site, state: &Path) -> String {
    let (address, port) = (&site.address, SERVER.port);
    let (export, state) = (site.export.display(), state.display());
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
    private dir = {state}
    state directory = {state}
    cache directory = {state}
    lock directory = {state}
    pid directory = {state}
    ncalrpc dir = {state}/ncalrpc
    binddns dir = {state}
    log file = {state}/log
[{SHARE}]
    path = {export}
    guest only = yes
    read only = yes
"
    )
}

impl RemoteFile for smb_client::RemoteFile {
    #[inline]
    fn read_at(&mut self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        smb_client::RemoteFile::read_at(self, buffer, offset)
    }
}

fn open(address: &str) -> io::Result<Box<dyn RemoteFile>> {
    Ok(Box::new(smb_client::RemoteFile::open(address, SHARE, FILE)?))
}
