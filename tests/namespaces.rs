//! A real pair of namespaces carries real data, as root and as an ordinary user.
//!
//! The test binary executes itself for the two ends (`role`), and once more as `nobody`.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::{Child, Command, Stdio};
use syscost::host::namespaces::{self, LinkSettings, Pair, Rights, Side};
use syscost::sys::program;

const ROLE: &str = "SYSCOST_TEST_ROLE";
const BINARY: &str = "SYSCOST_TEST_BINARY";
const ORDINARY: &str = "SYSCOST_TEST_ORDINARY";
const PAYLOAD_BYTES: usize = 300_000;

fn binary() -> String {
    std::env::var(BINARY).unwrap_or_else(|_| env!("CARGO_BIN_EXE_syscost").into())
}

fn is_root() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    status.lines().any(|line| line.starts_with("Uid:") && line.split_whitespace().nth(2) == Some("0"))
}

fn payload() -> Vec<u8> {
    (0..PAYLOAD_BYTES).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// This test binary again, playing one end inside a side.
fn start_role(side: &Side, role: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", "role", "--nocapture"]).env(ROLE, role).stdout(Stdio::null());
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
    assert_eq!(links, 2, "loopback and one end of the pair: {interfaces}");
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

fn exchange(pair: &Pair) {
    let mut listener = start_role(&pair.receiver, &format!("listen {}", pair.receiver.address));
    let mut lines = BufReader::new(listener.stderr.take().unwrap()).lines();
    let port = value(&mut lines, "port ");
    let connect = start_role(&pair.sender, &format!("connect {}:{port}", pair.receiver.address));
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
            assert!(!is_root() || !why.reason.is_empty());
            return eprintln!("skipped: {}; remedy: {}", why.reason, why.remedy);
        }
    };
    if std::env::var(ORDINARY).is_ok() {
        assert_eq!(rights, Rights::UserNamespace);
    }
    let before = std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    for (mtu, offloads) in [(1500, true), (9000, false), (65535, false)] {
        let pair = Pair::create("0a1b2c3d4e5f6789", &LinkSettings { mtu, offloads }).unwrap();
        assert_eq!(pair.sender.interface, "sc0a1b2c3d4e5fs");
        assert_eq!(pair.facts["mtu"], mtu.to_string());
        assert_eq!(pair.facts["sender_offloads"].contains("tso on"), offloads, "{:?}", pair.facts);
        assert_eq!(pair.facts["receiver_offloads"].contains(" on"), offloads, "{:?}", pair.facts);
        assert_eq!(pair.sender.user_ns.is_some(), rights == Rights::UserNamespace);
        exchange(&pair);
    }
    let after = std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    assert_eq!(before, after, "the host's own network is as it was");
}

/// Two runs at once must not meet.
#[test]
fn pairs_are_apart() {
    program::set(binary());
    let settings = LinkSettings { mtu: 1500, offloads: true };
    let (Ok(a), Ok(b)) = (Pair::create("same", &settings), Pair::create("same", &settings)) else {
        return eprintln!("skipped: no namespaces here");
    };
    std::thread::scope(|scope| {
        scope.spawn(|| exchange(&a));
        scope.spawn(|| exchange(&b));
    });
}

#[test]
fn an_ordinary_user_can_too() {
    if !is_root() {
        return eprintln!("skipped: not root, so the other tests already are an ordinary user's");
    }
    // Build directories are often closed to others.
    let folder = tempfile::tempdir().unwrap();
    std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
    let open_copy = |from: &str, name: &str| {
        let to = folder.path().join(name);
        std::fs::copy(from, &to).unwrap();
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(0o755)).unwrap();
        to
    };
    let tool = open_copy(&binary(), "syscost");
    let test = open_copy(std::env::current_exe().unwrap().to_str().unwrap(), "test");
    let output = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(test)
        .args(["--exact", "a_pair_carries_data_and_is_as_asked", "--nocapture"])
        .env(BINARY, tool)
        .env(ORDINARY, "1")
        .current_dir("/")
        .output();
    let output = match output {
        Ok(output) => output,
        Err(error) => return eprintln!("skipped: setpriv: {error}"),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    eprintln!("{said}");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

/// A keeper answers, waits, and ends by itself when its parent is gone.
#[test]
fn the_keeper_ends_with_its_stdin() {
    let request =
        r#"{"sender_interface":"sckeeps","receiver_interface":"sckeepr","mtu_bytes":1500,"offloads":true}"#;
    let mut keeper = Command::new(binary())
        .args([namespaces::KEEPER_SUBCOMMAND, request])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(keeper.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.starts_with("{\"Built\"") || line.starts_with("{\"Refused\""), "{line}");
    assert_eq!(keeper.try_wait().unwrap(), None, "it waits while its parent holds its stdin");
    drop(keeper.stdin.take());
    assert!(keeper.wait().unwrap().success());

    let confused = Command::new(binary()).args([namespaces::KEEPER_SUBCOMMAND, "{}"]).status().unwrap();
    assert_eq!(confused.code(), Some(2));
}
