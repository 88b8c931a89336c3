//! A file system that is mounted from elsewhere is read by the ordinary probe, whatever its kind:
//! here sshfs over a pipe to an SFTP server, without ssh, keys or a network.

use crate::common;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use syscost_host::files::Root;
use syscost_host::storage::mount_of;
use syscost_measure::probe::file_read::FILE_READ;

/// Where distributions put it: it is in nobody's search path.
const SFTP_SERVERS: [&str; 4] = [
    "/usr/lib/openssh/sftp-server",
    "/usr/libexec/openssh/sftp-server",
    "/usr/lib/ssh/sftp-server",
    "/usr/libexec/sftp-server",
];

/// A directory seen through sshfs; dropping it unmounts it.
struct Mounted {
    point: PathBuf,
    processes: Vec<Child>,
}

impl Mounted {
    fn start(source: &Path, point: &Path) -> Result<Mounted, String> {
        let server = SFTP_SERVERS.into_iter().find(|path| Path::new(path).exists());
        let server = server.ok_or("no sftp-server is installed")?;
        let say = |error: io::Error| error.to_string();
        let ((to_server, from_client), (to_client, from_server)) =
            (io::pipe().map_err(say)?, io::pipe().map_err(say)?);
        let client = Command::new("sshfs")
            .args(["-f", "-o", "passive"])
            .arg(format!(":{}", source.display()))
            .arg(point)
            .stdin(to_client)
            .stdout(from_client)
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("sshfs: {error}"))?;
        let mut mounted = Mounted { point: point.canonicalize().map_err(say)?, processes: vec![client] };
        let server = Command::new(server).stdin(to_server).stdout(from_server).stderr(Stdio::null()).spawn();
        mounted.processes.push(server.map_err(say)?);
        let started = Instant::now();
        while !mounted.is_mounted() {
            let ended = mounted.processes[0].try_wait().map_err(say)?;
            if ended.is_some() || started.elapsed() > Duration::from_secs(10) {
                return Err("sshfs cannot mount here (no /dev/fuse, or no right to)".into());
            }
            syscost_sys::sleep::sleep(Duration::from_millis(10));
        }
        Ok(mounted)
    }

    fn is_mounted(&self) -> bool {
        mount_of(&Root::here(), &self.point).is_some_and(|mount| mount.file_system == "fuse.sshfs")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("fusermount3").arg("-u").arg(&self.point).stderr(Stdio::null()).status();
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

#[test]
fn a_mounted_directory_is_a_directory() {
    let (source, point) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let mounted = match Mounted::start(source.path(), point.path()) {
        Ok(mounted) => mounted,
        Err(why) => return common::skipped("a_mounted_directory_is_a_directory", &why),
    };
    let path = point.path().to_str().expect("UTF-8");
    let output = common::syscost(&["check", FILE_READ.id, "--dir", path, "--file-size", "1M"]);
    let said = common::said(&output);
    assert!(output.status.success() && said.contains("verified"), "{said}");
    drop(mounted);
    let left: Vec<_> = std::fs::read_dir(source.path()).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
}
