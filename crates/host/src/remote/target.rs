//! What a user writes of other places: `TRANSPORT:PLACE`, or two of them, and how the data goes.
//!
//! Nothing of it ever reaches a shell of ours: places hold plain characters only and never begin like an option.

use super::transport::{self, Transport, place::Parts, rsh, words};
use std::fmt;
use std::net::IpAddr;

/// Ports that a far side may listen on: from, to.
pub type Ports = (u16, u16);

/// What of a path says how a process is started there, when none but the next place is named.
const URL: &str = "ssh://";

/// A place, and what starts processes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub transport: &'static Transport,
    parts: Parts,
}

/// A path to another place, from here or from a third one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// `None`: the near side is where syscost runs.
    pub near: Option<Target>,
    pub far: Target,
    /// The far side's address for the data, where it is not the one that is found.
    pub data: Option<IpAddr>,
    pub ports: Option<Ports>,
}

/// Is this text such a path, right or wrong?
pub fn is_meant(text: &str) -> bool {
    parts(text).is_some()
}

/// Are both of its ends elsewhere?
pub fn are_both_elsewhere(text: &str) -> bool {
    parts(text).is_some_and(|(_, places, _)| places.contains(','))
}

/// Can it be one? Which command `rsh:` means is known when it is opened.
pub fn check(text: &str) -> Result<(), String> {
    Route::read(text, |transport| transport).map(|_| ())
}

/// What a user writes of each kind.
pub fn forms() -> String {
    let forms: Vec<&str> = transport::ALL.iter().map(|transport| transport.form).collect();
    forms.join(", ")
}

/// The transport, the places and the options of a path.
fn parts(text: &str) -> Option<(&'static Transport, &str, &str)> {
    let (name, rest) = text.split_once(':')?;
    let transport = transport::find(name)?;
    // ssh has always been written as a URL, whose comma begins another path.
    if transport.tells_address && !text.starts_with(URL) {
        return None;
    }
    let (places, options) = rest.split_once('?').unwrap_or((rest, ""));
    Some((transport, places, options))
}

impl Route {
    pub fn parse(text: &str) -> Result<Route, String> {
        Route::read(text, rsh::meant)
    }

    fn read(text: &str, means: fn(&'static Transport) -> &'static Transport) -> Result<Route, String> {
        let (transport, places, options) = parts(text).ok_or_else(|| format!("write {}", forms()))?;
        let target = |text: &str| Target::at(means(transport), text);
        let (near, far) = match places.split_once(',') {
            Some((near, far)) if near == far => return Err("the two ends have to be different places".into()),
            Some((near, far)) => (Some(target(near)?), target(far)?),
            None => (None, target(places)?),
        };
        let mut route = Route { near, far, data: None, ports: None };
        for option in options.split('&').filter(|option| !option.is_empty()) {
            match option.split_once('=') {
                Some(("data", address)) => route.data = Some(address_of(address)?),
                Some(("ports", range)) => route.ports = Some(range_of(range)?),
                _ => return Err("after ? write data=ADDRESS, ports=FROM-TO, or both with & between".into()),
            }
        }
        Ok(route)
    }
}

impl Target {
    pub fn at(transport: &'static Transport, place: &str) -> Result<Target, String> {
        Ok(Target { transport, parts: (transport.place)(place)? })
    }

    pub fn place(&self) -> String {
        self.filled("{place}")
    }

    /// A template with the parts of this place; empty where it lacks one of them.
    pub fn filled(&self, template: &str) -> String {
        let mut text = template.to_string();
        for (name, part) in &self.parts {
            let hole = format!("{{{name}}}");
            match part {
                Some(part) => text = text.replace(&hole, part),
                None if text.contains(&hole) => return String::new(),
                None => {}
            }
        }
        text
    }

    fn words_of(&self, groups: &[&str]) -> Vec<String> {
        let groups: Vec<String> = groups.iter().map(|group| self.filled(group)).collect();
        groups.iter().flat_map(|group| group.split_whitespace()).map(String::from).collect()
    }

    /// The words that start a process there, before its own.
    pub fn words(&self) -> Vec<String> {
        match self.transport.command {
            [] => rsh::words_to(&self.place()),
            groups => self.words_of(groups),
        }
    }

    /// The same as a person would type it, for remedies.
    pub fn by_hand(&self) -> String {
        match self.transport.by_hand {
            [] => words::shown(&self.words()),
            groups => words::shown(&self.words_of(groups)),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.filled(self.transport.shown))
    }
}

fn address_of(text: &str) -> Result<IpAddr, String> {
    let bare = text.strip_prefix('[').and_then(|t| t.strip_suffix(']')).unwrap_or(text);
    bare.parse().map_err(|_| format!("data={text:?} is no IP address"))
}

fn range_of(text: &str) -> Result<Ports, String> {
    let number = |text: &str| {
        let port = text.parse().ok().filter(|port| *port > 0);
        port.ok_or_else(|| format!("{text:?} is no port: 1 to 65535"))
    };
    let (from, to) = text.split_once('-').unwrap_or((text, text));
    let (from, to) = (number(from)?, number(to)?);
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
    fn a_path_is_read_as_written() {
        let route = Route::parse("ssh://me@lab-2.example:2222?data=10.0.0.2&ports=40000-40100").unwrap();
        assert_eq!((route.data, route.ports), (Some("10.0.0.2".parse().unwrap()), Some((40000, 40100))));
        assert_eq!((route.far.to_string().as_str(), route.near), ("me@lab-2.example", None));
        let six = Route::parse("ssh://[fd00::2]:22?data=[fd01::2]").unwrap();
        assert_eq!(six.data, Some("fd01::2".parse().unwrap()));
        let both = Route::parse("srun:n1,n2?ports=9").unwrap();
        assert_eq!(
            (both.near.unwrap().to_string(), both.far.to_string()),
            ("srun:n1".into(), "srun:n2".into())
        );
        assert!(
            are_both_elsewhere("srun:n1,n2")
                && !are_both_elsewhere("srun:n1")
                && !are_both_elsewhere("netns:a,b")
        );
        // Where no command is named, it is ssh.
        assert_eq!(Route::parse("rsh:me@lab").unwrap().far.to_string(), "me@lab");
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
            "ssh:host",
            "host",
            "srun:n1,n1",
            "srun:n1,-x",
            "srun:n1,n2,n3",
            "docker:",
            "podman:--privileged",
            "nsenter:1,web",
            "rsh:-x",
        ] {
            assert!(check(wrong).is_err(), "{wrong}");
        }
        assert!(is_meant("ssh://") && is_meant("srun:") && !is_meant("netns:a") && !is_meant("host:22"));
    }

    proptest! {
        #[test]
        fn whatever_is_written_no_place_is_taken_for_an_option(text in "(ssh://|srun:|podman:|kubectl:|rsh:)\\PC{0,40}") {
            if let Ok(route) = Route::parse(&text) {
                for target in route.near.iter().chain([&route.far]) {
                    prop_assert!(!target.place().starts_with('-') && !target.place().contains(char::is_control));
                    prop_assert!(target.words().iter().all(|word| !word.contains(char::is_control)));
                }
            }
        }
    }
}
