//! What a user writes of another host: `ssh://[user@]host[:port]`, and how it becomes ssh's arguments.
//!
//! Nothing of it ever reaches a shell: names hold plain characters only and never begin like an option.
//! Source: ssh(1), RFC 3986.

use std::fmt;
use std::net::IpAddr;

/// What a user writes.
pub const FORM: &str = "ssh://[USER@]HOST[:PORT]";
const PREFIX: &str = "ssh://";

/// Ports that a far side may listen on: from, to.
pub type Ports = (u16, u16);

/// Another host, as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub user: Option<String>,
    /// A name that ssh knows, or an address (IPv6 without brackets).
    pub host: String,
    pub port: Option<u16>,
    /// The far host's address for the data, where it is not the one that ssh reaches.
    pub data: Option<IpAddr>,
    pub ports: Option<Ports>,
}

/// Is this text such a host, right or wrong?
pub fn is_meant(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Can it be one?
pub fn check(text: &str) -> Result<(), String> {
    Target::parse(text).map(|_| ())
}

impl Target {
    pub fn parse(text: &str) -> Result<Target, String> {
        let rest = text.strip_prefix(PREFIX).ok_or_else(|| format!("write {FORM}"))?;
        let (place, options) = rest.split_once('?').unwrap_or((rest, ""));
        let place = place.strip_suffix('/').unwrap_or(place);
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(name("user", user, "._-+")?), place),
            None => (None, place),
        };
        let (host, port) = host_and_port(place)?;
        let port = port.map(port_number).transpose()?;
        let mut target = Target { user, host, port, data: None, ports: None };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("data", address)) => target.data = Some(address_of(address)?),
                Some(("ports", range)) => target.ports = Some(range_of(range)?),
                _ => return Err("after ? write data=ADDRESS, ports=FROM-TO, or both with & between".into()),
            }
        }
        Ok(target)
    }

    /// The arguments that tell ssh where, with an end of options before the host.
    pub fn arguments(&self) -> Vec<String> {
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

    /// The same as a person would type it, for remedies.
    pub fn ssh_command(&self) -> String {
        let port = self.port.map(|port| format!("-p {port} ")).unwrap_or_default();
        format!("ssh {port}{self}")
    }
}

/// `user@host`, as ssh's own messages have it.
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.user {
            Some(user) => write!(f, "{user}@{}", self.host),
            None => f.write_str(&self.host),
        }
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
    Ok((name("host", host, "._-")?, port))
}

fn name(what: &str, text: &str, others: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if text.is_empty() || text.len() > 255 || text.starts_with('-') || !text.chars().all(plain) {
        return Err(format!(
            "{text:?} is no {what} name: letters, digits and {others}, not beginning with -"
        ));
    }
    Ok(text.to_string())
}

fn port_number(text: &str) -> Result<u16, String> {
    text.parse().ok().filter(|port| *port > 0).ok_or_else(|| format!("{text:?} is no port: 1 to 65535"))
}

fn address_of(text: &str) -> Result<IpAddr, String> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    bare.parse().map_err(|_| format!("data={text:?} is no IP address"))
}

fn range_of(text: &str) -> Result<Ports, String> {
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (port_number(from)?, port_number(to)?);
    if from > to {
        return Err(format!("ports={text}: the first is above the last"));
    }
    Ok((from, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_host_is_read_as_written() {
        let target = Target::parse("ssh://me@lab-2.example:2222?data=10.0.0.2&ports=40000-40100").unwrap();
        assert_eq!(target.arguments(), ["-p", "2222", "-l", "me", "--", "lab-2.example"]);
        assert_eq!((target.data, target.ports), (Some("10.0.0.2".parse().unwrap()), Some((40000, 40100))));
        assert_eq!(target.ssh_command(), "ssh -p 2222 me@lab-2.example");
        let six = Target::parse("ssh://[fd00::2]:22?data=[fd01::2]").unwrap();
        assert_eq!(six.arguments(), ["-p", "22", "--", "fd00::2"]);
        assert_eq!(six.data, Some("fd01::2".parse().unwrap()));
        assert_eq!(Target::parse("ssh://[fe80::1%eth0]").unwrap().host, "fe80::1%eth0");
        assert_eq!(Target::parse("ssh://host/").unwrap().arguments(), ["--", "host"]);
    }

    #[test]
    fn what_could_be_an_option_or_a_command_is_refused() {
        for wrong in [
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://-l@host",
            "ssh://a b",
            "ssh://a;b",
            "ssh://$(x)",
            "ssh://a\u{1b}[2J",
            "ssh://host:0",
            "ssh://host:port",
            "ssh://fd00::2",
            "ssh://[fd00::2",
            "ssh://[host]",
            "ssh://[::1%;x]",
            "ssh://host?x=1",
            "ssh://host?data=host",
            "ssh://host?ports=9-1",
            "ssh://host/path",
            "host",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert!(is_meant("ssh://") && !is_meant("netns:a"));
    }

    proptest! {
        #[test]
        fn whatever_is_written_no_argument_is_taken_for_an_option(text in "ssh://\\PC{0,40}") {
            if let Ok(target) = Target::parse(&text) {
                let arguments = target.arguments();
                let place = &arguments[arguments.iter().position(|a| a == "--").unwrap() + 1..];
                prop_assert_eq!(place.len(), 1);
                prop_assert!(!place[0].starts_with('-') && !place[0].contains(char::is_control));
            }
        }
    }
}
