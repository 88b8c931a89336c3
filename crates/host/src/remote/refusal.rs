//! Why another host cannot be used, and what would make it agree.
//!
//! Words of ssh and of the far side are quoted, cleaned; nothing is decided by them but which remedy is
//! named. Source: ssh(1), sshd(8), ld.so(8).

use super::connection::NotOpened;
use super::target::{Ports, Target};
use crate::Unavailable;
use std::io;
use std::net::{IpAddr, SocketAddr};

pub const NO_SSH: &str = "there is no ssh in the search path";
/// Exit status of ssh when it is ssh itself that failed.
const SSH_FAILED: i32 = 255;

/// A line that could not be opened before anything of ours ran there.
pub fn by_ssh(target: &Target, failed: &NotOpened) -> Unavailable {
    let words = &failed.words;
    let has = |piece: &str| words.to_lowercase().contains(piece);
    let by_hand = target.ssh_command();
    let remedy = if words == NO_SSH {
        "install the client: apt-get install openssh-client".into()
    } else if has("host key verification failed") || has("identification has changed") {
        format!(
            "connect once by hand and compare the key with that of the host: {by_hand}; where the host got a new \
             key, and only then, forget the old one: ssh-keygen -R {}",
            known_as(target)
        )
    } else if has("permission denied") || has("too many authentication failures") {
        format!(
            "syscost asks for no password: give the host your key with ssh-copy-id, or start ssh-agent; try {by_hand} -o BatchMode=yes true"
        )
    } else if has("not available") || has("nologin") {
        "that account has no shell there: log in as another user, or give it one (usermod -s /bin/sh NAME)"
            .into()
    } else if has("could not resolve") || has("name or service not known") {
        "write a name that resolves, an address, or a Host of ~/.ssh/config".into()
    } else if has("connection refused") {
        format!("start sshd there, or name its port: ssh://{target}:PORT")
    } else if has("timed out") || has("no route to host") || has("unreachable") {
        format!("see that the host is up and lets ssh in: {by_hand}")
    } else {
        format!("see what it says: {by_hand} -o BatchMode=yes true")
    };
    Unavailable { reason: format!("cannot log in to {target}: {words}"), remedy }
}

/// As ssh-keygen -R wants it.
fn known_as(target: &Target) -> String {
    target.port.map_or_else(|| target.host.clone(), |port| format!("'[{}]:{port}'", target.host))
}

/// The far side ran our command and no agent came of it.
pub fn by_agent(target: &Target, failed: &NotOpened) -> Unavailable {
    let words = &failed.words;
    if failed.status == Some(SSH_FAILED) {
        return by_ssh(target, failed);
    }
    let library = ["GLIBC_", "libgcc_s", "error while loading shared libraries", "symbol not found"];
    let cannot_load = library.iter().any(|piece| words.contains(piece)) || failed.status == Some(127);
    let remedy = if cannot_load {
        "use the static build of syscost, which needs no library there: RUSTFLAGS=\"-C target-feature=+crt-static\" \
         cargo build --release --target x86_64-unknown-linux-gnu (or that of your machine)"
            .to_string()
    } else if words.contains("Permission denied") || failed.status == Some(126) {
        format!(
            "its home directory may forbid programs (noexec): install the same syscost in the search path of {target}"
        )
    } else {
        format!("install the same syscost on {target}, in the search path of its ssh sessions")
    };
    Unavailable { reason: format!("syscost does not start on {target}: {words}"), remedy }
}

pub fn another_system(target: &Target, theirs: &str, ours: &str) -> Unavailable {
    Unavailable {
        reason: format!(
            "{target} is {theirs}, this host is {ours}, and no syscost {} is installed there",
            env!("CARGO_PKG_VERSION")
        ),
        remedy: format!(
            "install syscost {} built for {theirs} there, in the search path of its ssh sessions",
            env!("CARGO_PKG_VERSION")
        ),
    }
}

pub fn not_copied(target: &Target, words: &str) -> Unavailable {
    Unavailable {
        reason: format!("syscost could not be copied to {target}: {words}"),
        remedy: format!(
            "see that ~/.cache there can be written: {}; or install the same syscost there",
            target.ssh_command()
        ),
    }
}

/// No connection for data from here to there.
pub fn no_data(
    target: &Target,
    from: IpAddr,
    to: SocketAddr,
    ports: Option<Ports>,
    error: &io::Error,
) -> Unavailable {
    let (address, port) = (to.ip(), to.port());
    let fixed = "have it listen on ports that a firewall can open: add ?ports=40000-40100 to the path";
    let (what, remedy) = match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            let open = ports.map_or_else(|| format!("{fixed}, then open them"), |_| "open them".to_string());
            let range = ports.unwrap_or((40000, 40100));
            let rule = rules(from, address, range);
            (
                "no answer: something between drops the packets, a firewall or an address that is not reachable from here",
                format!(
                    "{open} on {target}: {rule}; or name an address of {target} that this host reaches: ?data=ADDRESS"
                ),
            )
        }
        io::ErrorKind::ConnectionRefused => (
            "refused: a firewall rejects it, or the address belongs to another host",
            format!("let TCP from {from} in on {target}, or name its own address: ?data=ADDRESS; {fixed}"),
        ),
        io::ErrorKind::HostUnreachable | io::ErrorKind::NetworkUnreachable => (
            "unreachable: no route, or a firewall that says so",
            format!(
                "see the route: ip route get {address}; or name another address of {target}: ?data=ADDRESS"
            ),
        ),
        _ => ("it failed", format!("name another address of {target}: ?data=ADDRESS")),
    };
    Unavailable {
        reason: format!(
            "the data connection from {from} to {address} port {port} on {target} cannot be made: {what} ({error})"
        ),
        remedy,
    }
}

/// The rule that is missing, as the usual tools write it.
fn rules(from: IpAddr, to: IpAddr, (first, last): Ports) -> String {
    let (family, iptables) = if to.is_ipv4() { ("ip", "iptables") } else { ("ip6", "ip6tables") };
    format!(
        "nft add rule inet filter input {family} saddr {from} {family} daddr {to} tcp dport {first}-{last} accept (or: \
         {iptables} -I INPUT -s {from} -d {to} -p tcp --dport {first}:{last} -j ACCEPT; or: ufw allow proto tcp from \
         {from} to {to} port {first}:{last})"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failed(status: Option<i32>, words: &str) -> NotOpened {
        NotOpened { system: None, status, words: words.into() }
    }

    #[test]
    fn each_refusal_of_ssh_has_its_remedy() {
        let target = Target::parse("ssh://me@lab:2222").unwrap();
        // ssh(1) ends with 255 where it fails itself, nologin(8) with 1.
        for (status, words, remedy) in [
            (Some(255), "Host key verification failed.", "ssh-keygen -R '[lab]:2222'"),
            (Some(255), "me@lab: Permission denied (publickey).", "ssh-copy-id"),
            (Some(255), "ssh: Could not resolve hostname lab: Name or service not known", "~/.ssh/config"),
            (Some(255), "ssh: connect to host lab port 2222: Connection refused", "start sshd"),
            (Some(255), "ssh: connect to host lab port 2222: Connection timed out", "is up"),
            (Some(1), "This account is currently not available.", "usermod -s"),
            (Some(255), "something new", "-o BatchMode=yes"),
            (None, NO_SSH, "openssh-client"),
        ] {
            let why = by_ssh(&target, &failed(status, words));
            assert!(why.remedy.contains(remedy) && why.reason.contains(words), "{why:?}");
        }
    }

    #[test]
    fn an_older_library_names_the_static_build() {
        let target = Target::parse("ssh://lab").unwrap();
        let words =
            "/root/.cache/syscost/bin/0: /lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.39' not found";
        // ld.so(8) ends with 1; what a shell ends with is in the tests of contact.rs.
        assert!(by_agent(&target, &failed(Some(1), words)).remedy.contains("crt-static"));
    }

    #[test]
    fn a_missing_firewall_rule_is_written_out() {
        let target = Target::parse("ssh://lab").unwrap();
        let (from, to) = ("10.0.0.1".parse().unwrap(), "10.0.0.2:40000".parse().unwrap());
        let error = io::Error::from(io::ErrorKind::TimedOut);
        let why = no_data(&target, from, to, Some((40000, 40001)), &error);
        assert!(
            why.remedy.contains("saddr 10.0.0.1 ip daddr 10.0.0.2 tcp dport 40000-40001 accept"),
            "{why:?}"
        );
        assert!(!why.remedy.contains("?ports="), "{why:?}");
        assert!(no_data(&target, from, to, None, &error).remedy.contains("?ports="));
        let six = no_data(&target, "fd00::1".parse().unwrap(), "[fd00::2]:9".parse().unwrap(), None, &error);
        assert!(six.remedy.contains("ip6 saddr fd00::1") && six.remedy.contains("ip6tables"), "{six:?}");
        let refused = no_data(&target, from, to, None, &io::ErrorKind::ConnectionRefused.into());
        assert!(refused.reason.contains("refused") && refused.remedy.contains("?data="), "{refused:?}");
    }
}
