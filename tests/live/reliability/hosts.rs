//! Two hosts as far as the network can tell: two namespaces with a link, and a real sshd in the far one.

use crate::common::{self, SYSCOST};
use crate::search;
use std::os::fd::AsFd;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use syscost_host::namespaces::{NamespacePair, NamespaceSide, PairSettings};
use syscost_sys::{namespace, process, random};

const SSHD: &str = "/usr/sbin/sshd";
/// sshd refuses to start without it.
const PRIVILEGE_SEPARATION: &str = "/run/sshd";
pub const PORT: u16 = 2222;
pub const FAR: &str = "192.0.2.2";
pub const FAR_IPV6: &str = "fd00:77::2";

/// Dropping it ends the server; the namespaces go with their last holder.
pub struct Hosts {
    pub pair: NamespacePair,
    pub directory: tempfile::TempDir,
    sshd: Child,
}

impl Hosts {
    /// `None`, said: not possible here.
    pub fn new(test: &str) -> Option<Hosts> {
        if !common::is_root(test) || !common::namespaces_allowed(test) {
            return None;
        }
        let has = |tool: &str| Command::new(tool).arg("-V").output().is_ok();
        if !Path::new(SSHD).exists() || !has("ssh") || !has("ip") {
            common::skipped(
                test,
                "needs sshd, ssh and ip (apt-get install openssh-server openssh-client iproute2)",
            );
            return None;
        }
        let name = random::token().expect("random numbers");
        let pair = NamespacePair::create(&name[..8], &PairSettings::veth(1500, true)).expect("a pair");
        let _ = std::fs::DirBuilder::new().mode(0o755).create(PRIVILEGE_SEPARATION);
        let directory = tempfile::tempdir().expect("a scratch directory");
        configure(directory.path());
        let sshd = serve(&pair.receiver, directory.path());
        let hosts = Hosts { pair, directory, sshd };
        hosts.near_ip(&["address", "add", "fd00:77::1/64", "dev", &hosts.pair.sender.interface, "nodad"]);
        hosts.far_ip(&["address", "add", "fd00:77::2/64", "dev", &hosts.pair.receiver.interface, "nodad"]);
        hosts.wait_until_listening();
        Some(hosts)
    }

    pub fn path(&self) -> String {
        format!("ssh://{FAR}:{PORT}")
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    /// The harness on the near host, with the client's configuration of this test.
    pub fn syscost(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(SYSCOST);
        let search = format!("{}:{}", self.file("near-bin").display(), search::path());
        command.args(arguments).env("PATH", search);
        self.pair.sender.enter_on_exec(&mut command);
        command
    }

    pub fn run(&self, arguments: &[&str]) -> Output {
        self.syscost(arguments).output().expect("the binary starts")
    }

    /// A transfer over this path, into this directory: a case for each size.
    pub fn study<'a>(path: &'a str, out: &'a str, sizes: &'a str, limit: &'a str) -> Vec<&'a str> {
        let mut arguments =
            vec!["run", "transfer", "--path", path, "--mechanism", "send", "--receiver", "recv"];
        arguments.extend(["--size", sizes, "--threads", "1", "--nodelay", "on", "--seed", "1"]);
        arguments.extend(["--time-limit", limit, "--out", out]);
        arguments
    }

    pub fn near_ip(&self, arguments: &[&str]) {
        ip(&self.pair.sender, arguments);
    }

    pub fn far_ip(&self, arguments: &[&str]) {
        ip(&self.pair.receiver, arguments);
    }

    /// What the far host was asked by its network so far: connections to it, and echo requests. Source: proc_net_snmp, of
    /// one network namespace.
    pub fn far_was_asked(&self) -> u64 {
        let text = std::fs::read_to_string(format!("/proc/{}/net/snmp", self.sshd.id())).expect("proc(5)");
        let counter = |group: &str, name: &str| -> u64 {
            let mut lines = text.lines().filter_map(|line| line.strip_prefix(group));
            let names = lines.next().expect("names").split_whitespace();
            let counts = lines.next().expect("counts").split_whitespace();
            let (_, count) = names.zip(counts).find(|(of, _)| *of == name).expect("the counter");
            count.parse().expect("a number")
        };
        counter("Tcp:", "PassiveOpens") + counter("Icmp:", "InEchos")
    }

    /// A program on the far host, before those that are there in the search path of ssh sessions.
    pub fn far_program(&self, name: &str, text: &str) {
        common::script(&self.file("far-bin").join(name), text);
    }

    /// Gives the far namespace a name, as `ip netns` keeps them.
    pub fn name_far(&self) -> String {
        let name = format!("syscost-test-{}", self.sshd.id());
        self.near_ip(&["netns", "attach", &name, &self.sshd.id().to_string()]);
        name
    }

    pub fn forget(&self, name: &str) {
        self.near_ip(&["netns", "delete", name]);
    }

    /// The copies of the program on the far host.
    pub fn copies(&self) -> Vec<PathBuf> {
        let Ok(entries) = std::fs::read_dir(self.file("home/.cache/syscost/bin")) else { return Vec::new() };
        entries.map(|entry| entry.expect("an entry").path()).collect()
    }

    /// What runs on the far host beside the listening sshd: process ids and command lines.
    pub fn far_processes(&self) -> Vec<(u32, String)> {
        let own = self.sshd.id();
        processes_in(&self.pair.receiver).into_iter().filter(|(pid, _)| *pid != own).collect()
    }

    pub fn far_syscost(&self) -> Vec<(u32, String)> {
        let ours = |line: &str| line.ends_with(" agent") || line.ends_with(" worker");
        self.far_processes().into_iter().filter(|(_, line)| ours(line)).collect()
    }

    /// Nothing of ours, and no session, on the far host.
    pub fn far_is_empty(&self, within: Duration) {
        let end = Instant::now() + within;
        while !self.far_processes().is_empty() {
            assert!(Instant::now() < end, "left on the far host: {:?}", self.far_processes());
            syscost_sys::sleep::sleep(Duration::from_millis(50));
        }
    }

    /// TCP ports on which something other than sshd listens on the far host.
    pub fn far_listeners(&self) -> Vec<u16> {
        let listening = |table: &str| -> Vec<u16> {
            let rows = table.lines().skip(1).filter_map(|row| {
                let mut columns = row.split_whitespace().skip(1);
                let (local, state) = (columns.next()?, columns.nth(1)?);
                (state == "0A").then(|| u16::from_str_radix(local.rsplit_once(':')?.1, 16).ok())?
            });
            rows.filter(|port| *port != PORT).collect()
        };
        let table = |file: &str| std::fs::read_to_string(format!("/proc/{}/net/{file}", self.sshd.id()));
        ["tcp", "tcp6"].iter().flat_map(|file| listening(&table(file).unwrap_or_default())).collect()
    }

    fn wait_until_listening(&self) {
        let end = Instant::now() + common::PATIENCE;
        let listens = || {
            let table = std::fs::read_to_string(format!("/proc/{}/net/tcp6", self.sshd.id()));
            table.is_ok_and(|table| table.contains(&format!(":{PORT:04X} ")))
        };
        while !listens() {
            let log = std::fs::read_to_string(self.file("sshd.log")).unwrap_or_default();
            assert!(Instant::now() < end, "sshd does not listen: {log}");
            syscost_sys::sleep::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        let _ = self.sshd.kill();
        let _ = self.sshd.wait();
        for (pid, _) in processes_in(&self.pair.receiver) {
            // Only this test's processes are in its namespace.
            common::signal(pid, libc::SIGKILL);
        }
    }
}

/// Keys and configuration of both sides: nothing of this machine's is read or changed.
fn configure(directory: &Path) {
    let file = |name: &str| directory.join(name);
    let at = directory.display();
    for folder in ["home", "near-bin", "far-bin"] {
        std::fs::create_dir(file(folder)).expect("a folder");
    }
    for key in ["host-key", "user-key", "stranger-key"] {
        let made =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(file(key)).status();
        assert!(made.expect("ssh-keygen").success());
    }
    let public = |key: &str| std::fs::read_to_string(file(&format!("{key}.pub"))).expect("a public key");
    std::fs::write(file("authorized"), public("user-key")).expect("written");
    std::fs::write(file("known"), known_hosts(&public("host-key"))).expect("written");
    let search = search::path();
    let server = format!(
        "Port {PORT}\nHostKey {at}/host-key\nPidFile none\nAuthorizedKeysFile {at}/authorized\nUsePAM no\nStrictModes no\n\
         PasswordAuthentication no\nUseDNS no\nSetEnv HOME={at}/home PATH={at}/far-bin:{search}\n"
    );
    std::fs::write(file("sshd_config"), server).expect("written");
    let client = format!(
        "IdentityFile {at}/user-key\nIdentitiesOnly yes\nUserKnownHostsFile {at}/known\nGlobalKnownHostsFile none\n\
         StrictHostKeyChecking yes\n"
    );
    std::fs::write(file("ssh_config"), client).expect("written");
    common::script(&file("near-bin/ssh"), &format!("exec /usr/bin/ssh -F {at}/ssh_config \"$@\""));
}

/// The far host's key, by both addresses.
pub fn known_hosts(public: &str) -> String {
    let key = public.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
    format!("[{FAR}]:{PORT} {key}\n[{FAR_IPV6}]:{PORT} {key}\n")
}

fn serve(far: &NamespaceSide, directory: &Path) -> Child {
    let mut sshd = Command::new(SSHD);
    sshd.args(["-D", "-f"]).arg(directory.join("sshd_config")).arg("-E").arg(directory.join("sshd.log"));
    sshd.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    far.enter_on_exec(&mut sshd);
    process::die_with_parent_on_exec(&mut sshd);
    sshd.spawn().expect("sshd starts")
}

fn ip(side: &NamespaceSide, arguments: &[&str]) {
    let mut command = Command::new("ip");
    command.args(arguments);
    side.enter_on_exec(&mut command);
    let output = command.output().expect("ip starts");
    assert!(output.status.success(), "ip {arguments:?}: {}", common::said(&output));
}

fn processes_in(side: &NamespaceSide) -> Vec<(u32, String)> {
    let number = namespace::number(side.net_ns.as_fd()).expect("a number");
    let inside = |pid: &u32| {
        let link = std::fs::read_link(format!("/proc/{pid}/ns/net"));
        link.is_ok_and(|link| link.to_string_lossy() == format!("net:[{number}]"))
    };
    let entries = std::fs::read_dir("/proc").expect("/proc is mounted");
    let pids = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).filter(inside);
    let line = |pid: u32| {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&bytes).replace('\0', " ").trim().to_string()
    };
    pids.map(|pid| (pid, line(pid))).collect()
}
