//! ssh: the system's client, with its keys, its known hosts and its configuration. It is never asked for anything
//! (BatchMode). Source: ssh(1), ssh_config(5), RFC 3986.

use super::{Transport, plain_name, words};

pub struct Ssh;

/// How ssh is asked to behave, whatever the user's configuration says of these.
const OPTIONS: [&str; 8] = [
    "BatchMode=yes",
    "ConnectTimeout=10",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=3",
    // A master that is there is used; none is made that would outlive the run.
    "ControlMaster=no",
    "ClearAllForwardings=yes",
    "ForwardAgent=no",
    "RemoteCommand=none",
];

impl Transport for Ssh {
    fn name(&self) -> &'static str {
        "ssh"
    }

    fn form(&self) -> &'static str {
        "ssh://[USER@]HOST[:PORT]"
    }

    fn place(&self, text: &str) -> Result<String, String> {
        let text = text.strip_prefix("//").unwrap_or(text);
        let text = text.strip_suffix('/').unwrap_or(text);
        SshPlace::parse(text).map(|_| text.to_string())
    }

    fn words(&self, place: &str) -> Vec<String> {
        let mut words: Vec<String> = vec!["ssh".into(), "-T".into()];
        words.extend(OPTIONS.iter().flat_map(|option| ["-o".to_string(), option.to_string()]));
        words.extend(SshPlace::of(place).arguments());
        words
    }

    fn by_hand(&self, place: &str) -> String {
        let SshPlace { port, .. } = SshPlace::of(place);
        let port = port.map(|port| format!("-p {port} ")).unwrap_or_default();
        format!("ssh {port}{}", words::quote(&self.shown(place)))
    }

    /// `user@host`, as ssh's own messages have it.
    fn shown(&self, place: &str) -> String {
        let SshPlace { user, host, .. } = SshPlace::of(place);
        user.map_or(host.clone(), |user| format!("{user}@{host}"))
    }

    fn install(&self) -> &'static str {
        "install the client: apt-get install openssh-client"
    }

    fn remedies(&self) -> &'static [(&'static [&'static str], &'static str)] {
        &[
            (
                &["host key verification failed", "identification has changed"],
                "connect once by hand and compare the key with that of the host: {command}; where the host got a new key, \
                 and only then, forget the old one: ssh-keygen -R {key}",
            ),
            (
                &["permission denied", "too many authentication failures"],
                "syscost asks for no password: give the host your key with ssh-copy-id, or start ssh-agent; try {command} \
                 -o BatchMode=yes true",
            ),
            (
                &["not available", "nologin"],
                "that account has no shell there: log in as another user, or give it one (usermod -s /bin/sh NAME)",
            ),
            (
                &["could not resolve", "name or service not known"],
                "write a name that resolves, an address, or a Host of ~/.ssh/config",
            ),
            (&["connection refused"], "start sshd there, or name its port: ssh://{place}:PORT"),
            (
                &["timed out", "no route to host", "unreachable"],
                "see that the host is up and lets ssh in: {command}",
            ),
            (&[""], "see what it says: {command} -o BatchMode=yes true"),
        ]
    }

    fn tells_address(&self) -> bool {
        true
    }
}

/// As ssh-keygen -R wants it.
pub fn known_as(place: &str) -> String {
    let SshPlace { host, port, .. } = SshPlace::of(place);
    port.map_or(host.clone(), |port| format!("'[{host}]:{port}'"))
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct SshPlace {
    user: Option<String>,
    /// A name that ssh knows, or an address (IPv6 without brackets).
    host: String,
    port: Option<u16>,
}

impl SshPlace {
    fn of(place: &str) -> SshPlace {
        SshPlace::parse(place).expect("it was checked when it was read")
    }

    fn parse(text: &str) -> Result<SshPlace, String> {
        let (user, place) = match text.rsplit_once('@') {
            Some((user, place)) => (Some(plain_name("user", user, "._-+")?), place),
            None => (None, text),
        };
        let (host, port) = host_and_port(place)?;
        let number = |text: &str| text.parse().ok().filter(|port| *port > 0);
        let port =
            port.map(|port| number(port).ok_or(format!("{port:?} is no port: 1 to 65535"))).transpose()?;
        Ok(SshPlace { user, host, port })
    }

    /// The arguments that tell ssh where, with an end of options before the host.
    fn arguments(&self) -> Vec<String> {
        let mut arguments = Vec::new();
        if let Some(port) = self.port {
            arguments.extend(["-p".to_string(), port.to_string()]);
        }
        if let Some(user) = &self.user {
            arguments.extend(["-l".to_string(), user.clone()]);
        }
        arguments.extend(["--".to_string(), self.host.clone()]);
        arguments
    }
}

/// A host, or an IPv6 address in brackets, and the text after its colon.
fn host_and_port(place: &str) -> Result<(String, Option<&str>), String> {
    if let Some(rest) = place.strip_prefix('[') {
        let (address, rest) = rest.split_once(']').ok_or("close the bracket after the IPv6 address")?;
        let (bare, zone) = address.split_once('%').unwrap_or((address, "0"));
        let plain = !zone.is_empty() && zone.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        if bare.parse::<std::net::Ipv6Addr>().is_err() || !plain {
            return Err(format!("{address:?} is no IPv6 address"));
        }
        return match rest.strip_prefix(':') {
            _ if rest.is_empty() => Ok((address.to_string(), None)),
            Some(port) => Ok((address.to_string(), Some(port))),
            None => Err("after ] only :PORT may follow".into()),
        };
    }
    if place.matches(':').count() > 1 {
        return Err("write an IPv6 address in brackets: ssh://[2001:db8::1]".into());
    }
    let (host, port) = match place.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (place, None),
    };
    Ok((plain_name("host", host, "._-")?, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_read_as_written() {
        let arguments = |text: &str| SshPlace::parse(text).unwrap().arguments();
        assert_eq!(arguments("me@lab-2.example:2222"), ["-p", "2222", "-l", "me", "--", "lab-2.example"]);
        assert_eq!(arguments("[fd00::2]:22"), ["-p", "22", "--", "fd00::2"]);
        assert_eq!(arguments("[fe80::1%eth0]"), ["--", "fe80::1%eth0"]);
        assert_eq!(Ssh.place("//host/"), Ok("host".into()));
        assert_eq!(Ssh.by_hand("me@lab:2222"), "ssh -p 2222 me@lab");
        assert_eq!((known_as("me@lab"), known_as("lab:22")), ("lab".into(), "'[lab]:22'".into()));
    }
}
