//! Places as users write them, in parts: what each transport calls a place, and nothing that is an option or a command.

use std::fs;

/// Parts of a place by name; `place` is all of it. A part that it lacks is absent.
pub type Parts = Vec<(&'static str, Option<String>)>;

/// A name of plain characters that is no option.
fn plain_name(what: &str, text: &str, others: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
    if text.is_empty() || text.len() > 255 || text.starts_with('-') || !text.chars().all(plain) {
        return Err(format!(
            "{text:?} is no {what} name: letters, digits and {others}, not beginning with -"
        ));
    }
    Ok(text.to_string())
}

fn one_name(what: &str, text: &str, others: &str) -> Result<Parts, String> {
    Ok(vec![("place", Some(plain_name(what, text, others)?))])
}

pub fn container(text: &str) -> Result<Parts, String> {
    one_name("container", text, "._-")
}

pub fn node(text: &str) -> Result<Parts, String> {
    one_name("node", text, "._-")
}

/// Whatever a command of the user's own calls a place.
pub fn host(text: &str) -> Result<Parts, String> {
    one_name("host", text, "._-@:/%+[]")
}

/// `[NAMESPACE/]POD[:CONTAINER]`. What does not belong to the form is left in the pod's name, which then is none.
pub fn pod(text: &str) -> Result<Parts, String> {
    let (namespace, rest) = text.split_once('/').map_or((None, text), |(name, rest)| (Some(name), rest));
    let (pod, container) = rest.rsplit_once(':').map_or((rest, None), |(pod, name)| (pod, Some(name)));
    let mut parts = vec![("place", Some(text.to_string()))];
    for (what, name) in [("namespace", namespace), ("pod", Some(pod)), ("container", container)] {
        parts.push((what, name.map(|name| plain_name(what, name, ".-")).transpose()?));
    }
    Ok(parts)
}

/// The id of a process. Who is in its user namespace already cannot enter it again; who is not has no rights over its
/// network. Source: user_namespaces(7).
pub fn process(text: &str) -> Result<Parts, String> {
    let number = text.parse::<u32>().ok().filter(|pid| *pid > 0 && text.chars().all(|c| c.is_ascii_digit()));
    let pid = number.ok_or_else(|| {
        format!("{text:?} is no process id: podman inspect -f '{{{{.State.Pid}}}}' NAME shows one")
    })?;
    let users_of = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/user")).ok();
    let theirs = users_of(&pid.to_string()).zip(users_of("self")).filter(|(theirs, ours)| theirs != ours);
    Ok(vec![("place", Some(pid.to_string())), ("user", theirs.map(|_| "user".to_string()))])
}

/// `//[USER@]HOST[:PORT]`, where a host is a name that ssh knows or an address (IPv6 in brackets). `key` is as ssh-keygen
/// -R wants it, `login` as ssh's own messages have it.
pub fn login(text: &str) -> Result<Parts, String> {
    let text = text.strip_prefix("//").unwrap_or(text);
    let text = text.strip_suffix('/').unwrap_or(text);
    let (user, place) = match text.rsplit_once('@') {
        Some((user, place)) => (Some(plain_name("user", user, "._-+")?), place),
        None => (None, text),
    };
    let (host, port) = host_and_port(place)?;
    let number = |port: &str| {
        let number = port.parse::<u16>().ok().filter(|port| *port > 0);
        number.map(|port| port.to_string()).ok_or(format!("{port:?} is no port: 1 to 65535"))
    };
    let port = port.map(number).transpose()?;
    let key = port.as_ref().map_or(host.clone(), |port| format!("'[{host}]:{port}'"));
    let login = user.as_ref().map_or(host.clone(), |user| format!("{user}@{host}"));
    let place = Some(text.to_string());
    Ok(vec![
        ("place", place),
        ("user", user),
        ("host", Some(host)),
        ("port", port),
        ("key", Some(key)),
        ("login", Some(login)),
    ])
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
    let (host, port) = place.split_once(':').map_or((place, None), |(host, port)| (host, Some(port)));
    Ok((plain_name("host", host, "._-")?, port))
}
