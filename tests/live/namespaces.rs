//! A real pair of namespaces carries real data, as root and as an ordinary user.
//!
//! The test binary executes itself for the two ends (`role`), and once more as `nobody`.

use crate::common::{SYSCOST, executable, is_root};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use syscost_host::namespaces::{self, NamespacePair, NamespaceRights, NamespaceSide, PairSettings, layer};
use syscost_sys::program;

const ROLE: &str = "SYSCOST_TEST_ROLE";
const BINARY: &str = "SYSCOST_TEST_BINARY";
const LINKS: &str = "SYSCOST_TEST_LINKS";
const ORDINARY: &str = "SYSCOST_TEST_ORDINARY";
const PAYLOAD_BYTES: usize = 300_000;

fn binary() -> String {
    std::env::var(BINARY).unwrap_or_else(|_| SYSCOST.into())
}

fn payload() -> Vec<u8> {
    (0..PAYLOAD_BYTES).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// This test binary again, playing one end inside a side that has so many links.
fn start_role(side: &NamespaceSide, role: &str, links: usize) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "namespaces::role", "--nocapture"]).env(ROLE, role).stdout(Stdio::null());
    command.env(LINKS, links.to_string());
    side.enter_on_exec(&mut command);
    command.stderr(Stdio::piped()).spawn().expect("a child starts inside the side")
}

/// Not a test by itself: what a child of the tests below does inside its namespace.
#[test]
fn role() {
    let Ok(role) = std::env::var(ROLE) else {
        return;
    };
    let interfaces = std::fs::read_to_string("/proc/net/dev").unwrap();
    if let Some(address) = role.strip_prefix("listen ") {
        let listener = TcpListener::bind((address, 0)).unwrap();
        eprintln!("port {}", listener.local_addr().unwrap().port());
        let (mut stream, from) = listener.accept().unwrap();
        let mut got = Vec::new();
        stream.read_to_end(&mut got).unwrap();
        assert!(got == payload(), "{} bytes came, or other ones", got.len());
        eprintln!("from {}", from.ip());
    } else if let Some(address) = role.strip_prefix("connect ") {
        TcpStream::connect(address).unwrap().write_all(&payload()).unwrap();
        // Loopback is there too, and is this namespace's own.
        let own = TcpListener::bind("127.0.0.1:0").unwrap();
        TcpStream::connect(own.local_addr().unwrap()).unwrap();
    }
    let links = interfaces.lines().filter(|line| line.contains(':')).count();
    let expected = std::env::var(LINKS).unwrap();
    assert_eq!(links.to_string(), expected, "loopback and what the layer needs: {interfaces}");
}

fn value(lines: &mut impl Iterator<Item = std::io::Result<String>>, key: &str) -> String {
    for line in lines {
        let line = line.unwrap();
        if let Some(rest) = line.strip_prefix(key) {
            return rest.trim().to_string();
        }
        eprintln!("child: {line}");
    }
    panic!("the child never said {key}");
}

/// Both sides have so many links, loopback included.
fn exchange(pair: &NamespacePair, links: usize) {
    let mut listener = start_role(&pair.receiver, &format!("listen {}", pair.receiver.address), links);
    let mut lines = BufReader::new(listener.stderr.take().unwrap()).lines();
    let port = value(&mut lines, "port ");
    let connect = start_role(&pair.sender, &format!("connect {}:{port}", pair.receiver.address), links);
    assert_eq!(value(&mut lines, "from "), pair.sender.address.to_string());
    let output = connect.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(listener.wait().unwrap().success());
}

#[test]
fn a_pair_carries_data_and_is_as_asked() {
    program::set(binary());
    let rights = match namespaces::available() {
        Ok(rights) => rights,
        Err(why) => {
            assert!(!why.reason.is_empty());
            return eprintln!("skipped: {}; remedy: {}", why.reason, why.remedy);
        }
    };
    if std::env::var(ORDINARY).is_ok() {
        assert_eq!(rights, NamespaceRights::UserNamespace);
    }
    let before = std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    for (mtu, offloads) in [(1500, true), (9000, false), (65535, false)] {
        let pair = NamespacePair::create("0a1b2c3d4e5f6789", &PairSettings::veth(mtu, offloads)).unwrap();
        assert_eq!(pair.sender.interface, "sc0a1b2c3d4e5fs");
        assert_eq!(pair.facts["mtu"], mtu.to_string());
        assert_eq!(pair.facts["sender_offloads"].contains("tso on"), offloads, "{:?}", pair.facts);
        assert_eq!(pair.facts["receiver_offloads"].contains(" on"), offloads, "{:?}", pair.facts);
        assert_eq!(pair.sender.user_ns.is_some(), rights == NamespaceRights::UserNamespace);
        exchange(&pair, 2);
    }
    let after = std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    assert_eq!(before, after, "the host's own network is as it was");
}

/// What encapsulates leaves its headers' bytes to the packet, and has a wire below it.
#[test]
fn every_layer_carries_data_and_leaves_room_for_its_headers() {
    program::set(binary());
    for layer in layer::ALL {
        for offloads in [true, false] {
            let settings = PairSettings { layer: layer.id, ..PairSettings::veth(1500, offloads) };
            let pair = match NamespacePair::create("layer", &settings) {
                Ok(pair) => pair,
                Err(why) => {
                    assert!(!why.remedy.is_empty());
                    eprintln!("skipped: {}", why.reason);
                    continue;
                }
            };
            assert_eq!(pair.facts["mtu"], (1500 - layer.header_bytes).to_string(), "{}", layer.id);
            let between = ["bridge", "macvlan", "ipvlan"].contains(&layer.id);
            assert_eq!(pair.hub.is_some(), between, "{}", layer.id);
            exchange(&pair, if layer.header_bytes > 0 { 3 } else { 2 });
        }
    }
}

/// Two runs at once must not meet.
#[test]
fn pairs_are_apart() {
    program::set(binary());
    let settings = PairSettings::veth(1500, true);
    let (Ok(a), Ok(b)) = (NamespacePair::create("same", &settings), NamespacePair::create("same", &settings))
    else {
        return eprintln!("skipped: no namespaces here");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| exchange(&a, 2));
        scope.spawn(|| exchange(&b, 2));
    });
}

/// Copies of both binaries that any user may execute: build directories are often closed.
struct Open {
    folder: tempfile::TempDir,
}

impl Open {
    fn new() -> Open {
        let open = Open { folder: tempfile::tempdir().unwrap() };
        std::fs::set_permissions(open.folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        executable(Path::new(&binary()), &open.folder.path().join("syscost"));
        executable(&std::env::current_exe().unwrap(), &open.folder.path().join("test"));
        open
    }

    /// Runs one test of this file through a wrapper as `nobody`. `None`: skipped, and says why.
    fn run_as_nobody(&self, wrapper: &[&str], test: &str) -> Option<String> {
        if !is_root(test) {
            return None;
        }
        let output = Command::new("setpriv")
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .args(wrapper)
            .arg(self.folder.path().join("test"))
            .args(["--exact", &format!("namespaces::{test}"), "--nocapture"])
            .env(BINARY, self.folder.path().join("syscost"))
            .env(ORDINARY, "1")
            .current_dir("/")
            .output();
        let output = match output {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped: setpriv: {error}");
                return None;
            }
        };
        let said = String::from_utf8_lossy(&output.stderr).to_string();
        assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stdout));
        Some(said)
    }
}

#[test]
fn an_ordinary_user_can_too() {
    if let Some(said) = Open::new().run_as_nobody(&[], "a_pair_carries_data_and_is_as_asked") {
        eprintln!("{said}");
    }
}

/// Not a test by itself: says whether pairs can be made where it runs.
#[test]
fn say_why_not() {
    if std::env::var(ORDINARY).is_ok() {
        program::set(binary());
        match namespaces::available() {
            Ok(rights) => eprintln!("answer: {rights:?}"),
            Err(why) => eprintln!("answer: {} => {}", why.reason, why.remedy),
        }
    }
}

/// Real refusals of the kernel: the limits are those of a user namespace of our own, never the
/// host's. The last words take every capability before the test runs.
#[test]
fn a_refusal_names_the_limit() {
    let open = Open::new();
    for (setting, rest) in [
        ("max_net_namespaces", r#"exec "$@""#),
        ("max_user_namespaces", r#"exec setpriv --bounding-set=-all --inh-caps=-all "$@""#),
    ] {
        let script = format!("echo 0 > /proc/sys/user/{setting} && {rest}");
        let wrapper = ["unshare", "--user", "--map-root-user", "sh", "-c", &script, "sh"];
        // `unshare` here is the other program of that name: it needs what the kernel may refuse.
        if !Command::new("unshare").args(&wrapper[1..]).arg("true").status().is_ok_and(|s| s.success()) {
            return eprintln!("skipped: no user namespace to try it in");
        }
        let Some(said) = open.run_as_nobody(&wrapper, "say_why_not") else {
            return;
        };
        assert!(said.contains(&format!("user.{setting} = 0")), "{said}");
        assert!(said.contains(&format!("sudo sysctl user.{setting}=15000")), "{said}");
    }
}

/// A holder answers, waits, and ends by itself when its parent is gone.
#[test]
fn the_holder_ends_with_its_stdin() {
    let request = r#"{"layer":"veth","sender_interface":"sckeeps","receiver_interface":"sckeepr","mtu_bytes":1500,"offloads":true}"#;
    let mut holder = Command::new(binary())
        .args([namespaces::HOLDER_SUBCOMMAND, request])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"Built\"") || line.starts_with("{\"Refused\""), "{line}");
    assert_eq!(holder.try_wait().unwrap(), None, "it waits while its parent holds its stdin");
    drop(holder.stdin.take());
    assert!(holder.wait().unwrap().success());

    let confused = Command::new(binary()).args([namespaces::HOLDER_SUBCOMMAND, "{}"]).status().unwrap();
    assert_eq!(confused.code(), Some(2));
}
